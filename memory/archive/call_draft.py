"""What a tool call left behind, as it is stored: file, command, outcome, and the names in its texts. Hot path.

All texts here are redacted. A name is kept with the line in which it stands first in its session, so that it
is found by itself and shown where it stood.
"""

from __future__ import annotations

from core import ids
from core.names import is_file, names_in, names_in_order
from memory.archive.plain_text import both_ends, one_line, start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from clients.event import Tool

    Errors = Literal["", "clear", "any"]
    """Which lines of an output are kept since they speak of an error: none, those that surely do, or any that may."""

TOOL_CHARS = 100
FILE_CHARS = 1000
COMMAND_CHARS = 1000
ERROR_CHARS = 200
LINE_CHARS = 200
PASSAGE_CHARS = 30_000
READ_CHARS = 400_000
"""Of an input or an output: what is longer is read at its head and its tail."""
_MOST_ERRORS = 40
_ERROR_MARKS = ("error", "fail", "fatal", "panic", "exception", "traceback", "not found", "no such", "denied")
_MOST_ERROR_LINES = 8
_LONGEST_ERROR = 400
_CLEAR_STARTS = (
    *(
        "error",
        "fail",
        "--- fail",
        "fatal",
        "panic",
        "traceback",
        "exception",
        "npm err",
        "e   ",
        "undefined",
        "assert",
    ),
)
_CLEAR_MARKS = (": error", "error: ", "exception: ", "undefined: ", "not found", "no such file", ": cannot ", "denied")
_SPEAKS_OF_IT = (*_ERROR_MARKS, "undefined", "cannot ")
_NO_ERROR = (
    "exit code",
    "error: exit code",
    "command exited with code",
    "0 error",
    "0 fail",
    "0 warning",
    "(pass)",
    "pass",
    "--- pass",
    "✓",
    "✔",
    "√",
    "ok ",
    "ok\t",
)


class CallDraft:
    """A tool call in the making."""

    __slots__ = (
        *("at", "command", "error", "file", "given", "given_names", "key", "outcome", "prompt"),
        *("printed", "returned", "returned_names", "tool"),
    )

    def __init__(self, tool: Tool, prompt: int, at: int | None) -> None:
        self.tool = start(tool["name"], TOOL_CHARS) or "tool"
        is_path = tool["files"] or is_file(tool["target"])
        self.file = one_line(start(tool["target"], FILE_CHARS))[:FILE_CHARS] if is_path else ""
        self.command = start(tool["command"].strip(), COMMAND_CHARS)
        self.given = both_ends(tool["given"], READ_CHARS)
        self.given_names = names_in_order(self.given)
        self.key = key_of(tool["call"]) or key_of(f"{self.tool}\0{at}\0{self.given}")
        self.prompt = prompt
        self.at = at
        self.outcome = ""
        self.error = ""
        self.printed = ""
        """All that its command printed, of which `returned` may be the beginning alone."""
        self.returned = ""
        self.returned_names: list[tuple[str, bool]] = []

    def finish(self, text: str, outcome: str) -> None:
        """Note what it returned, and what came of it, "" while that is not known."""
        self.returned = self.printed = both_ends(text, READ_CHARS)
        self.returned_names = names_in_order(self.returned)
        self.outcome = outcome
        self.error = error_line(self.returned) if outcome == "failed" else ""

    def end(self, text: str, failed: bool) -> None:
        """Note what came of it when another call has what it returned."""
        self.outcome = "failed" if failed else "ok"
        self.printed = both_ends(text, READ_CHARS)
        self.error = error_line(self.printed) if failed else ""


def late(key: str) -> CallDraft:
    """A draft for what came of a call that was stored before."""
    draft = CallDraft({"call": "", "name": "", "files": [], "command": "", "target": "", "given": ""}, 0, None)
    draft.key = key
    return draft


def key_of(call: str) -> str:
    """A call's id as it is kept: it is as random as a secret, and of any length."""
    return ids.fingerprint(call)[:16] if call else ""


def error_line(output: str) -> str:
    """The line of a failed call's output that says what went wrong; one that names something, if there is one.

    Of a traceback of Python it is the one behind the frames.
    """
    lines = [line for line in output.splitlines() if line.strip() and not line.strip().lower().startswith(_NO_ERROR)]
    marked: list[str] = []
    for number, line in enumerate(lines):
        lower = line.lower()
        if lower.startswith("traceback (most recent"):
            behind = next((one for one in lines[number + 1 :] if not one[0].isspace()), line)
            return behind.strip()[:ERROR_CHARS]
        if any(mark in lower for mark in _ERROR_MARKS):
            marked.append(line.strip()[:ERROR_CHARS])
            if len(marked) == _MOST_ERRORS:
                break
    named = (line for line in marked if names_in(line)[0])
    plain = [line.strip() for line in (lines or output.splitlines())[:1]]
    return next(named, next(iter((*marked, *plain)), ""))[:ERROR_CHARS]


def passage_of(text: str, found: Sequence[tuple[int, str]], errors: Errors) -> str:
    """The lines of a text in which names stand, each cut around the name, and those that speak of an error.

    Args:
        found: where a name stands, and the name, in order.
    """
    spans: list[tuple[int, int]] = []
    covered = -1
    room = PASSAGE_CHARS
    for place, name in found:
        if place + len(name) <= covered:
            continue
        # a line may be of any length: it is looked at around the name alone
        low, high = max(0, place - LINE_CHARS), place + len(name) + LINE_CHARS
        start = text.rfind("\n", low, place) + 1 or low
        end = text.find("\n", place, high)
        end = min(len(text), high) if end < 0 else end
        if end - start > LINE_CHARS:
            start = max(start, place - LINE_CHARS // 4)
            end = min(end, max(start + LINE_CHARS, place + len(name)))
        start = max(start, covered)
        room -= end - start + 1
        if room < 0:
            break
        spans.append((start, end))
        covered = end
    lines = [text[start:end].strip() for start, end in spans]
    if errors:
        kept = set(lines)
        lines += [line for line in dict.fromkeys(_marked(text, errors)) if line not in kept]
    return "\n".join(line for line in lines if line)


def _marked(text: str, errors: Errors) -> list[str]:
    """The first lines that speak of an error."""
    found: list[str] = []
    lower = text.lower()
    if not any(mark in lower for mark in _SPEAKS_OF_IT):
        return found
    for line in text.splitlines():
        bare = line.strip()
        small = bare.lower()
        if not any(mark in small for mark in _SPEAKS_OF_IT):
            continue
        if errors == "any" or (
            len(bare) <= _LONGEST_ERROR
            and (small.startswith(_CLEAR_STARTS) or any(mark in small for mark in _CLEAR_MARKS))
        ):
            found.append(bare[:LINE_CHARS])
            if len(found) == _MOST_ERROR_LINES:
                break
    return found
