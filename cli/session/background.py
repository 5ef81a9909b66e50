"""`joelclaw background JOB …`: what our own commands start and do not wait for. No command for people or scripts."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cli.answer import Answer

_JOBS = ("notice", "observe")


def is_job(words: Sequence[str]) -> bool:
    """Whether words name a job."""
    return len(words) == 1 and words[0] in _JOBS


def run(options: dict[str, Any]) -> Answer:
    """Do a job."""
    from cli.answer import Answer
    from core import config, files
    from core.process import background

    (job,) = options["words"]
    holds_lock = background.obey_limit()
    if job == "observe":  # nothing that a repository holds is to choose the model, or what that runs or reads
        os.environ["JOELCLAW_HOME"] = files.private_folder(files.home())
        os.chdir(os.environ["JOELCLAW_HOME"])
    settings = config.load()
    if job == "notice":
        from session.compaction import client_compaction

        return Answer(client_compaction.notify(settings))
    from session import observation

    return Answer(observation.observe_waiting(settings, alone=holds_lock))
