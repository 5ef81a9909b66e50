"""Observing one session: its transcript is archived, a model notes what is new, and events record it."""

import os
import signal
import time
from contextlib import ExitStack
from typing import Any

from core import clock, files
from core.config import Config
from core.errors import Failure
from core.process import background
from core.process.command import Model, model_from_config
from core.store import progress, sqlite
from memory.archive import ingest, transcript_files
from memory.archive.transcript_files import Archived, File
from memory.observe import Observer, new_report
from otel import log
from otel.event import new_event
from session import observation_queue
from session.state import stored_id
from session.state_file import state_failure, work_lock

_BY_HAND = "command"  # the trigger of one that was asked for; those of the others are `observation_queue.Trigger`


def observe_in_background(session: str, words: list[str]) -> None:
    """Start `joelclaw WORDS...`, which observes the session, in a process of its own; one that runs already will do."""
    lock = work_lock(session, observation_queue.LOCK)
    if not background.start(words, observation_queue.OBSERVE_S + observation_queue.SLACK_S, lock):
        raise Failure("OBSERVE_FAILED", "no background process could be started", "run it without --detach")


def observe(config: Config, model: Model, session: str, transcript: str, *, locked: bool) -> dict[str, Any]:
    """Observe what the session said since the last time; what `memory observe` prints."""
    with ExitStack() as stack:
        try:
            if not locked:
                stack.enter_context(files.FileLock(work_lock(session, observation_queue.LOCK), 0))
        except files.LockTimeout:
            fix = "wait for it; the next run continues where it stops"
            raise Failure("OBSERVE_BUSY", "another process is observing this session", fix) from None
        except OSError as error:
            raise state_failure(error) from None
        return _observe(config, model, session, transcript, _BY_HAND)


def observe_waiting(config: Config, *, alone: bool) -> dict[str, Any]:
    """Observe the session that has waited longest, and start the next job where more wait; what was observed."""
    model = model_from_config(config) if observation_queue.is_on(config) else None
    if model is None:  # it was switched off meanwhile
        observation_queue.clear()
    if model is None or (found := observation_queue.take()) is None:
        return {"session": None}
    if alone:
        signal.alarm(observation_queue.OBSERVE_S + observation_queue.SLACK_S)
    (session, trigger, agent, transcript), lock = found
    # what the hook had no time for, or found the store busy, is archived as it would have done it
    transcript = transcript if os.path.isfile(transcript) else ""
    try:
        return _observe(config, model, session, transcript, trigger, agent)
    finally:
        lock.__exit__(None, None, None)
        background.release_lock()
        if observation_queue.any_wait():
            observation_queue.begin()


def _observe(
    config: Config, model: Model, session: str, transcript: str, trigger: str, agent: str = ""
) -> dict[str, Any]:
    """Archive and observe; what came of it, which is an event, too."""
    began, report = time.monotonic(), new_report()
    archived, by_hand, busy_ms = Archived().result, trigger == _BY_HAND, config.get_int("store.busy_ms")

    def record_event(action: str, about: dict[str, Any] = report, error: str = "") -> None:
        metadata = {"trigger": trigger, **{name: value for name, value in about.items() if name != "ranges"}}
        took = None if action == "started" else round((time.monotonic() - began) * 1000)
        level = "error" if error else "debug" if action == "unchanged" else "info"
        event = new_event(
            f"memory.observe.{action}", source="cli", component="observe", level=level, success=not error,
            error=error or None, metadata=metadata, duration_ms=took, session=session, now=clock.now_ms(),
        )  # fmt: skip
        log.store_spooled([event])

    try:
        db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
        vectors = sqlite.load_vectors(db)
        if transcript:
            identity = stored_id if by_hand else lambda _: session
            archived = transcript_files.ingest_all(db, [File(transcript)], identity, agent=agent).result
        sqlite.set_durability(db, True, busy_ms=busy_ms)  # what the model was paid for stays
        if by_hand and archived["skipped"]:
            raise ingest.unreadable(transcript, archived["skipped"][0]["reason"])
        if by_hand and not transcript and not progress.episodes(db, session, 0, 1):
            about = f"no turns of a session {session[:80]!r} are archived"
            fix = "name its transcript, or archive it with joelclaw memory archive"
            raise Failure("SESSION_NOT_FOUND", about, fix)
        Observer(db, session, model, config, report, vectors=vectors).run(
            lambda turns, tokens: record_event("started", {"turns": turns, "tokens": tokens})
        )
    except BaseException as error:
        about = f"{error.code}: {error.message}" if isinstance(error, Failure) else type(error).__name__
        record_event("failed", error=about)
        if isinstance(error, Failure) and report["ranges"]:
            error.message += f" (ranges of turns before it that are stored: {len(report['ranges'])})"
        raise
    unchanged = not (report["turns"] or report["passedTurns"] or report["left"]["turns"])
    record_event("unchanged" if unchanged else "completed")
    result = {"session": session, "unchanged": unchanged, **report}
    if transcript and by_hand:
        result |= {name: archived[name] for name in ("episodes", "badLines")}
    return result
