"""The names in a text: identifiers, file names, numbers and hashes. Hot path.

An identifier is `camelCase`, `PascalCase` or `snake_case`; a word with only a capital in front is not. No `re`: the
bytes are mapped together, and each different token is judged once.
"""

from __future__ import annotations

from itertools import filterfalse

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 5000
"""Most names of a text: longer texts are listings and data."""
ENDINGS = frozenset(
    "c cc cfg cjs clj conf cpp cs css csv cts dart env erl ex exs fs gd go gradle graphql h hpp hs htm html ini java jl"
    " js json jsonl jsx kt less lock log lua md mdx mjs ml mod mts nim nix php pl plist prisma proto ps1 py pyi r rb rs"
    " rst sass scala scss sh snap sol sql sum svelte swift tex tf toml ts tsx txt vue xml yaml yml zig zsh".split()
)
"""Of file names."""
_PRODUCTS = frozenset(
    "ChatGPT DevOps DynamoDB GitHub GitLab GraphQL IntelliJ JavaScript LangChain LinkedIn LlamaIndex MongoDB MySQL"
    " NumPy OAuth OpenAI OpenSearch OpenTelemetry PostgreSQL PowerShell PyPI PyTorch RabbitMQ SaaS SQLite StackOverflow"
    " TensorFlow TypeScript WebAssembly WebSocket WiFi YouTube iOS macOS camelCase PascalCase snake_case".split()
)
"""Spelled like identifiers, but not names in a project; they are still found when asked for by name."""
_TOKEN = bytes(
    byte if byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/" else 32 for byte in range(256)
)
"""Translates every byte that no name has to a space."""
_known: dict[bytes, tuple[tuple[str, bool], ...]] = {}
_plain: set[bytes] = set()
"""Tokens without names. Both caches pay because a session repeats its tokens."""
_KEYWORDS = frozenset(
    "func def class type const let var interface struct enum fn trait impl function module defmodule defp defmacro"
    " macro namespace protocol record object val".split()
)
"""Keywords after which a line of source names what it defines."""
_MODIFIERS = frozenset(
    "export default async public private protected static final abstract pub pub(crate) declare readonly override"
    " inline extern unsafe data sealed open internal".split()
)


def names_in(text: str) -> tuple[set[str], set[str]]:
    """Identifiers and file names; and other names worth searching for: numbers, paths, `kebab-case`, `--flags`."""
    found = names_in_order(text)
    return {name for name, is_identifier in found if is_identifier}, {name for name, is_one in found if not is_one}


def names_in_order(text: str) -> list[tuple[str, bool]]:
    """The names of a text, each once, in order, and whether each is an identifier or a file name.

    Numbers are among the first `MOST` only; behind twice as many, the rest of the text is left out.
    """
    given = _without_escapes(text)
    found: dict[str, bool] = {}
    for token in filterfalse(_plain.__contains__, dict.fromkeys(given.translate(_TOKEN).split())):
        if len(found) >= MOST and token.isdigit():
            continue
        for name, is_identifier in _known.get(token) or _learned(token):
            found.setdefault(name, is_identifier)
        if len(found) >= 2 * MOST:
            break
    return list(found.items())


def names_by_line(lines: Sequence[str]) -> list[list[str]]:
    """The identifiers of each line, without file names."""
    if not lines:
        return []
    given = _without_escapes("\n".join([line.replace("\n", " ") for line in lines]))
    found: list[list[str]] = []
    for line in given.translate(_TOKEN[:10] + b"\n" + _TOKEN[11:]).split(b"\n"):
        here: list[str] = []
        for token in filterfalse(_plain.__contains__, line.split()):
            names = _known.get(token) or _learned(token)
            here += [name for name, is_identifier in names if is_identifier and "." not in name]
        found.append(here)
    return found


def _without_escapes(text: str) -> bytes:
    """The text with spaces for the escapes of JSON and source: the letter behind a backslash belongs to no name."""
    given = text.encode("utf-8", "ignore")
    for escape in (b"\\n", b"\\t", b"\\r", b"\\u") if b"\\" in given else ():
        given = given.replace(escape, b"  ")
    return given


def _learned(token: bytes) -> tuple[tuple[str, bool], ...]:
    """The names in a token, cached."""
    names = _names_of(token)
    if len(_known) + len(_plain) >= 16_000:  # 3 MB
        _known.clear()
        _plain.clear()
    if names:
        _known[token] = names
    else:
        _plain.add(token)
    return names


def _names_of(raw: bytes) -> tuple[tuple[str, bool], ...]:
    """The names in a token, and whether each is an identifier or a file name; a plain word has none."""
    if raw.isalpha() and (raw.islower() or raw.isupper() or raw.istitle()):
        return ()
    found: dict[str, bool] = {}
    token = raw.decode("ascii")
    if token.startswith("--"):
        if _fits(token[2:]) and token[2].isalpha():
            found[token] = False
        token = token.lstrip("-")
    pieces = token.strip("./-").split("/")
    pieces[-1] = _without_line(pieces[-1])
    if len(pieces) > 1:
        path = "/".join(pieces)
        if 4 <= len(path) <= 160 and not path.replace("/", "").isdigit():
            found.setdefault(path, False)
    for piece in pieces:
        _add_piece(piece, found)
        if len(found) >= MOST:
            break
    return tuple(found.items())


def _add_piece(piece: str, found: dict[str, bool]) -> None:
    """Add the names in a part of a path, or in a token that is not a path."""
    if is_file(piece):
        found.setdefault(piece, True)
        if piece.count(".") == 1 and "-" not in piece:
            return
    elif _is_joined(piece):
        found.setdefault(piece, False)
    for part in piece.replace("-", ".").split("."):
        if not _fits(part):
            continue
        # a number, or a hash of seven or more hexadecimal digits
        is_hash = len(part) >= 7 and not part.strip("0123456789abcdef") and any(map(str.isdigit, part))
        if _is_identifier(part):
            found.setdefault(part, part not in _PRODUCTS)
        elif part.isdigit() or is_hash:
            found.setdefault(part, False)


def _without_line(piece: str) -> str:
    """A file name without the line number that `grep` joins to it: `main.go-12-func` is `main.go`."""
    stem, dot, rest = piece.partition(".")
    if not dot or "-" not in rest:
        return piece
    place = piece.find("-", len(stem))
    while place > 0:
        if piece[place + 1 : place + 2].isdigit() and is_file(piece[:place]):
            return piece[:place]
        place = piece.find("-", place + 1)
    return piece


def _is_joined(piece: str) -> bool:
    """Whether a token of several parts is a name: a version, `a.b`, kebab case."""
    if not _fits(piece):
        return False
    if "-" in piece:
        last = piece.rpartition("-")[2]
        return piece[0].isalpha() and piece.islower() and "." not in piece and not last[:1].isdigit()
    if "." not in piece:
        return False
    parts = piece.removeprefix("v").split(".")
    if all(map(str.isdigit, parts)):
        return len(parts) >= 3  # two could be any decimal
    return all(map(str.isidentifier, parts))


def is_file(path: str) -> bool:
    """Whether a path ends like a file name."""
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    return bool(dot and stem) and ending in ENDINGS and len(name) <= 80 and not stem.isdigit()


def _fits(name: str) -> bool:
    """Whether a name is neither too short to tell anything nor so long that it is data."""
    return 4 <= len(name) <= 80


def _is_identifier(part: str) -> bool:
    if part[0].isdigit():
        return False
    inner = part.strip("_")
    if "_" in part:
        return "_" in inner and any(map(str.isalpha, inner))
    return not part.islower() and not part.isupper() and any(map(str.isupper, part[1:]))


def defined_in(line: str) -> str:
    """The name that a line of source defines (`func (s *S) Close(`, `def load`, not indented `BASE = 2.0`), or ""."""
    if line.lstrip("_")[:1].isupper():
        name, _, value = line.partition(" =")
        constant = name.partition(":")[0].rstrip()
        if value[:1] not in ("", "=", ">") and constant.isupper() and constant.isidentifier():
            return constant
    rest = line.lstrip()
    while True:
        word, _, behind = rest.partition(" ")
        rest = behind.lstrip()
        if word in _KEYWORDS:
            break
        if word not in _MODIFIERS:
            return ""
    if word == "func" and rest[:1] == "(":
        rest = rest.partition(")")[2].lstrip()
    rest = rest.removeprefix("self.")
    end = 0
    while end < len(rest) and (rest[end].isalnum() or rest[end] == "_"):
        end += 1
    return rest[:end]
