"""Where a tool call was at work: a file, or the program that a command runs. Hot path."""

from __future__ import annotations

from core import shell_command
from core.names import is_file

PLACE_CHARS = 160
_PATTERN = frozenset("*$ \t\n")  # no path but what the shell makes one of, or prose
_DIFF_CHARS = 20_000  # so far above at most stands the head of a diff


def place_of(file: str, command: str) -> str:
    """Where a call was at work: its file, else the file that its command names, else the program and its verb."""
    if file:
        return file[:PLACE_CHARS]
    found = shell_command.steps(command)
    run = [step for step in found if step["program"] != "cd"] or found
    for step in run:
        for word in (*step["words"], *step["targets"]):
            bare = word.strip("'\"()`;,").rpartition("=")[2]
            if not bare.startswith("-") and "/" in bare and is_file(bare) and _PATTERN.isdisjoint(bare):
                return bare[:PLACE_CHARS]
    doing = [step for step in run if not step["looks"]] or run
    return f"{doing[0]['program']} {doing[0]['verb'].partition(' ')[0]}".rstrip()[:PLACE_CHARS] if doing else ""


def place_in(output: str, position: int) -> str:
    """The file that a place in an output belongs to: searches and compilers name it in the line, diffs above; or ""."""
    start = output.rfind("\n", 0, position) + 1
    path = output[start : start + PLACE_CHARS].lstrip(" \t").partition("\n")[0].partition(":")[0]
    if is_file(path) and " " not in path:
        return path.removeprefix("./")
    above = output.rfind("\n+++ b/", max(0, start - _DIFF_CHARS), start)
    if above >= 0 and "\ndiff " not in output[above:start]:
        path = output[above + 7 : above + 7 + PLACE_CHARS].partition("\n")[0]
        return path if is_file(path) else ""
    return ""


def relative(path: str, folder: str) -> str:
    """A path relative to the folder of the project, where it lies in it."""
    inside = folder.rstrip("/") + "/"
    return path.removeprefix(inside) if folder and path.startswith(inside) else path
