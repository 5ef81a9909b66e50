"""`joelclaw backup` and `joelclaw restore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, quoted, step
from core import files

if TYPE_CHECKING:
    from core.envelope import NextAction


def backup(options: dict[str, Any]) -> Answer:
    """Write a backup."""
    from session.backup import archive

    made = archive.write(options["file"], force=options["force"])
    del made["members"], made["format"]
    check = step(f"joelclaw restore {quoted(made['file'])} --verify-only", "whether the file is whole")
    elsewhere = step(f"joelclaw restore {quoted(made['file'])}", "on another machine: put it in place")
    return Answer(made, [check, elsewhere])


def restore(options: dict[str, Any]) -> Answer:
    """Verify a backup, and put it in place unless it is only to be verified."""
    from session.backup import restore as restoring

    into = os.path.expanduser(options["into"]) or files.home()
    done = restoring.restore(options["file"], into, force=options["force"], verify_only=options["verify_only"])
    return Answer(done, _next(done, options["file"]))


def _next(done: dict[str, Any], file: str) -> list[NextAction]:
    if not done["restored"]:
        return [step(f"joelclaw restore {quoted(file)}", "put it in place")]
    home = done["home"]
    at = "" if home == os.path.realpath(files.home()) else f"JOELCLAW_HOME={quoted(home)} "
    actions = [step(f"{at}joelclaw status", "how the restored memory stands")]
    if not at:
        actions.append(step("joelclaw install --all", "on another machine: the hooks of its agents"))
    return actions
