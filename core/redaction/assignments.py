"""Finds `NAME = VALUE` where the name announces a secret: code, `.env`, JSON, YAML, TOML, XML, headers, flags, queries.

Each keyword costs a bounded look around.
"""

from __future__ import annotations

import re

from core.redaction.names import (
    Name,
    Span,
    family,
    is_code,
    is_mixed,
    is_placeholder,
    is_prose,
    is_strong,
    names_password,
)

_Case = tuple[str, str, bool, bool, bool, str]
"""What `_accept` is asked: each case is looked at once a text."""

_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_DIGITS = frozenset("0123456789")
_TELLING_SIGNS = _DIGITS | frozenset("\"'`")
_JUDGED = 256
_LINE = 200
_LONG = 32
_SHOWN = 64
_BEHIND_QUOTE = frozenset(")],;+} ")
_SETTERS = frozenset(
    "define set setproperty setitem setenv putenv setdefault put putstring hset add append header values".split()
)
# Prose and manuals behind the name of a flag: `--password via the CLI`, `--token TOKEN`.
_FLAG_PROSE = frozenset(
    (
        "to and or on for with via as at by of if when must can will should does but only so here instead "
        "option options flag flags argument arguments parameter parameters value values switch"
    ).split()
)

_SEPARATOR = re.compile(
    r"\\{0,3}[\"'`]?\]?\??[ \t]{0,8}"
    r"(?::[ \t]{0,4}[A-Za-z][\w.\[\]|]{0,30}"
    r"(?:[ \t]{1,4}(?==)|(?==(?:\"\"|''|[\"'`]?(?![\s=,;})\]\"'`]|\\[nrt]|\Z))))|:(?==))?"
    r"(=>|={1,3}|:(?!:)|,(?=[ \t]{0,4}\\{0,3}[\"'])|>)[ \t]{0,16}"
)
_QUOTE = re.compile(r"[rbufN]?(\\{0,3}[\"'`])")
# A separator inside a bare value ends it only where the next field or white space follows: `p@ss,word` is one value.
_BARE = re.compile(
    r"(?:[^\s\"'`<>,;&\\]|\\(?![nrt\"'])|[,;&](?!\s|\Z|&|[\w.\[\]-]{1,30}[=:]|[\w-]{1,20} [\w-]{1,20}=))*+"
)
_SCHEME = re.compile(r"(?i:(?:bearer|basic|token|apikey|api-key|negotiate|bot|splunk|key)[ \t]{1,4})?+")
# Behind it the value stands on the next line, indented further: YAML, perhaps as a block.
_NEXT_LINE = re.compile(r"[ \t]*+(?:[|>][-+]?)?+(?:[ \t]*+(?:\r?\n|(?<!\\)(?:\\r)?\\n)){1,2}+")
_WHOLE_LINE = re.compile(r"(?i:(?:digest|aws4-hmac-sha256|hmac|signature|oauth)[ \t])[^\n]{1,4096}")
_SCHEMED = ("authorization", "auth", "token", "api-key")


def find_assigned(text: str, candidates: list[Name]) -> list[Span]:
    """The (start, end, kind) of each secret value behind the candidates; linear in the text."""
    verdicts: dict[_Case, bool] = {}
    spans: list[Span] = []
    done = judged = 0
    for start, name_end, kind in candidates:
        if kind in ("pw", "pass") and _TELLING_SIGNS.isdisjoint(text[name_end : name_end + _SHOWN]):
            continue
        placed = _separated(text, start, name_end) if name_end >= done else None
        if placed is None:
            continue
        sign, at, tight = placed
        if text.startswith("**", at):  # `**Password:** …`
            at += 2 + (text[at + 2 : at + 3] == " ")
        below = _NEXT_LINE.match(text, at) if sign == ":" else None
        if below is not None:
            at, end = _below(text, start, below.end(), kind)
        else:
            opened = _QUOTE.match(text, at)
            mark, at = (opened.group(1), opened.end()) if opened else ("", at)
            line = _WHOLE_LINE.match(text, at) if kind == "authorization" else None
            if line is not None:
                close = text.find(mark, at, line.end()) if mark else -1
                done = close if close > 0 else line.end()
                spans.append((at, done, kind))
                continue
            prefix = _SCHEME.match(text, at) if kind in _SCHEMED else None
            schemed = prefix is not None and prefix.end() > at
            at = prefix.end() if prefix is not None else at
            if mark and not (schemed and kind == "authorization"):
                end = _quoted_end(text, (start, name_end, kind), at, mark, sign, tight, verdicts)
            else:
                if at > judged - _JUDGED // 2:
                    shown = _BARE.match(text, at, min(len(text), at + _JUDGED))
                    judged = shown.end() if shown else at
                # a name within a value that was no secret: its own value ends where that did
                case = ("schemed" if schemed else kind, text[at:judged], tight, sign)
                end = _bare_end(text, case, at, verdicts)
        # Behind `>` only the text of an element counts, not what follows a placeholder such as `<password>`.
        if end > at and (sign != ">" or text[end : end + 1] == "<"):
            spans.append((at, end, _label(kind)))
            done = end
    return spans


def _quoted_end(text: str, name: Name, at: int, mark: str, sign: str, tight: bool, verdicts: dict[_Case, bool]) -> int:
    """Where the quoted value ends that begins at `at`; 0 where it is no secret."""
    start, name_end, kind = name
    own = mark in text[name_end : at - len(mark)]
    if text[at : at + 1] in _BEHIND_QUOTE and not own and _is_within(text, start, mark):
        return 0  # the quote ends a string in which the name stands: `print("Password: ")`
    end = _closing(text, at, mark, min(len(text), at + _JUDGED))
    if sign == "," and _is_set(text, start):
        sign = "="
        if kind == "key" and end - at >= _LONG and not is_placeholder(text[at:end]):
            return end  # the keys and salts of a site, of any characters
    if not _is_accepted((kind, text[at:end], True, tight, True, sign), verdicts):
        return 0
    return _closing(text, at, mark, len(text)) if end == at + _JUDGED else end


def _bare_end(text: str, case: tuple[str, str, bool, str], at: int, verdicts: dict[_Case, bool]) -> int:
    """Where the value without quotes ends that begins at `at`; 0 where it is no secret."""
    kind, shown, tight, sign = case
    value = _trimmed(shown)
    name = kind == "password" and "_" in value and value.replace("_", "a").isalpha()
    if name and text[at + len(value) : at + len(value) + 1] == ")":
        return 0  # a variable: `connect(password=given_bytes)`
    alone = _stands_alone(text, at + len(value))
    if not _is_accepted((kind, value, False, tight, alone, sign), verdicts):
        return 0
    full = _BARE.match(text, at)
    return at + len(_trimmed(full.group() if full else ""))


def _is_accepted(case: _Case, verdicts: dict[_Case, bool]) -> bool:
    if case not in verdicts:
        verdicts[case] = _accept(*case)
    return verdicts[case]


def _label(kind: str) -> str:
    """What the mark says of a family."""
    return "api-key" if kind in ("key", "query") else "password" if kind in ("pass", "pw") else kind


def _separated(text: str, start: int, end: int) -> tuple[str, int, bool] | None:
    """(sign, where the value begins, whether no space stands around `=`) behind the name at start..end."""
    match = _SEPARATOR.match(text, end)
    if match is not None and text[match.start(1) - 1] != "!":
        sign = match.group(1)
        return sign, match.end(), sign[0] == "=" and match.end() - end == len(sign)
    if text[start] == "-" and text[end : end + 1] == " ":
        return " ", end + 1, True
    return None


def _is_within(text: str, start: int, mark: str) -> bool:
    """Whether a string in these quotes is open where the name begins."""
    head = text[max(0, start - _LINE) : start].rsplit("\n", 1)[-1].rsplit("\\n", 1)[-1]
    return (head.count(mark) - (head.count("\\" + mark) if len(mark) == 1 else 0)) % 2 == 1


def _is_set(text: str, start: int) -> bool:
    """Whether the name is the first argument of a call that sets it to the next: `define('DB_PASSWORD', '…')`."""
    head = text[max(0, start - 64) : start].rstrip("\"'\\ \t")
    if head[-1:] != "(":
        return False
    head = head[:-1].rstrip()
    return head[len(head.rstrip(_NAME)) :].rpartition(".")[2].lower() in _SETTERS


def _below(text: str, start: int, at: int, kind: str) -> tuple[int, int]:
    """Where the value on the line at `at` stands, for a name with nothing but `:` behind it; (0, 0) for none."""
    line = text[at : at + _LINE].split("\n", 1)[0].split("\\n", 1)[0].removesuffix("\\r")
    value = line.strip(" \t\r\"'`,")
    if not value or value[-1] in ":{[(>" or len(value.split()) > 1 or is_placeholder(value) or is_code(value):
        return 0, 0
    head = text[max(0, start - _LINE) : start].rsplit("\n", 1)[-1].rsplit("\\n", 1)[-1]
    own = len(head) - len(head.lstrip(" \t"))
    indented = not head.strip(" -\t\"'") and len(line) - len(line.lstrip(" \t")) > own
    if not is_mixed(value) or value[0] in "-#/~" or "://" in value:
        return 0, 0
    if kind == "password":
        signs = not value.isalnum() or (value.upper() != value and value.lower() != value)
        if len(value) < 6 or not (indented or (signs and 8 <= len(value) <= 64)):
            return 0, 0
    elif not indented or not _accept(kind, value, False, False, True, ":"):
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
    surplus = {pair[1]: value.count(pair[1], 0, end) - value.count(pair[0], 0, end) for pair in ("()", "[]", "{}")}
    while end and surplus.get(value[end - 1], 0) > 0:
        surplus[value[end - 1]] -= 1
        end -= 1
        while end and value[end - 1] in ".,;:":
            end -= 1
    return value[:end]


def _stands_alone(text: str, end: int) -> bool:
    """Whether nothing but punctuation, a comment or the next field follows on the line."""
    rest = text[end : end + 48].split("\n", 1)[0].strip(" \t\r.,;)]}\"'`\\&|")
    return not rest or rest[0] in "#/<-" or "=" in rest.split(" ", 1)[0] or text[end : end + 1] in ("&", ";", ",", "\\")


def _accept(kind: str, value: str, quoted: bool, tight: bool, alone: bool, sign: str) -> bool:
    """Whether the value of an assignment is a secret, by how much its name, its form and its surroundings say."""
    if is_placeholder(value):
        return False
    if sign == " " and not quoted and value.isalpha() and (value.isupper() or value.lower() in _FLAG_PROSE):
        return False
    if quoted and "_" in value and value.isupper() and value.replace("_", "a").isalpha():
        return False  # the name of a variable: `TOKEN_VARIABLE = "API_TOKEN"`
    if kind == "schemed":
        return len(value) >= 6 and (alone or not value.isalpha())
    if kind in ("key", "auth", "query"):
        from core.redaction.published import is_stored_path, is_version

        public = is_stored_path(value) or (kind == "auth" and (value.startswith("http") or is_version(value)))
        return is_strong(value) and not public and not (kind == "auth" and is_code(value))
    if sign == "," or kind == "authorization":
        if kind == "password" and quoted and len(value) >= 8 and is_mixed(value):
            from core.redaction.terms import is_technical

            return " " not in value and value[0] not in "./~" and not is_technical(value)
        return is_strong(value) or (quoted and len(value) >= 8 and " " not in value and sign != ",")
    if not quoted and is_code(value):
        return False
    if kind in ("pass", "pw"):
        if kind == "pw" and quoted and value.isalpha():
            return len(value) >= 6
        plain = sign[0] == "=" or kind == "pw" or (len(value) >= 8 - alone and value[0].isalpha() and "_" not in value)
        return is_mixed(value) and len(value) >= 6 and "/" not in value and "::" not in value and (quoted or plain)
    if kind == "password":
        return _accept_password(value, quoted, tight, alone, is_mixed(value))
    return _accept_token(value, quoted, tight, alone, sign)


def _accept_password(value: str, quoted: bool, tight: bool, alone: bool, mixed: bool) -> bool:
    """A password may be any word, so that only a path, the name of another variable and prose are spared."""
    if (value[0] in "/~" and "/" in value[1:]) or value.startswith(("./", "../")):
        return False
    if not quoted and value.replace("_", "a").isalpha() and names_password(value):
        return False
    if len(value) < 4 and not any(char.isalnum() for char in value):
        return False
    if quoted and not tight and " " in value:
        return not is_prose(value)
    if not quoted and value[0] == "(":
        return False
    if quoted or tight:
        return True
    if alone:
        return len(value) >= 3
    return len(value) >= 6 and (mixed or any(char in "!@#%^&*$+=" for char in value))


def _accept_token(value: str, quoted: bool, tight: bool, alone: bool, sign: str) -> bool:
    """A token, key or secret is one word and no number, address or name; the looser it is written, the longer it must
    be."""
    digits = not _DIGITS.isdisjoint(value)
    letters = value.upper() != value.lower() or not value.isascii()
    if "://" in value or value.startswith(("/", "./", "~/", "arn:")):
        return False
    if " " in value.strip():
        return quoted and any(is_strong(word) for word in value.split())
    if not quoted and value.replace("_", "a").isalpha() and family(value):
        return False
    if not letters:
        return len(value) >= 16
    if tight or quoted:
        return len(value) >= (8 if quoted or not digits else 4) or (tight and len(value) >= 4 and sign == "=")
    if digits:
        return len(value) >= 8 and (alone or len(value) >= 12)
    padded = value[-1] == "=" and len(value) >= 8 and len(value) % 4 == 0 and value.rstrip("=").isalnum()
    return alone and (padded or len(value) >= 16) and value.isascii() and "_" not in value and "-" not in value
