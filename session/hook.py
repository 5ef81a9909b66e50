"""One hook call, from the payload on stdin to the answer on stdout. `cli/start.py` calls these in turn, and prints.

    begin    start the deadline, load the settings
    answer   payload → event → take the session's lock, load the state → `_handle` → claim the answer → save the state
    close    store what was queued, start background jobs

The deadline (`hook.deadline_ms`) is a second thread, `_watch`. Only the thread that claims the answer first sees to its
printing:

    main thread in time     the answer is printed; the state says which texts it has
    a step fails            the answer is printed without what needs that step; the event is `hook.degraded`
    main thread, a fault    the empty answer is printed, unless printing failed; what the event changed may be lost
    `_watch`                `_give_up` prints the empty answer and ends the process; the state stays as last saved

In all cases the status is 0, and `_watch` ends a process that hangs after the claim. Between the claim and the
printing, the state is written and events are spooled. Nothing there waits for the store or another process, so that no
text is lost that the state has as given. Hot path.
"""

from __future__ import annotations

import os
import time
from _thread import RLock, start_new_thread

import clients
from core import TYPE_CHECKING, background, clock, config, files, json_text, project
from core.errors import Failure
from otel import log
from session import reactions
from session.record import STATE_KINDS, TURN_KINDS, record, usage_of
from session.session import UNKNOWN_USAGE, Session
from session.state import stored_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.base import HookEvent, Text
    from core.records import Event
    from session.session import ContextUsage


class Hook:
    """One call of `joelclaw hook AGENT [EVENT]`, which began at `began` (`time.monotonic()`).

    Call `begin`, `answer`, print what that returns, then `close`. After an exception call `record_failure` and `claim`,
    and print `empty()`.
    """

    def __init__(self, agent: str, event_name: str, began: float) -> None:
        self._agent = agent
        self._event_name = event_name
        self._began = began
        self._config = config.Config({})
        self.ignored_variables: list[tuple[str, str]] = []
        """The place and name of each variable of the environment that this hook does not obey."""
        self._right_to_print = RLock()
        """Held by the thread that has claimed the answer, until the process ends. After a fault it claims again."""
        self._event: HookEvent | None = None
        self._session: Session | None = None
        """None if this call must not store anything of a session; see `_session_of`."""
        self._usage = UNKNOWN_USAGE
        """The context usage as it was reported."""
        self._archived_bytes = 0

    def begin(self) -> None:
        """Start the deadline and load the settings; the defaults apply if they cannot be read."""
        start_new_thread(self._watch, ())  # importing `threading` costs 1 ms
        self._load_settings(files.current_folder())

    def answer(self, data: bytes) -> str:
        """The text to print for a payload. It is claimed, so it must be printed."""
        client = clients.by_name(self._agent)
        if self._agent not in (*clients.NAMES, "generic"):
            raise Failure("HOOK_UNKNOWN_AGENT", f"{self._agent[:40]!r} is not a client", "see joelclaw hook --help")
        event = self._event = client.read(_payload(data), self._event_name)
        if event["kind"] == "ignored" and client.name == "generic":  # other clients have events that we do not need
            about = f"{event['name'][:40]!r} is not an event; the events are {', '.join(client.events)}"
            raise Failure("HOOK_UNKNOWN_EVENT", about, "see joelclaw hook --help")
        if event["cwd"] and "JOELCLAW_HOME" in os.environ and project.is_inside(files.home(), event["cwd"]):
            self._load_settings(event["cwd"])  # the client has started this hook in another folder
        session = self._session = self._session_of(event)
        if session is None:
            self.claim()
            return client.answer(event, [])
        with session:
            texts = self._handle(event, session)
            answer = client.answer(event, texts)
            if bad_lines := event["bad_lines"]:
                message = f"{bad_lines} of the entries have no known form"
                session.faults.append({"step": "entries", "code": "BAD_LINES", "message": message})
            session.queue_event(self._completed(session, texts))
            self.claim()
            session.save_state()
        return answer

    def claim(self) -> None:
        """Claim the answer for this thread. It does not return if `_watch` has claimed it."""
        self._right_to_print.acquire()

    def empty(self) -> str:
        """The client's answer without a text."""
        return clients.by_name(self._agent).empty_answer

    def close(self) -> None:
        """Store the queued writes, and the events if that is due; start the background jobs that are due."""
        session, event = self._session, self._event
        if session is None or event is None:
            return
        is_complete = not session.faults
        session.store_queued()
        if is_complete and session.faults:
            log.spool([self._completed(session, [])])
        # A recall needs the event of a note to find its session. Other events wait until there are many.
        if session.must_store_events or (log.is_spool_long() and not _client_waits(event, session)):
            session.store_events()
        background.start_due(self._config)

    def record_failure(self, error: BaseException) -> None:
        """Record an exception as an event."""
        message = f"{error.code}: {error.message}" if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        log.spool([self._own_event("hook.failed", "error", {}, error=message)])

    # The steps of an answer

    def _session_of(self, event: HookEvent) -> Session | None:
        """The session of an event; None if the event names no session, is ignored, or if the session is off."""
        kind = event["kind"]
        if kind == "ignored" or not event["session"].strip():
            return None
        until = self._began + self._deadline_seconds() - 0.3  # what follows the wait for the lock needs some time, too
        session = Session(
            stored_id(event["session"]), self._config, role=os.environ.get("JOELCLAW_ROLE", ""), agent=self._agent,
            wait_s=max(until - time.monotonic(), 0), creates_state=kind in STATE_KINDS,
        )  # fmt: skip
        return None if session.is_off(event["cwd"], event["parent"]) else session

    def _handle(self, event: HookEvent, session: Session) -> list[Text]:
        """Record an event, archive the new entries, and react; returns the texts for the agent."""
        client = clients.by_name(session.agent)
        if event["kind"] == "before_compaction" and client.takes_summary:
            from session import compaction

            if texts := compaction.cancel(event, session):
                return texts
        session.usage = self._usage = _usage(event, session)
        # Two clients report no compaction: Gemini CLI's shows in the usage, Copilot CLI's in the transcript.
        texts = _record_missed_compaction(event, session) if client.compaction_sign == "usage" else []
        record(event, session)
        session.save_state()
        if session.before is None:
            session.note_project(event["cwd"])
        path = event["transcript"]  # of OpenClaw: that of the database, `#`, and the session
        if event["items"] or os.path.isfile(path) or os.path.isfile(path.rpartition("#")[0]):
            from session import transcript

            until, is_short = self._began + 0.6 * self._deadline_seconds(), _client_waits(event, session)
            session.entries, self._archived_bytes = transcript.archive(event, session, until, is_short=is_short)
        if client.compaction_sign == "line" and any(entry.kind == "compaction" for entry in session.entries):
            record({**event, "kind": "after_compaction"}, session)
        texts += reactions.run_due(event, session)
        return client.texts_to_give(event, texts, session.state.given_texts)

    # The settings and the deadline

    def _load_settings(self, folder: str) -> None:
        """Load the settings of a hook that may run with the environment of the project in `folder`."""
        self.ignored_variables += [(config.HOOK_ENVIRONMENT, name) for name in config.distrust_environment(folder)]
        try:
            self._config = config.load()
        except Failure as failure:
            log.spool([self._own_event("hook.config_invalid", "warn", {}, error=failure.message)])

    def _deadline_seconds(self) -> float:
        return self._config.get_float("hook.deadline_ms") / 1000

    def _watch(self) -> None:
        """At the deadline, give up unless the answer is claimed; a moment later, end the process in any case."""
        while (left := self._began + self._deadline_seconds() - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))  # the settings, which are loaded meanwhile, may set another deadline
        if self._right_to_print.acquire(blocking=False):
            start_new_thread(self._give_up, ())  # it may hang, too
        # On a slow machine the deadline is set later; then printing and storing take longer, too. A store may be busy.
        time.sleep(max(0.3, 0.15 * self._deadline_seconds()) + log.BUSY_MS / 1000)
        os._exit(0)

    def _give_up(self) -> None:
        """Print the empty answer, record that as an event, and end the process."""
        try:
            if text := self.empty():
                os.write(1, text.encode() + b"\n")
            error = f"no answer within {self._deadline_seconds():g} s"
            log.spool([self._own_event("hook.timeout", "error", {}, error=error)])
        finally:
            os._exit(0)

    # The event about this call

    def _completed(self, session: Session, texts: Sequence[Text]) -> Event:
        chars = sum(len(text["content"]) for text in texts)
        about: dict[str, Any] = {"injected": [text["customType"] for text in texts], "contentChars": chars}
        about |= {"archivedBytes": self._archived_bytes} if self._archived_bytes else {}
        if not session.faults:
            return self._own_event("hook.completed", "debug", about)
        first = session.faults[0]
        error = f"{first['code']}: {first['message']}"
        return self._own_event("hook.degraded", "warn", {**about, "step": first["step"]}, error=error)

    def _own_event(self, action: str, level: str, more: dict[str, Any], error: str = "") -> Event:
        event, role = self._event, os.environ.get("JOELCLAW_ROLE") or "interactive"
        record_of_call = log.new_event(
            action, source=role, component="hook", level=level, success=not error, error=error or None,
            metadata={
                "agent": self._agent[:40], "event": event["name"] if event else self._event_name[:80], **more,
                **({"steps": self._session.store.step_times(self._began)} if self._session is not None else {}),
            },
            duration_ms=round((time.monotonic() - self._began) * 1000, 2),
            session=stored_id(event["session"]) if event and event["session"] else "", role=role, now=clock.now_ms(),
        )  # fmt: skip
        if event is not None:
            record_of_call["hook"] = {"kind": event["kind"], **self._usage}
        return record_of_call


def _payload(data: bytes) -> dict[str, Any]:
    try:
        payload = json_text.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except json_text.InvalidJSON:
        payload = None
    if not isinstance(payload, dict):
        raise Failure("INVALID_JSON", "stdin is not a JSON object", "")
    return payload


def _usage(event: HookEvent, session: Session) -> ContextUsage:
    """At an event of a turn, the context usage that it reports, else the usage in the transcript."""
    if event["kind"] not in TURN_KINDS:
        return UNKNOWN_USAGE
    usage, client = usage_of(event), clients.by_name(session.agent)
    if usage["tokens"] and not usage["window"]:
        event["window"] = client.context_window((event["model"],), usage["tokens"], session.config)
        usage = usage_of(event)
    if usage["percent"] is not None or not event["transcript"] or client.extension:
        return usage
    from session import transcript

    return transcript.context_usage(event["transcript"], session.agent, model=event["model"], config=session.config)


def _record_missed_compaction(event: HookEvent, session: Session) -> list[Text]:
    """Record a compaction of Gemini CLI if the context has shrunk; returns the texts for it.

    At a prompt or a tool, the two events that were missed are recorded now. After other events no note can be given:
    they keep the old usage, so that the next prompt still sees the difference.
    """
    before, usage = session.before, session.usage
    if before is None:
        return []
    tokens, is_reported = usage["tokens"], usage["source"] == "usage"
    # A prompt and its answer change a context by less than 40 %.
    has_shrunk = is_reported and tokens and before.context_tokens and tokens < 0.6 * before.context_tokens
    if has_shrunk and event["kind"] in ("prompt", "tool"):
        session.usage = UNKNOWN_USAGE  # the reported usage is that after the compaction
        missed: HookEvent = {**event, "kind": "before_compaction"}
        record(missed, session)
        texts = reactions.run_due(missed, session)
        record({**event, "kind": "after_compaction"}, session)
        session.usage = usage
        return texts
    if has_shrunk or not is_reported:
        session.usage = {**usage, "tokens": None}
    return []


def _client_waits(event: HookEvent, session: Session) -> bool:
    """Whether the client waits for an answer to this hook, so that it must be short."""
    if event["kind"] == "before_compaction":
        return clients.by_name(session.agent).takes_summary or session.config.get_bool("compaction.notify_on_start")
    return event["kind"] not in ("turn", "end")
