"""`joelclaw background JOB …`: what our own commands start and do not wait for. No command for people or scripts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cli.answer import Answer

JOBS = ("task", "notice", "observe")
_OF_NO_SESSION = ("notice", "observe")


def is_job(words: Sequence[str]) -> bool:
    """Whether words name a job, and for `task` a session."""
    return bool(words) and words[0] in JOBS and len(words) == (1 if words[0] in _OF_NO_SESSION else 2)


def run(options: dict[str, Any]) -> Answer:
    """Do a job."""
    from cli.answer import Answer

    return Answer(_done(options["words"]))


def _done(words: Sequence[str]) -> dict[str, Any]:
    from core import config
    from core.process import background_process

    holds_lock = background_process.stop_in_time()
    if words[0] == "observe":
        _leave_project()
    settings = config.load()
    if words[0] == "notice":
        from session.compaction import client_compaction

        return client_compaction.notify(settings)
    if words[0] == "observe":
        from session.observation import run as observation

        return observation.observe_waiting(settings, alone=holds_lock)
    from session import checkpoint_run
    from session.context import Context
    from session.state import state_file

    return checkpoint_run.task_job(Context(state_file.identity(words[1]), settings), holds_lock=holds_lock)


def _leave_project() -> None:
    """Go to the home: nothing that a repository holds is to choose the model, or what that runs or reads."""
    import os

    from core import files

    os.environ["JOELCLAW_HOME"] = files.private_folder(files.home())
    os.chdir(os.environ["JOELCLAW_HOME"])
