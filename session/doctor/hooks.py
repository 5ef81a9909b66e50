"""A client's hooks as they are entered: there, as this version writes them, switched on, trusted, called."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clients import own_settings
from core import VERSION
from core.errors import Failure
from core.repository import project_file, trust
from session import own_command
from session.doctor import command, trial
from session.doctor.finding import Finding, error, note, warning
from session.install import entered, hook_entries, listing, plan
from session.install.hook_command import written
from session.install.receipt import Receipt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.registry import Client
    from clients.settings import Settings
    from session.install.entered import Entry


@dataclass
class Condition:
    """How a client's hooks stand. `facts`: what JSON tells of it beside the findings."""

    facts: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    installed: bool = False
    since: int | None = None
    """When its file was written last, in ms, where something of ours is in it."""


def examine(client: Client, *, project: bool) -> Condition:
    """Look at a client's file, its own switches and its trust, and call its hook."""
    settings = client.settings()
    path = settings.path(project=project)
    listed = listing.one(settings, project)
    about = unknown(client, project=project)
    about |= {"present": settings.present(), **{name: listed[name] for name in ("installed", "current", "version")}}
    result = Condition(about)
    try:
        entries = entered.entries(settings, project=project)
        if listed["installed"] is None:  # a file beside it is what cannot be read
            raise Failure("", listed["notes"][-1], "")
    except Failure as failure:
        code = "SETTINGS_UNREADABLE" if failure.code == plan.CODE else "SETTINGS_DAMAGED"
        fix = (
            failure.fix.replace("; nothing was changed", "")
            or f"mend that file, then run `{_install(settings, project)}`"
        )
        result.findings.append(error(code, client.name, f"the client cannot read its settings: {failure.message}", fix))
        return result
    result.findings += _beside(settings, project=project)
    if not entries:
        result.findings += _absent(settings, listed, project=project)
        return result
    result.installed, result.since = True, _changed(path)
    about["command"] = entries[0].executable
    foreign_command = project and not listed["current"] and not trust.is_trusted(project_file.root_of(os.getcwd()))
    result.findings += _entries(settings, entries, listed, project=project, may_call=not foreign_command)
    off = settings.switched_off(project=project)
    result.findings += [error("HOOKS_DISABLED", client.name, one.message, one.fix) for one in off]
    places = [one.place for one in entries]
    untrusted = settings.untrusted(places, project=project)
    result.findings += [error("TRUST_MISSING", client.name, one.message, one.fix) for one in untrusted]
    about["enabled"], about["trusted"] = not off, not untrusted
    if foreign_command:
        said = f"{path} is the project's, says something else than an installation would, and was not called"
        result.findings.append(warning("HOOK_NOT_TRIED", client.name, said, "joelclaw trust"))
        return result
    tried = trial.of(client, entries, project=project)
    about["trialMs"] = tried.ms
    result.findings += tried.findings
    return result


def unknown(client: Client, *, project: bool) -> dict[str, Any]:
    """The facts of a client of which nothing is known yet."""
    path = client.settings().path(project=project)
    nothing = dict.fromkeys(("present", "installed", "current", "version", "command", "enabled", "trusted", "trialMs"))
    return {"scope": "project" if project else "user", "path": path, **nothing}


def _install(client: Settings, project: bool) -> str:
    return f"joelclaw install {client.name}{' --project' * project}"


def _beside(client: Settings, *, project: bool) -> list[Finding]:
    """Damaged files of the client that count for hooks, too."""
    found = []
    for path in client.settings_beside(project=project):
        damage = own_settings.damage(path)
        if damage:
            about = f"the client cannot read {path}: {damage}"
            found.append(error("SETTINGS_DAMAGED", client.name, about, f"mend {path}"))
    return found


def _absent(client: Settings, listed: dict[str, Any], *, project: bool) -> list[Finding]:
    path, fix = listed["path"], _install(client, project)
    if Receipt.load(path) is not None:
        about = f"joelclaw was installed in {path}, and its hooks are not there any more"
        return [error("HOOKS_REMOVED", client.name, about, fix)]
    elsewhere = _installed(client, project=not project)
    if listed["installed"]:
        about = f"{path} has no hook of joelclaw, though other parts of it are installed"
        return [error("HOOKS_REMOVED", client.name, about, fix)]
    if elsewhere:
        return []  # one of the two is enough
    if client.present():
        return [note("NOT_INSTALLED", client.name, f"{client.name} is here, and joelclaw is not installed in it", fix)]
    return []


def _installed(client: Settings, *, project: bool) -> bool:
    if client.path(project=True) == client.path(project=False):
        return False
    try:
        return bool(entered.entries(client, project=project))
    except Failure:
        return False


def _entries(
    client: Settings, entries: Sequence[Entry], listed: dict[str, Any], *, project: bool, may_call: bool
) -> list[Finding]:
    """Those that are missing, doubled, edited, of another version, or call another joelclaw.

    Args:
        may_call: what they call may be asked for its version: a project that nobody trusts chose it otherwise.
    """
    found, fix = [], _install(client, project)
    events = {one.place.event for one in entries}
    missing = [one.name for one in client.events if one.name not in events]
    if missing:
        about = f"no hook is entered for {', '.join(missing)}: what happens there is neither kept nor told"
        found.append(error("HOOKS_MISSING", client.name, about, fix))
    elif old := [one for one in entries if one.command and one.command != written(one.executable, client.name)]:
        about = f"{len(old)} of its hooks have the form of an earlier version: `{old[0].command}`"
        found.append(warning("HOOKS_OUTDATED", client.name, about, fix))
    elif not listed["current"] and not _other_command(entries, project=project):
        found.append(_differs(client, listed, fix))
    other = _other_command(entries, project=project)
    if other and entered.fault(other) is None:
        theirs, ours = (command.version_of(other) if may_call else "") or "of no version that it tells", VERSION
        about = f"its hooks call {other} ({theirs}), and what runs here is {own_command.path()} ({ours})"
        found.append(warning("HOOK_OTHER_COMMAND", client.name, about, fix))
    if client.events and foreign(client, project=project):
        about = f"a command of somebody's in {listed['path']} calls joelclaw, too: such an event is told twice"
        found.append(note("HOOK_FOREIGN", client.name, about, f"look at {listed['path']}"))
    if _installed(client, project=not project):
        about = "joelclaw is installed for the user and for this project: every event is told twice"
        found.append(warning("HOOKS_TWICE", client.name, about, f"joelclaw uninstall {client.name} --project"))
    return found


def _differs(client: Settings, listed: dict[str, Any], fix: str) -> Finding:
    """Not word for word what would be written: by somebody's hand, or by another version."""
    receipt = Receipt.load(listed["path"])
    try:
        data = plan.read(listed["path"]) or b""
    except Failure:
        data = b""
    if receipt is not None and not receipt.is_of(data):
        about = f"an entry of joelclaw's in {listed['path']} was changed since it was installed"
        return warning("HOOKS_CHANGED", client.name, about, fix)
    by = f", written by version {receipt.version}" if receipt is not None else ""
    about = f"what is installed is not what this version would write{by}"
    return warning("HOOKS_OUTDATED", client.name, about, fix)


def _other_command(entries: Sequence[Entry], *, project: bool) -> str:
    """The path that entries call where it is not the one that an installation would enter; "" where it is."""
    try:
        wanted = plan.command_for(project=project)
    except Failure:
        return ""
    return next((one.executable for one in entries if one.executable != wanted), "")


def foreign(client: Settings, *, project: bool) -> list[str]:
    """Events in which a command of somebody's calls joelclaw."""
    path = client.path(project=project)
    return hook_entries.foreign_calls(plan.decoded(path, plan.read(path)), client)


def _changed(path: str) -> int | None:
    try:
        return int(os.stat(path).st_mtime * 1000)
    except OSError:
        return None
