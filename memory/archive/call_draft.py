"""What a tool call left behind, as it is stored: file, command, outcome, and the names in its texts. Hot path.

All texts here are redacted. A name is kept with the line in which it stands first in its session, so that it
is found by itself and shown where it stood.
"""

from __future__ import annotations

from core import ids
from core.names import is_file, names_in, names_in_order
from memory.archive.plain_text import both_ends, file_path, start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.event import Tool

TOOL_CHARS = 100
_PLAIN_CHARS = 30  # an identifier so short is no secret
FILE_CHARS = 1000
COMMAND_CHARS = 1000
ERROR_CHARS = 200
LINE_CHARS = 200
PASSAGE_CHARS = 30_000
READ_CHARS = 400_000
"""Of an input or an output: what is longer is read at its head and its tail."""
_MOST_ERRORS = 40
_MOST_ERROR_LINES = 8
_CODES = ("exit code", "error: exit code", "command exited with code")

_ERRORS = (
    "error", "exception", "fail", "fatal", "panic", "traceback", "denied", "refused", "timed out", "timeout",
    "not found", "no such", "undefined", "cannot ", "deadlock", "killed",
)  # fmt: skip
_NO_ERRORS = ("0 error", "0 fail", "no error", "no fail", "error: exit code")


class CallDraft:
    """A tool call in the making.

    Args:
        prompt: how many prompts of the user stood before it in its piece.
        folders: of the project, and those above it: their paths are in no name.
    """

    __slots__ = (
        *("at", "command", "error", "file", "folders", "given", "given_names", "key", "outcome", "prompt"),
        *("returned", "returned_names", "tool"),
    )

    def __init__(self, tool: Tool, prompt: int, at: int | None, folders: Sequence[str]) -> None:
        name = tool["name"]
        is_plain = name.isidentifier() and len(name) <= _PLAIN_CHARS
        self.tool = (name if is_plain else start(name, TOOL_CHARS)) or "tool"
        is_path = tool["files"] or is_file(tool["target"])
        self.file = file_path(tool["target"], FILE_CHARS) if is_path else ""
        self.command = start(tool["command"].strip(), COMMAND_CHARS)
        self.folders = folders
        self.given = both_ends(tool["given"], READ_CHARS)
        self.given_names = self._names(self.given)
        self.key = key_of(tool["call"]) or key_of(f"{self.tool}\0{at}\0{self.given}")
        self.prompt = prompt
        self.at = at
        self.outcome = ""
        self.error = ""
        self.returned = ""
        self.returned_names: list[tuple[str, bool]] = []

    def finish(self, text: str, outcome: str) -> None:
        """Note what it returned, and what came of it, "" while that is not known."""
        self.returned = both_ends(text, READ_CHARS)
        self.returned_names = self._names(self.returned)
        self.outcome = outcome
        self.error = error_line(self.returned) if outcome == "failed" else ""

    def end(self, text: str, failed: bool) -> None:
        """Note what came of it when another call has what it returned."""
        self.outcome = "failed" if failed else "ok"
        self.error = error_line(both_ends(text, READ_CHARS)) if failed else ""

    def _names(self, text: str) -> list[tuple[str, bool]]:
        for folder in self.folders:
            text = text.replace(folder, "")
        return names_in_order(text)


def late(key: str, folders: Sequence[str]) -> CallDraft:
    """A draft for what came of a call that was stored before."""
    draft = CallDraft({"call": "", "name": "", "files": [], "command": "", "target": "", "given": ""}, 0, None, folders)
    draft.key = key
    return draft


def key_of(call: str) -> str:
    """A call's id as it is kept: it is as random as a secret, and of any length."""
    return ids.fingerprint(call)[:16] if call else ""


def error_line(output: str) -> str:
    """The line of a failed call's output that says what went wrong; one that names something, if there is one.

    Of a traceback of Python it is the one behind the frames.
    """
    every = [line for line in output.splitlines() if line.strip()]
    lines = [line for line in every if not line.lower().startswith(_CODES)]
    marked: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith("Traceback (most recent"):
            return next((one for one in lines[number + 1 :] if not one[0].isspace()), line).strip()[:ERROR_CHARS]
        if _is_error_line(line):
            marked.append(line.strip()[:ERROR_CHARS])
            if len(marked) == _MOST_ERRORS:
                break
    named = (line for line in marked if names_in(line)[0])
    return next(named, next(iter((*marked, *lines, *every)), "")).strip()[:ERROR_CHARS]


def passage_of(text: str, found: Sequence[tuple[int, str]], *, failed: bool) -> str:
    """The lines of a text in which names stand, each cut around the name; of a failed call also its error lines.

    Args:
        found: where a name stands, and the name, in order.
    """
    lines: list[str] = []
    covered = -1
    room = PASSAGE_CHARS
    for place, name in found:
        if place + len(name) <= covered:
            continue
        # a line may be of any length: it is looked at around the name alone
        low, high = max(0, place - LINE_CHARS), place + len(name) + LINE_CHARS
        begin = text.rfind("\n", low, place) + 1 or low
        end = text.find("\n", place, high)
        end = min(len(text), high) if end < 0 else end
        if end - begin > LINE_CHARS:
            begin = max(begin, place - LINE_CHARS // 4)
            end = min(end, max(begin + LINE_CHARS, place + len(name)))
        begin = max(begin, covered)
        room -= end - begin + 1
        if room < 0:
            break
        lines.append(text[begin:end].strip())
        covered = end
    if failed:
        errors = [line.strip()[:LINE_CHARS] for line in text.splitlines() if _is_error_line(line)]
        lines += [line for line in dict.fromkeys(errors[:_MOST_ERROR_LINES]) if line not in lines]
    return "\n".join(line for line in lines if line)


def _is_error_line(line: str) -> bool:
    """Whether a line of an output says that something went wrong."""
    low = line.lower()
    return any(word in low for word in _ERRORS) and not any(word in low for word in _NO_ERRORS)
