"""One hook call from its payload to its answer, with its own deadline, its faults kept, and an event about itself."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, start_new_thread

import clients
from core import TYPE_CHECKING, clock, config, json_text
from core.errors import Failure
from core.process import background
from otel import log
from otel.event import new_event
from session.state import state_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clients.event import HookEvent, Text
    from core.records import Event
    from session.step import Context

COMPONENT = "hook"
_ARCHIVE_SHARE = 0.6
"""Of the time until the deadline, for a transcript that has grown by megabytes."""
_SHORTEST_S = 0.05
_PATIENCE_S = 60
_GRACE_S = 0.3
"""How long a hook that is late, or whose answer is out, may take to store its event before it is ended."""
_GRACE_SHARE = 0.15
"""The same as a share of the deadline: a machine that gets more time for an answer gets more for the event too."""


class Call:
    """One call, which began at `time.perf_counter()`; `name` is the event's where the payload does not tell it."""

    def __init__(self, agent: str, name: str, began: float) -> None:
        self._agent = agent
        self._name = name
        self._began = began
        self._watched = time.monotonic()
        self._config = config.Config({})
        self._deadline: Deadline | None = None
        self._event: HookEvent | None = None
        self._context: Context | None = None
        """None too where the session is switched off: nothing of it is stored."""
        self._texts: list[Text] = []
        self._told = ""  # the id of the event about this call, once it is kept
        self._is_silent = False  # the agent is never told anything at such an event
        self._has_claimed = False

    def watch(self) -> None:
        """Start the deadline (`hook.deadline_ms`); settings that cannot be read are noted, and the defaults hold."""
        self._deadline = Deadline(self._seconds(), self._late)
        try:
            self._config = config.load()
            if self._config.unknown:
                from session import settings_faults

                log.spool(settings_faults.events(self._config.unknown, clock.now_ms()))
        except Failure as failure:
            log.spool([self._about("hook.config_invalid", "warn", {}, error=failure.message)])
        self._deadline.seconds = self._seconds()

    def answer(self, data: bytes) -> str:
        """What is printed for a payload."""
        client = clients.row(self._agent)
        if self._agent not in clients.NAMES:
            raise Failure("HOOK_UNKNOWN_AGENT", f"{self._agent[:40]!r} is not a client", "see joelclaw hook --help")
        try:
            payload = json_text.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
        except json_text.InvalidJSON as error:
            raise Failure("INVALID_JSON", f"stdin is not JSON: {error}", "") from None
        if not isinstance(payload, dict):
            raise Failure("INVALID_JSON", "stdin is JSON but not an object", "")
        event = self._event = client.read(payload, self._name)
        if event["kind"] != "ignored" and event["session"].strip():
            from session.hook import pipeline
            from session.step import Context

            session_id = state_file.identity(event["session"])
            role = os.environ.get("JOELCLAW_ROLE", "")
            context = Context(session_id, self._config, role=role, agent=self._agent)
            if not context.is_off(event["cwd"]):
                self._context = context
                self._is_silent = pipeline.says_nothing(event, context)
                until = self._watched + self._seconds() * _ARCHIVE_SHARE
                self._texts = pipeline.answer(event, context, silent=client.silent, until=until)
        return client.answer(event, self._texts)

    def empty(self) -> str:
        """The answer that says nothing."""
        return clients.row(self._agent).empty_answer

    def claim(self) -> bool:
        """Whether the answer may be printed: once. Where the deadline has it, this process ends here."""
        if self._has_claimed:
            return False
        if self._deadline is not None and not self._deadline.claim():
            time.sleep(_PATIENCE_S)  # the watcher says so, and ends it
        self._has_claimed = True
        return True

    def tell(self) -> None:
        """Before the answer: note the event about this call; of a session that is off nothing."""
        if self._context is not None:
            made = self._completed()
            self._told = made["id"]
            self._context.note([made])

    def close(self) -> None:
        """After the answer: store the events where nobody waits for this; start the background jobs that are due."""
        if self._context is not None:
            self._context.close(silent=self._is_silent)
        if self._deadline is not None:
            self._deadline.over()
        if self._context is not None:
            background.start_due(self._config)

    def failed(self, error: BaseException) -> None:
        """Keep the fault as an event."""
        what = f"{error.code}: {error.message}" if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        self._keep(self._about("hook.failed", "error", {}, error=what))

    def _seconds(self) -> float:
        return self._config.get_float("hook.deadline_ms") / 1000

    def _late(self) -> None:
        """The deadline is over: the empty answer first, then what may not be lost, and the event."""
        _say(self.empty())
        try:
            if self._context is not None and self._context.on_deadline is not None:
                self._context.on_deadline()
        except Exception as error:
            self.failed(error)
        told = self._about("hook.timeout", "error", {}, error=f"no answer within {self._seconds():g} s")
        # One id: it takes the place of the event that says the call was answered.
        self._keep({**told, "id": self._told or told["id"]})

    def _keep(self, made: Event) -> None:
        if self._context is None:
            log.spool([made])
        else:
            self._context.note([made])
            self._context.close()

    def _completed(self) -> Event:
        chars = sum(len(text["content"]) for text in self._texts)
        about = {"injected": [text["customType"] for text in self._texts], "contentChars": chars}
        for first in self._context.faults if self._context is not None else ():
            error = f"{first['code']}: {first['message']}"
            return self._about("hook.degraded", "warn", {**about, "step": first["step"]}, error=error)
        return self._about("hook.completed", "debug", about)

    def _about(self, action: str, level: str, more: dict[str, Any], error: str = "") -> Event:
        event = self._event
        role = os.environ.get("JOELCLAW_ROLE") or "interactive"
        made = new_event(
            action, source=role, component=COMPONENT, level=level, success=not error, error=error or None,
            metadata={"agent": self._agent[:40], "event": event["name"] if event else self._name[:80], **more},
            duration_ms=round((time.perf_counter() - self._began) * 1000, 2),
            session=state_file.identity(event["session"]) if event and event["session"] else "",
            role=role, now=clock.now_ms(),
        )  # fmt: skip
        if event is not None:
            usage = self._context.usage if self._context is not None else None
            made["hook"] = {"kind": event["kind"], **(usage or {})}
        return made


class Deadline:
    """Runs `late` and ends the process with status 0 unless the answer is claimed within `seconds`.

    What hangs in `late` is left behind. The watcher is a bare thread (`threading` costs 1 ms to import).
    """

    __slots__ = ("_answered", "_began", "_late", "_over", "seconds")

    def __init__(self, seconds: float, late: Callable[[], None]) -> None:
        self.seconds = seconds
        """May be changed: the settings that say it are read while the watcher runs."""
        self._began = time.monotonic()
        self._late = late
        self._answered = allocate_lock()
        self._over = allocate_lock()
        self._over.acquire()
        start_new_thread(self._watch, ())

    def claim(self) -> bool:
        """Whether the caller may print its answer: once, and not when the time is over."""
        return self._answered.acquire(False)

    def over(self) -> None:
        """The work is done, or goes on elsewhere; the watcher goes, also one that finds the answer claimed after it."""
        self._over.release()

    def _watch(self) -> None:
        wait = _SHORTEST_S
        while wait > 0:
            if self._over.acquire(timeout=min(wait, _SHORTEST_S)):
                return
            wait = self._began + self.seconds - time.monotonic()
        is_late = self.claim()
        if not is_late and self._over.acquire(False):
            return
        try:
            if is_late:  # else the answer was out in time, and what comes after it (an event) hangs
                start_new_thread(_leave, (max(_GRACE_S, _GRACE_SHARE * self.seconds),))
                self._late()
        finally:
            os._exit(0)


def _say(text: str) -> None:
    """Text to stdout, where anybody reads it."""
    try:
        if text:
            os.write(1, text.encode() + b"\n")
    except OSError:
        pass


def _leave(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)
