"""What is installed where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients import registry
from core.errors import Failure
from session.install import beside, plan
from session.install.receipt import Receipt

if TYPE_CHECKING:
    from clients.settings import Settings


def every() -> list[dict[str, Any]]:
    """Each client in each scope. `current`: its file says what this version would write."""
    return [one(client.settings(), project) for client in registry.CLIENTS.values() for project in (False, True)]


def installed(client: Settings, project: bool) -> str:
    """Why there is nothing to take out; empty where there is something, or the file cannot be read."""
    try:
        there = _is_there(client, project)
    except Failure:
        return ""
    return "" if there else "not installed"


def _is_there(client: Settings, project: bool) -> bool:
    plans = (plan.removing(client, project=project), *beside.removing(client, project=project))
    return any(one.changed for one in plans)


def one(client: Settings, project: bool) -> dict[str, Any]:
    """A client in one scope, as `every` lists it; `installed` is None where its file cannot be read."""
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
        there = _is_there(client, project)
        if there:
            found["installed"] = True
            planned = [plan.installing(client, project=project), *beside.installing(client, project=project, mcp=False)]
            found["current"] = not any(one.changed for one in planned)
            receipt = Receipt.load(path)
            found["version"] = receipt.version if receipt else None
            if not found["current"]:
                found["notes"].append("another version, or another path of joelclaw: install it again")
    except Failure as failure:
        found["installed"] = None
        found["notes"].append(failure.message)
    return found
