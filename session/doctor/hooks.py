"""A client's hooks as they are installed: there, as this version writes them, switched on, trusted, called."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from clients import registry
from clients import settings as client_settings
from clients.client import Client
from clients.settings import Settings
from core import VERSION, clock
from core.errors import Failure
from core.repository import project_file, switches, trust
from core.store.history import Called
from memory.archive import known_files
from session import own_command
from session.doctor import services, trial
from session.doctor.status import Finding, error, note, warning
from session.install import entries, installed_hooks, own_text, plan
from session.install.entries import Entry
from session.install.undo import Receipt

_SILENCE_MS = clock.HOUR_MS
"""A session in which no hook is called for so long has none."""
_ERROR_CHARS = 200


@dataclass
class Condition:
    """How a client's hooks stand. `facts`: what JSON tells of it beside the findings."""

    facts: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    since: int | None = None
    """When its file was written last, in ms; None where nothing of ours is in it."""


def unknown(client: Client, *, project: bool) -> dict[str, Any]:
    """The facts of a client of which nothing is known yet."""
    path = client.settings().path(project=project)
    nothing = dict.fromkeys(("present", "installed", "current", "version", "command", "enabled", "trusted", "trialMs"))
    return {"scope": "project" if project else "user", "path": path, **nothing}


def examine(client: Client, *, project: bool) -> Condition:
    """Look at a client's file, its own switches and its trust, and call its hook."""
    settings, name = client.settings(), client.name
    path, install = settings.path(project=project), f"joelclaw install {name}{' --project' * project}"
    listed = installed_hooks.listed(settings, project)
    about = unknown(client, project=project)
    about |= {"present": settings.present(), **{key: listed[key] for key in ("installed", "current", "version")}}
    result = Condition(about)

    def tell(make: partial[Finding], code: str, message: str, fix: str = install) -> None:
        result.findings.append(make(code, name, message, fix))

    try:
        found = installed_hooks.of(settings, path)
        if listed["installed"] is None:  # a file beside it is what cannot be read
            raise Failure("", listed["notes"][-1], "")
    except Failure as failure:
        code = "SETTINGS_UNREADABLE" if failure.code == plan.CODE else "SETTINGS_DAMAGED"
        fix = failure.fix.replace("; nothing was changed", "") or f"mend that file, then run `{install}`"
        tell(error, code, f"the client cannot read its settings: {failure.message}", fix)
        return result
    beside = {one: client_settings.damage(one) for one in settings.settings_beside(project=project)}
    for one, damage in beside.items():
        if damage:
            tell(error, "SETTINGS_DAMAGED", f"the client cannot read {one}: {damage}", f"mend {one}")
    twice = _is_installed(settings, project=not project)
    if not found:
        if Receipt.load(path) is not None or listed["installed"]:
            tell(error, "HOOKS_REMOVED", f"joelclaw was installed in {path}, and its hooks are not there any more")
        elif about["present"] and not twice:
            tell(note, "NOT_INSTALLED", f"{name} is here, and joelclaw is not installed in it")
        return result
    result.since = os.stat(path).st_mtime_ns // 1_000_000
    about["command"] = found[0].executable
    chosen_by_others = project and not listed["current"] and not trust.is_trusted(project_file.root_of(os.getcwd()))
    _entries(settings, found, listed, tell, project=project, may_call=not chosen_by_others)
    if twice:
        said = "joelclaw is installed for the user and for this project: every event is told twice"
        tell(warning, "HOOKS_TWICE", said, f"joelclaw uninstall {name} --project")
    off = settings.switched_off(project=project)
    untrusted = settings.untrusted([one.place for one in found], project=project)
    result.findings += [error("HOOKS_DISABLED", name, one.message, one.fix) for one in off]
    result.findings += [error("TRUST_MISSING", name, one.message, one.fix) for one in untrusted]
    about["enabled"], about["trusted"] = not off, not untrusted
    if chosen_by_others:
        said = f"{path} is the project's, says something else than an installation would, and was not called"
        tell(warning, "HOOK_NOT_TRIED", said, "joelclaw trust")
    else:
        about["trialMs"], tried = trial.of(client, found, install)
        result.findings += tried
    return result


def _is_installed(client: Settings, *, project: bool) -> bool:
    if client.path(project=True) == client.path(project=False):
        return False
    try:
        return bool(installed_hooks.of(client, client.path(project=project)))
    except Failure:
        return False


def _entries(
    client: Settings,
    found: Sequence[Entry],
    listed: dict[str, Any],
    tell: Callable[..., None],
    *,
    project: bool,
    may_call: bool,
) -> None:
    path = listed["path"]
    there = {one.place.event for one in found}
    missing = [event.name for event in client.events if event.name not in there]
    matchers = {(event.name, event.matcher) for event in client.events}
    old = [
        one.place.event
        for one in found
        if one.command
        and (
            one.command != own_text.hook_command(one.executable, client.name)
            or (one.place.event, one.matcher) not in matchers
        )
    ]
    try:
        wanted = plan.command_for(project=project)
        other = next((one.executable for one in found if one.executable != wanted), "")
    except Failure:
        other = ""
    if missing:
        about = f"no hook is installed for {', '.join(missing)}: what happens there is neither kept nor told"
        tell(error, "HOOKS_MISSING", about)
    elif old:
        about = f"its hooks for {', '.join(dict.fromkeys(old))} are not what this version would write"
        tell(warning, "HOOKS_OUTDATED", about)
    elif not listed["current"] and not other:  # by somebody's hand, or by another version
        receipt = Receipt.load(path)
        if receipt is not None and not receipt.is_of(plan.read(path) or b""):
            tell(warning, "HOOKS_CHANGED", f"an entry of joelclaw's in {path} was changed since it was installed")
        else:
            by = f", written by version {receipt.version}" if receipt is not None else ""
            tell(warning, "HOOKS_OUTDATED", f"what is installed is not what this version would write{by}")
    if other and installed_hooks.fault(other) is None:
        theirs = (services.version_of(other) if may_call else "") or "of no version that it tells"
        about = f"its hooks call {other} ({theirs}), and what runs here is {own_command.path()} ({VERSION})"
        tell(warning, "HOOK_OTHER_COMMAND", about)
    if client.events and entries.foreign_calls(plan.settings_of(client, path), client):
        about = f"a command of somebody's in {path} calls joelclaw, too: such an event is told twice"
        tell(note, "HOOK_FOREIGN", about, f"look at {path}")


def events(client: Client, calls: Sequence[Called]) -> list[dict[str, Any]]:
    """For each event that a hook is entered for, and each that was called: when it last was, and how it went."""
    known = {one.event: one for one in calls if one.agent == client.name}
    names = dict.fromkeys((*client.events, *known))
    rows = [(name, known.get(name) or Called(client.name, name, 0, 0, 0, 0)) for name in names]
    return [
        {
            "event": name,
            "lastAt": clock.iso(one.last) if one.last else None,
            "calls24h": one.count,
            "failed24h": one.failed,
            "late24h": one.late,
            "lastError": one.error or None,
        }
        for name, one in rows
    ]


def of_calls(client: Client, calls: Sequence[Called], condition: Condition, silences: list[Any]) -> list[Finding]:
    """Hooks that failed or were late in the last day, and those that were not called though the client was used.

    Of a session of when anything was switched off (`silences`) it says nothing that no event is known.
    """
    own = [one for one in calls if one.agent == client.name]
    found = []
    for called in own:
        ending = f"; the last error: {' '.join(called.error.split())[:_ERROR_CHARS]}" if called.error else ""
        for code, number, what in (("HOOK_FAILED", called.failed, "failed"), ("HOOK_LATE", called.late, "was late")):
            if number:
                times = f"{'once' if number == 1 else f'{number} times'} in 24 h{': no answer' * (what != 'failed')}"
                about = f"its hook for {called.event or '?'} {what} {times}{ending}"
                found.append(warning(code, client.name, about, "joelclaw otel search hook --level warn,error"))
    if condition.since is not None:
        broken = any(one.severity == "error" for one in condition.findings)
        uncalled = _uncalled(client, own, condition.since, silences)
        if uncalled and not (broken and uncalled.severity == "note"):
            found.append(uncalled)
    return found


def _uncalled(client: Client, own: Sequence[Called], since: int, silences: list[Any]) -> Finding | None:
    last = max((one.last for one in own), default=None)
    files = known_files.find((), client.name, every=True) if client.name in registry.KEEPING_FILES else ()
    newest = max((file.changed // 1_000_000 for file in files), default=None)
    if newest is not None and switches.is_silent(silences, newest):
        return None
    fix = f"start {client.title} anew and use it; see that it is told of in `joelclaw otel search hook`"
    written = f"though a session was written at {clock.iso(newest or 0)}"
    if last is not None:
        if newest is None or newest - max(last, since) <= _SILENCE_MS:
            return None
        return warning("HOOKS_SILENT", client.name, f"no hook was called since {clock.iso(last)}, {written}", fix)
    if newest is not None and newest > since:
        return error("HOOK_NEVER_CALLED", client.name, f"no hook was ever called, {written}", fix)
    return note("HOOK_NEVER_CALLED", client.name, "no hook was called yet", f"use {client.title} once")
