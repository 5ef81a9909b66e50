"""How much of a text is judged: of one that is full of secrets, or of what could be some, the beginning alone.

To judge what looks like a secret takes some 10 us: in ordinary texts, code about logins too, little does. So a text in
which more does is judged as far as it holds `MOST_LIKELY` and one more every so many characters. Where enough are
found by then, each line behind that may hold one is hidden. It is counted, not timed: the same text gives the same.
"""

from __future__ import annotations

from core.redaction import CALLS, COMMANDS, FOREIGN, LOGINS, MARK, NAME_PARTS
from core.redaction.tokens import APART, MOST_LIKELY, count_random
from core.redaction.values import Span, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BOUNDS = ((APART, 15), (12, 0))
"""Characters for each that looks like a secret, and the secrets found up to there for which the rest is hidden: what
somebody wrote has none every twelve."""
_CLEAR = r"[ \t]*(?:\(?[A-Za-z_]{1,24}[().,:;]{0,4}(?:[ \t]+|\r?\Z))*"
"""A line of words alone: what is told, or stands in a table or a column as a secret, has a digit or a sign."""
_UNCLEAR = (
    *NAME_PARTS,
    *(word.lower() for word in (*COMMANDS, *LOGINS, *CALLS, *FOREIGN)),
    "value",
    "default",
    "string",
)
_OPEN = frozenset(":|>")
"""How a line ends whose value may stand below."""
_STRETCH = 500
_SETTLED = r"(?:(?<![\w.-])[\w.-]{1,60}+[\"'`]?[:=] ?[\"'`]?)?" + MARK.replace("[", r"\[") + r"[a-z0-9-]+\]"
"""A mark, and the name before it: as a text was judged, so it is left."""
_MARGIN, _FAR = 1_000, 10_000
"""Characters: no secret is cut in two, or from its name; nor from the kind of its manifest, which may stand below."""
_FAR_OFF = (
    r"-----BEGIN|[Kk]ind[\"'\\]{0,4}:\s{0,8}[\"'\\]{0,4}Secret"
    r"|(?i:mnemonic|(?:seed|recovery|backup|secret)[ _-]?(?:phrase|word)|(?:wallet|ledger) seed)"
)
"""What makes a secret of lines far from it."""
_MANIFEST = r"kind[\"'\\]{0,4}:\s{0,8}[\"'\\]{0,4}Secret"


def find_bounded(text: str, find: Callable[[str, bool], list[Span]], *, is_hiding: bool) -> list[Span]:
    """What `find` finds at the beginning of a text that is full of secrets, and each line behind that may hold one; of
    others nothing."""
    for apart, found in BOUNDS:
        end = judged(text, apart)
        if is_hiding and 2 * end > len(text):  # more may look like one in the copy
            from core.redaction.shown import Copies

            copies = Copies(text)
            end = copies.place(judged(copies.plain, apart))
        if 2 * end > len(text):  # all of it is judged as soon
            break
        spans = [span for span in find(_with_margin(text, end), is_hiding) if span[0] < end]
        if len(spans) >= found:
            return spans + _unjudged(text, max(end, spans[-1][1]) if spans else end)
    return []


def judged(text: str, apart: int) -> int:
    """How many characters of the text, from its beginning, are judged: with one every `apart` all."""
    left = compiled(_SETTLED).sub(lambda one: " " * len(one.group()), text) if MARK in text else text
    most = MOST_LIKELY + len(text) // apart
    names = _names(left)
    if names <= most and names + _commands(left) + count_random(left) <= most:
        return len(text)
    seen = 0
    for at in range(0, len(left), _STRETCH):
        stretch = left[at : at + _STRETCH]
        seen += _names(stretch) + _commands(stretch) + count_random(stretch)
        if seen > MOST_LIKELY + at // apart:
            begin = max(0, at - _STRETCH)
            return left.rfind("\n", begin, at) + 1 or left.rfind(" ", begin, at) + 1 or at
    return len(text)


def _with_margin(text: str, end: int) -> str:
    """The text as far as it says whether a secret stands before `end`."""
    of_secret = [match.end() for match in compiled(_MANIFEST).finditer(text, end, end + _FAR)]
    return text[: max([end + _MARGIN, *of_secret])]


def _unjudged(text: str, end: int) -> list[Span]:
    """The lines from `end` on that may hold a secret, which is all but those of words that name none."""
    spans: list[Span] = []
    whole = compiled(_FAR_OFF).search(text)
    is_open = text[end - 1 : end] != "\n" or _is_open(text[max(0, end - 200) : end])
    for line in [text[end:]] if whole else text[end:].split("\n"):
        start, end = end, end + len(line) + 1
        if line.strip() and (is_open or not _is_clear(line)):
            if spans and not text[spans[-1][1] : start].strip():
                start = spans.pop()[0]
            spans.append((start, end - 1, "unjudged"))
            is_open = _is_open(line)
    return spans


def _is_open(line: str) -> bool:
    return line.rstrip(" \t\r\n\"'`*+-")[-1:] in _OPEN


def _is_clear(line: str) -> bool:
    lower = line.lower()
    return compiled(_CLEAR).fullmatch(line) is not None and not any(word in lower for word in _UNCLEAR)


def _names(text: str) -> int:
    return sum(map(text.lower().count, NAME_PARTS))


def _commands(text: str) -> int:
    """Programs that may be given a secret, with as many options."""
    return min(text.count(" -"), sum(map(text.count, COMMANDS)))
