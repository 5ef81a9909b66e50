"""Finds the password of somebody who logs in, told with his name: "the creds are bob:…", "user joe pass …"."""

from __future__ import annotations

import re

from core.redaction.names import Span, is_placeholder
from core.redaction.prose import is_bare_secret

_PAIR = re.compile(
    r"(?<!\w)(?:(?:(?:creds|credentials|logins?|user(?:name)?[/:]pass(?:word)?)(?:[ \t]*[:=]|[ \t]+(?:are|is|were|was"
    r"|=|-|–|—))|log(?:ged)? in (?:with|as)|login with|sign in (?:with|as))(?:[ \t]+(?:here|these|is|are))?[:=]?[ \t]*"
    r"[\"'`*(]{0,3})(?!https?:)([\w.@-]{1,64})(?::|/|[ \t]+[/|:][ \t]+)[\"'`*(]{0,2}([^\s\\]{3,160})"
)
_BESIDE = re.compile(
    r"(?<!\w)(?:user|username|login|usr|account|uid|as)[ :,]+"
    r"(?!(?:can|could|must|should|may|might|will|would|to|does|did|not)\b)[^\s:,]{1,64}"
    r"(?:[,:]?[ \t]+(?:with|and|the|/))*[,:]?[ \t]+(?:pass|pw|passwd|password)[ \t]+(\S{3,160})"
)
_NET_USE = re.compile(
    r"net use [^\n]{0,160}?(?<= )(?![/\\*]|[a-z]: )([^\s\"'`]{4,})(?= [^\n]{0,80}/user:)"
    r"|net use [^\n]{0,160}?/user:\S+ ([^\s\"'`/]{4,})|net user [^\s/]+ ([^\s/\"'`*]{4,}) [^\n]{0,80}/"
)


def find_logins(text: str, lower: str) -> list[Span]:
    """The (start, end, kind) of each password that stands with a user's name."""
    spans: list[Span] = []
    found = [match.span(2) for match in _PAIR.finditer(lower) if not match.group(1).isdigit()]
    if " pass" in lower or " pw " in lower:
        found += [match.span(1) for match in _BESIDE.finditer(lower)]
    for start, end in found:
        value = text[start:end].strip("\"'`*()").rstrip(".,;")
        if value and is_bare_secret(value, True, True, False):
            start = text.index(value, start)
            spans.append((start, start + len(value), "password"))
    for match in _NET_USE.finditer(lower) if "net use" in lower else ():
        start, end = match.span(match.lastindex or 0)
        if not text[start:end].isalpha() and not is_placeholder(text[start:end]):
            spans.append((start, end, "password"))
    return spans
