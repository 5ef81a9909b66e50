"""What was said before a compaction, and its summary does not tell: the user's words, and decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.speech import own_words
from memory.noise import is_noise
from session.inject import topics
from session.inject.selection import sentences, weight
from session.lost.entry import Words, by_id
from session.lost.told import meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from session.lost.told import Told

TEXT_CHARS = 300
TOLD_SHARE = 0.7
"""From here on a sentence counts as told by the summary."""
_TOLD_PROMPT = 0.6
_WHOLE = 0.8
_USER, _ASSISTANT = "user", "assistant"
_DECIDES = re.compile(
    r"\b(?:decided?|deciding|decision|chose|choose|chosen|instead|rather than|prefer(?:s|red)?|must|should|shouldn't"
    r"|never|always|don't|do not|avoid|won't|will not|can't|cannot|only|keep|drop(?:ped)?|revert(?:ed)?|agreed?"
    r"|reject(?:ed)?|ruled out|going with|go with|use|replace|no need|not needed|better to|simpler)\b",
    re.I,
)
_REASON = re.compile(
    r"(?:\b(?:because|since (?!last|the last|then|yesterday)|so that|otherwise|therefore|due to|the reason|in order to"
    r"|which means|that way|as (?:it|this|that|they) (?:would|is|are|was|does)|given that"
    r"|to (?:avoid|prevent|ensure|preserve)|would (?:break|fail|cause|mean|lose|require|need)|root cause|overkill"
    r"|the (?:problem|issue|trade-?off|point|risk) (?:is|was|here)|without (?:it|this|that)|unless|even (?:if|though)"
    r"|not worth)|, so (?:we|it|the|that|there))\b",
    re.I,
)
_OPENING = r"(?:ok(?:ay)?|now|done|next|first|then|alright|right|yes|so|but|and|also|wait|hmm+)"
_NARRATES = re.compile(
    r"^(?:good|great|perfect|excellent)\b"
    rf"|^(?:{_OPENING}\b[,.!:;— -]*)*(?:let me|let's|i'll|i will|i need|i should|i can see|i see|i'm|i am"
    r"|we need to (?:look|check|see|read)|(?:the )?(?:next|remaining) step|looking|checking|running)\b",
    re.I,
)
_GOES_ON = re.compile(
    r"(?:continue|go on|proceed|try again|keep going|resume)\b.{0,60}$|operation stopped by hook", re.I | re.S
)
_CODE = re.compile(r"^\s*(?:[{}()\[\]<>|`+\-@#*/]|\d+[\s→:|]|import |func |const |return |if |type )|[{};]\s*$|→")
_MARKS = "*_#>-–— \t0123456789.)"
_LEAST_CHARS, _MOST_CHARS = 40, 320
_KEY_CHARS = 60
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Said:
    """A message before the compaction. `prompt` counts the user's messages up to it."""

    id: str
    by: str
    text: str
    prompt: int


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said before a compaction, oldest first.

    Args:
        told: what the summary tells.
        said: the messages.
        shortest: a shorter form of an id that means the same memory.
    """

    told: Told
    said: Sequence[Said]
    shortest: Callable[[str], str]

    def words(self) -> list[Words]:
        """What the user said, the latest first, each once: no "continue", nothing that the summary repeats."""
        found: dict[str, Words] = {}
        for one in reversed(self.said):
            if one.by != _USER or not (topics.is_topic(one.text) or topics.is_request(one.text)):
                continue
            own = own_words.of(one.text).strip() or one.text
            key = "".join(filter(str.isalnum, own.lower()))[:_KEY_CHARS]
            if key in found or _GOES_ON.match(own) or self._is_told(own):
                continue
            found[key] = self._words(one, own)
        return list(found.values())

    def decisions(self) -> list[Words]:
        """Sentences that decide something and say why, the weightiest first, the later before the earlier."""
        ranked: list[tuple[float, Words]] = []
        seen: set[frozenset[str]] = set()
        for place, one in enumerate(self.said):
            said = own_words.said(one.text) if one.by == _USER else one.text
            for sentence in decisions_in(said):
                key = meaning(sentence)
                if one.by == _USER and len(sentence) > _WHOLE * len(said):  # it stands among the user's words
                    continue
                if key in seen or self.told.share(sentence) >= TOLD_SHARE:
                    continue
                seen.add(key)
                ranked.append((weight(sentence) * (1 + place / len(self.said)), self._words(one, sentence)))
        return [words for _, words in sorted(ranked, key=lambda entry: -entry[0])]

    def _is_told(self, text: str) -> bool:
        """Whether the summary tells most of a message."""
        parts = [part for part in sentences(text) if part] or [text]
        told = sum(len(part) for part in parts if self.told.share(part) >= TOLD_SHARE)
        return told >= _TOLD_PROMPT * sum(map(len, parts))

    def _words(self, one: Said, text: str) -> Words:
        prompts = self.said[-1].prompt if self.said else 0
        return Words(
            text=cut(text), by=one.by, id=one.id, prompts_before=max(0, prompts - one.prompt),
            get=by_id(self.shortest(one.id)),
        )  # fmt: skip


def said_in(rows: Sequence[tuple[str, str]]) -> Iterator[Said]:
    """The messages of archived episodes, given as id and text, oldest first."""
    prompt = 0
    for identifier, text in rows:
        by, _, body = text.partition(": ")
        if by == _USER:
            prompt += 1
        if by in (_USER, _ASSISTANT) and body.strip():
            yield Said(identifier, by, body.strip(), prompt)


def decisions_in(text: str) -> list[str]:
    """The sentences of a message that decide something and say why; no code, no narration."""
    if is_noise(text[:_MOST_CHARS]) and len(text) < _MOST_CHARS:
        return []
    found = []
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced or _CODE.search(line.lstrip(_MARKS)):
            continue
        for sentence in re.split(r"(?<=[.!?])\s+", line.strip()):
            plain = sentence.strip(_MARKS + "`")
            if not _LEAST_CHARS <= len(plain) <= _MOST_CHARS or plain.endswith(("?", ":")):
                continue
            if _NARRATES.match(plain.replace("’", "'")):
                continue
            if _DECIDES.search(plain) and _REASON.search(plain):
                found.append(sentence.replace("**", "").strip(" -*#>"))
    return found


def cut(text: str) -> str:
    """A text on one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= TEXT_CHARS:
        return line
    head = line[:TEXT_CHARS]
    return (head.rpartition(" ")[0] or head[:-1]).rstrip(" ,;:") + _ELLIPSIS
