"""`joelclaw background JOB …`: what our own commands start and do not wait for. No command for people or scripts."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cli.answer import Answer

_WORDS = {"task": 2, "notice": 1, "observe": 1}
"""The jobs, and how many words each takes: `task` a session."""


def is_job(words: Sequence[str]) -> bool:
    """Whether words name a job, and for `task` a session."""
    return bool(words) and _WORDS.get(words[0]) == len(words)


def run(options: dict[str, Any]) -> Answer:
    """Do a job."""
    from cli.answer import Answer
    from core import config, files
    from core.process import background_process

    job, *session = options["words"]
    holds_lock = background_process.stop_in_time()
    if job == "observe":  # nothing that a repository holds is to choose the model, or what that runs or reads
        os.environ["JOELCLAW_HOME"] = files.private_folder(files.home())
        os.chdir(os.environ["JOELCLAW_HOME"])
    settings = config.load()
    if job == "notice":
        from session.compaction import client_compaction

        return Answer(client_compaction.notify(settings))
    if job == "observe":
        from session import observation

        return Answer(observation.observe_waiting(settings, alone=holds_lock))
    from session import checkpoint_run
    from session.state import state_file
    from session.step import Context

    context = Context(state_file.identity(session[0]), settings)
    return Answer(checkpoint_run.task_job(context, holds_lock=holds_lock))
