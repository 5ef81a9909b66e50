"""Finds the secrets of a text.

What looks closely, `re` too, is loaded where a cheap check has found an anchor. Every step is linear in the text; none
raises on any str.
"""

from __future__ import annotations

from core.redaction import (
    CALLS,
    COMMANDS,
    FOREIGN,
    INVISIBLE,
    LOGINS,
    MARK,
    NAME_PARTS,
    SIGNS,
    is_obfuscated,
    may_be_login,
)
from core.redaction.forms import find_formed
from core.redaction.prose import find_apart, find_logins, find_mapped, find_told, may_be_told
from core.redaction.tokens import find_random, holds_made
from core.redaction.values import FIELDS, Name, Span, family, is_in_field, is_made

_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_NAME_CHARS = frozenset(_NAME)
_ASSIGNING = frozenset("=:,|;")
_SKIPPED = frozenset(" \t\"'`\\]?")
_TELLING = frozenset(" ?&:\\$")
_REACH = 48
_PASSES = (" pass", " pw ")
_SPOKEN_OF = ("passw", " pw ", "key", "token", "secret", "credential", "login", "rotated", "swapped")
_SAYING = (" it to ", "it's ", "it’s ", "one is ", "one was ", "passwords")
_USERS = ("user", "login", " as ", "usr", "account", "uid")
_NAMED = ("password", "secret", "token", "api-key", "private-key", "authorization", "url-password", "cookie")
_ESCAPE = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
_LINK = r"(?:[ \t]{0,2}(?:est|es|é|è|is|это|jest|je|er|är|este)(?=[ \t:])|[ \t]{0,2}(?:是|为|為|は))?"

_SPACED = tuple([tuple([word for word in words if word.split() != [word]]) for words in (COMMANDS, LOGINS, CALLS)])
"""Anchors that no word alone holds."""
_SINGLE = tuple({word.lower() for words in (COMMANDS, LOGINS, CALLS) for word in words if word.split() == [word]})
_MOST_DULL, _LONGEST_DULL, _MOST_REPEATED = 100_000, 160, 50
_dull: set[str] = set()
"""Words of earlier texts that hold neither token nor anchor: a session says most words more than once."""


def find_secrets(text: str) -> list[Span]:
    """The (start, end, kind) of each secret, in order and disjoint."""
    if len(_dull) > _MOST_DULL:
        _dull.clear()
    spans = _find_obfuscated(text) if is_obfuscated(text, text.lower()) else _spans(text)
    return _merged(spans + _repeated(text, spans)) if spans else spans


def _repeated(text: str, spans: list[Span]) -> list[Span]:
    """Where else a secret stands that was found, as in a trace of a shell."""
    import re

    known = {text[start:end]: kind for start, end, kind in spans[:_MOST_REPEATED] if end - start <= _LONGEST_DULL}
    made = [re.escape(one) for one in known if is_made(one) and sum(map(str.isdigit, one)) > 1 and text.count(one) > 1]
    again = [match for one in made for match in re.finditer(rf"{one}(?!\w)(?<!\w{one})", text)]
    return [(*match.span(), known[match.group()]) for match in again]


def _find_obfuscated(text: str) -> list[Span]:
    """What is found without what does not show, and in a copy that shows all plainly, by the text's positions."""
    import re
    from bisect import bisect_right

    firsts = re.escape("".join({one[0] for one in ("\x1b", *SIGNS, *FOREIGN)}))
    pattern = re.compile(
        f"(?=[{firsts}{INVISIBLE}])"
        f"(?:({_ESCAPE}|[{INVISIBLE}]+)|({'|'.join(map(re.escape, SIGNS))})"
        f"|(?<![^\\W\\d_])(?:{'|'.join(FOREIGN)})(?![a-z])({_LINK}))",
        re.IGNORECASE,
    )
    plain: list[str] = []
    spaced: list[str] = []
    copied, places = [0], [0]  # where pieces of the copy begin, and where they stand in the text
    size = done = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        hidden, sign, link = match.groups()
        meant = "" if hidden else SIGNS[sign.lower()] if sign else "password is " if link else "password"
        plain += (text[done:start], meant)
        spaced += (text[done:start], " " * (end - start) if hidden else text[start:end])
        size += start - done
        copied += (size, size + len(meant))
        places += (start, end)
        size += len(meant)
        done = end
    plain.append(text[done:])
    places.append(len(text))
    spans = _spans("".join(spaced) + text[done:])
    for first, last, kind in _spans("".join(plain)):
        at, to = bisect_right(copied, first) - 1, bisect_right(copied, last - 1) - 1
        start = min(places[at] + first - copied[at], places[at + 1])
        spans.append((start, min(places[to] + last - copied[to], places[to + 1]), kind))
    return spans


def _spans(text: str) -> list[Span]:
    lower = text.lower()
    if len(lower) != len(text):  # a letter that lowers to two would shift every position behind it
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    if MARK in text:
        for kind in _NAMED:  # no name stands in a mark
            lower = lower.replace(f"{MARK}{kind}]", MARK + "." * len(kind) + "]")
    words = set(text.split()) - _dull
    fresh = " ".join(words)
    is_anchored = any(map(fresh.lower().__contains__, _SINGLE))
    commands, logins, calls = (COMMANDS, LOGINS, CALLS) if is_anchored else _SPACED
    spans = find_formed(text, lower, fresh) + find_mapped(text, words)
    if any(map(text.__contains__, commands)):
        from core.redaction.commands import find_in_commands

        spans += find_in_commands(text)
    names, others = _find_names(text, lower)
    if names:
        from core.redaction.assignments import find_assigned

        spans += find_assigned(text, names)
    if others:
        spans += find_told(text, lower, others)
    holds = lower.__contains__
    if any(map(holds, _SPOKEN_OF)) and any(map(holds, _SAYING)):
        spans += find_apart(text, lower)
    if any(map(holds, logins)) or (any(map(holds, _PASSES)) and any(map(holds, _USERS))):
        spans += find_logins(text, lower)
    if _is_structured(text, lower, names + others, calls):
        from core.redaction.structured import find_structured

        spans += find_structured(text, lower, sorted(names + others))
    is_made = holds_made(words, find_secrets)
    if is_made:
        spans += find_random(text, find_secrets)
    if not (is_anchored or spans or is_made):
        _dull.update(one for one in words if len(one) <= _LONGEST_DULL and (":" not in one or not may_be_login(one)))
    return spans


def _find_names(text: str, lower: str) -> tuple[list[Name], list[Name]]:
    """Each name of a secret, as (start, end, family): those behind which an assignment may follow, and the others."""
    found: dict[int, Name] = {}
    others: list[Name] = []
    known: dict[str, str] = {}
    for keyword in NAME_PARTS:
        size = len(keyword)
        end = 0
        at = lower.find(keyword)
        while at >= 0:
            end = at + size
            if text[end : end + 1] in _NAME_CHARS:
                ahead = text[end : end + _REACH]
                end += len(ahead) - len(ahead.lstrip(_NAME))
            sign = text[end : end + 1]
            if sign in _SKIPPED:
                sign = text[end : end + _REACH].lstrip(" \t\"'`\\]?")[:1]
            if end not in found:
                start = _begin(text, at) if at and text[at - 1] in _NAME_CHARS else at
                name = text[start:end]
                kind = known.get(name)
                if kind is None:
                    kind = known[name] = family(name.strip("-."))
                before = text[start - 1] if start else ""
                if before in _TELLING:
                    kind = _kind(text, start, end, kind)
                if kind:
                    is_long = name[:2] == "--" or (
                        kind == "password" and name[1:3].lower() != "pp"
                    )  # not `-pPassword1`
                    flag = name[0] == "-" and text[end : end + 1] == " " and is_long
                    element = sign == ">" and (before == "<" or "=" in text[end : end + 6])
                    if sign in _ASSIGNING or text.startswith(("??", " ??"), end) or element or (flag and sign != "-"):
                        found[end] = (start, end, kind)
                    if sign not in (":", "=") and not flag and may_be_told(text, lower, start, end):
                        others.append((start, end, kind))
            at = lower.find(keyword, end)
    return sorted(found.values()), sorted(others)


def _begin(text: str, at: int) -> int:
    """Where the name begins in which the keyword at `at` stands."""
    head = text[max(0, at - _REACH) : at]
    start = at - len(head) + len(head.rstrip(_NAME))
    return start + (text.startswith(("n--", "r--", "t--"), start) and text[start - 1 : start] == "\\")


def _kind(text: str, start: int, end: int, kind: str) -> str:
    """The family of the name at start..end by what stands before it, where it has `kind` by itself."""
    name = text[start:end]
    before = text[start - 1]
    if before == " ":
        low = name.lower()
        if low in ("key", "token"):  # `API key`
            head = text[max(0, start - 24) : start].rstrip(" ")
            return family((head[len(head.rstrip(_NAME)) :] + "_" + low).strip("-."))
    elif before in "?&":
        if name.lower() in ("key", "sig", "signature", "auth", "x-amz-signature", "x-goog-signature"):
            return "query"
    elif before == "$":
        return "" if text[end : end + 1] == ":" else kind  # `$PWD:/srv`
    elif before == ":":
        head = text[max(0, start - 64) : start]
        if "arn:" in head and "arn:" in head.split()[-1]:
            return ""
    elif name[0] in "nrt" and not kind:  # a literal backslash-n before the name
        return family(name[1:].strip("-."))
    return kind


def _is_structured(text: str, lower: str, names: list[Name], calls: tuple[str, ...]) -> bool:
    """Whether a secret may be one by the field, the call, the column or the manifest that it stands in."""
    if "identified " in lower or ("into " in lower and "values" in lower) or ("Secret" in text and "kind" in text):
        return True
    if "(" in text and any(map(text.__contains__, calls)):
        return True
    has_field = any(map(lower.__contains__, FIELDS))
    for start, end, _ in names:
        if has_field and is_in_field(lower, start):
            return True
        if text[end : end + 3].lstrip(" \"'`*]")[:1] in ("|", "\t", ";", ",", "\n", "\r"):  # a cell of a header
            line = text[max(0, text.rfind("\n", 0, end) + 1, end - 400) : end + 400].partition("\n")[0]
            if len(line.split()) <= 4 * max(map(line.count, "|\t;,")):
                return True
    return False


def _merged(spans: list[Span]) -> list[Span]:
    """Disjoint spans in order; where some overlap, their union under the kind that was found first: a shape's."""
    merged: list[tuple[int, int, str, int]] = []
    behind = 0
    for start, rank, end, kind in sorted([(start, rank, end, kind) for rank, (start, end, kind) in enumerate(spans)]):
        if start < behind:
            first, last, known, best = merged[-1]
            behind = max(last, end)
            merged[-1] = (first, behind, known if best < rank else kind, min(best, rank))
        else:
            merged.append((start, end, kind, rank))
            behind = end
    return [(start, end, kind) for start, end, kind, _ in merged]
