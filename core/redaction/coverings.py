"""What keeps a reader of the plain text from seeing `password=…` in it: colours of a terminal, zero-width marks, signs
that are encoded or look like others, the word for it in another language.

A secret is looked for in copies of the text without them, and taken out of the text where it stood.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from core.redaction.assignments import Span

    Mark = tuple[int, int, str]
    """Where a covering stands, and what it stands for."""

_ESCAPES = ("\x1b[", "\\u001b[", "\\x1b[", "\\033[")
_ESCAPE = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
_WIDTHLESS = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_ALIKE = {**dict.fromkeys("\u00a0\u2007\u2009\u200a\u202f\u3000", " "), "\uff1a": ":", "\uff1d": "="}
_ENCODED = {
    "%3d": "=", "%3a": ":", "%26": "&", "%22": '"', "\\u003d": "=", "\\u003a": ":", "\\u0026": "&", "\\u0022": '"',
    "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&#39;": "'", "&#61;": "=", "&amp;": "&",
}  # fmt: skip
_ENCODED_KEYWORDS = ("pass", "pw", "secret", "token", "key", "auth", "credential")
_WORDS = (
    "mot de passe", "senha", "contraseña", "contrasena", "wachtwoord", "hasło", "пароль", "密码", "密碼", "口令",
    "パスワード", "비밀번호",
)  # fmt: skip
_PLAIN_WORDS = tuple(word for word in _WORDS if word.isascii())
_OTHER_WORDS = tuple(word for word in _WORDS if not word.isascii())
_IS = r"(?:[ \t]{0,2}(?:est|es|é|is|это|jest)(?=[ \t:])|[ \t]{0,2}(?:是|为|為|は))?"
_BEFORE, _BEHIND = 400, 800
_GAP = "\n\n\n"  # no value is looked for so far behind a name


def is_covered(text: str, lower: str) -> bool:
    """Whether anything in the text might cover a secret, cheaply; `lower` is the text in lower case."""
    if not text.isascii() and (
        any(sign in text for sign in _ALIKE)
        or any(mark in text for mark in _WIDTHLESS)
        or any(word in lower for word in _OTHER_WORDS)
    ):
        return True
    if any(word in lower for word in _PLAIN_WORDS) or ("[" in text and any(begin in lower for begin in _ESCAPES)):
        return True
    return ("%" in text or "&" in text or "\\u00" in text) and (
        any(sign in lower for sign in _ENCODED) and any(keyword in lower for keyword in _ENCODED_KEYWORDS)
    )


def find_covered(text: str, find: Callable[[str], list[Span]]) -> list[Span]:
    """The (start, end, kind) of what `find` finds in the text once it is uncovered, by the positions of the text.

    In the whole text with a space for each character that does not show, so that what it parts stays parted; and
    around each covering without it, so that names and values come together.
    """
    import re

    plain = text.translate({ord(sign): other for sign, other in _ALIKE.items()})  # one for one
    encoded = "|".join(map(re.escape, _ENCODED))
    words = "|".join(map(re.escape, _WORDS))
    pattern = re.compile(
        f"({_ESCAPE}|[{_WIDTHLESS}])|({encoded})|(?<![^\\W\\d_])(?:{words})(?![a-z])({_IS})", re.IGNORECASE
    )
    marks: list[Mark] = []
    parted: list[str] = []
    done = 0
    for match in pattern.finditer(plain):
        start, end = match.span()
        if match.group(1):
            parted += (plain[done:start], " " * (end - start))
            done = end
            marks.append((start, end, ""))
        elif match.group(2):
            marks.append((start, end, _ENCODED[match.group(2).lower()]))
        else:
            marks.append((start, end, "password is " if match.group(3) else "password"))
    spans = find("".join(parted) + plain[done:])
    return spans + _found_around(plain, marks, find) if marks else spans


def _found_around(plain: str, marks: list[Mark], find: Callable[[str], list[Span]]) -> list[Span]:
    from bisect import bisect_right

    parts: list[str] = []
    starts: list[int] = []  # of each part in the copy, and where it stands in the text
    places: list[tuple[int, int]] = []
    size = done = 0

    def add(part: str, start: int, end: int) -> None:
        nonlocal size
        if part:
            parts.append(part)
            starts.append(size)
            places.append((start, end))
            size += len(part)

    for number, (start, end, meant) in enumerate(marks):
        if start - _BEFORE > done:
            add(_GAP, done, done)
            done = _word_begin(plain, start)
        add(plain[done:start], done, start)
        add(meant, start, end)
        follow = marks[number + 1][0] if number + 1 < len(marks) else len(plain)
        done = min(_word_end(plain, end), follow) if follow - end > _BEHIND else follow
        add(plain[end:done], end, done)
    spans: list[Span] = []
    for first, last, kind in find("".join(parts)):
        one, other = bisect_right(starts, first) - 1, bisect_right(starts, last - 1) - 1
        start = min(places[one][0] + first - starts[one], places[one][1])
        end = min(places[other][0] + last - starts[other], places[other][1])
        if start < end:
            spans.append((start, end, kind))
    return spans


def _word_begin(text: str, at: int) -> int:
    """Where what stands before `at` is looked at from: the beginning of a word."""
    low = max(0, at - _BEFORE)
    return low + len(text[low:at].split(None, 1)[0]) if low and text[low:at].strip() else low


def _word_end(text: str, at: int) -> int:
    high = min(len(text), at + _BEHIND)
    return high - len(text[at:high].rsplit(None, 1)[-1]) if high < len(text) and text[at:high].strip() else high
