"""Whether the work of a command failed though its line did not: `pytest | tail -3` ends as `tail` does. Hot path.

Asked of lines whose success tells nothing of what they do, and answered only by what a test runner or a compiler
prints when it gives up, not by lines that merely speak of an error.
"""

from __future__ import annotations

from itertools import pairwise

from core import shell_command
from memory.archive.call_draft import error_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.shell_command import Run

_PRINTERS = frozenset(
    "echo printf cd pwd export set unset sleep true exit return wait test [ [[ date which type command kill".split()
)
"""What they print is not what a file or a log says."""
_SHOWERS = frozenset("cat tail head grep egrep rg sed".split())
_OF_OTHERS = frozenset("git gh docker kubectl podman ssh sqlite3 psql mysql redis-cli journalctl systemctl bd".split())
"""What they print was said elsewhere, and may be of anything."""
_STARTS = (
    "FAILED ", "FAIL ", "FAIL\t", "--- FAIL: ", "FAIL:", "make: *** [", "npm ERR! ", "npm error ", "error[E",
    "ELIFECYCLE", "panic: ", "test result: FAILED",
)  # fmt: skip
_ALONE = frozenset(("FAIL", "FAILED", "FAILED!"))
_SIGNS = frozenset(",;:()|=-#✗✖×✘✕❌")
_ERRORS = ("error: ", "Error: ", "fatal: ", "fatal error: ", "ERROR: ")
_TRACEBACK = "Traceback (most recent call last)"
_COMPILERS = (": error: ", ": error TS", ": fatal error: ")
_TASK = " ERROR task failed"  # mise
_COUNTED = frozenset(("failed", "failing", "failures", "failure", "fail"))
_PASSED = frozenset(("passed", "passing", "pass"))
_SUMMING = _COUNTED | _PASSED | frozenset("test tests files suites suite examples skipped xfailed ignored".split())
"""What may stand in front of a count in the summary of a runner."""
_STATUSES = ("${PIPESTATUS[0]}", "$?")
_STATUS_DIGITS = 3
_LONGEST = 1000
_LAST_LINES = 400


def error_of(command: str, output: str) -> str:
    """The line that says what failed; "" where the line's success tells of the work, or nothing says that it failed."""
    if not output or shell_command.tells(command):
        return ""
    runs = shell_command.fates(command)
    status = _status(runs, output)
    if status is not None:
        return error_line(output) if status else ""
    if not _is_shown(runs):
        return ""
    printed = [_plain(line[:_LONGEST]) for line in output.splitlines()[-_LAST_LINES:]]
    lines = [line.strip() for line in printed]
    surely = [line for line in lines if _fails(line)]
    if not surely and not any(_passes(line) for line in lines):
        surely = [line for line in lines if _errs(line)]
        surely += [line for line in lines if _is_of_go(line)] if _builds_go(runs) else []
        surely += [line for line in [one for one in printed if one][-1:] if _is_raised(line)]
    if not surely:
        return ""
    traceback = next((at for at, line in enumerate(lines) if line.startswith(_TRACEBACK)), None)
    if traceback is not None:
        return error_line("\n".join(printed[traceback:]))
    # what a runner says of itself (`FAIL`, `npm error command …`) tells less than what a compiler says
    told = [line for line in lines if any(mark in line for mark in _COMPILERS)]
    return error_line("\n".join(told or [line for line in surely if _tells(line)] or lines))


def _is_shown(runs: Sequence[Run]) -> bool:
    """Whether what is printed is what the work prints, and nothing of files that the line looks into beside it."""
    doing = [run for run in runs if not run["step"]["looks"] and shell_command.does(run["step"])]
    if not doing or any(run["step"]["program"] in _OF_OTHERS for run in doing):
        return False
    written = {target for run in doing for target in run["step"]["targets"]}
    return all(
        run["fed"]
        or run["step"]["program"] in _PRINTERS
        or (run["step"]["program"] in _SHOWERS and not written.isdisjoint(run["step"]["words"]))
        for run in runs
        if run["step"]["looks"]
    )


def _status(runs: Sequence[Run], output: str) -> int | None:
    """The status of the work that the line prints (`make; echo exit=$?`), None where it prints none."""
    for before, run in pairwise(runs):
        said = " ".join(run["step"]["words"][1:]) if run["step"]["program"] == "echo" and not run["fed"] else ""
        sign = next((one for one in _STATUSES if one in said), "")
        if not sign or (sign == "$?" and (before["fed"] or before["step"]["looks"])):
            continue
        head, _, tail = said.partition(sign)
        for line in reversed(output.splitlines()):
            shown = line.strip()
            number = shown.removeprefix(head).removesuffix(tail)
            if shown == f"{head}{number}{tail}".strip() and number.isdecimal() and len(number) <= _STATUS_DIGITS:
                return int(number)
    return None


def _fails(line: str) -> bool:
    return line in _ALONE or line.startswith(_STARTS) or line.endswith(_TASK) or _counts(line, _COUNTED)


def _tells(line: str) -> bool:
    return line not in _ALONE and not line.endswith(_TASK)


def _errs(line: str) -> bool:
    return line.startswith((*_ERRORS, _TRACEBACK)) or any(mark in line for mark in _COMPILERS)


def _builds_go(runs: Sequence[Run]) -> bool:
    return any(run["step"]["program"] == "go" and run["step"]["verb"] in ("build", "vet", "test") for run in runs)


def _is_of_go(line: str) -> bool:
    """Whether it is one of Go's compiler: `cli/run.go:12:3: undefined: x`."""
    place, _, rest = line.partition(".go:")
    numbers = rest.split(":", 2)
    if line.endswith(": too many errors"):
        return False
    return len(numbers) == 3 and " " not in place and numbers[0].isdecimal() and numbers[1].isdecimal()


def _is_raised(line: str) -> bool:
    """Whether it is the last line of a traceback, of which the rest was cut off: `KeyError: 'a'`."""
    kind, colon, _ = line.partition(": ")
    return bool(colon) and kind.endswith(("Error", "Exception")) and kind.replace(".", "").isidentifier()


def _passes(line: str) -> bool:
    return _counts(line, _PASSED) or line.startswith(("ok ", "ok\t", "PASS", "test result: ok"))


def _counts(line: str, words: frozenset[str]) -> bool:
    """Whether it counts some as a runner does: `2 failed`, `Tests: 1 failed, 3 passed`; not `after 3 failures`."""
    said = "".join(" " if char in _SIGNS else char for char in line.lower()).split()
    for before, word in pairwise(said):
        if before.isdecimal() and int(before) > 0 and word in words:
            return True
        if not before.isdecimal() and before not in _SUMMING:
            return False
    return False


def _plain(line: str) -> str:
    """The line without colours, and without white space at its end."""
    while (at := line.find("\x1b[")) >= 0:
        end = line.find("m", at)
        line = line[:at] + (line[end + 1 :] if end >= 0 else "")
    return line.rstrip()
