"""`joelclaw doctor`: whether a client's hooks are installed as this version writes them, allowed, called, and working.

The command of a hook is run with a payload that asks for nothing, in a temporary home, and without the client's shell,
which hides messages. Our hooks always exit with 0, so the event that a run leaves in that home shows how it went.
Without an event, joelclaw was not reached.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, NamedTuple

import apsw

from clients.base import Client
from core import clock, files, switches
from core.command import Ended, run_command
from core.errors import Failure
from core.store import events as stored_events
from core.store import sqlite
from memory.archive import transcript_files
from otel import log
from session.install import plan
from session.install.client_settings import settings_of
from session.install.own_entries import Entry
from session.state import has_state, is_hidden, stored_id

MAX_SECONDS = 5.0  # for a run; a client waits longer
FIXABLE = frozenset({"HOOK_COMMAND_GONE", "HOOK_FAILS", "HOOKS_REMOVED", "HOOKS_MISSING", "HOOKS_OUTDATED"})
"""Installing again repairs these; a copy of the client's file is kept."""
OUTCOMES = {"failed": "failed", "degraded": "did only part of its work", "late": "was late"}


class Finding(NamedTuple):
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


class Checked:
    """Facts and findings about a client's hooks. `facts` is printed; `since` is when its file was last written (ms)."""

    def __init__(self, client: Client, *, project: bool) -> None:
        self.client = client
        self.settings = settings_of(client)
        self.since: int | None = None
        self._project = project
        self._path = self.settings.path(project=project)
        self._install = f"joelclaw install {client.name}{' --project' * project}"
        row = plan.installation_row(self.settings, project)
        same = ("scope", "path", "present", "installed", "current", "version")
        self.facts: dict[str, Any] = {key: row[key] for key in same}
        self.findings = list(self._check(row["notes"]))

    def _check(self, notes: list[str]) -> Iterator[Finding]:
        name, settings = self.client.name, self.settings
        try:
            # those with a wrapper last: only there, joelclaw may be on the PATH
            installed = sorted(plan.installed_in(settings, self._path), key=lambda entry: entry.is_edited)
            if self.facts["installed"] is None:  # another of its files cannot be read
                raise Failure("", notes[-1], f"repair that file, then run `{self._install}`")
        except Failure as failure:
            code = "SETTINGS_UNREADABLE" if failure.code == "INSTALL_FAILED" else "SETTINGS_DAMAGED"
            fix = failure.fix.replace("; nothing was changed", "").replace("run this", "run `joelclaw doctor`")
            yield error(code, name, f"the client cannot read its settings: {failure.message}", fix)
            return
        is_twice, other = False, settings.path(project=not self._project)
        with suppress(Failure):
            is_twice = other != self._path and bool(plan.installed_in(settings, other))
        if not installed or not self.facts["installed"]:
            if plan.receipt_of(self._path) or self.facts["installed"]:
                message = f"joelclaw was installed in {self._path} but its hooks are gone"
                yield error("HOOKS_REMOVED", name, message, self._install)
            elif installed:  # what the user edited stays after an uninstall
                message = f"joelclaw is not installed in {self._path}, but edited hooks in it call it and still run"
                yield warning("HOOKS_LEFT", name, message, f"delete them by hand, or run `{self._install}`")
            elif self.facts["present"] and not is_twice:
                yield note("NOT_INSTALLED", name, f"{name} is here, but joelclaw is not installed in it", self._install)
            return
        self.since = os.stat(self._path).st_mtime_ns // 1_000_000
        yield from self._check_entries(installed)
        if is_twice:
            message = "joelclaw is installed for the user and for this project: every event is reported twice"
            yield warning("HOOKS_TWICE", name, message, f"joelclaw uninstall {name} --project")
        yield from (error("HOOKS_DISABLED", name, *obstacle) for obstacle in settings.switched_off())
        yield from (error("TRUST_MISSING", name, *obstacle) for obstacle in settings.untrusted(project=self._project))
        yield from self._check_command(installed[0])  # the others run the same command

    def _check_entries(self, installed: list[Entry]) -> Iterator[Finding]:
        """Whether every event has a hook, as this version writes it."""
        hooked = {entry.event for entry in installed}
        missing = [event for event in self.settings.events if event not in hooked]
        if missing:
            message = f"no hook is installed for {', '.join(missing)}: those events are neither recorded nor answered"
            yield error("HOOKS_MISSING", self.client.name, message, self._install)
        elif not self.facts["current"] and shutil.which(installed[0].executable):
            message = "the installed entries differ from those of this version"
            yield warning("HOOKS_OUTDATED", self.client.name, message, self._install)

    def _check_command(self, entry: Entry) -> Iterator[Finding]:
        """Whether the command of a hook is there and works."""
        name, executable = self.client.name, entry.executable
        if self._project and not self.facts["current"]:  # a project's file may name any command
            message = f"{self._path} belongs to the project, differs from what an installation writes, and was not run"
            yield warning("HOOK_NOT_TRIED", name, message, self._install)
        elif not shutil.which(executable):
            message = f"the hooks of {name} do nothing: {executable} is gone, or cannot be executed"
            # In a project's file, joelclaw goes by its bare name.
            fix = f"joelclaw install {name}" if os.sep in executable else "put joelclaw on this user's PATH"
            yield error("HOOK_COMMAND_GONE", name, message, fix)
        else:
            yield from self._try(entry)

    def _try(self, entry: Entry) -> Iterator[Finding]:
        """Run a hook; yields its fault."""
        client, event = self.client, entry.event
        tried = event or next(name for name, kind in client.events.items() if kind == "start")
        ended, events = _run([entry.executable, "hook", client.name, tried], client, tried)
        what = f"the hook for {event}" if event else "the command of the extension"
        reinstall = f"run `{entry.executable} status`; if that fails too, reinstall joelclaw"
        action, reason = events[-1] if events else ("", "")
        if ended.reason == "timeout":
            message = f"{what} did not answer within {MAX_SECONDS:g} s and was stopped"
            yield error("HOOK_HANGS", client.name, message, reinstall)
        elif not events:
            message = f"{what} does not reach joelclaw: {entry.executable}: {ended.explain()}"
            yield error("HOOK_FAILS", client.name, message, self._install)
        elif action in ("hook.failed", "hook.timeout"):
            yield error("HOOK_FAILS", client.name, f"{what} failed: {reason}", reinstall)
        elif action == "hook.degraded":
            yield warning("HOOK_DEGRADED", client.name, f"{what} did only part of its work: {reason}", reinstall)


def calls(db: apsw.Connection | None, since: int) -> list[dict[str, Any]]:
    """The calls of hooks by event, including those in the spool, which is not changed."""
    spooled = [event for event in log.spooled_in(files.home()) if event.get("component") == stored_events.HOOK]
    if db is not None and not spooled:
        return stored_events.hooks_by_event(db, since)
    copy = sqlite.open_in_memory()
    if db is not None:
        stored_events.copy_hook_calls(db, copy)
    log.append(copy, spooled, debug_limit=0)
    return stored_events.hooks_by_event(copy, since)


def check_calls(
    checked: Checked, calls: Sequence[dict[str, Any]], periods: list[Any], kept: Sequence[transcript_files.File]
) -> Iterator[Finding]:
    """Hooks that did not do all their work in the last day, and hooks that are not called though the client is used.

    Args:
        periods: in which something was switched off.
        kept: the client's sessions, the last written first.
    """
    client = checked.client
    own = [row for row in calls if row["client"] == client.name]
    for row in own:
        for outcome, what in OUTCOMES.items():
            errors = [error for name, error in row["faults"] if name == outcome]
            if errors:
                last = f"; the last error: {' '.join(errors[-1].split())[:200]}" if errors[-1] else ""
                times = "once" if len(errors) == 1 else f"{len(errors)} times"
                message = f"its hook{' for ' * bool(row['event'])}{row['event']} {what} {times} in 24 h{last}"
                fix = "joelclaw otel search hook --level warn,error"
                yield warning(f"HOOK_{outcome.upper()}", client.name, message, fix)
    if checked.since is None:
        return
    last_call = max((row["at"] for row in own), default=0)
    written = next((file.changed for file in kept if not _are_calls_unknown(file, last_call)), 0)
    if written and switches.is_in_period(periods, written):
        return
    fix = f"restart {client.title} and use it; it should then appear in `joelclaw otel search hook`"
    session = f"though a session was written at {clock.iso(written)}"
    if last_call:
        if written - max(last_call, checked.since) > clock.HOUR_MS:  # a turn may take that long
            yield warning("HOOKS_SILENT", client.name, f"no hook has run since {clock.iso(last_call)}, {session}", fix)
    elif written > checked.since:
        yield error("HOOK_NEVER_CALLED", client.name, f"no call of a hook is recorded, {session}", fix)
    elif not any(finding.severity == "error" for finding in checked.findings):
        yield note("HOOK_NEVER_CALLED", client.name, "no call of a hook is recorded yet", f"use {client.title} once")


def _are_calls_unknown(file: transcript_files.File, last_call: int) -> bool:
    """Whether the store may lack calls of this session: it was forgotten, or has a state although no call is stored."""
    with suppress(Failure, OSError, ValueError):
        session = stored_id(transcript_files.look_at(file.path)[1])
        return is_hidden(session) or (not last_call and has_state(session))
    return False


def _run(words: list[str], client: Client, event: str) -> tuple[Ended, list[tuple[str, str]]]:
    """Run a hook in a temporary home, with what the client would send: a session without a transcript.

    Returns how it ended, and the events that it left: action and error.
    """
    with tempfile.TemporaryDirectory(prefix="joelclaw-doctor-", ignore_cleanup_errors=True) as folder:
        home = os.path.join(folder, "home")
        # The client's environment, without variables of ours that would lead out of the temporary home.
        ours = ("JOELCLAW", "SLOG", "PI_SESSION", "OTEL_", "TYPESENSE")
        kept = ("JOELCLAW_HOOK_DEADLINE_MS", "JOELCLAW_NOW_MS")
        known = {name: value for name, value in os.environ.items() if name in kept or not name.startswith(ours)}
        payload: dict[str, Any] = {"session_id": "joelclaw-doctor", "cwd": "/", "transcript_path": ""}
        if client.extension:
            payload |= {**dict.fromkeys(("percent", "tokens", "window")), "messages": []}
        else:
            payload |= {"hook_event_name": event, "source": "startup", "reason": "other", "prompt": ""}
        data = json.dumps(payload).encode()
        environment = {**known, "JOELCLAW_HOME": home}
        ended = run_command(words, MAX_SECONDS, cwd=folder, environment=environment, data=data)
        spooled = log.spooled_in(home)
        events = [(event["action"], event.get("error", "")) for event in spooled if event["component"] == "hook"]
        return ended, stored_events.hook_traces(home) or events
