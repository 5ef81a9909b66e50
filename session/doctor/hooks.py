"""A client's hooks as they are installed: there, as this version writes them, switched on, trusted, called."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
from session.doctor.finding import Finding, error, note, warning
from session.install import entries, installed_hooks, own_text, plan
from session.install.installed_hooks import Entry
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
    add = result.findings.append
    try:
        found = installed_hooks.of(settings, path)
        if listed["installed"] is None:  # a file beside it is what cannot be read
            raise Failure("", listed["notes"][-1], "")
    except Failure as failure:
        code = "SETTINGS_UNREADABLE" if failure.code == plan.CODE else "SETTINGS_DAMAGED"
        fix = failure.fix.replace("; nothing was changed", "") or f"mend that file, then run `{install}`"
        add(error(code, name, f"the client cannot read its settings: {failure.message}", fix))
        return result
    for beside in settings.settings_beside(project=project):
        damage = client_settings.damage(beside)
        if damage:
            add(error("SETTINGS_DAMAGED", name, f"the client cannot read {beside}: {damage}", f"mend {beside}"))
    if not found:
        result.findings += _absent(settings, listed, install, project=project)
        return result
    result.since = os.stat(path).st_mtime_ns // 1_000_000
    about["command"] = found[0].executable
    chosen_by_others = project and not listed["current"] and not trust.is_trusted(project_file.root_of(os.getcwd()))
    result.findings += _entries(settings, found, listed, install, project=project, may_call=not chosen_by_others)
    off = settings.switched_off(project=project)
    untrusted = settings.untrusted([one.place for one in found], project=project)
    result.findings += [error("HOOKS_DISABLED", name, one.message, one.fix) for one in off]
    result.findings += [error("TRUST_MISSING", name, one.message, one.fix) for one in untrusted]
    about["enabled"], about["trusted"] = not off, not untrusted
    if chosen_by_others:
        said = f"{path} is the project's, says something else than an installation would, and was not called"
        add(warning("HOOK_NOT_TRIED", name, said, "joelclaw trust"))
    else:
        about["trialMs"], tried = trial.of(client, found, install)
        result.findings += tried
    return result


def _absent(client: Settings, listed: dict[str, Any], install: str, *, project: bool) -> list[Finding]:
    path = listed["path"]
    removed = partial(error, "HOOKS_REMOVED", client.name, fix=install)
    if Receipt.load(path) is not None:
        return [removed(f"joelclaw was installed in {path}, and its hooks are not there any more")]
    if listed["installed"]:
        return [removed(f"{path} has no hook of joelclaw, though other parts of it are installed")]
    if client.present() and not _is_installed(client, project=not project):
        about = f"{client.name} is here, and joelclaw is not installed in it"
        return [note("NOT_INSTALLED", client.name, about, install)]
    return []


def _is_installed(client: Settings, *, project: bool) -> bool:
    if client.path(project=True) == client.path(project=False):
        return False
    try:
        return bool(installed_hooks.of(client, client.path(project=project)))
    except Failure:
        return False


def _entries(
    client: Settings, found: Sequence[Entry], listed: dict[str, Any], install: str, *, project: bool, may_call: bool
) -> list[Finding]:
    """Those that are missing, doubled, edited, of another version, or call another joelclaw."""
    findings, name, path = [], client.name, listed["path"]
    there = {one.place.event for one in found}
    missing = [event.name for event in client.events if event.name not in there]
    other = _other_command(found, project=project)
    if missing:
        about = f"no hook is installed for {', '.join(missing)}: what happens there is neither kept nor told"
        findings.append(error("HOOKS_MISSING", name, about, install))
    elif old := [one.place.event for one in found if one.command and not _is_current(one, client)]:
        about = f"its hooks for {', '.join(dict.fromkeys(old))} are not what this version would write"
        findings.append(warning("HOOKS_OUTDATED", name, about, install))
    elif not listed["current"] and not other:  # by somebody's hand, or by another version
        receipt = Receipt.load(path)
        if receipt is not None and not receipt.is_of(plan.read(path) or b""):
            about = f"an entry of joelclaw's in {path} was changed since it was installed"
            findings.append(warning("HOOKS_CHANGED", name, about, install))
        else:
            by = f", written by version {receipt.version}" if receipt is not None else ""
            about = f"what is installed is not what this version would write{by}"
            findings.append(warning("HOOKS_OUTDATED", name, about, install))
    if other and installed_hooks.fault(other) is None:
        theirs = (services.version_of(other) if may_call else "") or "of no version that it tells"
        about = f"its hooks call {other} ({theirs}), and what runs here is {own_command.path()} ({VERSION})"
        findings.append(warning("HOOK_OTHER_COMMAND", name, about, install))
    if client.events and entries.foreign_calls(plan.settings_of(client, path), client):
        about = f"a command of somebody's in {path} calls joelclaw, too: such an event is told twice"
        findings.append(note("HOOK_FOREIGN", name, about, f"look at {path}"))
    if _is_installed(client, project=not project):
        about = "joelclaw is installed for the user and for this project: every event is told twice"
        findings.append(warning("HOOKS_TWICE", name, about, f"joelclaw uninstall {name} --project"))
    return findings


def _is_current(one: Entry, client: Settings) -> bool:
    """Whether command and matcher are those of this version, whatever joelclaw is called."""
    matchers = [event.matcher for event in client.events if event.name == one.place.event]
    return one.command == own_text.hook_command(one.executable, client.name) and one.matcher in matchers


def _other_command(found: Sequence[Entry], *, project: bool) -> str:
    """The path that entries call where it is not the one that an installation would enter; "" where it is."""
    try:
        wanted = plan.command_for(project=project)
    except Failure:
        return ""
    return next((one.executable for one in found if one.executable != wanted), "")


def events(client: Client, calls: Sequence[Called]) -> list[dict[str, Any]]:
    """For each event that a hook is entered for, and each that was called: when it last was, and how it went."""
    known = {one.event: one for one in calls if one.agent == client.name}
    found = []
    for name in dict.fromkeys((*client.events, *known)):
        one = known.get(name)
        found.append({
            "event": name,
            "lastAt": clock.iso(one.last) if one else None,
            "calls24h": one.count if one else 0,
            "failed24h": one.failed if one else 0,
            "late24h": one.late if one else 0,
            "lastError": (one.error or None) if one else None,
        })  # fmt: skip
    return found


def of_calls(client: Client, calls: Sequence[Called], condition: Condition, silences: list[Any]) -> list[Finding]:
    """Hooks that failed or were late in the last day, and those that were not called though the client was used.

    Args:
        silences: when anything was switched off: that no event is known of a session of then says nothing.
    """
    own = [one for one in calls if one.agent == client.name]
    found = []
    for called in own:
        ending = f"; the last error: {' '.join(called.error.split())[:_ERROR_CHARS]}" if called.error else ""
        event, fix = called.event or "?", "joelclaw otel search hook --level warn,error"
        if called.failed:
            about = f"its hook for {event} failed {_times(called.failed)} in 24 h{ending}"
            found.append(warning("HOOK_FAILED", client.name, about, fix))
        if called.late:
            about = f"its hook for {event} was late {_times(called.late)} in 24 h: no answer{ending}"
            found.append(warning("HOOK_LATE", client.name, about, fix))
    if condition.since is not None:
        broken = any(one.severity == "error" for one in condition.findings)
        uncalled = _uncalled(client, own, condition.since, silences)
        if uncalled and not (broken and uncalled.severity == "note"):
            found.append(uncalled)
    return found


def _uncalled(client: Client, own: Sequence[Called], since: int, silences: list[Any]) -> Finding | None:
    last = max((one.last for one in own), default=None)
    newest = _newest_transcript(client)
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


def _newest_transcript(client: Client) -> int | None:
    """When a session file of the client was last written, in ms; None without one."""
    if client.name not in registry.KEEPING_FILES:
        return None
    times = [file.changed // 1_000_000 for file in known_files.find((), client.name, every=True)]
    return max(times, default=None)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
