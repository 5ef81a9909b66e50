"""One hook call from its payload to its answer, with its own deadline, its faults kept, and an event about itself."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, start_new_thread

import clients
from core import TYPE_CHECKING, clock, config, files, json_text
from core.errors import Failure
from core.process import background_jobs
from otel import spool
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
_LAST_WORDS_S, _LAST_WORDS_SHARE = 0.3, 0.15
"""The share is of the time that the answer had: who allows a slow machine more time allows it here too."""
_UNTIL_ALONE_S, _LAST_WORDS_ALONE_S = 2.0, 20.0
"""Where a child says them, for which nobody waits; and what the fork before it may take on a machine with too much to
do."""
_SHORTEST_S, _PATIENCE_S = 0.05, 60
_EARLIER_S = 0.4
"""So long a hook waits for one of its session that has let its client go and is still at work."""
_AGAIN = frozenset(("prompt", "tool", "turn", "start"))
"""The next one catches up, but for what a start tells: of these counts what they waited, where a transcript has the
rest."""


class Call:
    """One call, which began at `time.perf_counter()`; `name` is the event's where the payload does not tell it."""

    def __init__(self, agent: str, name: str, began: float) -> None:
        self._agent = agent
        self._name = name
        self._began = began
        self._watched, self._waited = time.monotonic(), waited_s()
        """When the deadline begins, and what was waited before: what is waited behind it, it sees itself."""
        self._config = config.Config({})
        self._deadline: Deadline | None = None
        self._event: HookEvent | None = None
        self._context: Context | None = None
        """None too where the session is switched off: nothing of it is stored."""
        self._texts: list[Text] = []
        self._told = ""  # the id of the event about this call, once it is kept
        self._is_silent = False  # the agent is never told anything at such an event
        self._at_work: files.FileLock | None = None  # of the session, until this process ends
        self._has_claimed = False
        self._is_alone = False  # the client is gone with its answer, and this goes on in a child

    def watch(self) -> None:
        """Start the deadline (`hook.deadline_ms`); settings that cannot be read are noted, and the defaults hold."""
        self._deadline = Deadline(self._seconds(), self._late)
        try:
            self._config = config.load()
            if self._config.dropped or self._config.unknown:
                from session import settings_faults

                spool.keep(settings_faults.events(self._config.dropped, self._config.unknown, clock.now_ms()))
        except Failure as failure:
            spool.keep([self._about("hook.config_invalid", "warn", {}, error=failure.message)])
        self._deadline.seconds = self._seconds()
        if not self._config.get_bool("hook.wait"):
            self._deadline.last_words = _UNTIL_ALONE_S

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
                waited = 0.0
                if self._deadline is not None and event["kind"] in _AGAIN and event["transcript"]:
                    waited = self._deadline.waited = self._waited
                    if waited >= self._seconds():
                        time.sleep(_PATIENCE_S)  # late before it begins: the deadline says so, and ends this
                self._context = context
                self._begin(event, context, client.answer(event, []))
                until = self._watched + (self._seconds() - waited) * _ARCHIVE_SHARE
                self._texts = pipeline.answer(event, context, silent=client.silent, until=until)
        return client.answer(event, self._texts)

    def _begin(self, event: HookEvent, context: Context, empty: str) -> None:
        """Wait for an earlier hook of the session; where nothing is to be said, let the client go at once.

        What that event calls for is done in a child, before the session's next hook begins: it waits for the lock.
        """
        from session.hook import pipeline
        from session.step import work_lock

        path = work_lock(context.session_id, COMPONENT)
        self._is_silent = pipeline.says_nothing(event, context)
        silent = self._is_silent and not self._config.get_bool("hook.wait")
        if not silent and not os.path.exists(path):
            return
        lock = files.FileLock(path, _EARLIER_S)
        try:
            lock.__enter__()
        except (files.LockTimeout, OSError, Failure):  # side by side, as hooks of tools at once are
            return
        if not silent or self._deadline is None:
            lock.__exit__()
            return
        self._deadline.over()  # a fork takes one thread along; and before the claim, see `Deadline`
        self.claim()
        self._at_work, self._is_alone = lock, True
        _say(empty)
        _go_on_in_child()
        self._deadline = Deadline(self._seconds(), self._late, _LAST_WORDS_ALONE_S)

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
        if files.is_store_older():
            from session import settings_faults

            settings_faults.tell_older(clock.now_ms())
        if self._deadline is not None:
            self._deadline.over()
        if self._context is not None:
            background_jobs.start_due(self._config)

    def failed(self, error: BaseException) -> None:
        """Keep the fault as an event."""
        what = f"{error.code}: {error.message}" if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        self._keep(self._about("hook.failed", "error", {}, error=what))

    def _seconds(self) -> float:
        return self._config.get_float("hook.deadline_ms") / 1000

    def _late(self) -> None:
        """The deadline is over: the empty answer first, then what may not be lost, and the event."""
        if not self._is_alone:
            _say(self.empty())
            if self._config.get_bool("hook.wait"):
                _close_streams()
            else:
                # What this process is importing just now cannot be imported in the child any more.
                _go_on_in_child()
                start_new_thread(_leave, (_LAST_WORDS_ALONE_S,))
        try:
            if self._context is not None and self._context.on_deadline is not None:
                self._context.on_deadline()
        except Exception as error:
            self.failed(error)
        what = "not done" if self._is_alone else "no answer"
        told = self._about("hook.timeout", "error", {}, error=f"{what} within {self._seconds():g} s")
        # One id: it takes the place of the event that says the call was answered.
        self._keep({**told, "id": self._told or told["id"]})

    def _keep(self, made: Event) -> None:
        if self._context is None:
            spool.keep([made])
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

    __slots__ = ("_answered", "_began", "_late", "_over", "last_words", "seconds", "waited")

    def __init__(self, seconds: float, late: Callable[[], None], last_words: float = _LAST_WORDS_S) -> None:
        self.seconds = seconds
        """May be changed, as `waited` of them may: the settings that say it are read while the watcher runs."""
        self.waited = 0.0
        self.last_words = last_words
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
            wait = self._began + self.seconds - self.waited - time.monotonic()
        is_late = self.claim()
        if not is_late and self._over.acquire(False):
            return
        try:
            if is_late:  # else the answer was out in time, and what comes after it (an event) hangs
                most = max(self.last_words, _LAST_WORDS_SHARE * max(self.seconds, self.waited))
                start_new_thread(_leave, (most,))
                self._late()
        finally:
            os._exit(0)


def waited_s() -> float:
    """Seconds that this process waited for a processor since its start (Linux), be it a shell's before; else 0."""
    told = files.start_of(f"/proc/{os.getpid()}/schedstat", 100).split()
    return int(told[1]) / 1e9 if len(told) > 1 else 0.0


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


def _go_on_in_child() -> None:
    """End this process with status 0; a child returns, in a session of its own and without the standard streams.

    Locks that are held (`flock`) pass to the child. Without a process left, this one goes on without the streams.
    """
    try:
        if os.fork():
            os._exit(0)
        os.setsid()  # a client that ends its hook's group, or its terminal, does not end this
    except OSError:
        pass
    _close_streams()


def _close_streams() -> None:
    """Lead stdin, stdout and stderr nowhere: who reads them is at their end."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
