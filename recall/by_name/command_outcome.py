"""Whether the outcome of a shell command is that of its work. Hot path."""

from __future__ import annotations

from core.shell_command import does, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.shell_command import Step


def told(command: str, outcome: str) -> str:
    """A command's outcome as it may be stated: "" if the `ok` belongs to another program than the one at work."""
    return "" if outcome == "ok" and not tells(command) else outcome


def tells(command: str) -> bool:
    """Whether the line's success is that of its work: not for `make | tail` without `pipefail`, or `make; ls`."""
    run = steps(command)
    piped, stops = _set_at(run, "pipefail"), _set_at(run, "errexit")
    works = ends = False  # whether something behind does work, or ends the line with a failure
    for at in range(len(run) - 1, -1, -1):
        step = run[at]
        if step["program"] in ("exit", "return") and at == len(run) - 1 and "$" in "".join(step["words"]):
            return True  # it hands on a status that was kept
        ends = ends or (step["program"] in ("exit", "return", "false") and step["words"][1:2] != ["0"])
        if step["looks"]:
            continue
        mark, last = step["mark"], at == len(run) - 1
        if (mark == "|" and at < piped) or mark == "&" or (mark == "||" and not works and not ends):
            return False
        if mark == ";" and not last and not works and at < stops:
            return False
        works = works or does(step)
    return True


def _set_at(run: list[Step], option: str) -> int:
    """The number of the step that sets a shell option, more than there are if none does."""
    for at, step in enumerate(run):
        if step["program"] == "set":
            short = any(word[:1] == "-" and word[1:2] != "-" and "e" in word for word in step["words"])
            if option in step["words"] or (short and option == "errexit"):
                return at
    return len(run) + 1
