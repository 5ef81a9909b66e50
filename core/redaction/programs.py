"""Finds what further programs are given as secrets: `sqlplus scott/…`, `plink -pw …`, `fly secrets set NAME=…`, `<<<`.

A pattern is tried only where its anchor stands, over one line; the secret is the named group that took part.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from core.redaction.assignments import Span

_VALUE = r"(?:'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|([^\s'\"|;&<>]{1,200}))"
_LINE = r"[^\n|;&]{0,240}?[ \t]"
# (anchor, pattern behind it, whose last three groups are the secret: in two kinds of quotes, and bare)
_PROGRAMS = (
    ("sqlplus ", rf"(?:{_LINE})?[\"']?[\w.$#]{{1,64}}/([^\s@\"'/]{{1,128}})@"),
    ("jdbc:oracle:", r"(?:thin|oci8?):[\w.$#]{1,64}/([^\s@\"'/]{1,128})@"),
    ("openssl ", rf"{_LINE}-[kK][ \t]+{_VALUE}"),
    ("useradd ", rf"(?:{_LINE})?(?:-p|--password)[ =]+{_VALUE}"),
    ("usermod ", rf"(?:{_LINE})?(?:-p|--password)[ =]+{_VALUE}"),
    ("rabbitmqctl ", rf"(?:{_LINE})?(?:add_user|change_password|authenticate_user)[ \t]+[^\s]{{1,64}}[ \t]+{_VALUE}"),
    ("plink ", rf"(?:{_LINE})?-pw[ \t]+{_VALUE}"),
    ("pscp ", rf"(?:{_LINE})?-pw[ \t]+{_VALUE}"),
    ("psftp ", rf"(?:{_LINE})?-pw[ \t]+{_VALUE}"),
    ("lftp ", rf"(?:{_LINE})?(?:-u|--user)[ =]?[\"']?[^\s,\"']{{1,64}},([^\s\"']{{1,128}})"),
    ("http-basic.", rf"[^\s]{{1,128}}[ \t]+[^\s]{{1,64}}[ \t]+{_VALUE}"),
    ("github-oauth.", rf"[^\s]{{1,128}}[ \t]+{_VALUE}"),
    ("gitlab-token.", rf"[^\s]{{1,128}}[ \t]+{_VALUE}"),
)
_TAKING = ("secret", "passw", "passphrase", "login", "token")
ANCHORS = (*(anchor for anchor, _ in _PROGRAMS), "<<<", "secrets set ")
"""What one of these commands has in it."""


def find_in_programs(text: str) -> list[Span]:
    """The (start, end, kind) of each secret that one of the programs is given."""
    import re

    spans: list[Span] = []
    for anchor, pattern in _PROGRAMS:
        if anchor in text:
            _by_pattern(text, anchor, re.compile(pattern), spans)
    value = re.compile(_VALUE)
    if "<<<" in text:
        _here_strings(text, value, spans)
    if "secrets set " in text:
        _set_secrets(text, re.compile(rf"[A-Za-z_]\w{{0,63}}={_VALUE}"), spans)
    return spans


def _add(match: re.Match[str], kind: str, spans: list[Span]) -> None:
    group = match.lastindex or 0
    if _is_secret(match.group(group)):
        spans.append((*match.span(group), kind))


def _by_pattern(text: str, anchor: str, pattern: re.Pattern[str], spans: list[Span]) -> None:
    at = text.find(anchor)
    while at >= 0:
        following = at + len(anchor)
        if not text[at - 1 : at].isalnum() or not at:
            match = pattern.match(text, following)
            if match is not None:
                _add(match, "password", spans)
                following = match.end()
        at = text.find(anchor, following)


def _here_strings(text: str, value: re.Pattern[str], spans: list[Span]) -> None:
    """What a here-string hands to a command that speaks of a secret: `wrangler secret put X <<< '…'`."""
    at = text.find("<<<")
    while at >= 0:
        head = text[max(0, at - 160) : at].rsplit("\n", 1)[-1].lower()
        start = at + 3
        start += len(text[start : start + 4]) - len(text[start : start + 4].lstrip(" \t"))
        match = value.match(text, start) if any(word in head for word in _TAKING) else None
        if match is not None:
            _add(match, "secret", spans)
        at = text.find("<<<", start)


def _set_secrets(text: str, pair: re.Pattern[str], spans: list[Span]) -> None:
    """Every `NAME=…` behind `fly secrets set`, on its line."""
    at = text.find("secrets set ")
    while at >= 0:
        place = at + 12
        line = text.find("\n", place, place + 2_000)
        stop = line if line >= 0 else min(len(text), place + 2_000)
        match = pair.search(text, place, stop)
        while match is not None:
            _add(match, "secret", spans)
            place = match.end()
            match = pair.search(text, place, stop)
        at = text.find("secrets set ", max(place, at + 12))


def _is_secret(value: str) -> bool:
    """Whether a word in the place of a secret is none of a manual's, no option and no variable."""
    if len(value) < 3 or value[0] in "-$[<%" or is_placeholder(value):
        return False
    return not (value.isalpha() and value.isupper())
