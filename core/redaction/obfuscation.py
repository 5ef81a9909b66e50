"""Finds secrets under what hides them: colours of a terminal, zero-width marks, encoded signs and such that look alike,
the word for "password" in another language."""

from __future__ import annotations

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from core.redaction.names import Span

_ESCAPES = ("\x1b[", "\\u001b[", "\\x1b[", "\\033[")
_ESCAPE = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_SIGNS = {
    **dict.fromkeys("\u00a0\u2007\u2009\u200a\u202f\u3000", " "), "\uff1a": ":", "\uff1d": "=",
    "%3d": "=", "%3a": ":", "%26": "&", "%22": '"', "\\u003d": "=", "\\u003a": ":", "\\u0026": "&", "\\u0022": '"',
    "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&#39;": "'", "&#61;": "=", "&amp;": "&",
}  # fmt: skip
_WORDS = (
    "mot de passe", "senha", "contraseña", "contrasena", "wachtwoord", "hasło", "пароль", "密码", "密碼", "口令",
    "パスワード", "비밀번호",
)  # fmt: skip
_IS = r"(?:[ \t]{0,2}(?:est|es|é|is|это|jest)(?=[ \t:])|[ \t]{0,2}(?:是|为|為|は))?"
_KEYWORDS = ("pass", "pw", "secret", "token", "key", "auth", "credential")
_ASCII = tuple(word for word in _WORDS if word.isascii())
_OTHERS = (*_INVISIBLE, *(sign for sign in (*_SIGNS, *_WORDS) if not sign.isascii()))
_ENCODED = tuple(sign for sign in _SIGNS if sign.isascii())


def is_obfuscated(text: str, lower: str) -> bool:
    """Whether anything in the text might hide a secret, cheaply; `lower` is the text in lower case."""
    if not text.isascii() and any(sign in lower for sign in _OTHERS):
        return True
    if any(word in lower for word in _ASCII) or ("[" in text and any(begin in lower for begin in _ESCAPES)):
        return True
    return ("%" in text or "&" in text or "\\u00" in text) and (
        any(sign in lower for sign in _ENCODED) and any(keyword in lower for keyword in _KEYWORDS)
    )


def find_obfuscated(text: str, find: Callable[[str], list[Span]]) -> list[Span]:
    """What `find` finds without what does not show, and in a copy that shows all plainly, by the text's positions."""
    import re

    pattern = re.compile(
        f"({_ESCAPE}|[{_INVISIBLE}])|({'|'.join(map(re.escape, _SIGNS))})"
        f"|(?<![^\\W\\d_])(?:{'|'.join(_WORDS)})(?![a-z])({_IS})",
        re.IGNORECASE,
    )
    plain: list[str] = []
    spaced: list[str] = []
    copied, places = [0], [0]  # where pieces of the copy begin, and where they stand in the text
    size = done = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        hidden, sign, link = match.groups()
        meant = "" if hidden else _SIGNS[sign.lower()] if sign else "password is " if link else "password"
        plain += (text[done:start], meant)
        spaced += (text[done:start], " " * (end - start) if hidden else text[start:end])
        size += start - done
        copied += (size, size + len(meant))
        places += (start, end)
        size += len(meant)
        done = end
    plain.append(text[done:])
    places.append(len(text))
    spans = find("".join(spaced) + text[done:])
    for first, last, kind in find("".join(plain)):
        at, to = bisect_right(copied, first) - 1, bisect_right(copied, last - 1) - 1
        start = min(places[at] + first - copied[at], places[at + 1])
        spans.append((start, min(places[to] + last - copied[to], places[to + 1]), kind))
    return spans
