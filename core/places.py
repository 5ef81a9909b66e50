"""Where a tool call was at work: a file, or the program that a command runs. Hot path."""

from __future__ import annotations

from core.names import is_file

PLACE_CHARS = 160
_DIFF_CHARS = 20_000  # so far above at most stands the head of a diff
_PROGRAMS_OF_TWO = frozenset(
    "git go npm pnpm yarn bun cargo docker make gh uv pip python python3 node npx mise kubectl".split()
)
_BEFORE = frozenset("sudo env time nohup command exec".split())


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
            bare = word.strip("'\"()`;,").rpartition("=")[2]
            if not bare.startswith("-") and "/" in bare and is_file(bare) and "*" not in bare:
                return bare[:PLACE_CHARS]
        if words and not head:
            verb = words[1] if len(words) > 1 and words[0] in _PROGRAMS_OF_TWO and words[1][0].isalnum() else ""
            head = f"{words[0].rpartition('/')[2]} {verb}".strip()
    return head[:PLACE_CHARS]


def place_in(output: str, position: int) -> str:
    """The file that a place in an output belongs to: searches and compilers name it in the line, diffs above; or ""."""
    start = output.rfind("\n", 0, position) + 1
    path = output[start : start + PLACE_CHARS].lstrip().partition(":")[0]
    if is_file(path) and " " not in path:
        return path.removeprefix("./")
    above = output.rfind("\n+++ b/", max(0, start - _DIFF_CHARS), start)
    if above >= 0 and "\ndiff " not in output[above:start]:
        path = output[above + 7 : above + 7 + PLACE_CHARS].partition("\n")[0]
        return path if is_file(path) else ""
    return ""


def _without_folder(command: str) -> str:
    """The command behind a `cd … &&`."""
    command = command.strip()
    while command.startswith("cd ") and "&&" in command:
        command = command.partition("&&")[2].strip()
    return _without_prose(command.partition("\n")[0])


def _without_prose(command: str) -> str:
    """The command less quoted arguments of several words: messages, descriptions, programs of sed and jq."""
    for sign in "\"'":
        parts = command.split(sign)
        if len(parts) > 2:
            parts[1::2] = [part if " " not in part else "" for part in parts[1::2]]
            command = sign.join(parts)
    return command


def relative(path: str, folder: str) -> str:
    """A path relative to the folder of the project, where it lies in it."""
    inside = folder.rstrip("/") + "/"
    return path.removeprefix(inside) if folder and path.startswith(inside) else path
