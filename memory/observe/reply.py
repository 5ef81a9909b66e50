"""Reading what a model writes of a conversation: segments with a narrative and facts, however loosely kept to the form.

    <observations><segment><narrative>…</narrative><facts>- …</facts></segment></observations>

Closing tags may be missing, fences, bullets and talk around the form do no harm, and of a reply that breaks off the
whole items count. Annotations of the write gate stay in front of the texts; `memory.gate` reads them.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

NARRATIVE, FACT, TEXT = "segment_narrative", "segment_fact", "observation_text"
"""Types of an observation (the mirrored CLI's)."""
LONGEST = 2_000
"""Characters of an item; what is longer is cut."""
MOST = 200
"""Items of a reply."""

# A tag within backticks is talk about the form. Bounded repetitions keep the search linear.
_TAG = re.compile(
    r"(?<!`)<[ \t]{0,3}(/?)[ \t]{0,3}(observations|observation|segment|narrative|facts|fact)\b([^<>]{0,200})>",
    re.IGNORECASE,
)
_HALF_A_TAG = re.compile(r"<[ \t]{0,3}/?[ \t]{0,3}[a-z]{0,12}\Z", re.IGNORECASE)
_FENCE = re.compile(r"```[a-z]{0,12}", re.IGNORECASE)
_BULLET = re.compile(r"\A(?:[-*•‣·–—+]|\(?\d{1,3}[.)])[ \t]+")
_MARKER = re.compile(r"\*{0,2}(?:[🔴🟡🟢]\ufe0f?\s*)?\*{0,2}\[\s*(?:gate|verdict)\s*=", re.IGNORECASE)
_BOLD_HEAD = re.compile(r"\*\*((?:[🔴🟡🟢]\ufe0f?\s*)?\[[^\[\]]{1,600}\])\*\*")
_WRAPPED = re.compile(r"<([a-z][\w-]{0,40})(?:\s[^<>]{0,200})?>(.*)</\1\s{0,3}>", re.IGNORECASE | re.DOTALL)
_LONE_TAG = re.compile(r"</?[a-z][\w-]{0,40}(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_HEAD = re.compile(r"(?:[🔴🟡🟢]\ufe0f?\s*)?\[\s*(?:gate|verdict)\s*=[^\]]{0,600}(\]?)", re.IGNORECASE)
_ENDS = ".!?…。！？\"'`)»”"
_TYPES = {"narrative": NARRATIVE, "facts": FACT, "fact": FACT, "observation": TEXT}


@dataclass(frozen=True, slots=True)
class Item:
    """One observation; `text` begins with its annotation where it has one, and is on one line."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote; `cut` when it broke off, and what was unfinished is left out."""

    items: tuple[Item, ...]
    cut: bool


class NotTheFormError(ValueError):
    """A reply is not in the form; the message says why."""


def parse(reply: str) -> Reply:
    """The observations of a reply; none where the model found nothing worth keeping.

    Raises:
        NotTheFormError: there is no tag of the form, or the reply breaks off before the first observation.
    """
    text = _FENCE.sub("", _without_thoughts(reply))
    found: list[Item] = []
    kind, inside, closed, seen, at = "", False, False, False, 0
    started = 0  # how many items there were when the form was opened last
    for tag in _TAG.finditer(text):
        closing, name = bool(tag[1]), tag[2].lower()
        if inside or kind:
            found += _items(kind, text[at : tag.start()])
        at, seen, closed = tag.end(), True, False
        if closing or tag[3].rstrip().endswith("/"):
            kind = ""
            closed = name in ("observations", "segment") or not inside
            inside = inside and name != "observations"
        elif name in ("observations", "segment"):
            if name == "observations" and not closed and all(item.type == TEXT for item in found[started:]):
                del found[started:]  # the form was only spoken of before
            kind, inside = "", True
            started = len(found) if name == "observations" else started
        else:
            kind = _TYPES[name]
    if not seen:
        raise NotTheFormError("it holds no <observations>")
    rest = _items(kind, _HALF_A_TAG.sub("", text[at:])) if inside or kind else []
    cut = bool(rest) or (not closed and (inside or bool(kind)))
    if rest and _is_unfinished(rest[-1].text):
        rest.pop()
    found += rest
    if not found and not closed:
        raise NotTheFormError("it breaks off before the first observation")
    return Reply(tuple(found[:MOST]), cut)


def _is_unfinished(text: str) -> bool:
    """Whether the last item of a reply that broke off is but a part: no sentence ends it, or its annotation is open."""
    head = _HEAD.match(text)
    return text[-1] not in _ENDS or (head is not None and not head[1])


def _without_thoughts(text: str) -> str:
    """The text without the thoughts that some models print before they answer."""
    for name in ("think", "thinking"):
        begin, end = f"<{name}>", f"</{name}>"
        kept, at = [], 0
        while True:
            start = text.find(begin, at)
            stop = text.find(end, start) if start >= 0 else -1
            if stop < 0:
                break
            kept.append(text[at:start])
            at = stop + len(end)
        text = "".join([*kept, text[at:]])
    return text


def _items(kind: str, text: str) -> list[Item]:
    """The items in the text of one element: a narrative is one, else each bullet, or each line where there is none."""
    lines = [line.strip() for line in text.splitlines()]
    begins = [bool(line) and bool(_BULLET.match(line) or _MARKER.match(line)) for line in lines]
    if kind == NARRATIVE:
        begins = [bool(_MARKER.match(line)) for line in lines]
    by_line = kind != NARRATIVE and not any(begins)
    groups: list[list[str]] = [[]]
    for line, is_begin in zip(lines, begins, strict=True):
        if is_begin or by_line:
            groups.append([])
        if line and not _LONE_TAG.fullmatch(line):
            groups[-1].append(line)
    clean = (_clean(" ".join(group)) for group in groups)
    return [Item(kind or TEXT, text) for text in clean if text]


def _clean(text: str) -> str:
    """An item without its bullet, the tags around it and entities; "" where nothing is left that says something."""
    text = _BULLET.sub("", text.strip(), count=1)
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped:
        text = _BULLET.sub("", wrapped[2].strip(), count=1)
    text = " ".join(html.unescape(_BOLD_HEAD.sub(r"\1", text, count=1)).split())
    head = _HEAD.match(text)
    if not any(map(str.isalnum, text[head.end() if head and head[1] else 0 :])):
        return ""
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
