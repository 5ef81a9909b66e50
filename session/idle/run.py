"""Lists the timers of idle compaction, and compacts the sessions whose timers are due with their agent's command."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import clients
from clients.content import parsed
from core import clock, files, switches
from core.config import Config
from core.errors import Failure
from core.process.command import Command, Ended, Interrupts
from otel import log
from otel.event import new_event
from session.compaction import client_compaction
from session.idle import timers
from session.session import COMPONENT
from session.state import Damaged, SessionState, TooNew
from session.state_file import (
    SUFFIX,
    load_state,
    parse_state_file,
    read_state,
    state_failure,
    state_lock,
    state_path,
    states_folder,
    work_lock,
    write_state,
)

if TYPE_CHECKING:
    from session.state import IdleTimer

Report = Callable[[str, dict[str, Any]], None]
_NO_TIMER = b'"idleTimer": null'
_KEPT = 100
_RETRY_MS = 60_000
_TIMEOUT_S = 600  # longest run of the client: it asks a model for a summary of a long session
"""How long a session is left alone after a try, in case its state could not be written."""
_LOOK_S = 0.1
"""How long a look at the lock by another process may last."""
_PAUSE_S = 0.5
_LINES_READ = 100
"""Of a transcript, which tell where its session began."""


def listed(*, on: bool = False) -> list[dict[str, Any]]:
    """The timers, the soonest first, without those that a message or a compaction has removed."""
    now, folder = clock.now_ms(), states_folder()
    known = switches.load()[0] if on and files.has_switches() else None
    try:
        names = os.listdir(folder) if os.path.isdir(folder) else []
    except OSError as error:
        raise state_failure(error) from None
    found = []
    for name in names:
        one = _with_timer(os.path.join(folder, name)) if name.endswith(SUFFIX) else None
        timer = one.idle_timer if one else None
        if one is None or timer is None:
            continue
        session, standing = one.session_id, timers.status(one, now, busy=_is_held(one.session_id))
        is_off = on and not clients.row(one.agent).compaction(timer["cwd"])["enabled"]
        is_off = is_off or (known is not None and switches.silence_in_force(known, session, one.cwd) is not None)
        if standing != timers.NONE and not is_off:
            found.append(
                {
                    "sessionId": session,
                    "agent": one.agent,
                    "percent": round(timer["ratio"] * 100, 2),
                    "standing": standing,
                    "dueInSeconds": max(0, -(-(timer["dueAt"] - now) // 1000)),
                    "cwd": timer["cwd"],
                    "scheduledAt": timer["scheduledAt"],
                    "dueAt": timer["dueAt"],
                }
            )
    return sorted(found, key=lambda timer: (timer["dueAt"], timer["sessionId"]))


def _with_timer(path: str) -> SessionState | None:
    try:
        with open(path, "rb") as file:
            if _NO_TIMER in file.read():
                return None  # `run` looks at all of them every second
        value = parse_state_file(path)
        identifier = value.get("sessionId") if isinstance(value, dict) else None
        if not isinstance(identifier, str) or state_path(identifier) != path:
            return None
        return SessionState.from_json(value, identifier)
    except (OSError, Damaged, TooNew):
        return None


def _is_held(session_id: str) -> bool:
    """Whether a process compacts the session: an `idle run`, or the command that a killed one left."""
    path = work_lock(session_id, "idle")
    if not os.path.exists(path):
        return False
    try:
        with files.FileLock(path, 0):
            return False
    except files.LockTimeout:
        return True


def run(config: Config, interrupts: Interrupts, report: Report, *, once: bool, until_empty: bool) -> dict[str, Any]:
    """Wait for timers and compact what is due, until interrupted; returns counts and what became of 100 sessions."""
    results: list[dict[str, Any]] = []
    counts = {"completed": 0, "failed": 0, "skipped": 0}
    retry_at: dict[str, int] = {}
    while not interrupts.came():
        now, found = clock.now_ms(), listed(on=True)
        for timer in found:
            session, standing = timer["sessionId"], timer["standing"]
            if interrupts.came():
                break
            result = None
            if standing == timers.DUE and retry_at.get(session, 0) <= now:
                result = compact(session, config, interrupts, report)
                retry_at[session] = now + _RETRY_MS * (result is not None)
            elif once and standing in (timers.TURN_RUNNING, timers.IN_PROGRESS):
                result = {"sessionId": session, "agent": timer["agent"], "outcome": "skipped", "reason": standing}
            if result is not None:
                counts[result["outcome"]] += 1
                results = [*results, result][-_KEPT:]
        if once or (until_empty and not found):
            break
        interrupts.wait(_PAUSE_S)
    return {**counts, "stopped": interrupts.came(), "sessions": results}


def compact(session_id: str, config: Config, interrupts: Interrupts, report: Report) -> dict[str, Any] | None:
    """Compact one session; None where its timer is no longer due. Raises nothing: faults become events."""
    try:
        with files.FileLock(work_lock(session_id, "idle"), _LOOK_S) as lock:
            return _compact(session_id, lock, config, interrupts, report)
    except files.LockTimeout:
        return None
    except Exception as fault:
        error = _error_text(fault)
        _record("failed", SessionState(session_id, "interactive", 0), {}, error=error)
        return {"sessionId": session_id, "agent": "", "outcome": "failed", "error": error}


def _compact(
    session_id: str, lock: files.FileLock, config: Config, interrupts: Interrupts, report: Report
) -> dict[str, Any] | None:
    began = time.monotonic()
    current = read_state(session_id)
    timer = current.idle_timer if current is not None else None
    if current is None or timer is None or timers.status(current, clock.now_ms(), busy=False) != timers.DUE:
        return None  # a message or a compaction has come
    since, path = timer["scheduledAt"], timer["transcript"]
    result: dict[str, Any] = {"sessionId": session_id, "agent": current.agent, "outcome": "completed"}
    about = {"ratio": timer["ratio"], "scheduledAt": since}
    ended: Ended | None = None
    try:
        began_in, before = told(path, current.agent)
        words, folder = _command(current, timer, config, began_in)
        _record("started", current, {**about, "command": words[0]})
        report("started", {**result, "command": words, "cwd": folder})
        if config.get_bool("compaction.notify_on_start"):
            client_compaction.start_notify_command(config)
        seconds, environment = _TIMEOUT_S, {**os.environ, timers.RUNNING: "1"}
        ended = Command(words, seconds=seconds, cwd=folder, environment=environment, lock=lock).run(interrupts)
        error = "" if ended.status == 0 and not ended.reason else ended.explain()
        known = read_state(session_id)
        at = known.last_compaction_at if known is not None else None
        # Claude Code ends with status 0 where there was nothing to compact, or no model to do it.
        if not error and before is not None and not (at and at > since) and told(path, current.agent)[1] == before:
            error = f"the command succeeded, but the session is not compacted; {ended.explain()}"
    except Exception as fault:  # whatever it is, the next session is compacted all the same
        error = _error_text(fault)
    became = {
        "exitStatus": ended.status if ended is not None else None,
        "messageMeanwhile": _finish(session_id, since, again=ended is not None and ended.reason == "stopped"),
    }
    result |= {**became, "ms": round((time.monotonic() - began) * 1000)}
    if error:
        result |= {"outcome": "failed", "error": error}
    _record(result["outcome"], current, {**about, **became}, error=error, took=result["ms"])
    report("finished", result)
    return result


def _finish(session_id: str, since: int, *, again: bool) -> bool:
    """Remove the timer that was set then, unless it runs `again`; returns whether a message came meanwhile."""
    try:
        with state_lock(session_id):
            known, _ = load_state(session_id)
            timer = known.idle_timer if known is not None else None
            if known is not None and timer is not None and timer["scheduledAt"] == since and not again:
                known.idle_timer = None
                write_state(known)
    except (Failure, OSError):
        return False
    came = (known.last_message_at, known.turn_began_at) if known is not None else ()
    return any(at is not None and at > since for at in came)


def told(path: str, agent: str) -> tuple[str, int | None]:
    """What a transcript tells: the folder in which the session began, "" where it is unknown or gone, and how many
    compactions it had, None where that cannot be known."""
    client = clients.row(agent)
    if not client.session_file or client.silent or not os.path.isfile(path):
        return "", None
    folder, compactions = "", 0
    with suppress(OSError), open(path, "rb") as file:
        for number, line in enumerate(file):
            if number >= _LINES_READ and not any(mark in line for mark in client.context_marks):
                continue
            for entry in client.entries(parsed(line.decode("utf-8", "replace")) or {}):
                if entry.folder and not folder and os.path.isdir(entry.folder):
                    folder = entry.folder
                compactions += entry.kind == "compaction"
    return folder, compactions


def _command(current: SessionState, timer: "IdleTimer", config: Config, began_in: str) -> tuple[list[str], str]:
    session_id, agent = current.session_id, current.agent
    template = config.get_str("idle.command").strip() or clients.row(agent).compact_command
    if not template:
        who = agent or "an unknown client"
        raise Failure("IDLE_NO_COMMAND", f"there is no known command to compact a session of {who}", "set idle.command")
    if session_id.startswith(("-", "hash-")):
        raise Failure("IDLE_NO_ID", f"{session_id[:80]!r} is not an id that a command takes", "set no timer for it")
    # Claude Code finds a session by the folder where it began, and tells its hooks the one where its shell is.
    folder = began_in or timer["cwd"] or current.cwd
    if not folder or not os.path.isdir(folder):
        gone = f"{folder[:200]!r}, where the session ran, no longer exists"
        raise Failure("IDLE_NO_FOLDER", gone, "bring it back: the session is compacted there")
    values = {"session": session_id, "cwd": folder, "transcript": timer["transcript"], "agent": agent}
    try:
        return timers.words(template, values), folder
    except ValueError as error:
        raise Failure("CONFIG_INVALID", f"idle.command: {error}", "correct idle.command") from None


def _error_text(fault: Exception) -> str:
    return f"{fault.code}: {fault.message}" if isinstance(fault, Failure) else f"{type(fault).__name__}: {fault}"


def _record(
    what: str,
    current: SessionState,
    about: dict[str, Any],
    *,
    error: str = "",
    took: float | None = None,
) -> None:
    event = new_event(
        current.compaction_event(f"compaction.idle.{what}"),
        source=current.role,
        component=COMPONENT,
        level="error" if error else "info",
        success=not error,
        error=error or None,
        metadata={"agent": current.agent, **about, **current.compaction_metadata},
        duration_ms=took,
        session=current.session_id,
        role=current.role,
        now=clock.now_ms(),
    )
    log.store_spooled([event])  # nobody waits for this, and its user may be following the log
