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
    from clients.event import Tool

COMMAND_CHARS = 1000
ERROR_CHARS = 200
LINE_CHARS = 200
PASSAGE_CHARS = 12_000
READ_CHARS = 400_000
"""Of an input or an output: what is longer is read at its head and its tail."""
PLACE_CHARS = 160
_MOST_ERRORS = 3
_PROGRAMS_OF_TWO = frozenset(
    "git go npm pnpm yarn bun cargo docker make gh uv pip python python3 node npx mise kubectl".split()
)
_BEFORE = frozenset("sudo env time nohup command exec".split())
_ERROR_MARKS = ("error", "fail", "fatal", "panic", "exception", "traceback", "not found", "no such", "denied")
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

    def finish(self, text: str, outcome: str) -> None:
        """Note what it returned, and what came of it, "" while that is not known."""
        self.returned = _plain(_ends(text))
        self.returned_names = names_in(self.returned)
        self.outcome = outcome
        self.error = error_line(self.returned) if outcome == "failed" else ""

    def end(self, text: str, failed: bool) -> None:
        """Note what came of it when another call has what it returned."""
        self.outcome = "failed" if failed else "ok"
        self.error = error_line(_plain(_ends(text))) if failed else ""


def late(key: str) -> CallDraft:
    """A draft for what came of a call that was stored before."""
    draft = CallDraft({"call": "", "name": "", "files": [], "command": "", "target": "", "given": ""}, 0, None)
    draft.key = key
    return draft


def key_of(call: str) -> str:
    """A call's id as it is kept: it is as random as a secret, and of any length."""
    return ids.fingerprint(call)[:16] if call else ""


def error_line(output: str) -> str:
    """The line of a failed call's output that says what went wrong: the first that speaks of it, else the first.

    Of a traceback of Python it is the one behind the frames.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        lower = line.strip().lower()
        if lower.startswith("traceback (most recent"):
            return next((one for one in lines[number + 1 :] if not one[0].isspace()), line.strip())[:ERROR_CHARS]
        if any(mark in lower for mark in _ERROR_MARKS) and not lower.startswith(_NO_ERROR):
            return line.strip()[:ERROR_CHARS]
    return next((line.strip()[:ERROR_CHARS] for line in lines if not line.lower().startswith(_NO_ERROR)), "") or (
        lines[0].strip()[:ERROR_CHARS] if lines else ""
    )


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
