"""Takes the secrets out of a JSON value, such as a tool's input: known by their key, their label or their option.

Hot path: loads no `re`.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.redaction import MARK, MAX_NAME_CHARS, find_secrets
from core.redaction.values import family, is_placeholder, is_prose, is_strong, names_password, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Plain = Callable[[str], str]
    Work = tuple[object, object, str, str]
    """A container, its copy, the kind of secret that its place names, and the program that takes it as arguments."""

_KEYS = {
    "labels": "name key variable var field setting property parameter param option env envvar header label id",
    # What is filled in by hand is named in words: "Password field", `input[type=password]`.
    "elements": "element selector label placeholder field target locator description name",
    "values": "value val values default plaintext plain stringvalue string_value current new old",
    "typed": "text value val input content",
}
_KEY_SETS = {topic: frozenset(words.split()) for topic, words in _KEYS.items()}
_PROGRAM_KEYS = ("command", "cmd", "program", "executable", "file")


def redact_fields(value: object, plain: Plain) -> object:
    """A copy in which a value named a secret is a mark, and every other string, keys too, is redacted by `plain`.

    If two keys become equal, the later ones get `#2`, `#3`.
    """
    result: list[object] = []
    work: list[Work] = [([value], result, "", "")]
    while work:  # not by recursion: the value may be nested deeply
        source, target, kind, program = work.pop()
        if isinstance(source, dict) and isinstance(target, dict):
            _redact_dict(source, target, kind, plain, work)
        elif isinstance(source, (list, tuple)) and isinstance(target, list):
            items = _redact_arguments(source, program) if len(source) > 1 and not kind else source
            target += [_redact_item(item, kind, plain, work) for item in items]
    return result[0]


def _redact_dict(
    source: dict[object, object], target: dict[object, object], inherited: str, plain: Plain, work: list[Work]
) -> None:
    labelled, typed = _labels(source) if 1 < len(source) < 32 else ("", "")
    program = next((name for name in map(source.get, _PROGRAM_KEYS) if isinstance(name, str)), "")
    for key, item in source.items():
        kind = _kind(key, item, inherited or labelled, typed) if isinstance(key, str) else ""
        name = plain(key) if isinstance(key, str) else key
        free, count = name, 1
        while free in target:
            count += 1
            free = f"{name}#{count}"
        if name in ("data", "stringData") and isinstance(item, dict) and source.get("kind") == "Secret":  # Kubernetes
            target[free] = {plain(str(inner)): f"{MARK}secret]" for inner in item}
        else:
            target[free] = _redact_item(item, kind, plain, work, "" if kind else program)


def _redact_item(item: object, kind: str, plain: Plain, work: list[Work], program: str = "") -> object:
    """A leaf, redacted, or an empty container that is left as work."""
    if isinstance(item, str):
        return (kind and not is_placeholder(item) and _mark(item, kind)) or plain(item)
    if not isinstance(item, (dict, list, tuple)):
        return item
    copy: object = {} if isinstance(item, dict) else []
    work.append((item, copy, kind, program))
    return copy


def _mark(value: str, kind: str) -> str:
    """The mark for a value; "" if it is no secret of its kind."""
    if kind in ("key", "auth", "pass"):
        return f"{MARK}api-key]" if is_strong(value) else ""
    kind = "password" if kind == "pw" else kind
    is_path = kind == "password" and value[0] in "/~" and "/" in value[1:]
    return "" if is_path else f"{MARK}{kind}]"


def _labels(source: dict[object, object]) -> tuple[str, str]:
    """The kind of secret that a `name` announces for the `value` next to it, and that of what is typed there."""
    labelled = typed = ""
    for key, item in source.items():
        if isinstance(item, str) and isinstance(key, str) and len(item) <= MAX_NAME_CHARS:
            if key.lower() in _KEY_SETS["labels"]:
                labelled = labelled or family(item)
            if key.lower() in _KEY_SETS["elements"] and any(map(names_password, words_of(item))):
                typed = "password"
    return labelled, typed


def _kind(key: str, item: object, labelled: str, typed: str) -> str:
    """The kind of a value by its key, by the label next to it, or by the key of the object that contains it."""
    low = key.lower()
    kind = family(key)
    if kind:
        return kind
    kind = (labelled if low in _KEY_SETS["values"] else "") or (typed if low in _KEY_SETS["typed"] else "")
    if not isinstance(item, str):
        return kind
    if len(item) > 4_096 or "\n" in item.strip() or "://" in item:
        return ""
    if kind == "authorization":
        return kind
    fits = kind == "password" and not is_prose(item) if " " in item else item[:1] not in ("/", "~") and len(item) > 3
    return kind if fits else ""


def _redact_arguments(words: list[object] | tuple[object, ...], program: str) -> list[object]:
    """The words of a command without its secrets: those after an option that names one, and those the program takes."""
    items = list(words)
    texts = [word for word in items if isinstance(word, str)]
    if not any(text[:1] == "-" for text in texts) or sum(map(len, texts)) > 8_000:
        return items
    kind = ""
    for number, item in enumerate(items):
        if isinstance(item, str) and kind and _is_argument(item):
            items[number] = f"{MARK}{kind}]"
        kind = family(item.lstrip("-")) if isinstance(item, str) and item[:1] == "-" and "=" not in item else ""
        kind = {"pw": "password", "pass": "password", "key": "", "auth": ""}.get(kind, kind)
    line = program + " " if program and "\n" not in program and len(program) <= MAX_NAME_CHARS else ""
    places: list[tuple[int, int, int]] = []
    for number, item in enumerate(items):
        if isinstance(item, str) and item and "\n" not in item:
            places.append((len(line), len(line) + len(item), number))
            line += item + " "
    for start, end, kind in reversed(find_secrets(line)):
        for begin, stop, number in places:
            low, high = max(start, begin), min(end, stop)
            if low < high:
                word = str(items[number])
                items[number] = f"{word[: low - begin]}{MARK}{kind}]{word[high - begin :]}"
    return items


def _is_argument(value: str) -> bool:
    """Whether the word after an option is its value, and not a variable, a path or an option."""
    if not value or value[0] == "-" or is_placeholder(value) or (value.isalpha() and value.isupper()):
        return False
    return not (value[0] in "/~." and "/" in value) and "://" not in value
