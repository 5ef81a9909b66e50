"""What the commands of a session show: the failure that is still open, commands that run in the background, and edits
that nothing has run since.

Only the outcomes that the client recorded count. When in doubt, a failure counts as closed. Hot path.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, shell_command, words
from core.clock import HOUR_MS
from core.names import is_file
from core.project import OUTSIDE, is_below
from core.quoting import as_code, clip, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from core.records import Call, Edit
    from core.shell_command import Step
    from core.store.branches import History

FORM_CHARS = 160  # a longer command is no form to run again
# What an agent does once it is done with what failed before, and the names of tasks that run all checks.
_GOES_ON = frozenset("commit merge rebase cherry-pick push am revert".split())
_ALL_CHECKS = frozenset("check checks ci all verify validate precommit".split())

_FORMATTERS = frozenset("fmt format gofmt goimports prettier black rustfmt".split())
_INSTALLERS = frozenset("npm pnpm yarn bun pip pip3 uv go cargo mix bundle gem brew apt apt-get poetry mise".split())
_INSTALLS = frozenset("install add i ci get sync update upgrade download tidy mod remove uninstall".split())


def failing(calls: Sequence[Call], edits: Sequence[Edit] = ()) -> Call | None:
    """The last command that failed and is still open. Behind a pipe, a command may print a failure and end with "ok".

    A failure is closed by a later run of the same program and verb, of the same test or task through another runner, or
    of a task that runs all checks, even if the outcome is unknown; by a commit, merge or push, since the agent went on;
    and by an edit of the line that its error names.
    """
    closed: set[str] = set()
    for call in calls[:-61:-1]:  # an older failure is not looked for
        command = call["command"]
        if not command or call["outcome"] == "stopped":
            continue
        steps = shell_command.steps(command)
        printed = call["outcome"] == "ok" and call["error"]
        if call["outcome"] != "failed" and not printed:
            for step in filter(shell_command.does, steps):
                closed |= subjects_of(step)
                goes_on = step["program"] in {"git", "gh"} and step["verb"] in _GOES_ON
                if goes_on or not _ALL_CHECKS.isdisjoint(words.split(kind_of(step))):
                    return None
            continue
        failed = list(filter(_checks_work, steps)) if printed else _may_have_failed(steps)
        if failed and is_failure(call["error"]) and all(closed.isdisjoint(subjects_of(step)) for step in failed):
            later = [edit for edit in edits if edit["number"] > call["number"]]
            return None if any(_changes_failing_line(edit, call["error"]) for edit in later) else call
    return None


def in_folder(command: str, folder: str) -> str:
    """A command as it is run in a folder: without `cd` into that folder."""
    for shown in (folder, f"'{folder}'", f'"{folder}"'):
        command = command.removeprefix(f"cd {shown} && ")
    return command


def failure_line(failure: Call, folder: str, characters: int, tokens: int | None = None) -> str:
    """What failed in the session's folder, and why; the call's own error is cut to these characters and tokens."""
    error = clip(one_line(failure["error"]), characters, tokens)
    command = in_folder(failure["command"], folder)
    command = as_code(command) if len(command) <= FORM_CHARS else ""
    if failure["outcome"] == "ok":
        return f'**Failing:** {command or "a command"} printed "{error}"'
    return f"**Failing:** {command + ': ' if command else ''}{error}"


def running_line(calls: Sequence[Call], folder: str) -> str:
    """The last command in the background that was not seen to end, and the client's name for its process.

    A command that began two hours before the last call is left out: it may have ended.
    """
    latest = max((call["at"] or 0 for call in calls), default=0)
    for call in reversed(calls):
        is_recent = latest - (call["at"] or latest) <= 2 * HOUR_MS
        if call["outcome"] == "running" and is_recent and (code := as_code(in_folder(call["command"], folder))):
            process = f", as {call['error']}" if call["error"] else ""
            return f"**Running:** {code} in the background{process}" if len(code) <= 90 else ""
    return ""


def unrun_line(
    history: History, edits: Sequence[Edit], calls: Sequence[Call], names: Mapping[str, str], room: int
) -> str:
    """The line on edits that nothing has run since, with `room` characters for the ranges; "" if there are none.

    Edits before the last commit, stash, checkout, reset or restore are left out: they are committed or gone.
    `names` shows a file: `file:610-625 name,640, other.go:12 and 2 more files`.
    """
    session = history.session()
    ends = ("git commit", "git stash", "git checkout", "git reset", "git restore")
    done = [
        call["number"]
        for call in calls
        if any(map(call["command"].__contains__, ends)) and call["outcome"] not in ("failed", "stopped")
    ]
    edits = [edit for edit in edits if edit["number"] > max(done, default=0)]
    ranges = _unrun(edits, calls, (session.get("worktree") or session["folder"]) if session else "")
    defined = [place for place in history.places([*ranges][:10]) if place["defines"]] if ranges else []
    parts: list[str] = []
    most = 3  # ranges of a file
    for file, lines in ranges.items():
        plain, named = ["…"] * (len(lines) > most), ["…"] * (len(lines) > most)
        for first, last in reversed(lines[:most]):
            inside = f"{first}-{last}" if last > first else str(first)
            of_file = (place for place in defined if place["file"] == file)
            name = next((place["name"] for place in of_file if first <= place["line"] <= last), "")
            plain, named = [inside, *plain], [f"{inside} {name}".rstrip(), *named]
        texts = [f"{one_line(names.get(file, file))}:{','.join(shown)}" for shown in (named, plain)]
        fitting = [text for text in texts if len(text) + 2 <= room]
        if not fitting:
            break
        parts.append(fitting[0])
        room -= len(fitting[0]) + 2
    left = len(ranges) - len(parts)
    rest = f" and {left} more file{'s' * (left > 1)}" if left else ""
    return f"**Edited, not run since:** {', '.join(parts)}{rest}" if parts else ""


def _unrun(edits: Sequence[Edit], calls: Sequence[Call], folder: str) -> dict[str, list[tuple[int, int]]]:
    """By file, the lines edited after its last check; prose and files outside the project are left out.

    The file with the most edits comes first.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    checked: set[str] = set()  # files that a check after the edit names; "" for all files
    at = len(calls)
    for edit in sorted(edits, key=lambda edit: -edit["number"]):
        while at and calls[at - 1]["number"] > edit["number"] and "" not in checked:
            at -= 1
            checked |= _checked_files(calls[at], folder)
        is_source = not edit["file"].endswith((".md", ".mdx", ".rst", ".txt", ".adoc"))
        is_checked = "" in checked or any(f"/{edit['file']}".endswith(f"/{file}") for file in checked)
        if is_source and not is_checked and not edit["file"].startswith(OUTSIDE):
            found.setdefault(edit["file"], []).append((edit["first"], edit["last"]))
    most_first = sorted(found, key=lambda file: -len(found[file]))  # among equals, the last edited file first
    return {file: _joined(found[file]) for file in most_first}


def _checked_files(call: Call, folder: str) -> set[str]:
    """The files that a call checked: those that a linter names, {""} for any other check, none if it did not run.

    A check that failed has run if what it printed names a line or a file; else it was not found, or had no target.
    A check in a folder outside the project is about something else.
    """
    has_place = is_failure(call["error"]) and any(_places_in(f"{call['error']} {call['passage']}"))
    if call["outcome"] == "stopped" or (call["outcome"] == "failed" and not has_place):
        return set()
    files: set[str] = set()
    at = folder
    for step in shell_command.steps(call["command"]):
        if step["program"] == "cd":
            at = os.path.normpath(os.path.join(at, *step["words"][1:2]))
        elif _checks_work(step) and (not os.path.isabs(at) or is_below(at, folder) or is_below(folder, at)):
            named = {word.removeprefix("./") for word in step["words"][1:] if is_file(word) and "=" not in word}
            is_linter = not subjects_of(step).isdisjoint(("lint", "check", "type"))
            files |= named if named and is_linter else {""}
    return files


def _places_in(text: str) -> Iterator[tuple[str, str]]:
    """The files that a text names with something behind them, and that: `a.go:3:1:`, `a.ts(3,1):`, `a.py::test`."""
    for part in text.split():
        name, mark, behind = part.strip("()").replace("(", ":").replace(",", ":").partition(":")
        if mark and is_file(name):
            yield name.rpartition("/")[2], behind.partition(":")[0]


def is_check(command: str) -> bool:
    """Whether a command runs what checks the work: tests, a build, a linter, or the program itself."""
    return any(map(_checks_work, shell_command.steps(command)))


def is_failure(error: str) -> bool:
    """Whether an error is that of the program itself, and not of its time limit or of a folder that is missing."""
    lower = error.lower()
    no_run = ("command timed out", "exec_command failed", "timeout", "[redacted")
    return bool(lower) and not lower.startswith(no_run) and "cd:" not in lower


def kind_of(step: Step) -> str:
    """Program and verb of a step: `git commit`, `mise run lint`; of an unknown program its first plain word."""
    verb = step["verb"] or next((word for word in step["words"][1:4] if word.isalpha() and word.islower()), "")
    return f"{step['program']} {verb}".rstrip()


def subjects_of(step: Step) -> set[str]:
    """What a step is a run of, whichever tool runs it: program and verb, "git", and `test` or `lint` in its words."""
    if step["program"] in {"git", "gh"}:
        return {step["program"]}
    checks = ("test", "lint", "build", "type", "e2e", "check", "bench")
    subjects = {kind_of(step)}
    script = next((word for word in step["words"][1:] if not word.startswith("-")), "")
    if is_file(script) and step["program"] in {"bash", "sh", "zsh", *shell_command.INTERPRETERS}:  # also `./script`
        subjects.add(script.rpartition("/")[2])
    for word in words.split(kind_of(step)):
        subjects.update(check for check in checks if check in word)
        if word in ("tsc", "tsgo", "mypy"):
            subjects.add("type")
    return subjects


def _changes_failing_line(edit: Edit, error: str) -> bool:
    """Whether an edit changed the line that an error names."""
    for name, line in _places_in(error):
        if name == edit["file"].rpartition("/")[2] and line.isdecimal():
            return edit["first"] <= int(line) <= edit["last"]
    return False


def _may_have_failed(steps: Sequence[Step]) -> list[Step]:
    """The steps that may have made a command fail; none if it may as well be a step that only looks at something."""
    found: list[Step] = []
    prepares = {"cd", "pushd", "export", "set", "source", ".", "echo", "printf", "sleep", "true"}  # hardly ever fail
    has_pipefail = any("pipefail" in step["words"] for step in steps)
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        before = steps[at - 1]["mark"] if at else ""
        if shell_command.does(step) and "-e" not in step["words"] and "--eval" not in step["words"]:
            found.append(step)
        elif step["looks"] and step["program"] not in prepares:
            return []
        if before != "&&" and not (before == "|" and has_pipefail):
            break
    return found


def _checks_work(step: Step) -> bool:
    """Whether a step checks the work: it does something, and neither manages sources or packages nor formats."""
    program, verb = step["program"], step["verb"].split()
    if program in {"git", "gh"} or not shell_command.does(step) or not _FORMATTERS.isdisjoint((program, *verb)):
        return False
    return program not in _INSTALLERS or not verb or verb[0] not in _INSTALLS


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges less than 16 lines apart are joined; the last edited comes first."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 15:
            first, last = joined[-1][0], max(last, joined.pop()[1])
        joined.append((first, last))
    return sorted(joined, key=lambda part: [part[0] <= first <= part[1] for first, _ in ranges].index(True))
