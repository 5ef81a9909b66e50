"""A summary without a model: sentences and tool lines of the transcript, chosen and sorted, never rewritten.

Every line is quoted from the transcript, redacted. Requests, rules, decisions, blockers and failed approaches weigh
most (`session.compaction.cues`); the lines that fit into the budget stand in the order of the transcript.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core import words
from core.quoting import DELIMITER, cost
from core.redaction import redact
from memory.noise import is_own
from session.compaction import cues, tool_lines
from session.compaction import summary_form as form
from session.compaction.sentences import flat, sentences
from session.inject import selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clients.entry import Message

TOKENS = 2_000
"""Default bound of an extractive summary, without the lists of files."""
READ_CHARS = 2_000_000
"""Of a longer conversation only the user's messages, the first and the last are read."""
CUT = " […]"
"""Ends a line that was cut."""
_MESSAGE_CHARS = 24_000
_RESULT_CHARS = 6_000
_LINE_CHARS = 420
_HEADING_TOKENS = 70  # headings and the first line
_BULLET_TOKENS = 2
_FIRST_SHARE = 8  # one part in eight of what is read of a long conversation is its beginning
_CARRIED_SHARE = 0.5  # of the budget, for lines of earlier summaries
# The largest share of a section while other sections have lines of weight.
_SHARES = {
    form.GOAL: 0.22,
    form.CONSTRAINTS: 0.25,
    form.PROGRESS: 0.1,
    form.DONE: 0.2,
    form.IN_PROGRESS: 0.1,
    form.BLOCKED: 0.15,
    form.DECISIONS: 0.3,
    form.NEXT: 0.1,
    form.CONTEXT: 0.45,
}
_TOOLS_SHARE = 0.15
_LEAST_WEIGHT = 0.2
_CONTAINED = 24
_KEEPS = {form.CONSTRAINTS: 0.5, form.DECISIONS: 0.4, form.GOAL: 0.4, form.CONTEXT: 0.3, form.BLOCKED: 0.2}


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may go into the summary."""

    text: str
    section: str
    weight: float
    at: int
    """place in the transcript; below zero for lines of an earlier summary"""
    of_tool: bool = False
    """a command or a result, shown as code"""

    @property
    def key(self) -> str:
        """Its words; lines with the same words are kept once."""
        return " ".join(words.split(self.text)) or self.text


@dataclass(frozen=True, slots=True)
class Extract:
    """The chosen lines, and what was left out."""

    lines: tuple[Line, ...]
    problems: tuple[str, ...] = ()

    def sections(self) -> dict[str, str]:
        """The sections as a summary shows them."""
        found: dict[str, list[str]] = {}
        for line in self.lines:
            found.setdefault(line.section, []).append(_bullet(line))
        return {name: "\n".join(lines) for name, lines in found.items()}


def extract(
    messages: Sequence[Message], *, previous: str = "", tokens: int = TOKENS, known: Iterable[str] = ()
) -> Extract:
    """The lines worth keeping of a conversation, and of the summary of what came before it, within `tokens`.

    `known`: keys of lines that another part of the summary has.
    """
    problems: list[str] = []
    lines = list(_carried(previous)) if previous else []
    number = -len(lines)
    lines = [_moved(line, number + at) for at, line in enumerate(lines)]
    read = _within(messages, problems)
    lines += _candidates(read)
    chosen, dropped = _choose(lines, max(0, tokens - _HEADING_TOKENS), set(known))
    if dropped:
        problems.append(f"{dropped} lines of the previous summary did not fit and were left out")
    return Extract(tuple(sorted(chosen, key=lambda line: line.at)), tuple(problems))


def _within(messages: Sequence[Message], problems: list[str]) -> Sequence[Message]:
    """The messages that are read: of a long conversation the user's, the first and the last."""
    sizes = [min(sum(len(block.text) for block in message.blocks), _MESSAGE_CHARS) + 200 for message in messages]
    if sum(sizes) <= READ_CHARS:
        return messages
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    kept = _ends(users, sizes, READ_CHARS // 2)
    others = [at for at in range(len(messages)) if at not in kept]
    kept |= _ends(others, sizes, READ_CHARS - sum(sizes[at] for at in kept))
    problems.append(f"only {len(kept)} of {len(messages)} messages were read: the user's, the first and the last")
    return [messages[at] for at in sorted(kept)]


def _ends(places: Sequence[int], sizes: Sequence[int], room: int) -> set[int]:
    """The first and the last of some messages, as many as fit."""
    kept: set[int] = set()
    left = room // _FIRST_SHARE
    for at in places:
        left -= sizes[at]
        if left < 0:
            break
        kept.add(at)
    left = room - sum(sizes[at] for at in kept)
    for at in reversed(places):
        left -= sizes[at] * (at not in kept)
        if left < 0:
            break
        kept.add(at)
    return kept


def _candidates(messages: Sequence[Message]) -> Iterator[Line]:
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    ends = {*users[:1], *users[-1:]}
    last = max(
        (at for at, message in enumerate(messages) if message.role == "assistant" and message.text.strip()), default=-1
    )
    calls: dict[str, tool_lines.Call] = {}
    place = 0
    for at, message in enumerate(messages):
        if message.excluded:
            continue
        for line in _of_message(message, calls, end=at in ends, last=at == last):
            yield _moved(line, place)
            place += 1


def _of_message(message: Message, calls: dict[str, tool_lines.Call], *, end: bool, last: bool) -> Iterator[Line]:
    if message.role in ("compaction_summary", "branch_summary"):
        yield from _carried(message.text)
    elif message.role == "tool_result":
        text = tool_lines.worth_reading(_clean(message.text, _RESULT_CHARS), calls.get(message.call))
        yield from _of_tools(tool_lines.of_result(text, failed=message.failed))
    elif message.role == "bash":
        yield from _of_tools(tool_lines.of_user_command(_clean(message.text, _RESULT_CHARS)))
    elif message.role in ("user", "assistant"):
        yield from _said(message, end=end, last=last)
        for block in message.blocks:
            if block.kind == "tool_call":
                calls[block.call] = tool_lines.call_of(block)
                yield from _of_tools(tool_lines.of_call(calls[block.call]))


def _of_tools(found: Iterable[tool_lines.ToolLine]) -> Iterator[Line]:
    for line in found:
        if _may_stand(line.text) and any(map(str.isalnum, line.text)):
            yield Line(redact(line.text)[0], form.CONTEXT, line.weight, 0, of_tool=True)


def _said(message: Message, *, end: bool, last: bool) -> Iterator[Line]:
    text = _clean(message.text, _MESSAGE_CHARS)
    if message.role == "user" and is_own(text):
        return
    for number, sentence in enumerate(sentences(text)):
        if message.role == "user":
            found = cues.of_user(sentence, end=end, number=number)
        else:
            found = cues.of_assistant(sentence, last=last)
        if found is not None and _may_stand(sentence.text):
            yield Line(_cut(sentence.text), *found, 0)


def _carried(summary: str) -> Iterator[Line]:
    """The lines of an earlier summary. One without our sections counts as context."""
    text = form.body(redact(words.clean(summary))[0])
    sections = form.parse(text)
    if form.is_summary(sections):
        for section, body in sections.items():
            for item in form.items(body):
                yield from _kept(flat(item), form.CONTEXT if section == form.PROGRESS else section)
        return
    for sentence in sentences(text):
        found = cues.of_assistant(sentence, last=False)
        yield from _kept(sentence.text, found[0] if found else form.CONTEXT)


def _kept(line: str, section: str) -> Iterator[Line]:
    of_tool = line[:1] == line[-1:] == "`" and line.count("`") == 2 and len(line) > 2
    line = line[1:-1] if of_tool else line
    if _may_stand(line) and not line.startswith(f"*{form.MARK}"):
        weight = 0.5 + 0.5 * min(1.0, selection.weight(line)) + _KEEPS.get(section, 0.0)
        yield Line(_cut(line), section, weight, 0, of_tool=of_tool)


def _choose(lines: Sequence[Line], budget: int, known: set[str]) -> tuple[list[Line], int]:
    """The weightiest lines within the budget, each once; and how many of an earlier summary's did not fit."""
    unique: dict[str, Line] = {}
    for line in lines:
        if line.weight >= _LEAST_WEIGHT and (key := line.key) not in known:
            unique.setdefault(key, line)
    # Of two lines of the same weight the later one is nearer to where the work stands.
    ranked = sorted(unique.items(), key=lambda entry: (-entry[1].weight, -entry[1].at))
    chosen: dict[str, Line] = {}
    spent: dict[str, float] = {}
    whole = 0

    def choose(key: str, line: Line, *, free: bool) -> bool:
        nonlocal whole
        tokens = cost(_bullet(line)) + _BULLET_TOKENS - 1
        purse = "carried" if line.at < 0 else "tools" if line.of_tool else line.section
        share = _CARRIED_SHARE if line.at < 0 else _TOOLS_SHARE if line.of_tool else _SHARES[line.section]
        if whole + tokens > budget or (not free and spent.get(purse, 0) + tokens > share * budget):
            return False
        if len(key) >= _CONTAINED and any(key in other for other in chosen):
            return True  # said already, within another line
        spent[purse] = spent.get(purse, 0) + tokens
        whole += tokens
        chosen[key] = line
        return True

    ranked.sort(key=lambda entry: entry[1].at >= 0)  # what an earlier summary holds first, each in its order
    left = [entry for entry in ranked if not choose(*entry, free=False)]
    left.sort(key=lambda entry: -entry[1].weight)
    missing = [entry for entry in left if not choose(*entry, free=True)]
    return list(chosen.values()), sum(line.at < 0 for _, line in missing)


def _bullet(line: Line) -> str:
    text = f"`{line.text}`" if line.of_tool and "`" not in line.text else line.text
    marker = {form.DONE: "- [x] ", form.IN_PROGRESS: "- [ ] "}.get(line.section, "- ")
    return marker + text


def _moved(line: Line, at: int) -> Line:
    return Line(line.text, line.section, line.weight, at, line.of_tool)


def _clean(text: str, limit: int) -> str:
    """The text redacted; of one that is too long the beginning and the end."""
    text = words.clean(text)
    if len(text) > limit:
        head, tail = text[: limit * 3 // 4], text[-limit // 4 :]
        head = head.rpartition("\n")[0] or head.rpartition(" ")[0]
        tail = tail.partition("\n")[2] or tail.partition(" ")[2]
        text = f"{head}\n\n{tail}"  # redaction would not find half a secret
    return redact(text)[0]


def _may_stand(text: str) -> bool:
    """Whether a line may be quoted: it holds no tag of ours or of the lists of files."""
    lower = text.lower()
    return bool(form.items(f"- {text}")) and not any(
        mark in lower for mark in ("read-files>", "modified-files>", f"{DELIMITER}")
    )


def _cut(text: str) -> str:
    if len(text) <= _LINE_CHARS:
        return text
    head = text[:_LINE_CHARS]
    return (head.rpartition(" ")[0] if " " in head[_LINE_CHARS // 2 :] else head).rstrip() + CUT
