"""Takes secrets out of text before anything is stored, logged or sent (issue 2, "Nothing leaked").

Three layers: secrets known by their own form (`core.redaction.shapes`), values under a name that announces one
(`core.redaction.assignments`), and tokens too random for a word, an identifier or a path. On the hot path: `re` is
loaded only when a cheap check has found an anchor. Every step is linear in the text and none raises on any str.
"""

from __future__ import annotations

from core.redaction.assignments import Span, find_assigned, find_names
from core.redaction.commands import find_in_commands
from core.redaction.labels import find_identified, find_labelled, find_passed
from core.redaction.names import MARK, family, is_placeholder, is_strong
from core.redaction.prose import find_told
from core.redaction.shapes import BEARER, COOKIE_PAIR, DSN_USER, PEM_BEGIN, PEM_BODY, PEM_END, PGPASS, SHAPES, URL_USER
from core.redaction.tokens import MIN_TOKEN, find_random, is_random

_PEM_REACH = 20_000
_PASSES = 6


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted:KIND]`, and the kinds in order of appearance.

    A clean text comes back as the same object with an empty tuple. Idempotent: what was redacted stays as it is.
    """
    kinds: list[str] = []
    for _ in range(_PASSES):
        spans = _merged(_spans(text))
        if not spans:
            break
        parts: list[str] = []
        done = 0
        for start, end, kind in spans:
            parts += (text[done:start], MARK, kind, "]")
            done = end
            kinds.append(kind)
        parts.append(text[done:])
        text = "".join(parts)
    return text, tuple(kinds)


def redact_value(value: object) -> object:
    """The JSON value with every string redacted, dict keys too, at any depth.

    A string under a key that names a secret is replaced whole unless it is empty, redacted or a placeholder; so are the
    strings of a list under such a key. Two keys that become equal are kept apart by a `#2`, `#3`.
    """
    top: list[object] = [value]
    result: list[object] = []
    work: list[tuple[object, object, str]] = [(top, result, "")]
    while work:
        source, target, kind = work.pop()
        if isinstance(source, dict) and isinstance(target, dict):
            for key, item in source.items():
                name = redact(key)[0] if isinstance(key, str) else key
                free, count = name, 1
                while free in target:
                    count += 1
                    free = f"{name}#{count}"
                target[free] = _begun(item, _value_kind(key), work)
        elif isinstance(source, (list, tuple)) and isinstance(target, list):
            for item in source:
                target.append(_begun(item, kind, work))
    return result[0]


def _begun(item: object, kind: str, work: list[tuple[object, object, str]]) -> object:
    """A leaf redacted, or an empty container that the work list will fill."""
    if isinstance(item, str):
        if not kind or is_placeholder(item):
            return redact(item)[0]
        if kind in ("key", "auth", "pass"):
            if not is_strong(item):
                return redact(item)[0]
            kind = "api-key"
        if kind == "password" and item[0] in "/~" and "/" in item[1:]:
            return redact(item)[0]
        return f"{MARK}{kind}]"
    if isinstance(item, dict):
        filled: dict[object, object] = {}
        work.append((item, filled, ""))
        return filled
    if isinstance(item, (list, tuple)):
        entries: list[object] = []
        work.append((item, entries, kind))
        return entries
    return item


def _value_kind(key: object) -> str:
    return family(key) if isinstance(key, str) else ""


def _spans(text: str) -> list[Span]:
    lower = text.lower()
    if len(lower) != len(text):  # a letter that lowers to two would shift every position behind it
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    spans: list[Span] = []
    for kind, anchors, tail, pattern in SHAPES:
        for anchor in anchors:
            if anchor in text and _has_tail(text, anchor, tail):
                spans += _matches(text, kind, pattern)
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
    spans += find_in_commands(text)
    candidates, others = find_names(text, lower)
    if candidates:
        spans += find_assigned(text, candidates)
    if others:
        spans += find_labelled(text, others)
        spans += find_told(text, lower, others)
    if "identified " in lower:
        spans += find_identified(text, lower)
    spans += find_passed(text)
    if max(map(len, text.split()), default=0) >= MIN_TOKEN:
        spans += find_random(text)
    return spans


def _merged(spans: list[Span]) -> list[Span]:
    """Disjoint spans in order; where some overlap, their union under the kind that was found first (shapes go
    first)."""
    merged: list[tuple[int, int, str, int]] = []
    for rank, start, end, kind in sorted(
        ((rank, start, end, kind) for rank, (start, end, kind) in enumerate(spans)), key=lambda item: item[1]
    ):
        if merged and start < merged[-1][1]:
            first, last, known, best = merged[-1]
            merged[-1] = (first, max(last, end), known if best < rank else kind, min(best, rank))
        else:
            merged.append((start, end, kind, rank))
    return [(start, end, kind) for start, end, kind, _ in merged]


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
        spans += _matches(text, "url-password", URL_USER)
    at = text.find("://")
    while at >= 0:
        at += 3
        head, found, behind = text[at : at + 320].partition("@")
        user = head.partition(":")[0]
        if found and len(user) >= 16 and _is_made(user) and "ingest" not in behind[:40]:
            spans.append((at, at + len(user), "url-password"))
        at = text.find("://", at)
    if "@tcp(" in text or "@unix(" in text:
        spans += _matches(text, "url-password", DSN_USER)
    return spans


def _is_made(user: str) -> bool:
    """Whether what stands for a user in a URL is a token: two and more numbers among its letters, and nothing else."""
    if not is_strong(user) or not user.replace("-", "a").replace("_", "a").isalnum():
        return False
    digits = "".join(char if char.isdigit() else " " for char in user).split()
    return len(digits) > 1 and sum(map(len, digits)) > 2


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
