"""`joelclaw doctor`: whether a client's hooks are installed as this version writes them, allowed, called, and working.

A hook is run as the client would run it, with a payload that asks for nothing, in a temporary home. Our hooks always
exit with 0, so the event that a run leaves in that home shows how it went. Without an event, joelclaw was not reached,
and a second run without the shell shows why.
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import apsw

import clients
from clients import Client
from core import clock, files, switches
from core.command import Command, Ended
from core.errors import Failure
from core.store import events as stored_events
from core.store import sqlite
from core.store.events import Called
from memory.archive import transcript_files
from otel import log
from session.install import plan
from session.install.client_settings import settings_of
from session.install.entries import Entry

MAX_SECONDS = 5.0  # for a run; a client waits longer
FIXABLE = frozenset({
    "HOOK_COMMAND_GONE", "HOOK_COMMAND_NOT_EXECUTABLE", "HOOK_INTERPRETER_GONE", "HOOK_FAILS",
    "HOOKS_REMOVED", "HOOKS_MISSING", "HOOKS_OUTDATED",
})  # fmt: skip
"""Installing again repairs these; a copy of the client's file is kept."""
OUTCOMES = {"failed": "failed", "degraded": "did only part of its work", "late": "was late"}


@dataclass(frozen=True)
class Finding:
    """One finding. Scripts go by its `code`. `fix` is a command that runs as printed, or a sentence.

    error: something does not work. warning: something is or will be lost. ok: it was repaired.
    """

    severity: Literal["ok", "note", "warning", "error"]
    code: str
    subject: str
    message: str
    fix: str = ""


note = partial(Finding, "note")
warning = partial(Finding, "warning")
error = partial(Finding, "error")


@dataclass
class Checked:
    """Facts and findings about a client. `facts` is printed; `since` is when its file was last written, in ms."""

    facts: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    since: int | None = None


class Run(NamedTuple):
    """One run of a hook: how it ended, how long it took, and the events it left: action and error."""

    ended: Ended
    ms: int
    events: list[tuple[str, str]]


def check(client: Client, *, project: bool) -> Checked:
    """Check the hooks of a client. A fault here does not keep other clients from being checked."""
    path = settings_of(client).path(project=project)
    unknown = dict.fromkeys(("present", "installed", "current", "version", "command", "enabled", "trusted", "trialMs"))
    result = Checked({"scope": "project" if project else "user", "path": path, **unknown})
    try:
        result.findings += _check(client, result, project=project)
    except Exception as fault:
        if os.environ.get("JOELCLAW_DEBUG"):
            raise
        message = f"it cannot be checked: {type(fault).__name__}: {fault}"
        fix = "run it again with JOELCLAW_DEBUG=1 and report what it prints"
        result.findings.append(error("NOT_EXAMINED", client.name, message, fix))
    return result


def _check(client: Client, result: Checked, *, project: bool) -> Iterator[Finding]:
    settings, name, about, path = settings_of(client), client.name, result.facts, result.facts["path"]
    install = f"joelclaw install {name}{' --project' * project}"
    listed = plan.installation_row(settings, project)
    about |= {key: listed[key] for key in ("present", "installed", "current", "version")}
    try:
        installed = plan.installed_in(settings, path)
        if listed["installed"] is None:  # another of its files cannot be read
            raise Failure("", listed["notes"][-1], f"repair that file, then run `{install}`")
    except Failure as failure:
        code = "SETTINGS_UNREADABLE" if failure.code == "INSTALL_FAILED" else "SETTINGS_DAMAGED"
        fix = failure.fix.replace("; nothing was changed", "").replace("run this", "run `joelclaw doctor`")
        yield error(code, name, f"the client cannot read its settings: {failure.message}", fix)
        return
    is_twice, other = False, settings.path(project=not project)
    with suppress(Failure):
        is_twice = other != path and bool(plan.installed_in(settings, other))
    if not installed:
        if plan.Receipt.load(path) is not None or listed["installed"]:
            message = f"joelclaw was installed in {path} but its hooks are gone"
            yield error("HOOKS_REMOVED", name, message, install)
        elif about["present"] and not is_twice:
            yield note("NOT_INSTALLED", name, f"{name} is here, but joelclaw is not installed in it", install)
        return
    result.since = os.stat(path).st_mtime_ns // 1_000_000
    about["command"] = installed[0].executable
    may_run = listed["current"] or not project  # a project's file may name any command
    missing = [event.name for event in settings.events if event.name not in {entry.place.event for entry in installed}]
    if missing:
        message = f"no hook is installed for {', '.join(missing)}: those events are neither recorded nor answered"
        yield error("HOOKS_MISSING", name, message, install)
    elif not listed["current"] and command_fault(installed[0].executable) is None:
        receipt = plan.Receipt.load(path)
        version = f", written by version {receipt.version}" if receipt is not None else ""
        message = f"the installed entries differ from those of this version{version}"
        yield warning("HOOKS_OUTDATED", name, message, install)
    if is_twice:
        message = "joelclaw is installed for the user and for this project: every event is reported twice"
        yield warning("HOOKS_TWICE", name, message, f"joelclaw uninstall {name} --project")
    off = settings.switched_off(project=project)
    untrusted = settings.untrusted([entry.place for entry in installed], project=project)
    yield from (error("HOOKS_DISABLED", name, obstacle.message, obstacle.fix) for obstacle in off)
    yield from (error("TRUST_MISSING", name, obstacle.message, obstacle.fix) for obstacle in untrusted)
    about["enabled"], about["trusted"] = not off, not untrusted
    if may_run:
        about["trialMs"], finding = _run_entries(client, installed, install)
        yield from [finding] if finding else []
    else:
        message = f"{path} belongs to the project, differs from what an installation writes, and was not run"
        yield warning("HOOK_NOT_TRIED", name, message, install)


def calls(db: apsw.Connection | None, since: int) -> list[Called]:
    """The calls of hooks by event, including those in the spool, which is not changed."""
    copy = sqlite.open_in_memory()
    if db is not None:
        stored_events.copy_hook_calls(db, copy)
    log.append(copy, log.spooled_in(files.home()), debug_limit=0)
    return stored_events.hooks_by_event(copy, since)


def events(client: Client, calls: Sequence[Called]) -> list[dict[str, Any]]:
    """Each event with a hook, and each that was called: when it was last called, and with which outcomes."""
    by_event = {name: Called(client.name, name, 0, 0) for name in client.events}
    by_event |= {called.event: called for called in calls if called.agent == client.name}
    return [
        {
            "event": called.event,
            "lastAt": clock.iso(called.last) if called.last else None,
            "calls24h": called.count,
            **{f"{outcome}24h": len(called.errors(outcome)) for outcome in OUTCOMES},
            "lastError": (called.faults[-1][1] if called.faults else "") or None,
        }
        for called in by_event.values()
    ]


def check_calls(client: Client, calls: Sequence[Called], checked: Checked, periods: list[Any]) -> Iterator[Finding]:
    """Hooks that did not do all their work in the last day, and hooks that are not called though the client is used."""
    own = [called for called in calls if called.agent == client.name]
    for called in own:
        for outcome, what in OUTCOMES.items():
            errors = called.errors(outcome)
            if errors:
                last = f"; the last error: {' '.join(errors[-1].split())[:200]}" if errors[-1] else ""
                times = "once" if len(errors) == 1 else f"{len(errors)} times"
                message = f"its hook{' for ' * bool(called.event)}{called.event} {what} {times} in 24 h{last}"
                fix = "joelclaw otel search hook --level warn,error"
                yield warning(f"HOOK_{outcome.upper()}", client.name, message, fix)
    if checked.since is None:
        return
    last_call = max((called.last for called in own), default=0)
    transcripts = transcript_files.find((), client.name, every=True) if client.name in clients.keeping_files() else ()
    written = max((file.changed // 1_000_000 for file in transcripts), default=0)
    if written and switches.is_in_period(periods, written):
        return
    fix = f"restart {client.title} and use it; it should then appear in `joelclaw otel search hook`"
    session = f"though a session was written at {clock.iso(written)}"
    if last_call:
        if written - max(last_call, checked.since) > clock.HOUR_MS:  # a turn may take that long
            yield warning("HOOKS_SILENT", client.name, f"no hook has run since {clock.iso(last_call)}, {session}", fix)
    elif written > checked.since:
        yield error("HOOK_NEVER_CALLED", client.name, f"no hook has ever run, {session}", fix)
    elif not any(finding.severity == "error" for finding in checked.findings):
        yield note("HOOK_NEVER_CALLED", client.name, "no hook has run yet", f"use {client.title} once")


def command_fault(executable: str) -> tuple[str, str] | None:
    """Why a path, or a name on the PATH, cannot be run: a code and a message. None if it seems to be fine."""
    path = executable if os.sep in executable else shutil.which(executable)
    if not path:
        return "HOOK_COMMAND_GONE", f"no `{executable}` is on the PATH"
    if not os.path.exists(path):
        return "HOOK_COMMAND_GONE", f"{path} {'leads nowhere' if os.path.islink(path) else 'is gone'}"
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return "HOOK_COMMAND_NOT_EXECUTABLE", f"{path} is not executable"
    head = files.start_of(path, 1_024)
    wrapped = re.match(r"""#![^\n]*\n'''exec' (?:"([^"\n]+)"|([^ \n]+))""", head)  # pip's wrapper for long paths
    plain = re.match(r"#! *(/\S+)", head)
    interpreter = (wrapped[1] or wrapped[2]) if wrapped else plain[1] if plain else ""
    if interpreter and not os.access(interpreter, os.X_OK):
        return "HOOK_INTERPRETER_GONE", f"{path} exists, but its interpreter {interpreter} is gone"
    return None


def _run_entries(client: Client, installed: Sequence[Entry], fix: str) -> tuple[int | None, Finding | None]:
    """Run the first hook. Returns its time in ms and its fault."""
    for executable in dict.fromkeys(entry.executable for entry in installed):
        if fault := command_fault(executable):
            code, message = fault
            # In a project's file, joelclaw goes by its bare name.
            fix = f"joelclaw install {client.name}" if os.sep in executable else "put joelclaw on this user's PATH"
            return None, error(code, client.name, f"the hooks of {client.name} do nothing: {message}", fix)
    entry = installed[0]  # the others run the same command
    event = entry.place.event or next(name for name, kind in client.events.items() if kind == "start")
    direct = [entry.executable, "hook", client.name, event]
    words = direct if client.extension else [*settings_of(client).shell(), entry.command]
    run = _run(words, client, event)
    if not run.events and run.ended.reason != "timeout":  # the shell command hides stderr
        run = _run(direct, client, event)._replace(events=[])
    return run.ms, _fault_of(client, entry, run, fix)


def _fault_of(client: Client, entry: Entry, run: Run, fix: str) -> Finding | None:
    """The fault that an entry's run shows."""
    event = entry.place.event
    what = f"the hook for {event}" if entry.command else "the command of the extension"
    reinstall = f"run `{entry.executable} status`; if that fails too, reinstall joelclaw"
    if run.ended.reason == "timeout":
        message = f"{what} did not answer within {MAX_SECONDS:g} s and was stopped"
        return error("HOOK_HANGS", client.name, message, reinstall)
    if not run.events:
        message = f"{what} does not reach joelclaw: {entry.executable}: {run.ended.explain()}"
        return error("HOOK_FAILS", client.name, message, fix)
    action, reason = run.events[-1]
    if action in ("hook.failed", "hook.timeout"):
        return error("HOOK_FAILS", client.name, f"{what} failed: {reason}", reinstall)
    if action == "hook.degraded":
        return warning("HOOK_DEGRADED", client.name, f"{what} did only part of its work: {reason}", reinstall)
    return None


def _run(words: list[str], client: Client, event: str) -> Run:
    """Run a hook in a temporary home, with what the client would send: a session without a transcript."""
    with tempfile.TemporaryDirectory(prefix="joelclaw-doctor-", ignore_cleanup_errors=True) as folder:
        home = os.path.join(folder, "home")
        empty = files.private_folder(os.path.join(folder, "empty"))  # a login shell may look for programs here
        environment = {**_environment(), "JOELCLAW_HOME": home}
        kind = client.events.get(event, "")
        payload: dict[str, Any] = {"session_id": "joelclaw-doctor", "cwd": "/"}
        if client.extension:
            payload |= {**dict.fromkeys(("transcript_path", "percent", "tokens", "window")), "messages": []}
        else:
            by_kind = {"start": {"source": "startup"}, "end": {"reason": "other"}, "prompt": {"prompt": ""}}
            payload |= {"transcript_path": "", "hook_event_name": event, **by_kind.get(kind, {})}
        began = time.monotonic()
        data = json.dumps(payload).encode()
        ended = Command(words, MAX_SECONDS, empty, environment, data, max_bytes=1_000_000).run()
        ms = round((time.monotonic() - began) * 1000)
        spooled = log.spooled_in(home)
        events = [(event["action"], event.get("error", "")) for event in spooled if event["component"] == "hook"]
        return Run(ended, ms, stored_events.hook_traces(home) or events)


def _environment() -> dict[str, str]:
    """The client's environment, without variables of ours that would lead out of the temporary home."""
    ours = ("JOELCLAW", "SLOG", "PI_SESSION", "OTEL_", "TYPESENSE")
    kept = ("JOELCLAW_HOOK_DEADLINE_MS", "JOELCLAW_NOW_MS")
    return {name: value for name, value in os.environ.items() if name in kept or not name.startswith(ours)}
