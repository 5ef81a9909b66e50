"""The lines of tool calls and their results that a summary keeps: commands, numbers, errors. Whole lines only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from session.compaction.sentences import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clients.entry import Block

_LONGEST_COMMAND = 240
_LONGEST_LINE = 180
_SAME_PATTERN = 2
_PER_RESULT = 6
# Tools whose answers can be had again, and texts of files that were written.
_READERS = frozenset(
    "read edit write multiedit notebookedit grep glob ls find webfetch websearch apply_patch todowrite".split()
)
_LOOKS = frozenset(
    (
        "ls cat cd pwd echo printf head tail less grep rg find sed awk wc which tree stat file sleep true seq date"
    ).split()
)
_GIT_LOOKS = frozenset("status log diff show branch".split())
_PROOF = re.compile(
    r"\b(?:tests?|check|build|lint|run|deploy|migrate|bench|verify|install|make|compile|start)\b|pytest|unittest"
)
_PAIR = re.compile(r"(?<![\w-])[A-Za-z][\w.-]*\s?[=:]\s?-?[\d.,]*\d")
_COUNT = re.compile(
    r"\b\d[\d.,]*\s?(?:%|ms|s|[kKMGT]i?B|passed|failed|errors?|warnings?|tests?|lines?|rows?|of \d+|files?|requests?)"
    r"(?!\w)"
)
_ERROR = re.compile(
    r"\b(?:error|failed|failure|fatal|panic|traceback|exception|denied|refused|timed? ?out|not found|deadlock"
    r"|killed)\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_RAN = re.compile(r"Ran `([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the tool, and the command where it is a shell."""

    tool: str
    command: str


@dataclass(frozen=True, slots=True)
class ToolLine:
    """A line worth keeping."""

    text: str
    weight: float


def call_of(block: Block) -> Call:
    """The tool and command of a block; lists of words, as Codex gives them, are joined."""
    command = block.arguments.get("command", block.arguments.get("cmd", ""))
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = command[-1] if command[:2] in (["bash", "-lc"], ["bash", "-c"], ["sh", "-c"]) else " ".join(command)
    return Call(block.name, command.strip() if isinstance(command, str) else "")


def of_call(call: Call) -> Iterator[ToolLine]:
    """The command of a call, where it is one line and does more than show something."""
    command = call.command
    if not command or "\n" in command or len(command) > _LONGEST_COMMAND or _looks_only(command):
        return
    yield ToolLine(flat(command), 0.55 if _PROOF.search(command) else 0.3)


def worth_reading(text: str, call: Call | None) -> str:
    """The result of a tool, or "" where it can be had again: a file, a search."""
    return "" if call is not None and not call.command and call.tool.lower() in _READERS else text


def of_result(text: str, *, failed: bool) -> Iterator[ToolLine]:
    """Lines with numbers or errors; of those that differ in their numbers only, the first two."""
    counts: dict[str, int] = {}
    found: list[ToolLine] = []
    for raw in text.splitlines():
        line = flat(raw)
        if not 4 <= len(line) <= _LONGEST_LINE:
            continue
        weight = _weight(line, failed=failed)
        if not weight:
            continue
        pattern = _DIGITS.sub("0", line)
        counts[pattern] = counts.get(pattern, 0) + 1
        if counts[pattern] <= _SAME_PATTERN:
            found.append(ToolLine(line, weight))
    found.sort(key=lambda kept: -kept.weight)
    often = {pattern for pattern, count in counts.items() if count > _SAME_PATTERN}
    for kept in found[:_PER_RESULT]:
        repeated = _DIGITS.sub("0", kept.text) in often
        yield ToolLine(kept.text, kept.weight - 0.15 * repeated)


def of_user_command(text: str) -> Iterator[ToolLine]:
    """A command that the user ran, and its output."""
    ran = _RAN.match(text)
    if ran and not _looks_only(ran.group(1)):
        yield ToolLine(flat(ran.group(1)), 0.6)
    yield from of_result(text[ran.end() :] if ran else text, failed=False)


def _weight(line: str, *, failed: bool) -> float:
    pairs = len(_PAIR.findall(line)) + len(_COUNT.findall(line))
    error = _ERROR.search(line) is not None
    if failed:
        return 0.5 if error else 0.35
    return 0.0 if not pairs and not error else min(0.6, 0.3 + 0.08 * pairs + 0.12 * error)


def _looks_only(command: str) -> bool:
    """Whether a command only shows something: each of its parts begins with a word of `_LOOKS`."""
    for part in re.split(r"\s*(?:&&|\|\||[;|])\s*", command):
        named = part.split()
        if named and named[0] not in _LOOKS and not (named[0] == "git" and named[1:2] and named[1] in _GIT_LOOKS):
            return False
    return True
