"""Calls a client's hook as the client would, with a payload that asks for nothing, in a home of its own.

A hook of ours ends with status 0 whatever happens. What tells is the event that each call leaves in its home: where
none is, joelclaw was not reached, and a second call, of joelclaw alone, says why.
"""

import json
import os
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from clients import Client
from core.process import process_group
from core.process.process_group import Ended
from core.store import history
from otel import unstored
from session.doctor.status import Finding, error, warning
from session.install import installed_hooks
from session.install.entries import Entry

LONGEST_S = 5.0
_LEFT_OUT = ("JOELCLAW", "SLOG", "PI_SESSION", "OTEL_", "TYPESENSE")
_LEFT_IN = ("JOELCLAW_HOOK_DEADLINE_MS", "JOELCLAW_NOW_MS")
_MOST_BYTES = 1_000_000
_SENT = {"start": {"source": "startup"}, "end": {"reason": "other"}, "prompt": {"prompt": ""}}
_SAID = "Decision: recent active work goes on, and unresolved failures are told with the operational context."
"""A memory that a session's start asks for, so that there is something to hand out."""


class Call(NamedTuple):
    """One call: how it ended, after how long, and the events it left (action, error, whether it handed out a text)."""

    ended: Ended
    ms: int
    traces: list[tuple[str, str, bool]]


def of(client: Client, entries: Sequence[Entry], fix: str) -> tuple[int | None, list[Finding]]:
    """Try the entries of a client: of those that differ in nothing but their event, one."""
    for executable in dict.fromkeys(one.executable for one in entries):
        broken = installed_hooks.broken(client.name, executable)
        if broken is not None:
            return None, [error(subject=client.name, **broken)]
    slowest = 0
    start = next(name for name, kind in client.events.items() if kind == "start")  # our answer to it reaches the model
    chosen: dict[str, Entry] = {}
    for one in sorted(entries, key=lambda one: one.place.event != start):
        chosen.setdefault(one.command, one)
    for entry in chosen.values():
        event = entry.place.event or start
        alone = [entry.executable, "hook", client.name, event]
        words = alone if client.extension else [*client.settings().shell(), entry.command]
        try:
            call = straight = _run(words, client, event, entry.executable)
            if (
                not call.traces and call.ended.reason != "timeout"
            ):  # without the shell around it, which hides its stderr
                straight = _run(alone, client, event, entry.executable)
        except OSError as fault:  # no room for a folder of its own
            about = f"its hook was not called: no temporary folder can be made: {fault}"
            return None, [warning("HOOK_NOT_TRIED", client.name, about, "free some space on the disk of TMPDIR")]
        slowest = max(slowest, call.ms)
        found = _judged(client, entry, event, call, straight, fix)
        if found is not None:  # the same would be said again of the next event
            return slowest, [found]
    return slowest, []


def _judged(client: Client, entry: Entry, event: str, call: Call, straight: Call, fix: str) -> Finding | None:
    shown = f"the hook for {event}" if entry.command else "the command of the extension"
    look = f"run `{entry.executable} status`: where that fails, too, reinstall joelclaw"

    def told(code: str, about: str, mend: str = fix) -> Finding:
        return error(code, client.name, f"{shown} {about}", mend)

    if call.ended.reason == "timeout":
        return told("HOOK_HANGS", f"did not answer within {LONGEST_S:g} s and was stopped", look)
    if not straight.traces:
        return told("HOOK_FAILS", f"does not reach joelclaw: {entry.executable}: {straight.ended.explained()}")
    if not call.traces:
        works = f"though {entry.executable} works: {call.ended.explained()}"
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


def _run(words: list[str], client: Client, event: str, executable: str) -> Call:
    with tempfile.TemporaryDirectory(prefix="joelclaw-doctor-", ignore_cleanup_errors=True) as folder:
        home = os.path.join(folder, "home")
        # That of the client, as far as it is ours: nothing of it may lead out of the home of the trial.
        kept = {name: value for name, value in os.environ.items() if name in _LEFT_IN or not name.startswith(_LEFT_OUT)}
        around = {**kept, "JOELCLAW_HOME": home, "JOELCLAW_HOOK_WAIT": "true"}
        if client.events.get(event) == "start":
            said = [executable, "memory", "write", "--global", _SAID]
            process_group.run(said, seconds=LONGEST_S, environment=around)
        # What the client would send: a session without a transcript, in a folder of its own.
        payload: dict[str, Any] = {"session_id": "joelclaw-doctor", "cwd": folder}
        if client.extension:
            payload |= {**dict.fromkeys(("transcript_path", "percent", "tokens", "window")), "messages": []}
        else:
            payload |= {"transcript_path": "", "hook_event_name": event, **_SENT.get(client.events.get(event, ""), {})}
        given = json.dumps(payload).encode()
        began = time.monotonic()
        ended = process_group.run(words, seconds=LONGEST_S, environment=around, data=given, most=_MOST_BYTES)
        ms = round((time.monotonic() - began) * 1000)
        not_stored = [
            (one["action"], one.get("error", ""), bool(one["metadata"].get("injected")))
            for one in unstored.lying_in(home)
            if one["component"] == "hook"
        ]
        return Call(ended, ms, history.traces(home) or not_stored)
