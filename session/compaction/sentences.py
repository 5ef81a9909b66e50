"""Splits a message into its sentences, changed in white space only.

A line break ends a sentence at a list item, a heading or a short line; hard-wrapped paragraphs are joined again. Code
in fences, tables and what clients wrap in tags are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPPED = 60  # a line as long as this may go on in the next one
_LEAST = 4
_LONGEST = 2_000
_LONGEST_LEAD = 120
_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|\x1b[ -~]?")
# Controls become spaces; signs that turn the direction of writing around go.
_SPACES = dict.fromkeys((*range(32), *range(0x7F, 0xA0)), " ") | dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0xFEFF), None
)
_MARKER = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX~-]\]\s+)?|\d{1,3}[.)]\s+|#{1,6}\s+|>\s?)")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*(?=\s)|[。！？]+[」』”’）]*")
_NO_END = re.compile(r"(?:\b(?i:e\.g|i\.e|cf|vs|etc|approx|no|fig|mr|mrs|dr|st|resp|z\.B|u\.a)|(?:^|[\s(])[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the line with a colon or the heading under which it stands ("" for most)."""

    text: str
    lead: str = ""


def flat(text: str) -> str:
    """The text on one line: escapes and controls gone, each run of white space one space."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub(" ", text)
    return " ".join(text.translate(_SPACES).split())


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a message, in order."""
    for paragraph, lead in _paragraphs(text):
        start = 0
        for end in _END.finditer(paragraph):
            piece = paragraph[start : end.end()]
            if _ends(piece, paragraph[end.end() : end.end() + 2]):
                yield from _one(piece, lead)
                start = end.end()
        yield from _one(paragraph[start:], lead)


def _one(piece: str, lead: str) -> Iterator[Sentence]:
    piece = piece.strip()[:_LONGEST]
    if (len(piece) >= _LEAST or not piece.isascii()) and any(map(str.isalnum, piece)):
        yield Sentence(piece, lead)


def _ends(piece: str, behind: str) -> bool:
    """Whether a full stop ends a sentence: not after an abbreviation, within code, or as an ellipsis within one."""
    if piece[-1] in "。！？」』）":
        return True
    if piece.count("`") % 2:
        return False
    if piece.endswith(("...", "…")) and behind.strip()[:1].islower():
        return False
    return not _NO_END.search(piece[-12:])


def _paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """The lines, wrapped ones joined, without list markers; each with what it stands under."""
    heading = colon = ""
    waiting: list[str] = []
    under = ""
    fenced = False
    for raw in (*text.splitlines(), ""):
        fence = _FENCE.match(raw) is not None
        fenced ^= fence
        marker = _MARKER.match(raw)
        body = "" if fenced or fence else flat(raw[marker.end() :] if marker else raw)
        if body[:1] in ("|", "<"):
            body = ""
        goes_on = bool(waiting) and len(waiting[-1]) >= _WRAPPED and waiting[-1][-1] not in ".:!?。"
        if body and goes_on and not marker:
            waiting.append(body)
            continue
        if waiting:
            yield " ".join(waiting), under
            waiting = []
        if not body:
            continue
        if marker and marker.group().lstrip().startswith("#"):
            heading, colon = body, ""
        elif body[-1] == ":" and len(body) <= _LONGEST_LEAD:
            colon = body
        else:
            if not marker:
                colon = ""
            waiting, under = [body], colon or heading
