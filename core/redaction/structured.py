"""Finds the secrets that are known by their place: a field, a call, a column, a manifest, a key of a JSON value.

`name: DB_PASSWORD` and below it `value: …`; calls that take a password after another argument; columns of a table, a
CSV or an SQL INSERT; the values of a Kubernetes Secret, in YAML (also in an agent's Read, in a diff) and JSON; the
values in a tool's input, by their key, their label or their option.
"""

from __future__ import annotations

from itertools import count, cycle

from core import TYPE_CHECKING
from core.redaction import MARK, MAX_NAME_CHARS, Span, compiled, find_secrets, replace_spans
from core.redaction.assignments import LOOSE, each_once, family, is_described, label, names_password
from core.redaction.tokens import find_matches, is_placeholder, is_prose, is_strong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from core.redaction.assignments import Name

MAX_DEPTH = 100  # of a JSON value: below it, nothing is kept
_VALUE = r"(\\{0,3}[\"'`])((?:(?!\1)[^\n]){1,240})\1|(?<!\n)([^\s\"'<>,}\\]{1,240})(?<![({\[])"
"""A value in quotes, or a bare value."""
_CELL_MARGIN = " \t\"'`*[]\r"
# Keys of an object: those that name another of its values, in words if they are filled in by hand ("Password field",
# `input[type=password]`), and those of such a value.
_LABELS = (*"name key variable var field setting property parameter param option env envvar header label id".split(),)
_ELEMENTS = frozenset("element selector label placeholder field target locator description name".split())
_LABELLED = frozenset("value val values default plaintext plain stringvalue string_value current new old".split())
_TYPED = frozenset("text value val input content".split())


def find_structured(text: str, lower: str, names: dict[Name, int]) -> list[Span]:
    """The (start, end, kind) of each secret known by its field, call, column or manifest."""
    spans = each_once(names, lambda name: _value_of_field(text, lower, name))
    spans += [*_in_columns(text, names), *_in_calls(text), *(_in_inserts(text) if "values" in lower else ())]
    if "Secret" in text:
        spans += _in_json_manifests(text) + _in_yaml_manifests(text)
    return spans


def _value_of_field(text: str, lower: str, name: Name) -> Span | None:
    """The value in the field after a field that is the name, or ends with it; None if there is none."""
    start, end, kind = name
    head = lower[max(0, start - 64) : start].rstrip("abcdefghijklmnopqrstuvwxyz0123456789_.-/")
    is_in_field = head.rstrip(" \t\"'\\:=>").endswith((*_LABELS, "-n"))
    if not is_in_field or kind in ("auth", "authorization", "query"):
        return None
    field = (
        r"(?i)(?:(?!\}|</|/>|\n\n|- |(?:name|key)[\"'\\ ]{0,3}[:=])[\s\S]){0,200}?"
        rf"(?:(?:value|default)[\"'\\]{{0,3}}[ \t]{{0,24}}[:=][ \t>]{{0,8}}|--value +)(?:{_VALUE})"
    )
    element = r"[\"'\\]*(?:</key>(?:\s|\\[nt])*<string>|[\"'\\]>(?:\s*<value>)?)([^<\n]{1,240})<"
    match = compiled(element).match(text, end) or compiled(field).match(text, end)
    value = match.group(match.lastindex or 0) if match is not None else ""
    if match is None or is_placeholder(value) or value[0] in "/~" or "://" in value or value.startswith("arn:"):
        return None
    is_token = len(value) >= 8 and " " not in value and any(map(str.isdigit, value))
    fits = is_token or (kind == "password" and (" " not in value or len(value.split()) > 2))
    return (*match.span(match.lastindex or 0), label(kind)) if fits else None


def _in_calls(text: str) -> list[Span]:
    """Passwords that a call takes after its first argument."""
    calls = (
        r"(?:mysqli|mysqli?_connect|getConnection|PDO|\.login|Auth|basic_auth|auth ?= ?|Credential|jwt\.sign"
        r"|createHmac)\(((?:Some\(|[^()]){0,400})"
    )
    begins = ("mysql", "getConnection(", "PDO(", "login(", "uth", "redential(", "jwt.", "Hmac(")
    spans: list[Span] = []
    for call in compiled(calls).finditer(text) if any(map(text.__contains__, begins)) else ():
        for match in compiled(r",[\s\\]{0,8}(?:Some\()?(['\"])([^'\"\n]{4,200})\1").finditer(text, *call.span(1)):
            value = match.group(2).rstrip("\\")
            if " " not in value and is_described(value, "password"):
                spans.append((match.start(2), match.start(2) + len(value), "password"))
    return spans


def _in_inserts(text: str) -> list[Span]:
    """Each quoted value that an SQL `INSERT` puts into a secret's column."""
    columns = r"(?i) into\s[^(\n]{1,120}\(([^()]{1,2000})\)(?:\s|\\[nr]){0,16}values(?=\s*\()"
    cell = (
        r"(?s)\s*\(?\s*(?:'((?:[^'\\]|\\.|'')*+)'|\"((?:[^\"\\]|\\.)*+)\"|[^'\"(),;]*(?:\([^()]*\))?)\s*(?:\)\s*)?[,;]?"
    )
    spans: list[Span] = []
    for insert in compiled(columns).finditer(text):
        kinds = [family(name.strip(" \t\r\n`\"'[]\\")) for name in insert.group(1).split(",")]
        at = insert.end()
        for kind in cycle(kinds) if any(kinds) else ():
            match = compiled(cell).match(text, at)
            if match is None or match.end() == at:
                break
            at = match.end()
            value = match.group(match.lastindex or 0)
            if kind and match.lastindex and not is_placeholder(value):
                spans.append((*match.span(match.lastindex), label(kind)))
            if match.group()[-1] not in ",)":
                break
    return spans


def _in_columns(text: str, names: Iterable[Name]) -> list[Span]:
    """Each secret below a header, a line whose cells are names; its rows are the lines below with as many cells."""
    spans: list[Span] = []
    done = 0
    for start, end, _ in names if any(map(text.__contains__, "|\t;,")) else ():
        if start < done:
            continue
        is_cell = text[end : end + 3].lstrip(" \"'`*]")[:1] in ("|", "\t", ";", ",", "\n", "\r")
        begin = text.rfind("\n", max(0, start - 400), start) + 1
        line = r"(?:[ \t\d]*→)?([\w \t\"'`*.|,;+-]{3,400})\r?\n"  # perhaps after its number in an agent's Read
        header = compiled(line).match(text, begin) if is_cell else None
        delimiter = next((sign for sign in "|\t;," if sign in header[1]), "") if header else ""
        cells = [cell.strip(_CELL_MARGIN) for cell in header[1].split(delimiter)] if header and delimiter else []
        kinds = [family(cell) for cell in cells if len(cell.split()) < 4]
        if header and any(kinds) and len(kinds) == len(cells) and any(cells[1:]):  # no line of a list: `"bandpass",`
            done = _add_rows(text, header.end(), delimiter, kinds, spans)
    return spans


def _add_rows(text: str, at: int, delimiter: str, kinds: list[str], spans: list[Span]) -> int:
    """Add the secrets of the rows that begin at `at`, and return the end of the rows."""
    for line in compiled(r"([^\n]*)(?:\n|\Z)").finditer(text, at):
        cells = line[1].split(delimiter)
        is_ruler = bool(line[1].strip()) and not line[1].strip("|+-: \t=\r")
        if not is_ruler and len(cells) != len(kinds):
            return line.start()
        place = line.start()
        for cell, kind in zip(cells, kinds, strict=False):
            value = cell.rpartition("→")[2].strip(_CELL_MARGIN)
            if kind and is_described(value, kind):
                start = place + cell.rindex(value)
                spans.append((start, start + len(value), label(kind)))
            place += len(cell) + 1
    return len(text)


def _in_json_manifests(text: str) -> list[Span]:
    """Each value of a Kubernetes Secret in JSON, and of the other items of its list."""
    kind = r"\"kind\\{0,3}\"\s{0,8}:\s{0,8}\\{0,3}\"Secret\\{0,3}\""
    values = r"\"(?:data|stringData)\\{0,3}\"(?:\s|\\n){0,8}:(?:\s|\\n){0,8}\{((?:\$\{\w*\}|\{\{[^{}]*\}\}|[^{}])*+)"
    member = r"\"[^\"\\]++\\{0,3}\"(?:\s|\\n){0,8}:(?:\s|\\n){0,8}(?:\"((?:[^\"\\]|\\.)*+)|\\+\"([^\"\\]*+))"
    spans: list[Span] = []
    for data in compiled(values).finditer(text) if compiled(kind).search(text) else ():
        spans += find_matches(text, "secret", member, *data.span(1))
    return spans


def _in_yaml_manifests(text: str) -> list[Span]:
    """Each value of a document in YAML that contains a Kubernetes Secret."""
    # what precedes a line (its number, the sign of a diff, list or quote), comments, tabs and returns become blanks
    sign = r"[+-]?(?!--)" if "@@ " in text else ""
    margin = rf"(?m)^(?=[ \t]*[\d#|>+-])(?:[ \t]*\d+[→\t:-]|{sign})(?:[ \t]*[-|>] )*(?:#[^\n]*)?|[ \t]#[^\n]*|[\t\r]"
    text = compiled(margin).sub(lambda match: " " * len(match.group()), text.replace("\\n", " \n"))
    block = r"(?m)^( *)(?:data|stringData): *(?:\{([^\n]*)|(?=\n))((?:\n(?:\1 [^\n]*| *+(?=\n|\Z)))*)"
    member = (
        r"(?m)^ *+(?:\\{0,3}[\"']?[\w./-]+\\{0,3}[\"']?:(?=\s|$) *)?+[\"']?+(?![|>+\d -]*$)"
        r"([^\"'\s]++(?: ++[^\"'\s]++)*+)"
    )
    pair = r"[\w.-]+:[ \t]*[\"']?([^\s,}\"'$][^,}\"'\n]*)"
    spans: list[Span] = []
    begin = 0
    for document in compiled(r"\n[ \t+-]{0,12}(?:---|\.\.\.)").finditer(text + "\n---"):
        is_secret = compiled(r"(?m)^ *kind:[ \t]*[\"']?Secret[\"']?\s*$").search(text, begin, document.start())
        for data in compiled(block).finditer(text, begin, document.start()) if is_secret else ():
            for number, pattern in (2, pair), (3, member):
                spans += find_matches(text, "secret", pattern, *data.span(number)) if data[number] else []
        begin = document.end()
    return spans


def redact_fields(
    value: object, plain: Callable[[str], str], kind: str = "", program: str = "", depth: int = 0
) -> object:
    """A copy in which a value named a secret is a mark, and every other string, keys too, is redacted by `plain`.

    If two keys become equal, the later ones get `#2`, `#3`. `kind`: the secret that the place of the value names.
    `program`: takes the values of a list as arguments.
    """
    if isinstance(value, str):
        is_path = kind in LOOSE and value[:1] in ("/", "~") and "/" in value[1:]
        is_vague = kind in ("", "key", "auth", "pass") and not (kind and is_strong(value))
        return plain(value) if is_path or is_vague or is_placeholder(value) else f"{MARK}{label(kind)}]"
    if depth > MAX_DEPTH:
        return f"{MARK}depth]"
    if isinstance(value, dict):
        return _redact_dict(value, plain, kind, depth)
    if isinstance(value, (list, tuple)):
        items = value if kind else _redact_arguments(value, program)
        return [redact_fields(item, plain, kind, "", depth + 1) for item in items]
    return value


def _redact_dict(source: dict[object, object], plain: Callable[[str], str], inherited: str, depth: int) -> object:
    target: dict[object, object] = {}
    labelled = typed = ""  # what a `name` announces for the `value` next to it, and for a text typed there
    for key, item in source.items() if len(source) < 32 else ():
        if isinstance(item, str) and isinstance(key, str) and len(item) <= MAX_NAME_CHARS:
            labelled = labelled or (family(item) if key.lower() in _LABELS else "")
            typed = "password" if key.lower() in _ELEMENTS and names_password(item) else typed
    programs = map(source.get, ("command", "cmd", "program"))
    program = next((name for name in programs if isinstance(name, str)), "")
    for key, item in source.items():
        kind = _kind(key, item, inherited or labelled, typed) if isinstance(key, str) else ""
        name = plain(key) if isinstance(key, str) else key
        free = name if name not in target else next(f"{name}#{n}" for n in count(2) if f"{name}#{n}" not in target)
        if name in ("data", "stringData") and isinstance(item, dict) and source.get("kind") == "Secret":  # Kubernetes
            target[free] = {plain(str(inner)): f"{MARK}secret]" for inner in item}
        else:
            target[free] = redact_fields(item, plain, kind, "" if kind else program, depth + 1)
    return target


def _kind(key: str, item: object, labelled: str, typed: str) -> str:
    """The kind of a value by its key, by the label next to it, or by the key of the object that contains it."""
    low = key.lower()
    kind = family(key) or (labelled if low in _LABELLED else "") or (typed if low in _TYPED else "")
    if kind in ("", "authorization", family(key)) or not isinstance(item, str):
        return kind
    if len(item) > 4_096 or "\n" in item.strip() or "://" in item:
        return ""
    fits = kind == "password" and not is_prose(item) if " " in item else item[:1] not in ("/", "~") and len(item) > 3
    return kind if fits else ""


def _redact_arguments(words: Sequence[object], program: str) -> list[object]:
    """The words of a command without its secrets: those after an option and those the program takes."""
    items = list(words)
    texts = [word for word in items if isinstance(word, str)]
    if not any(text[:1] == "-" for text in texts) or sum(map(len, texts)) > 8_000:
        return items
    line = program + " " if len(program) <= MAX_NAME_CHARS else ""
    places: list[tuple[int, int, int]] = []
    for number, item in enumerate(items):
        if isinstance(item, str) and item and "\n" not in item:
            places.append((len(line), len(line) + len(item), number))
            line += item + " "
    spans = find_secrets(line)
    for begin, stop, number in places:
        shared = [(max(start, begin) - begin, min(end, stop) - begin, kind) for start, end, kind in spans]
        items[number] = replace_spans(str(items[number]), [span for span in shared if span[0] < span[1]])[0]
    return items
