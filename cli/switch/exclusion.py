"""`joelclaw exclude`: folders whose sessions are never archived."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.answer import Answer, quoted, step
from core.errors import Failure, usage
from core.repository import switches
from core.store import sqlite
from core.store.sessions import session_rows

if TYPE_CHECKING:
    from core.envelope import NextAction

_MOST_SHOWN = 20


def run(options: dict[str, Any]) -> Answer:
    """Exclude a folder, or no more; or list those that are excluded.

    Raises:
        Failure: SWITCH_INVALID_ARGS, EXCLUDE_NO_FOLDER, EXCLUDE_NOT_EXCLUDED, SWITCHES_UNWRITABLE; nothing was changed.
    """
    if (options["folder"] is not None) + options["list"] + (options["remove"] is not None) > 1:
        raise usage("SWITCH_INVALID_ARGS", "FOLDER, --list and --remove exclude each other", "give one of them")
    if options["list"]:
        return Answer({"excluded": switches.sound()[0]["excluded"]})
    if options["remove"] is not None:
        return _included(options["remove"])
    folder = options["folder"] or "."
    path = os.path.realpath(folder)
    if not os.path.isdir(path):
        raise Failure("EXCLUDE_NO_FOLDER", f"there is no folder {folder}", "name a folder that is there")
    changed = switches.exclude(path)
    found = _archived(path, os.path.abspath(folder))
    actions: list[NextAction] = [
        step(f"joelclaw memory forget --session {quoted(session)}", "forget what was archived of it before")
        for session in found[:_MOST_SHOWN]
    ]
    actions.append(step(f"joelclaw exclude --remove {quoted(path)}", "archive its sessions again"))
    return Answer({"path": path, "excluded": True, "changed": changed, "archivedBefore": found}, actions)


def _included(folder: str) -> Answer:
    known = switches.sound()[0]["excluded"]
    path = next((one for one in (os.path.realpath(folder), folder.rstrip("/")) if one in known), "")
    if not path:
        raise Failure("EXCLUDE_NOT_EXCLUDED", f"{folder} is not excluded", "see joelclaw exclude --list")
    changed = switches.include(path)
    return Answer(
        {"path": path, "excluded": False, "changed": changed, "archivedBefore": []},
        [step("joelclaw memory archive --all", "take in what was left out meanwhile")],
    )


def _archived(*folders: str) -> list[str]:
    """The sessions that are archived of repositories in these folders, the one that did something last first.

    Raises:
        Failure: the store cannot be read.
    """
    try:
        db = sqlite.open_reading()
        return session_rows.sessions_below(db, dict.fromkeys(folders)) if db is not None else []
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
