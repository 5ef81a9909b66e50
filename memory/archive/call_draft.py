"""What a tool call left behind, as it is stored: file, command, outcome, and the names in its texts. Hot path.

All texts here are redacted. A name is kept with the line in which it stands first in its session, so that it
is found by itself and shown where it stood.
"""

from __future__ import annotations

from core import ids
from core.redaction import redact
from core.words import clean
from memory.archive.names import ENDINGS, names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from clients.event import Outcome, Tool

    Errors = Literal["", "clear", "any"]
    """Which lines of an output are kept since they speak of an error: none, those that surely do, or any that may."""

COMMAND_CHARS = 1000
ERROR_CHARS = 200
LINE_CHARS = 200
PASSAGE_CHARS = 30_000
READ_CHARS = 400_000
"""Of an input or an output: what is longer is read at its head and its tail."""
PLACE_CHARS = 160
_MOST_ERRORS = 8
_LONGEST_ERROR = 400
_PROGRAMS_OF_TWO = frozenset(
    "git go npm pnpm yarn bun cargo docker make gh uv pip python python3 node npx mise kubectl".split()
)
_BEFORE = frozenset("sudo env time nohup command exec".split())
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
_ERROR_MARKS = (
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "not found",
    "no such",
    "denied",
    "undefined",
    "cannot ",
)


class CallDraft:
    """A tool call in the making."""

    __slots__ = (
        *("at", "command", "error", "file", "given", "given_names", "key", "outcome", "prompt"),
        *("returned", "returned_names", "tool"),
    )

    def __init__(self, tool: Tool, prompt: int, at: int | None) -> None:
        self.tool = _plain(tool["name"][:100]) or "tool"
        self.file = _plain(tool["target"][:1000]) if tool["files"] or _is_file(tool["target"]) else ""
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
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        lower = line.lower()
        if any(mark in lower for mark in _ERROR_MARKS) and not lower.startswith(("exit code", "error: exit code")):
            return line[:ERROR_CHARS]
    return lines[0][:ERROR_CHARS] if lines else ""


def place_of(file: str, command: str) -> str:
    """Where a call was at work: its file, else the file that its command names, else the program and its verb."""
    if file:
        return file[:PLACE_CHARS]
    head = ""
    for part in _without_folder(command).split("|"):
        words = part.split()
        while words and (words[0] in _BEFORE or "=" in words[0].split("/")[0]):
            words = words[1:]
        for word in words:
            bare = word.strip("'\"()`;,")
            if not bare.startswith("-") and "/" in bare and bare.rpartition(".")[2] in ENDINGS and "*" not in bare:
                return bare[:PLACE_CHARS]
        if words and not head:
            verb = words[1] if len(words) > 1 and words[0] in _PROGRAMS_OF_TWO and words[1][0].isalnum() else ""
            head = f"{words[0].rpartition('/')[2]} {verb}".strip()
    return head[:PLACE_CHARS]


def _without_folder(command: str) -> str:
    """The command behind a `cd … &&`."""
    command = command.strip()
    while command.startswith("cd ") and "&&" in command:
        command = command.partition("&&")[2].strip()
    return command.partition("\n")[0]


def passage_of(text: str, names: set[str], errors: Errors) -> str:
    """The lines in which the names stand first, each cut around the name, and those that speak of an error."""
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
    if errors:
        kept = {*lines}
        lines += [line for line in dict.fromkeys(_error_lines(text, errors)) if line not in kept]
    return "\n".join(line for line in lines if line)


def _error_lines(text: str, errors: Errors) -> list[str]:
    lower = text.lower()
    if not any(mark in lower for mark in _ERROR_MARKS):
        return []
    found = []
    for line in text.splitlines():
        bare = line.strip()
        small = bare.lower()
        if not any(mark in small for mark in _ERROR_MARKS):
            continue
        if errors == "any" or (
            len(bare) <= _LONGEST_ERROR
            and (small.startswith(_CLEAR_STARTS) or any(mark in small for mark in _CLEAR_MARKS))
        ):
            found.append(bare[:LINE_CHARS])
        if len(found) == _MOST_ERRORS:
            break
    return found


def relative(path: str, folder: str) -> str:
    """A path relative to the folder of the project, where it lies in it."""
    inside = folder.rstrip("/") + "/"
    return path.removeprefix(inside) if folder and path.startswith(inside) else path


def _is_file(target: str) -> bool:
    """Whether what a tool reads is a file: searches name folders in the same field."""
    name = target.rpartition("/")[2]
    return name.rpartition(".")[2] in ENDINGS and "." in name


def _ends(text: str) -> str:
    return text if len(text) <= READ_CHARS else text[: READ_CHARS // 2] + "\n" + text[-READ_CHARS // 2 :]


def _plain(text: str) -> str:
    return redact(clean(text).replace("\0", "\ufffd"))[0] if text else ""
