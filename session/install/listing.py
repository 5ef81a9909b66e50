"""What is installed where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import Failure
from session.install import plan
from session.install.clients import CLIENTS
from session.install.record import Record

if TYPE_CHECKING:
    from session.install.clients import Client


def every() -> list[dict[str, Any]]:
    """Each client in each scope. `current`: its file says what this version would write."""
    return [_one(client, project) for client in CLIENTS.values() for project in (False, True)]


def installed(client: Client, project: bool) -> str:
    """Why there is nothing to take out; empty where there is something, or where it cannot be told."""
    try:
        there = plan.removing(client, project=project).changed
    except Failure:
        return ""
    return "" if there else "not installed"


def _one(client: Client, project: bool) -> dict[str, Any]:
    path = client.path(project=project)
    found: dict[str, Any] = {
        "agent": client.name,
        "scope": "project" if project else "user",
        "path": path,
        "installed": False,
        "current": False,
        "version": None,
        "notes": [] if client.present() else [f"no sign of {client.name} here"],
    }
    try:
        there = plan.removing(client, project=project).changed
        if there:
            found["installed"] = True
            found["current"] = not plan.installing(client, project=project).changed
            record = Record.load(path)
            found["version"] = record.version if record else None
            if not found["current"]:
                found["notes"].append("another version, or another path of joelclaw: install it again")
    except Failure as failure:
        found["installed"] = None
        found["notes"].append(failure.message)
    return found
