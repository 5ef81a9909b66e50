"""Takes the secrets out of a structured value: a tool's input, the metadata of an event.

What names a secret there stands apart from it: the key, the `name` beside a `value`, the option before a word.
"""

from __future__ import annotations

from core.redaction import MARK
from core.redaction.values import family, is_placeholder, is_prose, is_strong, names_password, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    _Plain = Callable[[str], str]
    _Work = tuple[object, object, str, str]
    """A container, its copy, the kind of secret that its place names, and the program that takes it as arguments."""

_LABELS = frozenset(
    "name key variable var field setting property parameter param option env envvar header label id".split()
)
# What is filled in by hand is named by words: "Password field", `input[type=password]`.
_ELEMENTS = frozenset("element selector label placeholder field target locator description name".split())
_VALUES = frozenset("value val values default plaintext plain stringvalue string_value current new old".split())
_TYPED = frozenset("text value val input content".split())
_PROGRAMS = ("command", "cmd", "program", "executable", "file")
_LONGEST_LABEL = 120
_LONGEST_VALUE = 4_096
_LONGEST_ARGUMENTS = 8_000


def replaced(value: object, plain: _Plain) -> object:
    """A copy in which what is named a secret is a mark, and every other string, keys too, is what `plain` makes of it.

    Two keys that become equal are kept apart by a `#2`, `#3`.
    """
    result: list[object] = []
    work: list[_Work] = [([value], result, "", "")]
    while work:  # not by recursion: the value is as deep as its author liked
        source, target, kind, program = work.pop()
        if isinstance(source, dict) and isinstance(target, dict):
            _fields(source, target, kind, plain, work)
        elif isinstance(source, (list, tuple)) and isinstance(target, list):
            items = _arguments(source, program) if len(source) > 1 and not kind else source
            target += [_begun(item, kind, plain, work) for item in items]
    return result[0]


def _fields(
    source: dict[object, object], target: dict[object, object], inherited: str, plain: _Plain, work: list[_Work]
) -> None:
    labelled, typed = _label(source) if 1 < len(source) < 32 else ("", "")
    program = next((one for one in map(source.get, _PROGRAMS) if isinstance(one, str)), "")
    for key, item in source.items():
        kind = _kind(key, item, inherited, labelled, typed) if isinstance(key, str) else ""
        name = plain(key) if isinstance(key, str) else key
        free, count = name, 1
        while free in target:
            count += 1
            free = f"{name}#{count}"
        if name in ("data", "stringData") and isinstance(item, dict) and source.get("kind") == "Secret":  # Kubernetes
            target[free] = {plain(str(one)): f"{MARK}secret]" for one in item}
        else:
            target[free] = _begun(item, kind, plain, work, "" if kind else program)


def _begun(item: object, kind: str, plain: _Plain, work: list[_Work], program: str = "") -> object:
    """A leaf as it is kept, or an empty container that the work list will fill."""
    if isinstance(item, str):
        return (kind and not is_placeholder(item) and _mark(item, kind)) or plain(item)
    if not isinstance(item, (dict, list, tuple)):
        return item
    filled: object = {} if isinstance(item, dict) else []
    work.append((item, filled, kind, program))
    return filled


def _mark(value: str, kind: str) -> str:
    """What stands in the place of a value, "" where it is none for its kind."""
    if kind in ("key", "auth", "pass"):
        return f"{MARK}api-key]" if is_strong(value) else ""
    kind = "password" if kind == "pw" else kind
    is_path = kind == "password" and value[0] in "/~" and "/" in value[1:]
    return "" if is_path else f"{MARK}{kind}]"


def _label(source: dict[object, object]) -> tuple[str, str]:
    """The kind of secret that a `name` announces for the `value` beside it, and that of what is typed in there."""
    labelled = typed = ""
    for key, item in source.items():
        if isinstance(item, str) and isinstance(key, str) and len(item) <= _LONGEST_LABEL:
            if key.lower() in _LABELS:
                labelled = labelled or family(item)
            if key.lower() in _ELEMENTS and any(map(names_password, words_of(item))):
                typed = "password"
    return labelled, typed


def _kind(key: str, item: object, inherited: str, labelled: str, typed: str) -> str:
    """The kind of a value by its key, by the label beside it, or by the key of the object that it stands in."""
    kind, low = family(key), key.lower()
    if kind:
        return kind
    kind = (inherited or labelled if low in _VALUES else "") or (typed if low in _TYPED else "")
    return kind if not isinstance(item, str) or _may_be_value(item, kind) else ""


def _may_be_value(value: str, kind: str) -> bool:
    if len(value) > _LONGEST_VALUE or "\n" in value.strip() or "://" in value:
        return False
    if kind == "authorization":
        return True
    if " " in value:
        return kind == "password" and not is_prose(value)
    return value[:1] not in ("/", "~") and len(value) > 3


def _arguments(words: list[object] | tuple[object, ...], program: str) -> list[object]:
    """The words of a command without its secrets: behind an option that names one, and those the program takes."""
    items = list(words)
    texts = [word for word in items if isinstance(word, str)]
    if not any(text[:1] == "-" for text in texts) or sum(map(len, texts)) > _LONGEST_ARGUMENTS:
        return items
    kind = ""
    for number, item in enumerate(items):
        if isinstance(item, str) and kind and _is_argument(item):
            items[number] = f"{MARK}{kind}]"
        kind = family(item.lstrip("-")) if isinstance(item, str) and item[:1] == "-" and "=" not in item else ""
        kind = {"pw": "password", "pass": "password", "key": "", "auth": ""}.get(kind, kind)
    return _as_command(items, program)


def _is_argument(value: str) -> bool:
    """Whether the word behind an option is its value, and neither a variable, a path nor an option."""
    if not value or value[0] == "-" or is_placeholder(value) or (value.isalpha() and value.isupper()):
        return False
    return not (value[0] in "/~." and "/" in value) and "://" not in value


def _as_command(items: list[object], program: str) -> list[object]:
    """The words without what is found in them once they stand in one line."""
    from core.redaction.search import find_secrets

    line = program + " " if program and "\n" not in program and len(program) <= _LONGEST_LABEL else ""
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
