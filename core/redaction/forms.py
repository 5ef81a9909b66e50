"""Finds secrets that are known by their own form: the tokens of providers, PEM blocks, credentials in URLs, headers
and cookies. Hot path: a pattern is compiled only where one of its anchors stands.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder, is_strong
from core.redaction.shapes import INNER, LEAST_SHAPE, SHAPES
from core.redaction.tokens import is_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from core.redaction.names import Span

_PEM_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
# The body of a block that was cut off: header lines of RFC 1421, then runs of base64. A run is 16 characters or longer,
# so that the prose after the cut stays; the last line of the key may be shorter where it ends the text or is padded.
_PEM_GAP = r"(?:[\s\"'+,]|\\[nrt\\])"
_PEM = (
    rf"-----BEGIN {_PEM_LABEL}(?:(?:(?!-----BEGIN)[\s\S]){{0,20000}}?-----END {_PEM_LABEL}"
    rf"|(?:{_PEM_GAP}{{0,8}}(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{{0,120}})*+"
    rf"(?:{_PEM_GAP}{{0,40}}+(?:[A-Za-z0-9+/]{{16,}}+=*+|[A-Za-z0-9+/]{{1,15}}+(?:=+|\Z)))*+)"
)
_BEARER = r"(?i:(?<![a-z0-9])(?:bearer|basic)[ \t]{1,4})([A-Za-z0-9._~+/=-]{8,}+)"
_URL_USER = r"://[^\s/@:\"'<>\[]{0,128}:([^\s/\"'<>]{1,256})@(?=[^\s@])"
_URL_ALONE = r"://([\w-]{16,300})(?::[^\s/@]{0,100})?@(?!\S{0,40}ingest)"
_DSN_USER = r"(?<![\w.-])[\w.-]{1,64}:([^\s:@\"'/\]]{1,128})@(?:tcp|unix)\("
_PGPASS = r"(?m)^[^\s:#]{1,128}:5432:[^\s:]{1,64}:[^\s:]{1,64}:([^\s:]{3,128})\r?$"
_COOKIES = r"(?i:cookie[\"'\\]{0,3}[:=]|set-cookie[\"'\\]{0,3},)[^\n]*"
_COOKIE_PAIR = r"(?<![^\s;:\"',])([A-Za-z0-9_.$-]{1,64})=([^\s;,\"']{1,4096})"
_SESSIONS = ("sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember")


def find_formed(text: str, lower: str) -> list[Span]:
    """The (start, end, kind) of each secret that is known by its form; `lower` is the text in lower case."""
    spans: list[Span] = []
    long = " ".join([word for word in text.split() if len(word) >= LEAST_SHAPE])
    for kind, anchors, tail, pattern in SHAPES if long else ():
        for anchor in anchors:
            if anchor in long and _has_tail(long, anchor, tail):
                spans += _matches(text, kind, pattern) if kind in INNER else _shaped(text, kind, anchors, pattern)
                break
    if "-----BEGIN" in text:
        spans += [span for span in _matches(text, "private-key", _PEM) if span[1] - span[0] >= 43 + 16]
    if "@" in text and "://" in text:
        from core.redaction.published import is_port

        spans += [span for span in _matches(text, "url-password", _URL_USER) if not is_port(text, *span[:2])]
        spans += [span for span in _matches(text, "url-password", _URL_ALONE) if _is_made(text[span[0] : span[1]])]
    if "@tcp(" in text or "@unix(" in text:
        spans += _matches(text, "url-password", _DSN_USER)
    if ":5432:" in text:
        spans += _matches(text, "password", _PGPASS)
    if ("bearer" in lower and _has_tail(lower, "bearer ", 8)) or ("basic" in lower and _has_tail(lower, "basic ", 8)):
        spans += [span for span in _matches(text, "authorization", _BEARER) if _is_credential(text[span[0] : span[1]])]
    if "cookie" in lower:
        spans += _in_cookies(text)
    return spans


def _has_tail(text: str, anchor: str, tail: int) -> bool:
    """Whether the anchor stands somewhere with `tail` characters without white space behind it."""
    at = text.find(anchor)
    while at >= 0:
        at += len(anchor)
        behind = text[at : at + tail]
        if len(behind) == tail and behind.split() == [behind]:
            return True
        at = text.find(anchor, at)
    return False


def _shaped(text: str, kind: str, anchors: tuple[str, ...], pattern: str) -> list[Span]:
    """The secrets of a shape that begins with one of its anchors."""
    import re

    match_at = re.compile(pattern).match
    spans: list[Span] = []
    for anchor in anchors:
        at = text.find(anchor)
        while at >= 0:
            match = match_at(text, at)
            at += len(anchor)
            if match is not None:
                spans += _span(match, kind)
                at = match.end()
            at = text.find(anchor, at)
    return spans


def _matches(text: str, kind: str, pattern: str) -> list[Span]:
    import re

    return [span for match in re.finditer(pattern, text) for span in _span(match, kind)]


def _span(match: re.Match[str], kind: str) -> list[Span]:
    """Where the secret of a match stands; nothing where it is a placeholder, or ends as examples of tokens do."""
    group = match.lastindex or 0
    value = match.group(group)
    filled = is_placeholder(value) or (len(value) > 16 and len(set(value[-12:])) == 1)
    return [] if filled else [(*match.span(group), kind)]


def _is_made(user: str) -> bool:
    """Whether what stands for a user in a URL is a token: two and more numbers among its letters, `-` and `_`."""
    if not is_strong(user):
        return False
    numbers = "".join(char if char.isdigit() else " " for char in user).split()
    size = sum(map(len, numbers))
    return (len(numbers) > 1 and size > 2) or (size > 7 and user.isalnum())


def _is_credential(value: str) -> bool:
    """Whether the word behind `Bearer` or `Basic` is a credential and not prose ("basic authentication")."""
    if any(char.isdigit() for char in value):
        return len(value) >= 12
    return len(value) >= 16 and not value.islower() and not value.istitle()


def _in_cookies(text: str) -> list[Span]:
    """The values of session-like cookies in `Cookie:` and `Set-Cookie:` lines."""
    import re

    spans: list[Span] = []
    pair = re.compile(_COOKIE_PAIR)
    for line in re.finditer(_COOKIES, text):
        for match in pair.finditer(text, line.start() + 6, line.end()):
            value = match.group(2)
            named = len(value) >= 6 and any(part in match.group(1).lower() for part in _SESSIONS)
            if (named or is_random(value)) and not is_placeholder(value):
                spans.append((*match.span(2), "cookie"))
    return spans
