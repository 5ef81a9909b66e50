"""Which commands of a session failed and still do, which of them work, what runs in the background, and which edits
nothing has run since. Hot path.

Judged by the outcomes that the client recorded alone; where it is in doubt whether a failure still stands, it does not.
"""

from __future__ import annotations

from core import TYPE_CHECKING, shell_command
from core.project import OUTSIDE
from core.quoting import as_code, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.records import Call, Edit, Place
    from core.shell_command import Step

    Ranges = dict[str, list[tuple[int, int]]]
    """Files, the one that was edited most first, and the lines in each."""

_LATE_CALLS = 60
_LATE_RUNNING, _LONG_AWAY_MS = 150, 2 * 3_600_000
"""What was started so many calls ago, or before so long a pause, is not known to run any more."""
FORM_CHARS = 160
_LOOK_UPS = frozenset("show list search find status view get log describe readonly".split())
"""What only asks for what is kept elsewhere, as one of its first words; told where its form had to be found out."""
_LEAST_WEIGHT, _LATE_FORM = 0.7, 40
"""Of the commands told on half of 29 real sessions the most were run again with these: what is shown was at work at
least so much, each run fading as a name does, and worked not longer ago."""
_MOST_FORMS = 2
_FORGES = frozenset(("git", "gh"))
_GOES_ON = frozenset("commit merge rebase cherry-pick push am revert".split())
"""What an agent asks of git when it goes on: what failed before is behind it."""
_INSTALLS = frozenset("install add i ci get sync update upgrade download tidy mod remove uninstall".split())
_INSTALLERS = frozenset("npm pnpm yarn bun pip pip3 uv go cargo mix bundle gem brew apt apt-get poetry mise".split())
_FORMATTERS = frozenset("fmt format gofmt goimports prettier black rustfmt".split())
_UMBRELLAS = frozenset("check checks ci all verify validate precommit".split())
_FEEDS = frozenset("cd pushd export set source . echo printf sleep true".split())
"""What stands before a command and hardly ever fails itself."""
_NOT_RUN = ("command timed out", "exec_command failed", "timeout", "[redacted")
_NO_PROGRAM = ("command not found", "cd:", "unknown command", "not recognized as", "no task ", "missing script")
_ONE_OFF = ("tmp/", "mktemp", "<<", "$(", "`", "[redacted", "TMPDIR", "nohup")
_CHANGES = frozenset(
    "stash reset checkout restore clean rm rmdir mv drop push kill pkill killall commit apply truncate delete destroy"
    " publish release deploy unlink purge prune rollback revert uninstall remove close merge rebase abort down"
    " dropdb resetdb reopen cherry pick amend tag tee dd chmod chown ln cp mkdir touch scp rsync ssh"
    " create update comment note post edit insert psql mysql sqlite3 redis mongosh migrate alembic downgrade upgrade"
    " upload flushall wipe seed load schema shutdown reboot restart mkfs unpublish install".split()
)
"""Words of a line that changes or hides work, or what others have: it is shown to nobody as something to run."""
_PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc")
_NEAR = 15
"""Lines between two edits that are told as one."""
_RANGES = 3


def failing(calls: Sequence[Call], edits: Sequence[Edit] = ()) -> Call | None:
    """The last command that failed, or printed so behind a pipe (`ok`), while nothing later ended it.

    It is ended by a run of the same program and verb, of the same test or task through another runner, or of a task
    that runs all checks; by a commit, merge or push, since the agent went on; be it that it is not told how that came
    out; by an edit of the line that its error names.
    """
    ended: set[str] = set()
    for call in calls[: -_LATE_CALLS - 1 : -1]:
        command = call["command"]
        if not command:
            continue
        steps = shell_command.steps(command)
        printed = call["outcome"] == "ok" and call["error"]
        if call["outcome"] != "failed" and not printed:
            for step in filter(shell_command.does, steps):
                ended |= subjects_of(step)
                goes_on = step["program"] in _FORGES and step["verb"] in _GOES_ON
                if goes_on or not _UMBRELLAS.isdisjoint(_apart(kind_of(step))):
                    return None
            continue
        failed = list(filter(_checks, steps)) if printed else _may_have_failed(steps)
        if failed and is_failure(call["error"]) and all(ended.isdisjoint(subjects_of(step)) for step in failed):
            return None if any(_reaches(edit, call) for edit in edits) else call
    return None


def failure_line(failure: Call, error: str) -> str:
    """What failed and why; of what was only printed the words themselves. `error` is its own, cut to the room."""
    command = as_code(failure["command"]) if len(failure["command"]) <= FORM_CHARS else ""
    if failure["outcome"] == "ok":
        return f'**Failing:** {command or "a command"} printed "{error}"'
    return f"**Failing:** {command + ': ' if command else ''}{error}"


def _reaches(edit: Edit, failure: Call) -> bool:
    """Whether an edit since changed the line that an error names: `a.go:3:1:`, `a.ts(3,1):`, `(a.go:3)`."""
    for part in failure["error"].split() if edit["number"] > failure["number"] else ():
        name, line, *_ = [*part.strip("()").replace("(", ":").replace(",", ":").split(":"), ""]
        if name.rpartition("/")[2] == edit["file"].rpartition("/")[2] and line.isdecimal():
            return edit["first"] <= int(line) <= edit["last"]
    return False


def working(calls: Sequence[Call], *, without: str) -> list[tuple[Call, int]]:
    """Commands that work, each as it was last run, with how many other forms of it had failed before.

    Those used most and most recently come first, more so where other forms failed; those in `without` come last. Left
    out is what failed since, ran since with an outcome that nobody recorded, was not run for long, or is part of a
    command that was run later.
    """
    from math import exp

    from core.store.sessions.name_rows import FADING_CALLS

    tried: dict[str, set[str]] = {}
    doubtful: set[str] = set()
    weights: dict[str, float] = {}
    found: dict[str, tuple[Call, int, set[str]]] = {}
    total = calls[-1]["number"] if calls else 0
    for call in calls:
        command = call["command"]
        if not command or "\n" in command:
            continue
        steps = shell_command.steps(command)
        doing = [step for step in steps if shell_command.does(step)]
        kinds = set(map(kind_of, doing))
        for kind in kinds:
            weights[kind] = weights.get(kind, 0.0) + exp((call["number"] - total) / FADING_CALLS)
        outcome = shell_command.told(command, call["outcome"])
        if outcome == "failed":
            for step in doing:
                if len(subjects_of(step)) == 1:  # a red test is no wrong form
                    tried.setdefault(kind_of(step), set()).add(" ".join(step["words"]))
            found = {kind: one for kind, one in found.items() if one[2].isdisjoint(kinds)}
        elif not outcome:
            doubtful |= kinds if call["outcome"] != "ok" else set(map(kind_of, _hidden(steps)))
        elif doing and outcome == "ok" and is_form(command, steps):
            doubtful -= kinds
            own = {" ".join(step["words"]) for step in steps}
            found = {kind: one for kind, one in found.items() if not one[2] <= kinds}
            found[kind_of(doing[0])] = call, max(len(tried.get(kind, set()) - own) for kind in kinds), kinds
    ranked: list[tuple[bool, float, int, tuple[Call, int]]] = []
    for kind, (call, forms, kinds) in found.items():
        words = {word.lstrip("-") for step in shell_command.steps(call["command"]) for word in step["words"][1:4]}
        if not doubtful.isdisjoint(kinds) or (not forms and not _LOOK_UPS.isdisjoint(words)):
            continue
        found_out = 1 + min(forms, _MOST_FORMS)
        weight = weights[kind] * found_out
        if weight >= _LEAST_WEIGHT and total - call["number"] <= _LATE_FORM * found_out:
            ranked.append((call["command"] in without, -weight, -call["number"], (call, forms)))
    return [one for *_, one in sorted(ranked, key=lambda one: one[:3])]


def _hidden(steps: Sequence[Step]) -> list[Step]:
    """The steps of a line that ended well of which that says nothing: of `a && b | tail` not a."""
    ends = max((at for at, step in enumerate(steps) if step["mark"] == "&&"), default=-1)
    return [step for at, step in enumerate(steps) if at > ends or step["mark"] != "&&"]


def running(calls: Sequence[Call]) -> list[Call]:
    """What was started in the background and not seen to end, as far as its session can still have the process."""
    found: list[Call] = []
    later = 0
    for call in calls[: -_LATE_RUNNING - 1 : -1]:
        at = call["at"] or 0
        if at and later and later - at > _LONG_AWAY_MS:
            break
        later = at or later
        if call["outcome"] == "running" and call["command"]:
            found.append(call)
    return found[::-1]


def is_check(command: str) -> bool:
    """Whether a line runs what checks the work: tests, a build, a linter, or the program itself."""
    return any(map(_checks, shell_command.steps(command)))


def is_failure(error: str) -> bool:
    """Whether an error is one of the work: not of a program that is not there, nor of time that ran out."""
    low = error.lower()
    return bool(low) and not low.startswith(_NOT_RUN) and not any(sign in low for sign in _NO_PROGRAM)


def kind_of(step: Step) -> str:
    """Program and verb of a step: `git commit`, `mise run lint`; of a program not known its first plain word."""
    verb = step["verb"] or next((word for word in step["words"][1:4] if word.isalpha() and word.islower()), "")
    return f"{step['program']} {verb}".rstrip()


def _checks(step: Step) -> bool:
    words = step["verb"].split()
    return (
        shell_command.does(step) and step["program"] not in _FORGES
        and not (step["program"] in _INSTALLERS and not _INSTALLS.isdisjoint(words[:1]))
        and _FORMATTERS.isdisjoint((step["program"], *words))
    )  # fmt: skip


def _apart(text: str) -> list[str]:
    """The words of a text, taken apart: mise, run, test, ci of `mise run test:ci`."""
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def subjects_of(step: Step) -> set[str]:
    """What a step is a run of, whoever runs it: its program and verb, git at large, `test` or `lint` in its words."""
    if step["program"] in _FORGES:
        return {step["program"]}
    subjects = {kind_of(step)}
    for part in _apart(kind_of(step)):
        subjects.update(one for one in ("test", "lint", "build", "type", "e2e", "check", "bench") if one in part)
        if part in ("tsc", "tsgo", "mypy"):
            subjects.add("type")
    return subjects


def _may_have_failed(steps: Sequence[Step]) -> list[Step]:
    """The steps of a line that failed of which one has failed; none where it may as well be one that only looks."""
    found: list[Step] = []
    piped = any("pipefail" in step["words"] for step in steps)
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        before = steps[at - 1]["mark"] if at else ""
        if shell_command.does(step) and "-e" not in step["words"] and "--eval" not in step["words"]:
            found.append(step)
        elif step["looks"] and step["program"] not in _FEEDS:
            return []
        if before != "&&" and not (before == "|" and piped):
            break
    return found


def is_form(command: str, steps: Sequence[Step]) -> bool:
    """Whether a line worked by what it was told, and may be run again as it stands: it changes no work, and names
    nothing that was there once."""
    if len(command) > FORM_CHARS or any(sign in command for sign in _ONE_OFF) or not shell_command.tells(command):
        return False
    for step in steps:
        words = set(_apart(" ".join(step["words"])))
        if not words.isdisjoint(_CHANGES) or step["program"] in (*_FORGES, "sed", "perl") or step["mark"] == "&":
            return False
        kept = any(not target.isdigit() and target != "/dev/null" for target in step["targets"])
        if kept or any(map(_is_id, step["words"])):
            return False
    return True


def is_plain(command: str) -> bool:
    """Whether an agent writes a line without being told: it sets no variable, changes no folder, has no long option."""
    run = shell_command.steps(command)
    told = any(step["program"] == "cd" or any(word[:2] == "--" for word in step["words"]) for step in run)
    return not told and "=" not in command


def _is_id(word: str) -> bool:
    """Whether a word is an id, a hash or a time, which names one thing once."""
    bare = word.rpartition("=")[2].replace("-", "")
    return len(bare) >= 7 and all(c in "0123456789abcdef" for c in bare) and any(map(str.isdigit, bare))


def unrun(edits: Sequence[Edit], calls: Sequence[Call]) -> Ranges:
    """The lines that were edited after the last command that checks anything, be it that it is not told how that came
    out, or after a small program that names their file; of prose and of other folders none."""
    last = next((call["number"] for call in reversed(calls) if is_check(call["command"])), 0)
    found: Ranges = {}
    for edit in sorted(edits, key=lambda one: -one["number"]):
        is_source = not edit["file"].endswith(_PROSE) and not edit["file"].startswith(OUTSIDE)
        if edit["number"] > last and is_source and not _is_run(edit, calls):
            found.setdefault(edit["file"], []).append((edit["first"], edit["last"]))
    most = sorted(found, key=lambda file: -len(found[file]))  # of as many edits the last one first
    return {file: _joined(found[file]) for file in most}


def _is_run(edit: Edit, calls: Sequence[Call]) -> bool:
    """Whether a program within a command names the file's module since: `python3 -c "from alerts import due"`."""
    module = edit["file"].rpartition("/")[2].partition(".")[0]
    later = (call["command"] for call in calls if call["number"] > edit["number"] and module in call["command"])
    run = " ".join(
        " ".join(step["words"])
        for one in later
        for step in shell_command.steps(one)
        if step["program"] in shell_command.INTERPRETERS
    )
    return module in "".join(sign if sign.isalnum() or sign == "_" else " " for sign in run).split()


def told_ranges(found: Ranges, places: Mapping[str, Sequence[Place]], names: Mapping[str, str], room: int) -> str:
    """`file:610-625 name,640, other.go:12` within so many characters, and how many more files; `names` shows a file."""
    parts: dict[str, list[str]] = {}
    for file, lines in found.items():
        inside = [f"{first}-{last}" if last > first else str(first) for first, last in lines[:_RANGES]]
        inside += ["…"] * (len(lines) > _RANGES)
        length = len(f"{one_line(names.get(file, file))}:{','.join(inside)}, ")
        if length > room:
            break
        room -= length
        parts[file] = inside
    for file, inside in parts.items():
        for at, (first, last) in enumerate(found[file][:_RANGES]):
            defined = (one for one in places.get(file, ()) if one["defines"] and first <= one["line"] <= last)
            name = next((one["name"] for one in defined), "")
            if name and len(name) + 1 <= room:
                room -= len(name) + 1
                inside[at] += f" {name}"
    left = len(found) - len(parts)
    listed = ", ".join(f"{one_line(names.get(file, file))}:{','.join(inside)}" for file, inside in parts.items())
    return listed + (f" and {left} more file{'s' * (left > 1)}" if parts and left else "")


def _joined(parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that lie near each other as one, the last edited first."""
    joined: list[tuple[int, int]] = []
    for first, last in parts:
        near = next(
            (at for at, (low, high) in enumerate(joined) if first <= high + _NEAR and last >= low - _NEAR), None
        )
        if near is None:
            joined.append((first, last))
        else:
            joined[near] = min(first, joined[near][0]), max(last, joined[near][1])
    return joined
