"""Idle compaction (OpenClaw's idle trigger): the timers of sessions, and `idle run`, which compacts those that are due.

The end of a turn sets a timer if the context is full enough, and the next prompt removes it. Timers are kept in the
state of their sessions. Hot path: `react`.
"""

from __future__ import annotations

import os
import time

import clients
from core import TYPE_CHECKING, clock, files
from core.errors import Failure
from core.redaction import redact
from core.words import clean
from session import state as states
from session.reactions import Reaction
from session.record import IDLE_RUN
from session.session import COMPONENT, Session

if TYPE_CHECKING:
    from typing import Any, Literal

    from clients.base import HookEvent
    from core.command import Ended
    from core.config import Config
    from session.state import IdleTimer, SessionState

    Reason = Literal["scheduled", "off", "percent-unknown", "below-threshold", "switched-off"]
    """Whether a timer was set, or why not. In "switched-off", the client's own settings allow no compaction."""
    Status = Literal["none", "waiting", "due", "turn-running", "in-progress"]

COMPACTION_SECONDS = 600  # longest run of the client: it asks a model for a summary of a long session


def react(event: HookEvent, session: Session) -> Reaction:
    """Set the timer at the end of a turn, unless the turn belongs to the compaction command itself."""
    if not os.environ.get(IDLE_RUN):
        usage = session.usage
        used = ratio(usage["percent"], usage["tokens"], usage["window"])
        set_timer(session.state, used, session.config, cwd=event["cwd"], transcript=event["transcript"])
    return Reaction()


def schedule(
    session_id: str, config: Config, percent: float | None, *, minutes: int = 0, agent: str = "", cwd: str = ""
) -> dict[str, Any]:
    """Set a session's timer as the end of a turn does. Returns what the command prints."""
    with Session(session_id, config, agent=agent) as session:
        state = session.state
        used = ratio(state.percent if percent is None else percent, None, None)
        previous = state.idle_timer
        state.agent = agent or state.agent
        transcript = previous["transcript"] if previous else ""
        reason = set_timer(state, used, config, minutes=minutes, cwd=session.folder(cwd), transcript=transcript)
        session.save()
    timer = state.idle_timer if reason == "scheduled" else None
    return {
        "sessionId": session_id, "scheduled": timer is not None, "reason": reason, "ratio": used,
        "threshold": config.get_float("compaction.idle_trigger_percent"),
        "replaced": timer is not None and previous is not None, "dueAt": timer and timer["dueAt"],
    }  # fmt: skip


def cancel(session_id: str) -> dict[str, Any]:
    """Remove a session's timer. Returns what the command prints."""
    is_known = states.has_state(session_id)
    return {"sessionId": session_id, "known": is_known, "cancelled": is_known and _remove_timer(session_id)[1]}


def ratio(percent: float | None, tokens: int | None, window: int | None) -> float | None:
    """How full the context is, 0 to 1; from the tokens if they are given, since a percentage may be rounded."""
    if tokens is not None and window:
        return tokens / window
    return None if percent is None else percent / 100


def set_timer(
    state: SessionState, used: float | None, config: Config, *, minutes: int = 0, cwd: str = "", transcript: str = ""
) -> Reason:
    """Set the timer of a session that uses the share `used` of its context.

    `minutes`: until it is due; by default `compaction.idle_trigger_minutes`, 0 for never.
    """
    minutes = minutes or config.get_int("compaction.idle_trigger_minutes")
    if not minutes:
        return "off"
    state.idle_timer = None
    if not clients.by_name(state.agent).compaction()["enabled"]:
        return "switched-off"
    if used is None:
        return "percent-unknown"
    if used + 1e-9 < config.get_float("compaction.idle_trigger_percent"):  # 0.7 may be computed as 0.6999…
        return "below-threshold"
    now = clock.now_ms()
    stored = [redact(clean(path))[0][: states.PATH_CHARS] for path in (cwd or state.cwd, transcript)]
    state.idle_timer = {
        "scheduledAt": now, "dueAt": now + minutes * 60_000, "ratio": round(used, 4),
        "cwd": stored[0], "transcript": stored[1],
    }  # fmt: skip
    return "scheduled"


def status(state: SessionState, now: int, *, in_progress: bool) -> Status:
    """The status of a session's timer. `now` is in ms."""
    timer, began = state.idle_timer, state.turn_began_at
    if timer is None:
        return "none"
    for at in (state.last_message_at, state.last_compaction_at):
        if at is not None and at > timer["scheduledAt"]:
            return "none"  # reported by commands that do not know about timers
    if now < timer["dueAt"]:
        return "waiting"
    if in_progress:
        return "in-progress"
    # A turn without any sign of life for an hour is over: its agent was killed.
    is_running = began is not None and now - max(began, state.updated_at) < clock.HOUR_MS
    return "turn-running" if is_running else "due"


def timers() -> list[dict[str, Any]]:
    """The timers, the soonest first, without sessions that are switched off."""
    from core import switches
    from session.known_states import sessions_with_timers

    now = clock.now_ms()
    known, _ = switches.load()
    rows = []
    for path in sessions_with_timers():
        try:
            state = states.state_in(path)
        except Failure:
            continue
        timer, session = state.idle_timer, state.session_id
        is_off = switches.current_off_period(known, session, state.cwd) is not None
        if timer is None or is_off or not clients.by_name(state.agent).compaction()["enabled"]:
            continue
        timer_status = status(state, now, in_progress=files.is_locked(states.work_lock(session, "idle")))
        if timer_status != "none":
            rows.append({
                "sessionId": session, "agent": state.agent, "percent": round(timer["ratio"] * 100, 2),
                "standing": timer_status, "dueInSeconds": max(0, -(-(timer["dueAt"] - now) // 1000)),
                "cwd": timer["cwd"], "scheduledAt": timer["scheduledAt"], "dueAt": timer["dueAt"],
            })  # fmt: skip
    return sorted(rows, key=lambda row: (row["dueAt"], row["sessionId"]))


def run(config: Config, *, once: bool) -> dict[str, Any]:
    """Compact sessions as they come due, until a KeyboardInterrupt. Returns counts and the last 100 results."""
    results: list[dict[str, Any]] = []
    counts = {"completed": 0, "failed": 0, "skipped": 0}
    tried: set[tuple[str, int]] = set()  # in case a timer cannot be removed
    is_stopped = False
    try:
        while True:
            for row in timers():
                timer, result = (row["sessionId"], row["scheduledAt"]), None
                if row["standing"] == "due" and timer not in tried:
                    if result := compact(row["sessionId"], config):
                        tried.add(timer)
                elif once and row["standing"] in ("turn-running", "in-progress"):
                    about = {"sessionId": row["sessionId"], "agent": row["agent"]}
                    result = {**about, "outcome": "skipped", "reason": row["standing"]}
                if result is not None:
                    counts[result["outcome"]] += 1
                    results = [*results, result][-100:]
            if once:
                break
            time.sleep(0.5)
    except KeyboardInterrupt:
        is_stopped = True
    return {**counts, "stopped": is_stopped, "sessions": results}


def compact(session_id: str, config: Config) -> dict[str, Any] | None:
    """Compact a session; None if its timer is no longer due. Faults become events."""
    try:
        with files.FileLock(states.work_lock(session_id, "idle"), 0.1):  # a listing may hold it for a moment
            state = states.read_state(session_id)
            if state and (timer := state.idle_timer) and status(state, clock.now_ms(), in_progress=False) == "due":
                return _compact(state, timer, config)
            return None  # a message or a compaction came first
    except (files.LockTimeout, Failure, OSError):
        return None


def _compact(state: SessionState, timer: IdleTimer, config: Config) -> dict[str, Any]:
    """Run the client's command, check that it compacted the session, and remove the timer. Faults become events."""
    from core.command import run_command
    from session import compaction

    began, session_id, scheduled_at = time.monotonic(), state.session_id, timer["scheduledAt"]
    about: dict[str, Any] = {"ratio": timer["ratio"], "scheduledAt": scheduled_at}
    ended: Ended | None = None
    try:
        began_in, compactions = transcript_facts(timer["transcript"], state.agent)
        # Claude Code finds a session by the folder where it began, not by the folder that its hooks report.
        folder = began_in or timer["cwd"] or state.cwd
        words = _command(state, folder, timer["transcript"], config)
        _record("started", state, {**about, "command": words[0]})
        if config.get_bool("compaction.notify_on_start"):
            compaction.start_notify_command(config)
        environment = {**os.environ, IDLE_RUN: "1"}
        ended = run_command(words, COMPACTION_SECONDS, cwd=folder, environment=environment, guarded=True)
        error = _error_of(ended, state, timer, compactions)
    except Exception as fault:  # the next session is compacted all the same
        error = f"{fault.code}: {fault.message}" if isinstance(fault, Failure) else f"{type(fault).__name__}: {fault}"
    after = None
    try:
        after, _ = _remove_timer(session_id, scheduled_at)  # which stays after a KeyboardInterrupt
    except (Failure, OSError):  # the compaction has been made all the same
        pass
    times = (after.last_message_at, after.turn_began_at) if after is not None else ()
    done = {
        "exitStatus": ended.status if ended is not None else None,
        "messageMeanwhile": any(at is not None and at > scheduled_at for at in times),
    }
    outcome, took_ms = "failed" if error else "completed", round((time.monotonic() - began) * 1000)
    _record(outcome, state, {**about, **done}, error=error, duration_ms=took_ms)
    result = {"sessionId": session_id, "agent": state.agent, "outcome": outcome, **done, "ms": took_ms}
    return {**result, "error": error} if error else result


def _error_of(ended: Ended, state: SessionState, timer: IdleTimer, compactions: int | None) -> str:
    """Why a session is not compacted after the command; `compactions`: how many it had before, None if unknown."""
    if ended.status != 0 or ended.reason:
        return ended.explain()
    after = states.read_state(state.session_id)
    is_reported = after is not None and (after.last_compaction_at or 0) > timer["scheduledAt"]
    if is_reported or compactions is None or transcript_facts(timer["transcript"], state.agent)[1] != compactions:
        return ""
    # Claude Code exits with 0 even if there was nothing to compact, or no model to do it.
    return f"the command succeeded, but the session is not compacted; {ended.explain()}"


def transcript_facts(path: str, agent: str) -> tuple[str, int | None]:
    """What a transcript says: the folder in which its session began, and how many compactions it had.

    The folder is "" if it is unknown or gone, the count None if the client's transcript does not tell it.
    """
    from clients.content import parsed, read_lines
    from core.store import sources

    client = clients.by_name(agent)
    if not client.session_file or client.compaction_sign == "usage" or not sources.existing(path):
        return "", None
    folder, compactions, offset = "", 0, 0
    try:
        with sources.open_source(path) as source:
            while lines := read_lines(source, offset, 1024 * 1024):
                offset = lines[-1][1]
                for line, _ in lines:
                    # The first lines say in which folder the session began; any other line counts only with a mark.
                    if not folder or any(mark in line for mark in client.context_marks):
                        entries = client.entries(parsed(line) or {})
                        folder = folder or next((entry.folder for entry in entries if os.path.isdir(entry.folder)), "")
                        compactions += sum(entry.kind == "compaction" for entry in entries)
    except OSError:
        pass
    return folder, compactions


def _remove_timer(session_id: str, scheduled_at: int | None = None) -> tuple[SessionState | None, bool]:
    """Remove the timer of a session, if it was set at this time. Returns the state, and whether it was removed."""
    with states.state_lock(session_id):
        state, _ = states.load_state(session_id)
        if not (state and (timer := state.idle_timer)) or scheduled_at not in (None, timer["scheduledAt"]):
            return state, False
        state.idle_timer = None
        states.write_state(state)
        return state, True


def _command(state: SessionState, folder: str, transcript: str, config: Config) -> list[str]:
    """The command that compacts a session. Raises Failure: IDLE_NO_COMMAND, IDLE_NO_ID, IDLE_NO_FOLDER."""
    from core.command import split_command

    session_id, agent = state.session_id, state.agent
    template = config.get_str("idle.command").strip() or clients.by_name(agent).compact_command
    if not template:
        message = f"there is no known command to compact a session of {agent or 'an unknown client'}"
        raise Failure("IDLE_NO_COMMAND", message, "set idle.command")
    if session_id.startswith(("-", "hash-")):
        raise Failure("IDLE_NO_ID", f"a command cannot take the id {session_id[:80]!r}", "set no timer for it")
    if not folder or not os.path.isdir(folder):
        message = f"{folder[:200]!r}, where the session ran, no longer exists"
        raise Failure("IDLE_NO_FOLDER", message, "restore it: the session is compacted there")
    values = {"session": session_id, "cwd": folder, "transcript": transcript, "agent": agent}
    if "{key}" in template:
        from core.store.sources import session_key

        values["key"] = session_key(transcript)
        if not values["key"]:
            message = f"{transcript[:200]!r} does not have the session {session_id[:80]!r}"
            raise Failure("IDLE_NO_ID", message, "set idle.command to a command without {key}")
    try:
        return split_command(template, values)
    except ValueError as error:
        raise Failure("CONFIG_INVALID", f"idle.command: {error}", "correct idle.command") from None


def _record(
    what: str, state: SessionState, about: dict[str, Any], *, error: str = "", duration_ms: float | None = None
) -> None:
    from otel import log

    event = log.new_event(
        state.compaction_event(f"compaction.idle.{what}"), source=state.role, component=COMPONENT,
        level="error" if error else "info", success=not error, error=error or None,
        metadata={"agent": state.agent, **about, **state.compaction_metadata}, duration_ms=duration_ms,
        session=state.session_id, role=state.role, now=clock.now_ms(),
    )  # fmt: skip
    log.store_spooled([event])  # the user may be following the log
