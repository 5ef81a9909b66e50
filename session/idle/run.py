"""`joelclaw idle run`: compacts the sessions whose timers are due, one after the other, with their agent's command."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import Failure
from core.process import process_group
from otel.event import new_event
from session.compaction import notice
from session.hook import spool
from session.idle import outcome, timing
from session.session_store import Store
from session.state import compacted, idle_timer, schema, state_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.config import Config
    from core.process.process_group import Ended, Interrupts
    from session.state.schema import IdleTimer, SessionState

    Tell = Callable[[str, dict[str, Any]], None]


class NotNow(Exception):
    """The timer is not run: it was taken away, is not due any more, or another process is at it. `args[0]` says why."""


_KEPT = 100
_AGAIN_MS = 60_000
"""After a state that cannot be written."""


@dataclass
class Outcome:
    """What a run did; of many sessions the last 100."""

    sessions: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"completed": 0, "failed": 0, "cancelled": 0, "skipped": 0})
    stopped: bool = False

    def take(self, result: dict[str, Any]) -> None:
        """One more session."""
        self.counts[result["outcome"]] += 1
        self.sessions = [*self.sessions, result][-_KEPT:]


def run(
    config: Config, interrupts: Interrupts, tell: Tell, *, once: bool = False, until_empty: bool = False
) -> Outcome:
    """Wait for timers and compact what is due, until told to stop.

    Args:
        tell: called with `started` or `finished`, and what there is to say of the session; may not raise.
        once: compact what is due now, and end.
        until_empty: end when no timer is left.

    Raises:
        Failure: the folder of the sessions cannot be read.
    """
    outcome = Outcome()
    timers = timing.Timers()
    later: dict[str, int] = {}
    while not interrupts.came():
        now = clock.now_ms()
        listed = [told for told in (timing.told(one, config, now) for one in timers.states()) if told is not None]
        for told in listed:
            if interrupts.came():
                break
            if told["standing"] == idle_timer.DUE and later.get(told["sessionId"], 0) <= now:
                result = compact(told["sessionId"], config, interrupts, tell)
                if result is not None:
                    outcome.take(result)
                    later[told["sessionId"]] = now + _AGAIN_MS
            elif once and told["standing"] in (idle_timer.TURN_RUNNING, idle_timer.IN_PROGRESS):
                about = {"sessionId": told["sessionId"], "agent": told["agent"]}
                outcome.take({**about, "outcome": "skipped", "reason": told["standing"]})
        if once or (until_empty and not listed):
            break
        waiting = [one["dueAt"] for one in listed if one["standing"] == idle_timer.WAITING]
        interrupts.wait(idle_timer.pause(waiting, clock.now_ms()))
    outcome.stopped = interrupts.came()
    return outcome


def compact(session_id: str, config: Config, interrupts: Interrupts, tell: Tell) -> dict[str, Any] | None:
    """Compact one session whose timer is due; None where it turns out not to be. Raises nothing: faults are events."""
    began = time.monotonic()
    reached = Store(config, clock.now_ms())
    attempt = _Attempt(session_id, config)
    try:
        current, timer = attempt.claim()
    except NotNow:
        return None
    except Exception as fault:
        error = _said(fault)
        _note(reached, "failed", schema.blank(session_id, "interactive", 0), {}, error=error)
        return {"sessionId": session_id, "agent": "", "outcome": "failed", "error": error}
    result: dict[str, Any] = {"sessionId": session_id, "agent": current["agent"], "outcome": "completed"}
    about = {"ratio": timer["ratio"], "scheduledAt": timer["scheduledAt"]}
    ended: Ended | None = None
    try:
        words, folder = _command(current, timer, config)
        _note(reached, "started", current, {**about, "command": words[0]})
        attempt.confirm()
        tell("started", {**result, "command": words, "cwd": folder})
        if config.flag("compaction.notifyOnStart"):
            notice.start(config)
        size = outcome.size(timer["transcript"])
        ended = process_group.run(
            words,
            seconds=config.whole("idle.timeout_seconds"),
            cwd=folder,
            environment={**os.environ, timing.RUNNING: "1"},
            interrupts=interrupts,
            begun=attempt.hand_over,
        )
        error = "" if ended.status == 0 and not ended.reason else ended.told()
        if not error and attempt.was_compacted(timer, size) is False:
            error = f"the command ended well, and the session is not compacted; {ended.told()}"
    except NotNow:
        attempt.finish(again=False)
        result["outcome"] = "cancelled"
        _note(reached, "cancelled", current, about)
        tell("finished", result)
        return result
    except Exception as fault:  # whatever it is, the next session is compacted all the same
        error = _said(fault)
    result["exitStatus"] = ended.status if ended is not None else None
    result["messageMeanwhile"] = attempt.finish(again=ended is not None and ended.reason == "stopped")
    result["ms"] = round((time.monotonic() - began) * 1000)
    about |= {"exitStatus": result["exitStatus"], "messageMeanwhile": result["messageMeanwhile"]}
    if error:
        result |= {"outcome": "failed", "error": error}
    _note(reached, "failed" if error else "completed", current, about, error=error, took=result["ms"])
    tell("finished", result)
    return result


class _Attempt:
    """One claim on one session's timer."""

    def __init__(self, session_id: str, config: Config) -> None:
        self._session_id = session_id
        self._config = config
        self._scheduled_at = 0
        self._pids = [os.getpid()]

    def claim(self) -> tuple[SessionState, IdleTimer]:
        """Mark that we are at it; returns the state and its timer.

        Raises:
            NotNow: it is not due, or another process is at it.
            Failure: the state cannot be read or written.
        """
        now = clock.now_ms()
        with state_file.locked(self._session_id):
            known, _ = state_file.load(self._session_id)
            timer = known["idleTimer"] if known is not None else None
            if known is None or timer is None:
                raise NotNow(idle_timer.NONE)
            stands = idle_timer.standing(known, now, state_file.is_alive, timing.longest_ms(self._config))
            if stands != idle_timer.DUE:
                raise NotNow(stands)
            self._scheduled_at = timer["scheduledAt"]
            claimed = idle_timer.claim(known, os.getpid(), now)
            state_file.store(claimed)
        return claimed, timer

    def confirm(self) -> None:
        """Look again, just before the command is started.

        Raises:
            NotNow: a message has come.
        """
        known = state_file.peek(self._session_id)
        if known is None or not idle_timer.is_claimed(known, os.getpid(), self._scheduled_at):
            raise NotNow(idle_timer.NONE)
        if idle_timer.is_running(known, clock.now_ms()):
            raise NotNow(idle_timer.TURN_RUNNING)

    def hand_over(self, pid: int) -> None:
        """The mark is the command's from now on: were we killed, nobody would start a second one beside it."""
        self._pids.append(pid)
        try:
            with state_file.locked(self._session_id):
                known, _ = state_file.load(self._session_id)
                mark = known["idleInFlight"] if known is not None else None
                if known is not None and mark is not None and mark["pid"] == os.getpid():
                    state_file.store(idle_timer.claim(known, pid, mark["startedAt"]))
        except (Failure, OSError):
            pass

    def was_compacted(self, timer: IdleTimer, size: int) -> bool | None:
        """Whether the session's file grew a compaction beyond `size`, or a hook told of one; None: nothing can tell.

        Claude Code ends with status 0 where there was nothing to compact, or no model to do it.
        """
        known = state_file.peek(self._session_id)
        at = known["lastCompactionAt"] if known is not None else None
        if at is not None and at > timer["scheduledAt"]:
            return True
        return outcome.was_compacted(timer["transcript"], known["agent"] if known is not None else "", size)

    def finish(self, *, again: bool) -> bool:
        """Take the mark away, and the timer unless it is to be run `again`; whether a message came meanwhile."""
        try:
            with state_file.locked(self._session_id):
                known, _ = state_file.load(self._session_id)
                if known is None:
                    return False
                after = idle_timer.finish(known, self._pids, self._scheduled_at, again=again)
                if after != known:
                    state_file.store(after)
        except (Failure, OSError):
            return False  # the mark is void once its process is gone
        at = known["lastMessageAt"]
        began = known["turnBeganAt"]
        return any(one is not None and one > self._scheduled_at for one in (at, began))


def _command(current: SessionState, timer: IdleTimer, config: Config) -> tuple[list[str], str]:
    """The words that compact a session, and the folder in which they are run.

    Raises:
        Failure: there is no command, no folder, or no id that the agent would know.
    """
    session_id, agent = current["sessionId"], current["agent"]
    template = config.text("idle.command").strip() or idle_timer.COMMANDS.get(agent, "")
    if not template:
        who = agent or "an agent of which nothing is known"
        raise Failure("IDLE_NO_COMMAND", f"no command is known that compacts a session of {who}", "set idle.command")
    if session_id.startswith(("-", "hash-")):
        raise Failure("IDLE_NO_ID", f"{session_id[:80]!r} is no id that a command could be given", "set none for it")
    folder = timer["cwd"] or current["cwd"]
    # Claude Code finds a session by the folder where it began, and tells its hooks the one where its shell is.
    folder = outcome.begun_in(timer["transcript"], agent) or folder
    if not folder or not os.path.isdir(folder):
        raise Failure("IDLE_NO_FOLDER", f"{folder[:200]!r} is no folder", "a session is compacted where it ran")
    values = {"session": session_id, "cwd": folder, "transcript": timer["transcript"], "agent": agent}
    try:
        words = idle_timer.words(template, values)
    except ValueError as error:
        raise Failure("CONFIG_INVALID", f"idle.command: {error}", "correct idle.command") from None
    return words, folder


def _said(fault: Exception) -> str:
    return f"{fault.code}: {fault.message}" if isinstance(fault, Failure) else f"{type(fault).__name__}: {fault}"


def _note(
    reached: Store,
    what: str,
    current: SessionState,
    about: dict[str, Any],
    *,
    error: str = "",
    took: float | None = None,
) -> None:
    event = new_event(
        compacted.action(f"compaction.idle.{what}", current["role"]),
        source=current["role"],
        component=compacted.COMPONENT,
        level="error" if error else "info",
        success=not error,
        error=error or None,
        metadata={"agent": current["agent"], **about, **compacted.counted(current)},
        duration_ms=took,
        session=current["sessionId"],
        role=current["role"],
        now=clock.now_ms(),
    )
    if not reached.note([event]):
        spool.keep([event])
