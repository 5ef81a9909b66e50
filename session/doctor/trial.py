"""Calls a client's hook as the client would, with a payload that asks for nothing, in a home of its own.

A hook of ours ends with status 0 whatever happens, so its status tells nothing. What tells is the event that each call
leaves in its home: where none is, joelclaw was not reached, and a second call, of joelclaw alone, says why.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from clients import hook_trial
from clients.client import Client
from core.store import history
from otel import spool
from session.doctor.finding import Finding, error, warning
from session.install import installed_hooks
from session.install.installed_hooks import Entry

LONGEST_S = 5.0
_LEFT_OUT = ("JOELCLAW", "SLOG", "PI_SESSION", "OTEL_", "TYPESENSE")
_LEFT_IN = ("JOELCLAW_HOOK_DEADLINE_MS", "JOELCLAW_NOW_MS")
_DRAIN_S = 1.0
_ERROR_CHARS = 300
_SAID = "Decision: recent active work goes on, and unresolved failures are told with the operational context."
"""A memory that a session's start asks for, so that there is something to hand out."""


@dataclass(frozen=True)
class Call:
    """How one call ended; `status` is None where it did not start or was ended, after `ms` milliseconds."""

    status: int | None
    out: str
    err: str
    ms: int
    traces: list[tuple[str, str, bool]]

    @property
    def is_late(self) -> bool:
        """Whether it was ended since its time was over."""
        return self.status is None and self.ms >= LONGEST_S * 1000

    def explained(self) -> str:
        """How it ended, in words."""
        if self.is_late:
            return f"it gave no answer within {LONGEST_S:g} s and was ended"
        said = " ".join(self.err.split())[-_ERROR_CHARS:]
        how = "it could not be started" if self.status is None else f"exit status {self.status}"
        return f"{how}: {said}" if said else how


def of(client: Client, entries: Sequence[Entry], fix: str) -> tuple[int | None, list[Finding]]:
    """Try the entries of a client: of those that differ in nothing but their event, one.

    Where the command cannot even be started, that is the finding, and nothing is called.

    Args:
        fix: the command that installs them anew.

    Returns the ms of the slowest call (None: none was made), and what was found.
    """
    for executable in dict.fromkeys(one.executable for one in entries):
        reason = installed_hooks.fault(executable)
        if reason is not None:
            told = installed_hooks.told(client.name, reason[1])
            return None, [error(reason[0], client.name, told, installed_hooks.fix(client.name, executable))]
    slowest = None
    for entry, event in _chosen(client, entries):
        try:
            call = _call(client, entry, event)
        except OSError as fault:  # no room for a folder of its own
            about = f"its hook was not called: no temporary folder can be made: {fault}"
            return None, [warning("HOOK_NOT_TRIED", client.name, about, "free some space where TMPDIR lies")]
        slowest = max(slowest or 0, call.ms)
        found = _judged(client, entry, event, call, fix)
        if found is not None:  # the same would be said again of the next event
            return slowest, [found]
    return slowest, []


def _chosen(client: Client, entries: Sequence[Entry]) -> list[tuple[Entry, str]]:
    """An entry for each command that there is, with the event to call it for: a start where it is entered for one."""
    start = hook_trial.start_of(client)
    chosen: dict[str, tuple[Entry, str]] = {}
    for one in sorted(entries, key=lambda one: one.place.event != start):
        chosen.setdefault(one.command, (one, one.place.event or start))
    return list(chosen.values())


def _judged(client: Client, entry: Entry, event: str, call: Call, fix: str) -> Finding | None:
    name, shown = client.name, f"the hook for {event}" if entry.command else "the command of the extension"
    look = f"run `{entry.executable} status`: where that fails, too, install joelclaw anew"
    if call.is_late:
        return error("HOOK_HANGS", name, f"{shown} {call.explained().removeprefix('it ')}", look)
    if not call.traces:
        alone = _run(_alone(client, entry, event), client, event, entry)
        if not alone.traces:
            about = f"{shown} does not reach joelclaw: {entry.executable}: {alone.explained()}"
            return error("HOOK_FAILS", name, about, fix)
        about = f"{shown} does not reach joelclaw, though {entry.executable} works: {call.explained()}"
        return error("HOOK_NOT_REACHED", name, about, fix)
    refusal = hook_trial.refusal(client, event, call.out)
    if refusal:
        about = f"the client does not take what {shown} prints: {refusal}"
        return error("HOOK_ANSWER_REFUSED", name, about, fix)
    action, why, injected = call.traces[-1]
    if action in ("hook.failed", "hook.timeout"):
        return error("HOOK_FAILS", name, f"{shown} failed: {why}", look)
    if action == "hook.degraded":
        return warning("HOOK_DEGRADED", name, f"{shown} did only part of its work: {why}", look)
    if injected and not call.out.strip():
        about = f"{shown} has a text for the model, and what is entered does not pass it on"
        return error("HOOK_ANSWER_LOST", name, about, fix)
    return None


def _call(client: Client, entry: Entry, event: str) -> Call:
    """The entry as it stands in the client's settings."""
    shell = [*client.settings().shell(), entry.command]
    return _run(_alone(client, entry, event) if client.extension else shell, client, event, entry)


def _alone(client: Client, entry: Entry, event: str) -> list[str]:
    """joelclaw without the shell around it, which keeps what it says on stderr."""
    return [entry.executable, "hook", client.name, event]


def _run(words: list[str], client: Client, event: str, entry: Entry) -> Call:
    folder = tempfile.mkdtemp(prefix="joelclaw-doctor-")
    try:
        home = os.path.join(folder, "home")
        environment = _environment(home)
        if client.events.get(event) == "start":
            _until_over([entry.executable, "memory", "write", "--global", _SAID], environment, b"")
        given = json.dumps(hook_trial.payload(client, event, folder)).encode()
        began = time.monotonic()
        status, out, err = _until_over(words, environment, given)
        ms = round((time.monotonic() - began) * 1000)
        return Call(status, out, err, ms, history.traces(home) or _waiting(home))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _waiting(home: str) -> list[tuple[str, str, bool]]:
    """The events that a hook could not store."""
    return [
        (event["action"], event.get("error", ""), bool(event["metadata"].get("injected")))
        for event in spool.lying_in(home)
        if event["component"] == "hook"
    ]


def _environment(home: str) -> dict[str, str]:
    """That of the client, as far as it is ours: nothing of it may lead out of the home of the trial."""
    kept = {name: value for name, value in os.environ.items() if name in _LEFT_IN or not name.startswith(_LEFT_OUT)}
    return {**kept, "JOELCLAW_HOME": home}


def _until_over(words: list[str], environment: dict[str, str], data: bytes) -> tuple[int | None, str, str]:
    """Run a command, and end what it started; exit status (None: not started, or ended by us), stdout, stderr."""
    try:
        process = subprocess.Popen(  # noqa: S603  # the command that the client runs
            words,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as fault:
        return None, "", str(fault)
    status: int | None = None
    out = err = b""
    try:
        out, err = process.communicate(data, timeout=LONGEST_S)
        status = process.returncode
    except subprocess.TimeoutExpired:
        _end(process.pid)
        with suppress(subprocess.TimeoutExpired):  # what left the group may hold the pipes
            out, err = process.communicate(timeout=_DRAIN_S)
    finally:
        _end(process.pid)
    return status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
