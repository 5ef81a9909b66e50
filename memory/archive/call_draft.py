"""What a tool call left behind, as it is stored: file, command, outcome, and the names in its texts. Hot path.

All texts here are redacted. A name is kept with the line in which it stands first in its session, so that it
is found by itself and shown where it stood.
"""

from __future__ import annotations

from core import ids
from core.names import is_file, names_in
from core.redaction import redact
from core.words import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.event import Outcome, Tool

COMMAND_CHARS = 1000
ERROR_CHARS = 200
LINE_CHARS = 200
PASSAGE_CHARS = 12_000
READ_CHARS = 400_000
"""Of an input or an output: what is longer is read at its head and its tail."""
_MOST_ERRORS = 3
_ERROR_MARKS = ("error", "fail", "fatal", "panic", "exception", "traceback", "not found", "no such", "denied")


class CallDraft:
    """A tool call in the making."""

    __slots__ = (
        *("at", "command", "error", "file", "given", "given_names", "key", "outcome", "prompt"),
        *("returned", "returned_names", "tool"),
    )

    def __init__(self, tool: Tool, prompt: int, at: int | None) -> None:
        self.tool = _plain(tool["name"][:100]) or "tool"
        self.file = _plain(tool["target"][:1000]) if tool["files"] or is_file(tool["target"]) else ""
        self.command = _plain(tool["command"].strip()[: COMMAND_CHARS * 4])[:COMMAND_CHARS]
        self.given = _plain(_ends(tool["given"]))
        self.given_names = names_in(self.given)
        self.key = key_of(tool["call"]) or key_of(f"{self.tool}\0{at}\0{self.given}")
        self.prompt = prompt
        self.at = at
        self.outcome = ""
        self.error = ""
        self.returned = ""
        self.returned_names: tuple[set[str], set[str]] = (set(), set())

    def finish(self, outcome: Outcome) -> CallDraft:
        """Note what came of it."""
        self.returned = _plain(_ends(outcome["text"]))
        self.returned_names = names_in(self.returned)
        self.outcome = "failed" if outcome["failed"] else "ok"
        self.error = error_line(self.returned) if outcome["failed"] else ""
        return self


def late(outcome: Outcome) -> CallDraft:
    """The outcome of a call that was stored before."""
    call: Tool = {"call": outcome["call"], "name": "", "files": [], "command": "", "target": "", "given": ""}
    return CallDraft(call, 0, None).finish(outcome)


def key_of(call: str) -> str:
    """A call's id as it is kept: it is as random as a secret, and of any length."""
    return ids.fingerprint(call)[:16] if call else ""


def error_line(output: str) -> str:
    """The line of a failed call's output that says what went wrong: the first that speaks of it, else the first."""
    output = output.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if not line.lower().startswith(("exit code", "error: exit code"))]
    for line in lines:
        lower = line.lower()
        if any(mark in lower for mark in _ERROR_MARKS):
            return line[:ERROR_CHARS]
    return lines[0][:ERROR_CHARS] if lines else ""


def passage_of(text: str, names: set[str], is_error: bool) -> str:
    """The lines of a text in which the names stand first, each cut around the name; of a failure what speaks of it."""
    spans: list[tuple[int, int]] = []
    found = sorted((place, name) for name in names if (place := text.find(name)) >= 0)
    covered = -1
    room = PASSAGE_CHARS
    for place, name in found:
        if place + len(name) <= covered:
            continue
        start = text.rfind("\n", 0, place) + 1
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
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
    if is_error:
        marked = [
            line.strip()[:LINE_CHARS] for line in text.splitlines() if any(m in line.lower() for m in _ERROR_MARKS)
        ]
        lines += [line for line in marked[:_MOST_ERRORS] if line not in lines]
    return "\n".join(line for line in lines if line)


def _ends(text: str) -> str:
    return text if len(text) <= READ_CHARS else text[: READ_CHARS // 2] + "\n" + text[-READ_CHARS // 2 :]


def _plain(text: str) -> str:
    return redact(clean(text).replace("\0", "\ufffd"))[0] if text else ""
