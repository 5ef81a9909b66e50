"""Finds secrets that are known by their own form: the tokens of providers, PEM blocks, credentials in URLs,
headers and cookies.

Hot path: a pattern is compiled only where one of its anchors stands.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder, is_strong
from core.redaction.shapes import (
    BEARER,
    COOKIE_PAIR,
    DSN_USER,
    INNER,
    LEAST_SHAPE,
    PEM_BEGIN,
    PEM_BODY,
    PEM_END,
    PGPASS,
    SHAPES,
    URL_USER,
)
from core.redaction.tokens import is_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.assignments import Span

_PEM_REACH = 20_000


def find_formed(text: str, lower: str) -> list[Span]:
    """The (start, end, kind) of each secret that is known by its form; `lower` is the text in lower case."""
    spans: list[Span] = []
    long = " ".join([word for word in text.split() if len(word) >= LEAST_SHAPE])
    for kind, anchors, tail, pattern in SHAPES if long else ():
        for anchor in anchors:
            if anchor in long and _has_tail(long, anchor, tail):
                spans += _shaped(text, kind, anchors, pattern)
                break
    if "-----BEGIN" in text:
        spans += _pem_blocks(text)
    if "@" in text:
        spans += _in_addresses(text)
    if ":5432:" in text:
        spans += _matches(text, "password", PGPASS)
    if ("bearer" in lower and _has_tail(lower, "bearer ", 8)) or ("basic" in lower and _has_tail(lower, "basic ", 8)):
        spans += [span for span in _matches(text, "authorization", BEARER) if _is_credential(text[span[0] : span[1]])]
    if "cookie" in lower:
        spans += _cookies(text, lower)
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
    """The secrets of a shape: looked at where one of its anchors stands, if it begins with that."""
    if kind in INNER:
        return _matches(text, kind, pattern)
    import re

    match_at = re.compile(pattern).match
    spans: list[Span] = []
    for anchor in anchors:
        at = text.find(anchor)
        while at >= 0:
            match = match_at(text, at)
            at += len(anchor)
            if match is not None:
                group = match.lastindex or 0
                at = match.end()
                if not _is_filled(match.group(group)):
                    spans.append((match.start(group), at if not group else match.end(group), kind))
            at = text.find(anchor, at)
    return spans


def _matches(text: str, kind: str, pattern: str) -> list[Span]:
    import re

    compiled = re.compile(pattern)
    group = 1 if compiled.groups else 0
    return [
        (match.start(group), match.end(group), kind)
        for match in compiled.finditer(text)
        if not _is_filled(match.group(group))
    ]


def _is_filled(value: str) -> bool:
    """Whether a value is a placeholder, or ends in one character again and again, as in examples of tokens."""
    return is_placeholder(value) or (len(value) > 16 and len(set(value[-12:])) == 1)


def _in_addresses(text: str) -> list[Span]:
    """`SCHEME://USER:…@HOST`, `https://TOKEN@HOST`, and the `USER:…@tcp(HOST)` of Go."""
    spans: list[Span] = []
    if "://" in text and _has_userinfo(text):
        from core.redaction.published import is_port

        spans += [span for span in _matches(text, "url-password", URL_USER) if not is_port(text, *span[:2])]
    at = text.find("://")
    while at >= 0:
        at += 3
        head, found, behind = text[at : at + 320].partition("@")
        user = head.partition(":")[0]
        if found and len(user) >= 16 and "/" not in head and _is_made(user) and "ingest" not in behind[:40]:
            spans.append((at, at + len(user), "url-password"))
        at = text.find("://", at)
    if "@tcp(" in text or "@unix(" in text:
        spans += _matches(text, "url-password", DSN_USER)
    return spans


def _is_made(user: str) -> bool:
    """Whether what stands for a user in a URL is a token: two and more numbers among its letters, `-` and `_`."""
    if not is_strong(user) or not user.replace("-", "a").replace("_", "a").isalnum():
        return False
    digits = "".join(char if char.isdigit() else " " for char in user).split()
    size = sum(map(len, digits))
    return (len(digits) > 1 and size > 2) or (size > 7 and user.isalnum())


def _pem_blocks(text: str) -> list[Span]:
    """Private key blocks, whole or cut off; a BEGIN line with nothing behind it stays."""
    import re

    begin, finish, body = re.compile(PEM_BEGIN), re.compile(PEM_END), re.compile(PEM_BODY)
    spans: list[Span] = []
    match = begin.search(text)
    while match is not None:
        following = text.find("-----BEGIN", match.end())
        limit = min(match.end() + _PEM_REACH, following if following >= 0 else len(text))
        closing = finish.search(text, match.end(), limit)
        if closing is not None:
            end = closing.end()
        else:
            run = body.match(text, match.end(), limit)
            end = run.end() if run is not None else match.end()
        if end - match.end() >= 16:
            spans.append((match.start(), end, "private-key"))
        match = begin.search(text, max(end, match.end()))
    return spans


def _has_userinfo(text: str) -> bool:
    at = text.find("://")
    while at >= 0:
        head, found, _ = text[at + 3 : at + 400].partition("@")
        if found and ":" in head and "/" not in head and len(head.split()) == 1:
            return True
        at = text.find("://", at + 3)
    return False


def _is_credential(value: str) -> bool:
    """Whether the word behind `Bearer` or `Basic` is a credential and not prose ("basic authentication")."""
    if any(char.isdigit() for char in value):
        return len(value) >= 12
    return len(value) >= 16 and not value.islower() and not value.istitle()


def _cookies(text: str, lower: str) -> list[Span]:
    """The values of session-like cookies in `Cookie:` and `Set-Cookie:` lines."""
    at = lower.find("cookie")
    spans: list[Span] = []
    pairs = None
    while at >= 0:
        behind = text[at + 6 : at + 12].lstrip("\"'\\")
        following = at + 6
        if behind[:1] in (":", "=") or (behind[:1] == "," and lower.startswith("set-", max(0, at - 4))):
            import re

            pairs = pairs or re.compile(COOKIE_PAIR)
            line = text.find("\n", at)
            following = line if line >= 0 else len(text)
            for match in pairs.finditer(text, at + 6, following):
                name, value = match.group(1).lower(), match.group(2)
                named = any(
                    part in name
                    for part in ("sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember")
                )
                if ((named and len(value) >= 6) or is_random(value)) and not is_placeholder(value):
                    spans.append((match.start(2), match.end(2), "cookie"))
        at = lower.find("cookie", following)
    return spans
