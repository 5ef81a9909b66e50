"""Takes secrets out of text before anything is stored, logged or sent.

`redact` → `clues.Clues`, a cheap check for what announces a secret → if there is any, the finders, loaded only then →
their spans merged and replaced, until nothing is found:

- `tokens`: what is known by its form or its randomness
- `assignments`: `NAME = VALUE`; it also judges names and values for the others
- `prose`: sentences and logins
- `structured`: fields, tables, manifests, JSON
- `commands`: what a command takes or prints

Every step is linear in the text, and none raises on any str.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.redaction.clues import ENCODED, NAME_PARTS, SPACES, Clues, hides, may_hold_secret

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

Span = tuple[int, int, str]
"""The start, end and kind of a secret."""
MARK = "[redacted:"
MAX_NAME_CHARS = 120
PRINTING = (
    "op read|op item get|op env|op inject|bw get|vault kv get|vault read|vault -field|keyring get|ansible-vault view"
    "|ansible-vault decrypt|aws-vault env|chamber env|chamber read|chamber export|doppler env|aws --with-decryption"
    "|aws configure get|age -d|sops -d|sops --decrypt|az keys list|kubectl get secret|kubectl get secrets|oc get secret"
    "|terraform output -raw|tofu output -raw|pulumi config get|heroku config|gpg -d|gpg --decrypt|git credential fill"
    "|openssl rand|credstash get|secret-tool lookup|wg genkey|pwgen|apg|nmcli -s -g|teller env| reveal| config:get"
    "| acl bootstrap|pass show|gopass show|lpass show|gh auth token|glab auth token|gcloud versions access"
    "|gcloud auth print-access-token|gcloud auth print-identity-token|aws get-login-password|az keyvault secret show"
    "|security find-generic-password -w|security find-internet-password -w|scw secret access|bws secret get"
).split("|")
"""The words of commands that print a secret."""
_OTHERS = ("base64 -", "whoami -t", ".netrc", "random", "creds", "bearer", "berglas")
_patterns: dict[str, re.Pattern[str]] = {}


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted:KIND]`, and the kinds in order of appearance.

    A clean text comes back as the same object with an empty tuple. Idempotent.
    """
    kinds: list[str] = []
    for _ in range(6):  # taking a secret out may show another
        if not (spans := find_secrets(text)):
            break
        text, found = replace_spans(text, spans)
        kinds += found
    return text, tuple(kinds)


def redact_call(command: str, path: str, output: str) -> str:
    """The output of a call without its secrets: also those known by the command, or by the file, that printed them."""
    if output and prints_secret(command, path):
        from core.redaction.commands import find_printed

        output = replace_spans(output, find_printed(command, path, output))[0]
    return redact(output)[0]


def prints_secret(command: str, path: str) -> bool:
    """Cheap pre-check: could this command, or this file, have printed a secret?"""
    call = f"{command}\n{path}".lower()
    if any(map(call.__contains__, NAME_PARTS)):
        return True
    return any(all(map(call.__contains__, words.split())) for words in (*PRINTING, *_OTHERS))


def redact_value(value: object, plain: Callable[[str], str] = lambda text: redact(text)[0]) -> object:
    """A JSON value with every string redacted by `plain`, keys too, at any depth.

    A string under a key that names a secret is replaced whole unless it is a placeholder; likewise the strings of a
    list there, the `value` beside such a `name`, and the word after such an option. If two keys become equal, the
    second gets a `#2`.
    """
    items = [value]
    for item in items:  # which grows, so that no depth is too much
        if isinstance(item, dict):
            items += (*item, *item.values())
        elif isinstance(item, (list, tuple)):
            items += item
    if not may_hold_secret(" \n".join(item for item in items if isinstance(item, str))):
        return value
    from core.redaction.structured import redact_fields

    return redact_fields(value, plain)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once. `re` is loaded when the first is needed."""
    known = _patterns.get(pattern)  # the cache of `re.compile` is five times slower
    if known is None:
        import re

        known = _patterns[pattern] = re.compile(pattern)
    return known


def places_of(text: str, parts: Iterable[str]) -> list[tuple[int, int]]:
    """The start and end of each of the parts in the text, in order. Needs no `re`, which a hook would have to load."""
    places: list[tuple[int, int]] = []
    for part in parts:
        at = text.find(part)
        while at >= 0:
            places.append((at, at + len(part)))
            at = text.find(part, at + len(part))
    return sorted(places)


def find_secrets(text: str) -> list[Span]:
    """The (start, end, kind) of each secret; some may overlap."""
    clues = Clues(text)
    return _find_obfuscated(text) if clues.is_hidden else _find_plain(text, clues)


def _find_plain(text: str, clues: Clues) -> list[Span]:
    """The secrets of a text that hides none."""
    if not clues:
        return []
    from core.redaction import tokens

    spans = tokens.find_random(text) if clues.tokens else []
    if not clues.signs and not clues.logins:
        return spans
    from core.redaction import assignments, commands, prose, structured

    lower = text.lower()
    if len(lower) != len(text):  # a letter that becomes two in lower case would shift the positions after it
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    if MARK in text:  # the kind in a mark is no name
        lower = compiled(r"(?<=\[redacted:)[a-z0-9-]+").sub(lambda kind: "." * len(kind.group()), lower)
    names = assignments.find_names(text, lower, clues.signs)
    return [
        *tokens.find_formed(text, clues),
        *commands.find_in_commands(text, lower, clues.signs),
        *assignments.each_once(names, lambda name: assignments.assigned_value(text, name)),
        *prose.find_in_prose(text, lower, names, clues),
        *structured.find_structured(text, lower, names),
        *spans,
    ]


def _find_obfuscated(text: str) -> list[Span]:
    """The secrets of a copy of the text without colours and invisible characters, and with all signs decoded."""
    import re

    colour = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
    hiding = "".join(char for char in sorted(set(text)) if not char.isascii() and hides(char))
    pattern = re.compile(  # not `compiled`, which would remember a pattern for each set of characters
        f"(?i)({colour}|[{SPACES}])|[\0{re.escape(hiding)}]|({'|'.join(map(re.escape, ENCODED))})"
    )
    decoded: list[str] = []
    places: list[int] = []  # of each character of the copy in the text
    done = 0
    for match in pattern.finditer(text):
        shown = " " if match[1] else ENCODED[match[2].lower()] if match[2] else ""
        decoded += (text[done : match.start()], shown)
        places += (*range(done, match.start()), *[match.start()] * len(shown))
        done = match.end()
    copy = "".join([*decoded, text[done:]])
    places += range(done, len(text) + 1)
    spans = _find_plain(copy, Clues(copy))
    return [(places[first], max(places[first] + 1, places[last]), kind) for first, last, kind in spans]


def replace_spans(text: str, spans: Iterable[Span]) -> tuple[str, list[str]]:
    """The text with a mark for each span, and their kinds. Overlapping spans get one, with the kind of the first."""
    parts: list[str] = []
    kinds: list[str] = []
    done = 0
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if start >= done:
            parts += (text[done:start], MARK, kind, "]")
            kinds.append(kind)
        done = max(done, end)
    return "".join([*parts, text[done:]]), kinds
