"""A client's hooks as they are installed: there, as this version writes them, switched on, trusted, called.

They are tried: called as the client would, with a payload that asks for nothing, in a home made for it. A hook of ours
ends with status 0 whatever happens; what tells is the event that each call leaves in that home. Where none is, joelclaw
was not reached, and a second call, of joelclaw alone, says why.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import apsw

import clients
from clients import Client
from core import VERSION, clock, files, switches
from core.errors import Failure
from core.process.command import Command, Ended
from core.store import history, migrate
from core.store.history import Called
from memory.archive import known_files
from otel import log
from session import own_command
from session.doctor import services
from session.doctor.status import Finding, error, note, warning
from session.install import client_settings, entries, installed_hooks, own_text, plan
from session.install.client_settings import Settings
from session.install.entries import Entry
from session.install.known_clients import settings_of
from session.install.undo import Receipt

_SILENCE_MS = clock.HOUR_MS
"""A session in which no hook is called for so long has none."""
_ERROR_CHARS = 200
_FAULTS = {"failed": "failed", "degraded": "did only part of its work", "late": "was late"}
"""Outcomes of a call in which a hook did not do all of its work, in words; the code of its finding is `HOOK_…`."""
LONGEST_S = 5.0
_LEFT_OUT = ("JOELCLAW", "SLOG", "PI_SESSION", "OTEL_", "TYPESENSE")
_LEFT_IN = ("JOELCLAW_HOOK_DEADLINE_MS", "JOELCLAW_NOW_MS")
_MOST_BYTES = 1_000_000
_SENT = {"start": {"source": "startup"}, "end": {"reason": "other"}, "prompt": {"prompt": ""}}
_SAID = "Decision: recent active work goes on, and unresolved failures are told with the operational context."
"""A memory that a session's start asks for, so that there is something to hand out."""


@dataclass
class Condition:
    """How a client's hooks stand. `facts`: what JSON tells of it beside the findings."""

    facts: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    since: int | None = None
    """When its file was written last, in ms; None where nothing of ours is in it."""


def examine(client: Client, *, project: bool) -> Condition:
    """How a client stands; whatever its files hold, the others are looked at, too."""
    path = settings_of(client).path(project=project)
    nothing = dict.fromkeys(("present", "installed", "current", "version", "command", "enabled", "trusted", "trialMs"))
    result = Condition({"scope": "project" if project else "user", "path": path, **nothing})
    try:
        _look(client, result, project=project)
    except Exception as fault:
        if os.environ.get("JOELCLAW_DEBUG"):
            raise
        about = f"it cannot be checked: {type(fault).__name__}: {fault}"
        fix = "run it again with JOELCLAW_DEBUG=1 and report what it prints"
        result.findings.append(error("NOT_EXAMINED", client.name, about, fix))
    return result


def _look(client: Client, result: Condition, *, project: bool) -> None:
    """Look at a client's file, its own switches and its trust, and call its hook."""
    settings, name, about, path = settings_of(client), client.name, result.facts, result.facts["path"]
    install = f"joelclaw install {name}{' --project' * project}"
    listed = installed_hooks.listed(settings, project)
    about |= {key: listed[key] for key in ("present", "installed", "current", "version")}
    told = result.findings
    try:
        found = installed_hooks.of(settings, path)
        if listed["installed"] is None:  # a file beside it is what cannot be read
            raise Failure("", listed["notes"][-1], f"fix that file, then run `{install}`")
    except Failure as failure:
        code = "SETTINGS_UNREADABLE" if failure.code == plan.CODE else "SETTINGS_DAMAGED"
        fix = failure.fix.replace("; nothing was changed", "").replace("run this", "run `joelclaw doctor`")
        told.append(error(code, name, f"the client cannot read its settings: {failure.message}", fix))
        return
    for one in settings.settings_beside(project=project):
        if damage := client_settings.damage(one):
            told.append(error("SETTINGS_DAMAGED", name, f"the client cannot read {one}: {damage}", f"mend {one}"))
    twice, other = False, settings.path(project=not project)
    with suppress(Failure):
        twice = other != path and bool(installed_hooks.of(settings, other))
    if not found:
        if Receipt.load(path) is not None or listed["installed"]:
            said = f"joelclaw was installed in {path} but its hooks are gone"
            told.append(error("HOOKS_REMOVED", name, said, install))
        elif about["present"] and not twice:
            told.append(note("NOT_INSTALLED", name, f"{name} is here, but joelclaw is not installed in it", install))
        return
    result.since = os.stat(path).st_mtime_ns // 1_000_000
    about["command"] = found[0].executable
    chosen_by_others = project and not listed["current"]
    told += _entries(settings, found, listed, install, project=project, may_call=not chosen_by_others)
    if twice:
        said = "joelclaw is installed for the user and for this project: every event is reported twice"
        told.append(warning("HOOKS_TWICE", name, said, f"joelclaw uninstall {name} --project"))
    off = settings.switched_off(project=project)
    untrusted = settings.untrusted([one.place for one in found], project=project)
    told += [error("HOOKS_DISABLED", name, one.message, one.fix) for one in off]
    told += [error("TRUST_MISSING", name, one.message, one.fix) for one in untrusted]
    about["enabled"], about["trusted"] = not off, not untrusted
    if chosen_by_others:
        said = f"{path} belongs to the project, differs from what an installation writes, and was not run"
        told.append(warning("HOOK_NOT_TRIED", name, said, install))
    else:
        about["trialMs"], tried = _tried(client, found, install)
        told += tried


def _entries(
    client: Settings, found: list[Entry], listed: dict[str, Any], install: str, *, project: bool, may_call: bool
) -> Iterator[Finding]:
    """How entries differ from those that this version would write."""
    name, path = client.name, listed["path"]
    matchers = {event.name: event.matcher for event in client.events}
    missing = [event for event in matchers if event not in {one.place.event for one in found}]
    old = dict.fromkeys(
        one.place.event
        for one in found
        if one.command
        and (one.command, one.matcher) != (own_text.hook_command(one.executable, name), matchers.get(one.place.event))
    )
    other = ""
    with suppress(Failure):
        wanted = plan.command_for(project=project)
        other = next((one.executable for one in found if one.executable != wanted), "")
    receipt = Receipt.load(path)
    if missing:
        about = f"no hook is installed for {', '.join(missing)}: those events are neither recorded nor answered"
        yield error("HOOKS_MISSING", name, about, install)
    elif old:
        about = f"its hooks for {', '.join(old)} are not what this version writes"
        yield warning("HOOKS_OUTDATED", name, about, install)
    elif listed["current"] or other:
        pass
    elif receipt is not None and not receipt.is_of(plan.read(path) or b""):
        about = f"an entry of joelclaw's in {path} was changed since it was installed"
        yield warning("HOOKS_CHANGED", name, about, install)
    else:
        by = f", written by version {receipt.version}" if receipt is not None else ""
        about = f"what is installed is not what this version writes{by}"
        yield warning("HOOKS_OUTDATED", name, about, install)
    if other and installed_hooks.fault(other) is None:
        theirs = (services.version_of(other) if may_call else "") or "of no version that it tells"
        about = f"its hooks call {other} ({theirs}), and what runs here is {own_command.path()} ({VERSION})"
        yield warning("HOOK_OTHER_COMMAND", name, about, install)
    if client.events and entries.foreign_calls(plan.settings_of(client, path), client):
        about = f"someone else's command in {path} also calls joelclaw: such an event is reported twice"
        yield note("HOOK_FOREIGN", name, about, f"look at {path}")


def calls_of(db: apsw.Connection | None, since: int) -> list[Called]:
    """The calls of hooks by event, counted in memory: also those in the spool, which doctor leaves as it is."""
    both = migrate.in_memory()
    if db is not None:
        history.copy_hooks(db, both)
    log.append(both, log.spooled_in(files.home()), debug_limit=0)
    return history.hooks_by_event(both, since)


def events(client: Client, calls: Sequence[Called]) -> list[dict[str, Any]]:
    """For each event that a hook is entered for, and each that was called: when it last was, and how it went."""
    never = {name: Called(client.name, name, 0, 0) for name in client.events}
    return [
        {
            "event": one.event,
            "lastAt": clock.iso(one.last) if one.last else None,
            "calls24h": one.count,
            **{f"{outcome}24h": len(one.errors(outcome)) for outcome in _FAULTS},
            "lastError": (one.faults[-1][1] if one.faults else "") or None,
        }
        for one in (never | {one.event: one for one in calls if one.agent == client.name}).values()
    ]


def of_calls(client: Client, calls: Sequence[Called], condition: Condition, silences: list[Any]) -> Iterator[Finding]:
    """Hooks that did not do all of their work in the last day; those not called though the client was used."""
    own = [one for one in calls if one.agent == client.name]
    look = "joelclaw otel search hook --level warn,error"
    for one in own:
        for outcome, what in _FAULTS.items():
            errors = one.errors(outcome)
            ending = f"; the last error: {' '.join(errors[-1].split())[:_ERROR_CHARS]}" if any(errors[-1:]) else ""
            times = "once" if len(errors) == 1 else f"{len(errors)} times"
            if errors:
                about = f"its hook{' for ' * bool(one.event)}{one.event} {what} {times} in 24 h{ending}"
                yield warning(f"HOOK_{outcome.upper()}", client.name, about, look)
    if condition.since is None:
        return
    last = max((one.last for one in own), default=0)
    known = known_files.find((), client.name, every=True) if client.name in clients.keeping_files() else ()
    newest = max((file.changed // 1_000_000 for file in known), default=0)
    if newest and switches.is_silent(silences, newest):
        return
    fix = f"restart {client.title} and use it; it should then appear in `joelclaw otel search hook`"
    written = f"though a session was written at {clock.iso(newest)}"
    if last:
        if newest - max(last, condition.since) > _SILENCE_MS:
            about = f"no hook has run since {clock.iso(last)}, {written}"
            yield warning("HOOKS_SILENT", client.name, about, fix)
    elif newest > condition.since:
        yield error("HOOK_NEVER_CALLED", client.name, f"no hook has ever run, {written}", fix)
    elif not any(one.severity == "error" for one in condition.findings):
        yield note("HOOK_NEVER_CALLED", client.name, "no hook has run yet", f"use {client.title} once")


class Trial(NamedTuple):
    """One call: how it ended, after how long, and the events it left (action, error, whether it handed out a text)."""

    ended: Ended
    ms: int
    traces: list[tuple[str, str, bool]]


def _tried(client: Client, installed: Sequence[Entry], fix: str) -> tuple[int | None, list[Finding]]:
    """Try the entries of a client: of those that differ in nothing but their event, one."""
    for executable in dict.fromkeys(one.executable for one in installed):
        broken = installed_hooks.broken(client.name, executable)
        if broken is not None:
            return None, [error(subject=client.name, **broken)]
    slowest = 0
    start = next(name for name, kind in client.events.items() if kind == "start")  # our answer to it reaches the model
    chosen: dict[str, Entry] = {}
    for one in sorted(installed, key=lambda one: one.place.event != start):
        chosen.setdefault(one.command, one)
    for entry in chosen.values():
        event = entry.place.event or start
        alone = [entry.executable, "hook", client.name, event]
        words = alone if client.extension else [*settings_of(client).shell(), entry.command]
        try:
            call = straight = _run(words, client, event, entry.executable)
            if not call.traces and call.ended.reason != "timeout":  # without the shell, which hides its stderr
                straight = _run(alone, client, event, entry.executable)
        except OSError as fault:  # no room for a folder of its own
            about = f"its hook was not called: no temporary folder can be made: {fault}"
            return None, [warning("HOOK_NOT_TRIED", client.name, about, "free some space on the disk of TMPDIR")]
        slowest = max(slowest, call.ms)
        found = _judged(client, entry, event, call, straight, fix)
        if found is not None:  # the same would be said again of the next event
            return slowest, [found]
    return slowest, []


def _judged(client: Client, entry: Entry, event: str, call: Trial, straight: Trial, fix: str) -> Finding | None:
    shown = f"the hook for {event}" if entry.command else "the command of the extension"
    look = f"run `{entry.executable} status`: where that fails, too, reinstall joelclaw"

    def told(code: str, about: str, mend: str = fix) -> Finding:
        return error(code, client.name, f"{shown} {about}", mend)

    if call.ended.reason == "timeout":
        return told("HOOK_HANGS", f"did not answer within {LONGEST_S:g} s and was stopped", look)
    if not straight.traces:
        return told("HOOK_FAILS", f"does not reach joelclaw: {entry.executable}: {straight.ended.explain()}")
    if not call.traces:
        works = f"though {entry.executable} works: {call.ended.explain()}"
        return told("HOOK_NOT_REACHED", f"does not reach joelclaw, {works}")
    answer = call.ended.output.decode("utf-8", "replace").strip()
    if not (_is_taken(client, event, answer) if answer else not client.extension):
        return told("HOOK_ANSWER_REFUSED", f"prints what the client does not accept: {answer[:80]!r}")
    action, why, injected = call.traces[-1]
    if action in ("hook.failed", "hook.timeout"):
        return told("HOOK_FAILS", f"failed: {why}", look)
    if action == "hook.degraded":
        return warning("HOOK_DEGRADED", client.name, f"{shown} did only part of its work: {why}", look)
    if injected and not answer:
        return told("HOOK_ANSWER_LOST", "has a text for the model that the installed entry does not pass on")
    return None


def _is_taken(client: Client, event: str, answer: str) -> bool:
    """Whether an answer has the form that the client reads."""
    try:
        found: Any = json.loads(answer)
        if client.extension:
            return isinstance(found["messages"], list) and all("content" in one for one in found["messages"])
        given = found["hookSpecificOutput"]
        return isinstance(given["additionalContext"], str) and given["hookEventName"] == event
    except (ValueError, KeyError, TypeError):
        return False


def _run(words: list[str], client: Client, event: str, executable: str) -> Trial:
    with tempfile.TemporaryDirectory(prefix="joelclaw-doctor-", ignore_cleanup_errors=True) as folder:
        home = os.path.join(folder, "home")
        # That of the client, as far as it is ours: nothing of it may lead out of the home of the trial.
        kept = {name: value for name, value in os.environ.items() if name in _LEFT_IN or not name.startswith(_LEFT_OUT)}
        around = {**kept, "JOELCLAW_HOME": home}
        if client.events.get(event) == "start":
            said = [executable, "memory", "write", "--global", _SAID]
            Command(said, seconds=LONGEST_S, environment=around).run()
        # What the client would send: a session without a transcript, in a folder of its own.
        payload: dict[str, Any] = {"session_id": "joelclaw-doctor", "cwd": folder}
        if client.extension:
            payload |= {**dict.fromkeys(("transcript_path", "percent", "tokens", "window")), "messages": []}
        else:
            payload |= {"transcript_path": "", "hook_event_name": event, **_SENT.get(client.events.get(event, ""), {})}
        given = json.dumps(payload).encode()
        began = time.monotonic()
        ended = Command(words, seconds=LONGEST_S, environment=around, data=given, max_bytes=_MOST_BYTES).run()
        ms = round((time.monotonic() - began) * 1000)
        not_stored = [
            (one["action"], one.get("error", ""), bool(one["metadata"].get("injected")))
            for one in log.spooled_in(home)
            if one["component"] == "hook"
        ]
        return Trial(ended, ms, history.traces(home) or not_stored)
