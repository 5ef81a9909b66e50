"""All sessions in one home, oldest first, as on a developer's machine: what sessions are told of each other.

Three kinds of texts are counted: at a session's start, later in it, and after a compaction. `noise` are memory lines
that are traces of tools or narration. `foreign` are those that stand in a session of another project and in none of
this one; a project is what `core.project` makes of the folder.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

from recovery_replay import Injection, Replay
from recovery_session import Session, identifiers

KINDS = ("start", "later", "recovery")
_MEMORY = re.compile(r"(?:- |\d+\. )")
_LABEL = re.compile(r"(?:- |\d+\. )(?:\[[^\]]*\] )?(?:(?:assistant|user|tool): )?")
_TOOLS = r"Read Edit Write MultiEdit Glob Grep Bash Agent exec_command apply_patch update_plan Task\w* Todo\w* Web\w+"
_NARRATION = r"Now|Let me|Let's|I'll|I will|I'm going|Good|Perfect|Great|Excellent|Ok|Okay|Done|All \W*\d+"
_NOISE = re.compile(rf"{_LABEL.pattern}(?:\$ |<|Next, |(?:{_TOOLS.replace(' ', '|')}|{_NARRATION})\b)", re.IGNORECASE)
_KEY = 40
_SHORTEST_KEY = 25


def is_noise(line: str) -> bool:
    """Whether a line is a trace of a tool, or tells what the agent was about to do."""
    return bool(_NOISE.match(line))


def letters(text: str) -> str:
    """A text's ASCII letters and digits, in lower case: what quoting, cutting and wrapping leave as it is."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


class Projects:
    """What the sessions of each project say."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}

    def add(self, session: Session) -> None:
        """Take in one session."""
        text = letters(" ".join(moment.text for moment in session.moments))
        self._said.setdefault(session.project, []).append(text)

    def is_foreign(self, line: str, project: str) -> bool:
        """Whether only sessions of other projects hold what a line begins with; a short line is nobody's."""
        key = letters(_LABEL.sub("", line, count=1))[:_KEY]
        if len(key) < _SHORTEST_KEY or any(key in said for said in self._said.get(project, [])):
            return False
        return any(key in said for other, texts in self._said.items() if other != project for said in texts)


def count(injections: list[Injection], session: Session, projects: Projects) -> dict[str, int]:
    """The counts of one session's injections, by kind: texts, lines, noise, foreign, shown and used."""
    found = {f"{kind}_{what}": 0 for kind in KINDS for what in ("texts", "lines", "noise", "foreign", "shown", "used")}
    for one in injections:
        kind = {"after_compaction": "recovery", "start": "start"}.get(one.kind, "later")
        lines = [line for line in one.text.splitlines() if _MEMORY.match(line)]
        shown = identifiers(one.text)
        found[f"{kind}_texts"] += 1
        found[f"{kind}_lines"] += len(lines)
        found[f"{kind}_noise"] += sum(map(is_noise, lines))
        found[f"{kind}_foreign"] += sum(projects.is_foreign(line, session.project) for line in lines)
        found[f"{kind}_shown"] += len(shown)
        found[f"{kind}_used"] += len(shown & session.used_next(one.place))
    return found


def replay(
    paths: list[Path], command: Path, home: Path, stop: threading.Event, tell: Callable[[Replay, int], None]
) -> dict[str, int]:
    """Replay all in one home, oldest first.

    Args:
        tell: called after each session with its replay and its number from 1.

    Raises:
        Stopped: the run was interrupted.
    """
    projects = Projects()
    began: dict[Path, int] = {}
    for path in paths:
        session = Session(path)
        projects.add(session)
        began[path] = session.began
    total: dict[str, int] = {"sessions": len(paths), "hooks": 0, "late": 0, "faults": 0}
    for number, path in enumerate(sorted(paths, key=began.__getitem__), 1):
        session = Session(path)
        one = Replay(session, command, home, stop)
        one.go(lambda *_: None)
        one.rest()
        for name, value in count(one.injections, session, projects).items():
            total[name] = total.get(name, 0) + value
        total["hooks"] += one.hooks
        total["late"] += one.late
        total["faults"] += len(one.faults)
        tell(one, number)
    return total


def table(total: dict[str, int]) -> str:
    """The counts as lines of text."""
    rows = [f"{'one home':12}{'texts':>8}{'lines':>8}{'noise':>8}{'foreign':>9}{'shown':>8}{'used':>8}{'share':>8}"]
    for kind in KINDS:
        texts, lines, noise, foreign, shown, used = (
            total[f"{kind}_{what}"] for what in ("texts", "lines", "noise", "foreign", "shown", "used")
        )
        share = f"{used / shown:.3f}" if shown else "-"
        rows.append(f"{kind:12}{texts:8}{lines:8}{noise:8}{foreign:9}{shown:8}{used:8}{share:>8}")
    rows.append("{sessions} sessions, {hooks} hooks, {late} over 2 s, {faults} faults".format(**total))
    return "\n".join(rows)
