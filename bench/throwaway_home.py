"""A home for one measurement: the installed command fills it and is asked in it; nothing of the user's is touched."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CUTS = (1, 5, 10)
LIKELY = 0.3
"""`--min-score` as the documentation gives it: what most answers reach."""
_KEPT = ("LC_ALL", "LANG", "TZ", "TMPDIR", "JOELCLAW_NOW_MS")


class CommandFailed(SystemExit):
    """A command of the bench ended with another status than 0."""


@dataclass
class Home:
    """A temporary folder (0700) as the user's home, removed at the end.

    Args:
        command: the `joelclaw` that is measured.
        budget: of every recall.
    """

    command: str
    budget: str = "lean"

    def __enter__(self) -> Self:
        self._temporary = tempfile.TemporaryDirectory(prefix="recall-bench-", ignore_cleanup_errors=True)
        self.path = Path(self._temporary.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._temporary.cleanup()

    def run(self, *words: str, given: str = "", folder: Path | None = None) -> str:
        """What a command prints. `folder`: where it runs, the user's home unless given.

        Raises:
            CommandFailed: it ended with another status than 0.
        """
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            **kept,
            "HOME": str(self.path),
            "JOELCLAW_HOME": str(self.path / ".joelclaw"),
        }
        done = subprocess.run(
            [self.command, *words],
            check=False,
            input=given,
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder or self.path,
        )
        if done.returncode:
            raise CommandFailed(f"{self.command} {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def ask(
        self, questions: Sequence[str], *more: str, limit: int = 50, folder: Path | None = None
    ) -> list[list[dict[str, Any]]]:
        """The hits for each question, at most `limit`, best first.

        Args:
            more: further words for `recall`.
            folder: where they are asked, so that its project is preferred; else all projects are alike.

        Raises:
            CommandFailed: the command says that it failed, or answers another number of questions.
        """
        words = ("recall", "--batch", "-", "--limit", str(limit), "--budget", self.budget, *more)
        words += () if folder else ("--everywhere",)
        given = "".join(" ".join(question.split()) + "\n" for question in questions)
        answers = [
            json.loads(line)["result"]["hits"]
            for line in self.run(*words, given=given, folder=folder).splitlines()
            if line
        ]
        if len(answers) != len(questions):
            raise CommandFailed(f"{len(questions)} questions, {len(answers)} answers")
        return answers


def best_score(hits: Sequence[dict[str, Any]]) -> float:
    """The highest score of an answer; 0 for none."""
    return max((float(hit["score"]) for hit in hits), default=0.0)


def share(of: Sequence[bool | float]) -> float:
    """Their mean, to four places; 0 of none."""
    return round(sum(of) / len(of), 4) if of else 0.0


def write_transcript(
    path: Path, session: str, turns: Sequence[tuple[str, str, str]], folder: str = "/home/a/talk"
) -> None:
    """Write turns as a transcript of Claude Code.

    Args:
        turns: of each when (ISO 8601), `user` or `assistant`, and the text.
        folder: in which the session worked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for number, (at, role, text) in enumerate(turns):
            entry = {
                "type": role,
                "isSidechain": False,
                "sessionId": session,
                "uuid": f"{session}-{number}",
                "cwd": folder,
                "timestamp": at,
                "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
            }
            out.write(json.dumps(entry) + "\n")
