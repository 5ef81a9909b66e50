"""`joelclaw trust`: for which folders what a repository chose counts like the user's own choice."""

from __future__ import annotations

import os
from typing import Any

from cli.answer import Answer, quoted, step
from core import clock
from core.errors import Failure, usage
from core.repository import trust
from core.repository.settings_file import choices


def run(options: dict[str, Any]) -> Answer:
    """Trust a folder's project, or no more; or list those that are trusted."""
    if options["list"]:
        if options["revoke"] or options["folder"]:
            raise usage("TRUST_INVALID_ARGS", "--list goes with nothing else", "give --list alone")
        return Answer({"trusted": [_shown(row) for row in trust.every()]})
    folder = options["folder"] or _here()
    if options["revoke"]:
        path = trust.revoke(folder)
        if not path:
            raise Failure("TRUST_NOT_TRUSTED", f"{folder} is not trusted", "see joelclaw trust --list")
        return Answer(
            {"path": path, "trusted": False, "changed": True}, [step(f"joelclaw trust {quoted(path)}", "undo")]
        )
    row, changed = trust.trust(folder)
    undo = step(f"joelclaw trust --revoke {quoted(row['path'])}", "trust it no more")
    return Answer({**_shown(row), "trusted": True, "changed": changed, "chooses": _chosen(folder)}, [undo])


def _chosen(folder: str) -> dict[str, Any] | None:
    """What the folder's file chooses, and what of it stays the user's; None without such a file."""
    found = choices(folder)
    return found and {name: value for name, value in found.items() if name not in ("trusted", "withheld")}


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise Failure("TRUST_NO_FOLDER", "the current folder is gone", "name the folder of a project") from None


def _shown(row: trust.Trusted) -> dict[str, Any]:
    """A folder; `stands` is false where something else lies in its place, which is not trusted."""
    return {"path": row["path"], "at": clock.iso(row["at"]), "stands": trust.stands(row)}
