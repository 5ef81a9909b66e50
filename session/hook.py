"""One hook call, from the payload on stdin to the answer on stdout.

    parse the payload → take the session's lock → load the state → record the event → save → archive the new entries
    → run the reactions that are due → claim the answer → save → store the queued writes → print

A deadline (`hook.deadline_ms`) runs at the same time: if the answer is not claimed when it ends, it prints the empty
answer and ends the process with status 0. The answer is claimed before the second save, so that the deadline drops no
text that the state marks as given. Hot path.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, start_new_thread

import clients
from core import TYPE_CHECKING, background, clock, config, files, json_text, project
from core.errors import Failure
from otel import log
from session import reactions
from session.record import STATE_KINDS, TURN_KINDS, leave_out_abandoned, record, usage_of
from session.session import Session, fault_boundary
from session.state import stored_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from clients.base import HookEvent, Text
    from clients.entries import Entry
    from core.records import Event
    from session.session import ContextUsage

WAITING_BYTES = 256 * 1024  # of new transcript: after a tool, less than this waits for the end of the turn
UNSAID_BYTES = 16 * 1024  # of new transcript without a message: at a prompt, less than this waits


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
        self._deadline: Deadline | None = None
        self._event: HookEvent | None = None
        self._session: Session | None = None
        """None if this call must not store anything of a session; see `_session_of`."""
        self._usage: ContextUsage | None = None
        """The context usage as it was reported."""
        self._texts: list[Text] = []
        self._archived_bytes = 0
        self._is_claimed = False

    def begin(self) -> None:
        """Start the deadline and load the settings; the defaults apply if they cannot be read."""
        self._deadline = Deadline(self._seconds(), self._give_up)
        self._load_settings(files.current_folder())
        self._deadline.seconds = self._seconds()

    def _load_settings(self, folder: str) -> None:
        """Load the settings of a hook that may run with the environment of the project in `folder`."""
        self.ignored_variables += [(config.HOOK_ENVIRONMENT, name) for name in config.distrust_environment(folder)]
        try:
            self._config = config.load()
        except Failure as failure:
            log.spool([self._own_event("hook.config_invalid", "warn", {}, error=failure.message)])

    def answer(self, data: bytes) -> str:
        """The text to print for a payload. It is claimed, so it must be printed."""
        client = clients.by_name(self._agent)
        if self._agent not in (*clients.NAMES, "generic"):
            raise Failure("HOOK_UNKNOWN_AGENT", f"{self._agent[:40]!r} is not a client", "see joelclaw hook --help")
        event = self._event = client.read(_payload(data), self._event_name)
        if event["cwd"] and "JOELCLAW_HOME" in os.environ and project.is_inside(files.home(), event["cwd"]):
            self._load_settings(event["cwd"])  # the client has started this hook in another folder
        session = self._session = self._session_of(event)
        if session is None:
            self.claim()
            return client.answer(event, [])
        with session:
            self._texts = self._handle(event, session)
            self.claim()  # before the state says that the texts were given
            session.save()
            session.spool([self._completed(session)])
        return client.answer(event, self._texts)

    def claim(self) -> None:
        """Claim the answer for this thread. It does not return if the deadline has printed the empty answer."""
        if not self._is_claimed and self._deadline is not None and not self._deadline.claim():
            time.sleep(60)  # far longer than the watcher needs to end the process
        self._is_claimed = True

    def empty(self) -> str:
        """The client's answer without a text."""
        return clients.by_name(self._agent).empty_answer

    def close(self) -> None:
        """Store the events if a recall needs them, or if many wait and the client does not; start background jobs."""
        session, event = self._session, self._event
        if session is not None and event is not None:
            may_store = log.is_spool_long() and not _client_waits(event, session)
            if session.must_store_events or may_store:
                session.store_events()
        if self._deadline is not None:
            self._deadline.stop()
        if session is not None:
            background.start_due(self._config)

    def record_failure(self, error: BaseException) -> None:
        """Record an exception as an event."""
        message = f"{error.code}: {error.message}" if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        log.spool([self._own_event("hook.failed", "error", {}, error=message)])

    def _session_of(self, event: HookEvent) -> Session | None:
        """The session of an event; None if the event names no session, is ignored, or if the session is off."""
        kind = event["kind"]
        if kind == "ignored" or not event["session"].strip():
            return None
        until = self._began + self._seconds() - 0.3  # what follows the wait for the lock needs some time, too
        session = Session(
            stored_id(event["session"]), self._config, role=os.environ.get("JOELCLAW_ROLE", ""), agent=self._agent,
            wait_s=max(until - time.monotonic(), 0), creates_state=kind in STATE_KINDS,
        )  # fmt: skip
        return None if session.is_off(event["cwd"], event["parent"]) else session

    def _handle(self, event: HookEvent, session: Session) -> list[Text]:
        """Record an event, archive, and run the reactions; returns the texts."""
        client, kind = clients.by_name(session.agent), event["kind"]
        if kind == "before_compaction" and client.takes_summary:  # pi may compact twice in a row
            from session import compaction

            if texts := compaction.cancel(event, session):
                return texts
        was_compacted = False
        if kind in TURN_KINDS:
            session.usage = self._usage = _usage(event, session)
            was_compacted = _record_unreported_compaction(event, session)  # Gemini CLI
        record(event, session)
        session.save()
        self._archive(event, session)
        # Copilot CLI: no event, but a new line of the transcript says that a compaction is over.
        if client.logs_compactions and any(row.kind == "compaction" for row in session.entries):
            record({**event, "kind": "after_compaction"}, session)
        texts = reactions.run_due(event, session)
        if was_compacted or kind in ("before_compaction", "before_branch"):
            texts += _texts_at_compaction(event, session)
        return _in_every_turn(event, session, texts) if client.forgets_texts else texts  # OpenClaw

    def _archive(self, event: HookEvent, session: Session) -> None:
        """Archive the new messages and calls: those in the payload, else those in the transcript."""
        cwd, items = event["cwd"] or session.state.cwd, event["items"]
        if session.before is None and not session.is_excluded(cwd) and project.repository_of(cwd):
            from core.store import folders

            session.store.write("folder", lambda db: folders.note(db, cwd), None)
        if items or _must_read_transcript(event, session):
            session.entries = session.store.write("archive", lambda db: self._ingest(db, event, session), items)

    def _ingest(self, db: apsw.Connection, event: HookEvent, session: Session) -> Sequence[Entry]:
        """Archive what an event brings; returns the new entries."""
        from core.store import sessions
        from memory.archive import Limits, Origin, ingest

        client, items = clients.by_name(session.agent), event["items"]
        asked = event["messages"][-1:] if event["kind"] == "prompt" else ()  # earlier ones may be from when it was off
        cwd = event["cwd"] or session.state.cwd
        origin = Origin(session.agent, session.id, cwd, now=session.now, vectors=session.store.has_vectors)
        if session.is_excluded(cwd):
            ingest.pass_over(db, event["transcript"], items, origin)
            return ()
        if items:
            if ingest.ingest_entries(db, items, origin).is_rewound:
                leave_out_abandoned(session, db, asked)
            return items
        # An event that the client waits for reads only a piece of a long transcript; the next event goes on there.
        deadline = self._began + 0.6 * self._seconds()
        limits = Limits(deadline=deadline, is_short=_client_waits(event, session))
        ingested = ingest.ingest_file(db, event["transcript"], origin, limits)
        if event["kind"] in TURN_KINDS:
            position = sessions.transcript_position(db, ingest.source_of(event["transcript"]))
            session.state.archived_to = position[0] if position else 0
        if ingested.is_rewound:
            leave_out_abandoned(session, db, asked)
        self._archived_bytes = ingested.bytes
        if event["kind"] in ("turn", "end"):
            for path in client.side_transcripts(event["transcript"]):
                name = os.path.splitext(os.path.basename(path))[0]
                side = Origin(session.agent, name, cwd, now=session.now, vectors=origin.vectors)
                ingest.ingest_file(db, path, side, limits)
        return ingested.entries

    def _seconds(self) -> float:
        return self._config.get_float("hook.deadline_ms") / 1000

    def _give_up(self) -> None:
        """The deadline has passed: print the empty answer, then record that as an event."""
        try:
            if text := self.empty():
                os.write(1, text.encode() + b"\n")
        except OSError:
            pass
        error = f"no answer within {self._seconds():g} s"
        log.spool([self._own_event("hook.timeout", "error", {}, error=error)])

    def _completed(self, session: Session) -> Event:
        chars = sum(len(text["content"]) for text in self._texts)
        about: dict[str, Any] = {"injected": [text["customType"] for text in self._texts], "contentChars": chars}
        about |= {"archivedBytes": self._archived_bytes} if self._archived_bytes else {}
        if not session.faults:
            return self._own_event("hook.completed", "debug", about)
        first = session.faults[0]
        error = f"{first['code']}: {first['message']}"
        return self._own_event("hook.degraded", "warn", {**about, "step": first["step"]}, error=error)

    def _own_event(self, action: str, level: str, more: dict[str, Any], error: str = "") -> Event:
        """An event about this call."""
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
            record_of_call["hook"] = {"kind": event["kind"], **(self._usage or {})}
        return record_of_call


class Deadline:
    """Runs `give_up` and ends the process with status 0 unless the answer is claimed within `seconds`.

    An answer that was claimed in time gets a moment to be printed. The watcher is a bare thread, because importing
    `threading` costs 1 ms.
    """

    __slots__ = ("_answered", "_began", "_give_up", "_stopped", "seconds")

    def __init__(self, seconds: float, give_up: Callable[[], None]) -> None:
        self.seconds = seconds
        """The watcher reads it repeatedly: it starts with the default and gets the value of the settings later."""
        self._began = time.monotonic()
        self._give_up = give_up
        self._answered = allocate_lock()
        self._stopped = allocate_lock()
        self._stopped.acquire()
        start_new_thread(self._watch, ())

    def claim(self) -> bool:
        """Whether the caller may print its answer: only once, and not after the deadline."""
        return self._answered.acquire(False)

    def stop(self) -> None:
        """The work is done: end the watcher."""
        self._stopped.release()

    def _watch(self) -> None:
        while (left := self._began + self.seconds - time.monotonic()) > 0:
            if self._stopped.acquire(timeout=min(left, 0.05)):
                return
        # On a slow machine the deadline is set later; then printing and storing take longer, too. A store may be busy.
        grace = max(0.3, 0.15 * self.seconds) + log.BUSY_MS / 1000
        if self.claim():
            start_new_thread(self._end_after, (grace,))
            try:
                self._give_up()
            finally:
                os._exit(0)
        self._end_after(grace)

    def _end_after(self, seconds: float) -> None:
        """End the process after `seconds`, unless its work is done by then."""
        if not self._stopped.acquire(timeout=seconds):
            os._exit(0)


def _payload(data: bytes) -> dict[str, Any]:
    try:
        payload = json_text.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except json_text.InvalidJSON:
        payload = None
    if not isinstance(payload, dict):
        raise Failure("INVALID_JSON", "stdin is not a JSON object", "")
    return payload


def _client_waits(event: HookEvent, session: Session) -> bool:
    """Whether the client waits for this hook, because it may give it a text at such an event."""
    if event["kind"] == "before_compaction":
        return clients.by_name(session.agent).takes_summary or session.config.get_bool("compaction.notify_on_start")
    return event["kind"] not in ("turn", "end")


def _must_read_transcript(event: HookEvent, session: Session) -> bool:
    """Whether the transcript may have lines that cannot wait; otherwise the store need not be opened.

    At a prompt, lines without a message wait for the end of the turn; after a tool all lines do, unless they may record
    a compaction. In an excluded folder, lines that name their folder wait until the agent works outside of it.
    """
    client, path, end = clients.by_name(session.agent), event["transcript"], session.state.archived_to
    is_excluded = session.is_excluded(event["cwd"])
    is_there = os.path.isfile(path) or os.path.isfile(path.rpartition("#")[0])  # the latter: a database (OpenClaw)
    if not is_there or (is_excluded and client.folder_mark):
        return False
    waits_after_tool = event["kind"] == "tool" and client.reports_compactions and not client.logs_compactions
    if is_excluded or not (event["kind"] == "prompt" or waits_after_tool):
        return True
    from core.store.sources import open_source

    most, marks = (WAITING_BYTES, ()) if waits_after_tool else (UNSAID_BYTES, client.said_marks)
    try:
        with open_source(path) as source:
            size = source.size() - end
            return not 0 <= size < most or any(mark in source.read(size, end) for mark in marks)
    except Exception:  # the archive reports that
        return True


def _usage(event: HookEvent, session: Session) -> ContextUsage:
    """The context usage that the event reports, else the usage in the transcript."""
    usage, client = usage_of(event), clients.by_name(session.agent)
    if usage["tokens"] and not usage["window"]:
        event["window"] = client.context_window((event["model"],), usage["tokens"], session.config)
        usage = usage_of(event)
    if usage["percent"] is not None or not event["transcript"] or client.extension:
        return usage
    from session import compaction

    return compaction.context_usage(event["transcript"], session.agent, model=event["model"], config=session.config)


def _record_unreported_compaction(event: HookEvent, session: Session) -> bool:
    """Record a compaction if the context has shrunk, since Gemini CLI reports none; returns whether it has.

    At a prompt or a tool, the two events that were missed are recorded now. After other events no note can be given:
    they keep the old usage, so that the next prompt still sees the difference.
    """
    before, usage = session.before, session.usage
    if before is None or usage is None or clients.by_name(session.agent).reports_compactions:
        return False
    tokens, is_reported = usage["tokens"], usage["source"] == "usage"
    # A prompt and its answer change a context by less than 40 %.
    has_shrunk = is_reported and tokens and before.context_tokens and tokens < 0.6 * before.context_tokens
    if has_shrunk and event["kind"] in ("prompt", "tool"):
        session.usage = None  # the reported usage is that after the compaction
        missed: HookEvent = {**event, "kind": "before_compaction", "messages": [*event["messages"]]}
        record(missed, session)
        reactions.run_due(missed, session)
        record({**event, "kind": "after_compaction"}, session)
        session.usage = usage
        return True
    if has_shrunk or not is_reported:
        session.usage = {**usage, "tokens": None}
    return False


def _texts_at_compaction(event: HookEvent, session: Session) -> list[Text]:
    """What we give at a compaction: our summary, if the client takes it, and the notice that it begins."""
    from session import compaction

    texts: list[Text] = []
    with fault_boundary(session.store, "summary"):
        texts += compaction.offer_summary(event, session)
    if event["kind"] != "before_branch":
        with fault_boundary(session.store, "notify"):
            texts += compaction.announce(session.agent, session.config)
    return texts


def _in_every_turn(event: HookEvent, session: Session, texts: list[Text]) -> list[Text]:
    """The texts for a client that forgets them after a turn: at a prompt all that still hold, else none.

    A text replaces the one of its kind; a recovery note replaces them all.
    """
    state = session.state
    known = {} if any(text["customType"].endswith("-recovery") for text in texts) else state.given_texts
    state.given_texts = {**known, **{text["customType"]: text["content"] for text in texts}}
    if event["kind"] != "prompt":
        return []
    return [{"customType": kind, "content": text} for kind, text in state.given_texts.items()]
