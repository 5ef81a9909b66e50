"""Finds `NAME = VALUE` where the name announces a secret: code, `.env`, JSON, YAML, TOML, XML, headers, flags, queries.

Each name costs a bounded look around.
"""

import re

from core.redaction.values import DIGITS, Name, Span, is_assigned, is_placeholder, is_prose, is_told, label

_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_TELLING_SIGNS = frozenset("0123456789\"'`")
_JUDGED = 256
_LINE = 200
_BEHIND_QUOTE = frozenset(")],;+} ")
_SETTERS = frozenset(
    "define set setproperty setitem setenv putenv setdefault put putstring hset add append header values".split()
)
_SEPARATOR = re.compile(
    r"\\{0,3}[\"'`]?\]?\??[ \t]{0,24}"
    r"(?::[ \t]{0,4}[A-Za-z][\w.\[\]|]{0,30}"
    r"(?:[ \t]{1,4}(?==)|(?==(?:\"\"|''|[\"'`]?(?![\s=,;})\]\"'`]|\\[nrt]|\Z))))|:(?==))?"
    r"(=>|={1,3}|\|\|=|\?\?=|:(?!:)|(?:,|\|\||\?\?)(?=[ \t]{0,4}\\{0,3}[\"'])|>)[ \t]{0,16}"
)
_WRAPPED = re.compile(r"<!\[CDATA\[|Some\(\s{0,40}(?=\")")
_OPTION = re.compile(r" (?:\\\r?\n[ \t]*)?")
_QUOTE = re.compile(r"[rbufN]?(\\{0,3}[\"'`])")
# A separator inside a bare value ends it only where the next field or white space follows: `p@ss,word` is one value.
_BARE = re.compile(
    r"(?:[^\s\"'`<>,;&\\]|\\(?![nrt\"'])|[\"']\w{1,40}[\"'](?=\w)"
    r"|[,;&](?!\s|\Z|&|[\w.\[\]-]{1,30}[=:]|[\w-]{1,20} [\w-]{1,20}=))*+"
)
_SCHEME = re.compile(r"(?i:(?:bearer|basic|token|apikey|api-key|negotiate|bot|splunk|key)[ \t]{1,4})?+")
# Behind it the value stands on the next line, indented further: YAML, perhaps as a block.
_NEXT_LINE = re.compile(r"[ \t]*+(?:[|>][-+]?)?+(?:[ \t]*+(?:\r?\n|(?<!\\)(?:\\r)?\\n)){1,2}+")
_WHOLE_LINE = re.compile(r"(?i:(?:digest|aws4-hmac-sha256|hmac|signature|oauth)[ \t])[^\n]{1,4096}")
# A key of AWS has 40 characters; one that is wrapped has them on two lines.
_AWS_SECRET, _AWS_LEAST = 40, 8
_REST = r"\s*\n\s*[A-Za-z0-9+/]{%d}(?![\w+/])"
# A value of several words that is the rest of its line, what may stand before its name, and a line of settings.
_WORDS = re.compile(r"[^\s\"'`<>{}()\[\]=|;$][^\n\"'`<>{}()\[\]=|;$]{2,80}(?=\r?\n|\Z)")
_HEAD, _SETTING = re.compile(r"[ \t]*(?:- )?(?:[\w.-]+ ){0,2}\Z"), re.compile(r"[ \t]*(?:- )?[\w. -]{1,60}[:=]")
_GROUPS = re.compile(r"(?:[A-Z2-7]{4} ){3,}[A-Z2-7]{2,4}\Z|(?:[a-z]{4} ){3}[a-z]{4}\Z")
_SHELL = ("export", "set", "env", "setenv")
_SCHEMED = ("authorization", "auth", "token", "api-key")


def find_assigned(text: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each secret value behind the names; linear in the text."""
    spans: list[Span] = []
    done = judged = 0
    for start, name_end, kind in names:
        telling = text[name_end : name_end + 64] if text[name_end - 1] not in "kK" else "1"  # `psk: several words`
        if kind in ("pw", "pass") and _TELLING_SIGNS.isdisjoint(telling):
            continue
        placed = _separated(text, start, name_end) if name_end >= done else None
        if placed is None:
            continue
        sign, at = placed
        tight = sign == " " or (sign[0] == "=" and at - name_end == len(sign))
        wrapped = _WRAPPED.match(text, at)
        at = wrapped.end() if wrapped else at
        if text.startswith("**", at):  # `**Password:** …`
            at += 2 + (text[at + 2 : at + 3] == " ")
        below = _NEXT_LINE.match(text, at) if sign == ":" else None
        opened = _QUOTE.match(text, at)
        mark, begin = (opened.group(1), opened.end()) if opened else ("", at)
        line = _WHOLE_LINE.match(text, begin) if kind == "authorization" else None
        if sign == "," and text[start] == "-" and text[begin : begin + 1] != "-":  # `["login", "--password", "…"]`
            sign = " "
        prefix = _SCHEME.match(text, begin) if kind in _SCHEMED else None
        schemed = prefix is not None and prefix.end() > begin
        begin = prefix.end() if prefix is not None else begin
        if below is not None:
            begin, end = _below(text, start, below.end(), kind)
        elif line is not None:
            begin, end = line.start(), (text.find(mark, line.start(), line.end()) if mark else -1)
            end = end if end > 0 else line.end()
            end = 0 if is_placeholder(text[begin:end].partition(" ")[2]) else end
        elif mark and not (schemed and kind == "authorization"):
            end = _quoted_end(text, (start, name_end, kind), begin, mark, sign, tight)
        else:
            if begin > judged - _JUDGED // 2:
                shown = _BARE.match(text, begin, min(len(text), begin + _JUDGED))
                judged = shown.end() if shown else begin
            # a name within a value that was no secret: its own value ends where that did
            value = _trimmed(text[begin:judged])
            alone = _stands_alone(text, begin + len(value))
            is_one = is_assigned(
                value, "schemed" if schemed else kind, sign, quoted=False, tight=tight, alone=alone
            ) and not (_is_argument(text, begin, value, kind) or _is_said(text, start, name_end, value, kind))
            full = _BARE.match(text, begin) if is_one else None
            end = begin + len(_trimmed(full.group())) if full else 0
            end = max(end, _end_of_words(text, (start, name_end, kind), begin, end, sign))
        # Behind `>` only the text of an element counts, not what follows a placeholder such as `<password>`.
        if end > begin and (sign != ">" or text[end : end + 1] == "<" or text.startswith("]]>", end)):
            if _AWS_LEAST <= end - begin < _AWS_SECRET and "secret" in text[start:name_end].lower():
                rest = re.compile(_REST % (_AWS_SECRET - end + begin)).match(text, end)
                end = rest.end() if rest is not None else end
            spans.append((begin, end, label(kind)))
            done = end
    return spans


def _separated(text: str, start: int, end: int) -> tuple[str, int] | None:
    """The sign behind the name at start..end, and where the value begins."""
    match = _SEPARATOR.match(text, end)
    is_tested = match is not None and match.group(1) == "||" and text[start - 1 : start] in ("$", "{")
    if match is not None and text[match.start(1) - 1] != "!" and not (is_tested and text[end] in '"}'):
        return match.group(1), match.end()
    given = _OPTION.match(text, end) if text[start] == "-" else None
    return (" ", given.end()) if given is not None else None


def _is_said(text: str, start: int, end: int, value: str, kind: str) -> bool:
    """Whether a sentence says what a parameter is set to: `add token=refresh`."""
    before = text[max(0, start - 24) : start].split(" ")[-2:]
    plain = value.isalpha() and value.islower() and len(value) < 12 and text[start:end].islower() and kind != "password"
    return plain and len(before) == 2 and not before[1] and before[0].strip(":").isalpha() and before[0] not in _SHELL


def _end_of_words(text: str, name: Name, begin: int, end: int, sign: str) -> int:
    """Where a value of several words ends: among other lines of `name: value`, or in quotes that hold its name too.
    0 where there is none; `end`, where the one word of it ends that was found, or 0."""
    start, name_end, kind = name
    tight = sign == "=" and begin == name_end + 1
    quote = text[start - 1 : start]
    stop = text.find(quote, end, end + 80) if tight and end and quote in ("'", '"') else -1
    if stop > end:  # `-e "PASSWORD=two words"`
        return 0 if any(char in text[end:stop] for char in "=;&,\n\\") else stop
    given = _WORDS.match(text, begin) if sign == ":" or tight else None
    head = text[max(0, start - _LINE) : start].rsplit("\n", 1)[-1]
    if given is None or not _HEAD.match(head) or (tight and text[start:name_end].isupper() and "- " not in head):
        return 0  # `TOKEN=… make test`
    value = given.group().rstrip()
    words = value.split()
    if not 1 < len(words) < 9 or is_placeholder(words[0]) or value[-1] in ",.!?:" or is_prose(value):
        return 0
    if kind not in ("password", "pw") or _GROUPS.match(value):
        return begin + len(value) if _GROUPS.match(value) and kind in ("secret", "password") else 0
    # `password: 3 attempts left` says what became of it: a passphrase has both cases in a word, not only in the first
    cased = any(word.lower() != word != word.upper() for word in value.replace("-", " ").split()[1:])
    whole = tight or text[name_end - 1] in "kK" or (cased and not DIGITS.isdisjoint(value))
    first = start - len(head)
    around = (text[max(0, first - _LINE) : first].rstrip().rsplit("\n", 1)[-1], text[given.end() :][:_LINE].lstrip())
    return begin + len(value) if whole and any(map(_SETTING.match, around)) else 0


def _is_argument(text: str, at: int, value: str, kind: str) -> bool:
    """Whether it is a variable that a call is given, `connect(password=given_bytes)`, or a type: `Option<String>`."""
    end = at + len(value)
    if text[end : end + 1] == "<" and value.isalnum() and (value[:1].isupper() or ">(" in text[end : end + 40]):
        return text[end + 1 : end + 2].isalpha() and not text.startswith("<br", end)
    is_name = kind == "password" and "_" in value and value.replace("_", "a").isalpha()
    return is_name and text[end : end + 1] == ")"


def _quoted_end(text: str, name: Name, at: int, mark: str, sign: str, tight: bool) -> int:
    """Where the quoted value ends that begins at `at`; 0 where it is no secret."""
    start, name_end, kind = name
    head = text[max(0, start - _LINE) : start].rsplit("\n", 1)[-1].rsplit("\\n", 1)[-1]
    is_open = (head.count(mark) - (head.count("\\" + mark) if len(mark) == 1 else 0)) % 2
    if is_open and text[at : at + 1] in _BEHIND_QUOTE and mark not in text[name_end : at - len(mark)]:
        return 0  # the quote ends a string in which the name stands: `print("Password: ")`
    end = _closing(text, at, mark, min(len(text), at + _JUDGED))
    if sign == "," and _is_set(head):
        sign = "="
    if not is_assigned(text[at:end], kind, sign, quoted=True, tight=tight, alone=True):
        return 0
    return _closing(text, at, mark, len(text)) if end == at + _JUDGED else end


def _is_set(head: str) -> bool:
    """Whether the name behind it is the first argument of a call that sets it: `define('DB_PASSWORD', '…')`."""
    head = head[-64:].rstrip("\"'\\ \t")
    call = head[:-1].rstrip() if head.endswith("(") else ""
    return call[len(call.rstrip(_NAME)) :].rpartition(".")[2].lower() in _SETTERS


def _below(text: str, start: int, at: int, kind: str) -> tuple[int, int]:
    """Where the value on the line at `at` stands, for a name with nothing but `:` behind it; (0, 0) for none."""
    line = text[at : at + _LINE].split("\n", 1)[0].split("\\n", 1)[0].removesuffix("\\r")
    value = line.strip(" \t\r\"'`,")
    if not value or value[-1] in ":{[(>" or len(value.split()) > 1 or value[0] == "#":
        return 0, 0
    head = text[max(0, start - _LINE) : start].rsplit("\n", 1)[-1].rsplit("\\n", 1)[-1]
    own = len(head) - len(head.lstrip(" \t"))
    indented = not head.strip(" -\t\"'") and len(line) - len(line.lstrip(" \t")) > own
    if kind == "password":
        signed = not value.isalnum() or value.lower() != value != value.upper()
        fits = (indented or (signed and 8 <= len(value) <= 64)) and is_told(value, kind)
    else:
        fits = indented and is_assigned(value, kind, ":", quoted=False, tight=False, alone=True)
    if not fits:
        return 0, 0
    begin = at + line.index(value)
    return begin, begin + len(value)


def _closing(text: str, at: int, mark: str, limit: int) -> int:
    """Where a quoted value ends: the same quote unescaped, or the end of the line, or the limit."""
    line = text.find("\n", at, limit)
    stop = line if line >= 0 else limit
    close = text.find(mark, at, stop)
    while close >= 0:
        head = text[max(at, close - 8) : close]
        if (len(head) - len(head.rstrip("\\"))) % 2 == 0:
            return close
        close = text.find(mark, close + len(mark), stop)
    return stop


def _trimmed(value: str) -> str:
    """A bare value without the sentence's punctuation or the brackets that close around it."""
    end = len(value.rstrip(".,;:"))
    if not end or value[end - 1] not in ")]}":
        return value[:end]
    surplus = {pair[1]: value.count(pair[1], 0, end) - value.count(pair[0], 0, end) for pair in ("()", "[]", "{}")}
    while end and surplus.get(value[end - 1], 0) > 0:
        surplus[value[end - 1]] -= 1
        end = len(value[: end - 1].rstrip(".,;:"))
    return value[:end]


def _stands_alone(text: str, end: int) -> bool:
    """Whether nothing but punctuation, a comment or the next field follows on the line."""
    rest = text[end : end + 48].split("\n", 1)[0].strip(" \t\r.,;)]}\"'`\\&|")
    return not rest or rest[0] in "#/<-" or "=" in rest.split(" ", 1)[0] or text[end : end + 1] in ("&", ";", ",", "\\")
