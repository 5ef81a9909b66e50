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
from typing import Any

from clients.client import Client
from core.store import history
from otel import spool
from session.doctor.status import Finding, error, warning
from session.install import installed_hooks
from session.install.entries import Entry

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
            return f"no answer within {LONGEST_S:g} s"
        said = " ".join(self.err.split())[-_ERROR_CHARS:]
        how = "it could not be started" if self.status is None else f"exit status {self.status}"
        return f"{how}: {said}" if said else how


def of(client: Client, entries: Sequence[Entry], fix: str) -> tuple[int | None, list[Finding]]:
    """Try the entries of a client: of those that differ in nothing but their event, one.

    Where the command cannot even be started, that is the finding, and nothing is called. Returns the ms of the slowest
    call (None: none was made), and what was found; `fix` is the command that installs them anew.
    """
    for executable in dict.fromkeys(one.executable for one in entries):
        broken = installed_hooks.broken(client.name, executable)
        if broken is not None:
            return None, [error(subject=client.name, **broken)]
    slowest = None
    start = next(name for name, kind in client.events.items() if kind == "start")  # our answer to it reaches the model
    chosen: dict[str, Entry] = {}
    for one in sorted(entries, key=lambda one: one.place.event != start):
        chosen.setdefault(one.command, one)
    for entry in chosen.values():
        event = entry.place.event or start
        alone = [entry.executable, "hook", client.name, event]
        words = alone if client.extension else [*client.settings().shell(), entry.command]
        try:
            call = _run(words, client, event, entry.executable)
            if not call.traces and not call.is_late:  # without the shell around it, which keeps what it says on stderr
                straight = _run(alone, client, event, entry.executable)
            else:
                straight = call
        except OSError as fault:  # no room for a folder of its own
            about = f"its hook was not called: no temporary folder can be made: {fault}"
            return None, [warning("HOOK_NOT_TRIED", client.name, about, "free some space where TMPDIR lies")]
        slowest = max(slowest or 0, call.ms)
        found = _judged(client, entry, event, call, straight, fix)
        if found is not None:  # the same would be said again of the next event
            return slowest, [found]
    return slowest, []


def _judged(client: Client, entry: Entry, event: str, call: Call, straight: Call, fix: str) -> Finding | None:
    shown = f"the hook for {event}" if entry.command else "the command of the extension"
    look = f"run `{entry.executable} status`: where that fails, too, install joelclaw anew"

    def told(code: str, about: str, mend: str = fix) -> Finding:
        return error(code, client.name, f"{shown} {about}", mend)

    if call.is_late:
        return told("HOOK_HANGS", f"gave {call.explained()} and was ended", look)
    if not straight.traces:
        return told("HOOK_FAILS", f"does not reach joelclaw: {entry.executable}: {straight.explained()}")
    if not call.traces:
        works = f"though {entry.executable} works: {call.explained()}"
        return told("HOOK_NOT_REACHED", f"does not reach joelclaw, {works}")
    refusal = _refusal(client, event, call.out)
    if refusal:
        return told("HOOK_ANSWER_REFUSED", f"prints what the client does not take: {refusal}")
    action, why, injected = call.traces[-1]
    if action in ("hook.failed", "hook.timeout"):
        return told("HOOK_FAILS", f"failed: {why}", look)
    if action == "hook.degraded":
        return warning("HOOK_DEGRADED", client.name, f"{shown} did only part of its work: {why}", look)
    if injected and not call.out.strip():
        return told("HOOK_ANSWER_LOST", "has a text for the model, and what is entered does not pass it on")
    return None


def _refusal(client: Client, event: str, answer: str) -> str:
    text = answer.strip()
    if not text:
        return "it printed nothing, and the extension waits for JSON" if client.extension else ""
    try:
        answered: Any = json.loads(text)
    except ValueError:
        answered = None
    found: dict[str, Any] = answered if isinstance(answered, dict) else {}
    if client.extension:
        texts = found.get("messages")
        good = isinstance(texts, list) and all(isinstance(one, dict) and "content" in one for one in texts)
    else:
        given = found.get("hookSpecificOutput")
        told: dict[str, Any] = given if isinstance(given, dict) else {}
        good = isinstance(told.get("additionalContext"), str) and told.get("hookEventName") == event
    return "" if good else f"it printed {text[:80]!r}"


def _run(words: list[str], client: Client, event: str, executable: str) -> Call:
    folder = tempfile.mkdtemp(prefix="joelclaw-doctor-")
    try:
        home = os.path.join(folder, "home")
        # That of the client, as far as it is ours: nothing of it may lead out of the home of the trial.
        kept = {name: value for name, value in os.environ.items() if name in _LEFT_IN or not name.startswith(_LEFT_OUT)}
        environment = {**kept, "JOELCLAW_HOME": home}
        if client.events.get(event) == "start":
            _until_over([executable, "memory", "write", "--global", _SAID], environment, b"")
        given = json.dumps(_payload(client, event, folder)).encode()
        began = time.monotonic()
        status, out, err = _until_over(words, environment, given)
        ms = round((time.monotonic() - began) * 1000)
        not_stored = [
            (one["action"], one.get("error", ""), bool(one["metadata"].get("injected")))
            for one in spool.lying_in(home)
            if one["component"] == "hook"
        ]
        return Call(status, out, err, ms, history.traces(home) or not_stored)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _payload(client: Client, event: str, folder: str) -> dict[str, Any]:
    """What the client would send at the event: a session without a transcript, in a folder of its own."""
    common: dict[str, Any] = {"session_id": "joelclaw-doctor", "cwd": folder}
    if client.extension:
        return {**common, "transcript_path": None, "messages": [], "percent": None, "tokens": None, "window": None}
    kind = client.events.get(event)
    more = {"start": {"source": "startup"}, "end": {"reason": "other"}, "prompt": {"prompt": ""}}.get(str(kind), {})
    return {**common, "transcript_path": "", "hook_event_name": event, **more}


def _until_over(words: list[str], environment: dict[str, str], data: bytes) -> tuple[int | None, str, str]:
    """Run a command, and end what it started; exit status (None: not started, or ended by us), stdout, stderr."""
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(  # noqa: S603  # the command that the client runs
            words, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except (OSError, ValueError) as fault:
        return None, "", str(fault)
    status, out, err = None, b"", b""
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
