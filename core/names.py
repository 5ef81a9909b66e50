"""The names in a text: identifiers, file names, and the numbers and hashes by which things are found again. Hot path.

An identifier is `camelCase`, `PascalCase` or `snake_case`; a word with one capital in front is none. No `re`: the bytes
are mapped at once, and each different token is looked at once.
"""

from __future__ import annotations

LONGEST = 80
MOST = 5000
"""Of a text: more hold only listings and data."""
_LEAST = 4
_LEAST_DIGITS = 4
_LEAST_HEX = 7
ENDINGS = frozenset(
    "c cc cfg cjs clj conf cpp cs css csv cts dart env erl ex exs fs gd go gradle graphql h hpp hs htm html ini java jl"
    " js json jsonl jsx kt less lock log lua md mdx mjs ml mod mts nim nix php pl plist prisma proto ps1 py pyi r rb rs"
    " rst sass scala scss sh snap sol sql sum svelte swift tex tf toml ts tsx txt vue xml yaml yml zig zsh".split()
)
"""Of file names."""
_TOKEN = bytes(c if (chr(c).isalnum() and c < 128) or chr(c) in "_.-/" else 32 for c in range(256))
_ESCAPES = (b"\\n", b"\\t", b"\\r", b"\\u")
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdef")


def names_in(text: str) -> tuple[set[str], set[str]]:
    """Identifiers and file names; and what else can be asked for by name: numbers, hashes, paths."""
    found = names_in_order(text)
    return {name for name, is_identifier in found if is_identifier}, {name for name, is_one in found if not is_one}


def names_in_order(text: str) -> list[tuple[str, bool]]:
    """The first `MOST` names of a text, each once, as they come, and whether it is an identifier or a file name."""
    found: dict[str, bool] = {}
    for raw in _tokens(text):
        if len(found) >= MOST:
            break
        token = raw.decode("ascii").strip("./-")
        if "/" in token:
            pieces = token.split("/")
            if _is_file(pieces[-1]) and len(token) <= LONGEST:
                found.setdefault(token, False)
        else:
            pieces = [token]
        for piece in pieces:
            if _is_file(piece):
                found.setdefault(piece, True)
                if piece.count(".") == 1 and "-" not in piece:
                    continue
            for part in piece.replace("-", ".").split("."):
                if _is_identifier(part):
                    found.setdefault(part, True)
                elif _is_number(part):
                    found.setdefault(part, False)
    return list(found.items())


def _tokens(text: str) -> list[bytes]:
    """Different tokens of a text, less plain words."""
    given = text.encode("utf-8", "ignore")
    if b"\\" in given:  # JSON and source as text: the letter behind a backslash belongs to no name
        for escape in _ESCAPES:
            given = given.replace(escape, b"  ")
    tokens = dict.fromkeys(given.translate(_TOKEN).split())
    return [one for one in tokens if not (one.isalpha() and (one.islower() or one.isupper() or one.istitle()))]


def is_file(path: str) -> bool:
    """Whether a path ends like the name of a file."""
    return _is_file(path.rpartition("/")[2])


def _is_file(piece: str) -> bool:
    stem, dot, ending = piece.rpartition(".")
    return bool(dot and stem) and ending in ENDINGS and len(piece) <= LONGEST and not stem.isdigit()


def _is_identifier(part: str) -> bool:
    if not _LEAST <= len(part) <= LONGEST or part[0].isdigit():
        return False
    if "_" in part:
        return any(map(str.isalpha, part.strip("_"))) and "_" in part.strip("_")
    if part.islower() or part.isupper():
        return False
    return any(map(str.isupper, part[1:])) and any(map(str.islower, part))


def _is_number(part: str) -> bool:
    if len(part) < _LEAST_DIGITS or len(part) > LONGEST:
        return False
    if part.isdigit():
        return True
    return len(part) >= _LEAST_HEX and _HEX.issuperset(part) and not _DIGITS.isdisjoint(part)
