"""Observes sessions: archives the transcript, lets the user's model write observations, and records events.

A hook that sees a compaction or the end of a session leaves a file in `sessions/.work/observe-waiting/` and starts a
background job, unless one runs. The job takes the session that has waited longest, and starts the next job when it is
done. So each session is observed once after its last event, and one at a time. Hot path: `react`.
"""

from __future__ import annotations

import os
import time

import clients
from core import TYPE_CHECKING, background, clock, files
from core.errors import Failure
from session.reactions import Reaction
from session.state import stored_id, work_folder

if TYPE_CHECKING:
    from typing import Any, Literal

    import apsw

    from clients.base import HookEvent
    from core.command import Model
    from core.config import Config
    from session.session import Session

    Trigger = Literal["compaction", "session-end", "command"]
    """Why a session is observed; `command`: the user asked for it."""

LIMIT_S = 360  # a run of `Observer` takes 300 s at most; the rest is for the archive and the end of the command


def is_on(config: Config) -> bool:
    """Whether sessions are observed in the background: there is a model, and `observe.auto` is not off."""
    return bool(config.get_str("model.command").strip()) and config.get_bool("observe.auto")


def session_name(session: str) -> str:
    """The id under which a session's episodes are stored (`memory.archive.session_archive`)."""
    return " ".join(stored_id(session).split())


def react(event: HookEvent, session: Session) -> Reaction:
    """Let a session be observed in the background."""
    if is_on(session.config):
        name = session_name(session.id)
        path = event["transcript"] if clients.by_name(session.agent).session_file else ""
        trigger: Trigger = "session-end" if event["kind"] == "end" else "compaction"
        lines = (name, trigger, session.agent, os.path.abspath(path) if path else "")
        waiting = os.path.join(_waiting_folder(), files.safe_name(name))
        files.write_whole(waiting, "\n".join(lines).encode("utf-8", "replace"))
        _start_job()
    return Reaction()


def observe(config: Config, model: Model, session: str, transcript: str) -> dict[str, Any]:
    """Observe what the session said since the last time; returns the result of `memory observe`.

    Raises Failure: OBSERVE_*, MODEL_*, SESSION_NOT_FOUND.
    """
    try:
        with files.FileLock(_lock(), 0):
            return _observe(config, model, session, "command", "", transcript)
    except files.LockTimeout:
        fix = "wait for it; the next run continues from there"
        raise Failure("OBSERVE_BUSY", "another process is observing a session", fix) from None
    finally:
        if _waiting_files():  # a hook could start no job meanwhile
            _start_job()


def observe_next(config: Config) -> dict[str, Any]:
    """In a background job: observe the session that has waited longest, and start a job for the next."""
    from core.command import model_from_config
    from core.store import sources

    waiting, model = _waiting_files(), model_from_config(config) if is_on(config) else None
    if model is None:  # it was switched off in the meantime
        files.remove(*waiting)
    if model is None or not waiting:
        return {"session": None}
    data = files.read_file(waiting[0])
    os.unlink(waiting[0])  # an event from here on lets the session be observed once more
    session, trigger, agent, transcript = data.decode().split("\n", 3)
    try:
        return _observe(config, model, session, trigger, agent, transcript if sources.existing(transcript) else "")
    finally:
        background.release_lock()
        if _waiting_files():
            _start_job()


def _observe(config: Config, model: Model, session: str, trigger: str, agent: str, transcript: str) -> dict[str, Any]:
    """Archive a session's transcript, if it is given, observe the session, and record that as events."""
    from memory.observe import Observer, new_report
    from otel import log

    began, report = time.monotonic(), new_report()

    def record(action: str, about: dict[str, Any], error: str = "") -> None:
        metadata = {"trigger": trigger, **about}
        took_ms = None if action == "started" else round((time.monotonic() - began) * 1000)
        level = "error" if error else "debug" if action == "unchanged" else "info"
        event = log.new_event(
            f"memory.observe.{action}", source="cli", component="observe", level=level, success=not error,
            error=error or None, metadata=metadata, duration_ms=took_ms, session=session, now=clock.now_ms(),
        )  # fmt: skip
        log.store_spooled([event])

    try:
        db, archived = _archive(config, session, trigger, agent, transcript)
        observer = Observer(db, session, model, config, report)
        observer.run(lambda turns, tokens: record("started", {"turns": turns, "tokens": tokens}))
    except BaseException as error:
        record(
            "failed", report, f"{error.code}: {error.message}" if isinstance(error, Failure) else type(error).__name__
        )
        if isinstance(error, Failure) and report["rangeCount"]:
            error.message += f" (ranges of turns before it that are stored: {report['rangeCount']})"
        raise
    unchanged = not (report["turns"] or report["left"]["turns"])
    record("unchanged" if unchanged else "completed", report)
    result = {"session": session, "unchanged": unchanged, **report}
    if transcript and trigger == "command":
        result |= {name: archived[name] for name in ("episodes", "badLines")}
    return result


def _archive(
    config: Config, session: str, trigger: str, agent: str, transcript: str
) -> tuple[apsw.Connection, dict[str, Any]]:
    """The open store, and the result of archiving the transcript."""
    from core.store import sessions, sqlite
    from memory import curate
    from memory.archive import ingest, transcript_files

    busy_ms, is_command = config.get_int("store.busy_ms"), trigger == "command"
    db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
    archived = transcript_files.Archived().result
    if transcript:
        archiver = transcript_files.Archiver(db, stored_id if is_command else lambda _: session, agent)
        archived = transcript_files.ingest_all(archiver, [transcript_files.File(transcript)]).result
    sqlite.set_durability(db, True, busy_ms=busy_ms)  # the model's answers cost money
    if is_command and archived["skipped"]:
        raise ingest.unreadable(transcript, archived["skipped"][0]["reason"])
    if is_command and not transcript and not sessions.episodes(db, session, 0, 1):
        curate.refuse_forgotten(db, session)
        about = f"no turns of a session {session[:80]!r} are archived"
        fix = "name its transcript, or archive it with joelclaw memory archive"
        raise Failure("SESSION_NOT_FOUND", about, fix)
    return db, archived


def _start_job() -> None:
    """Start a job unless a job runs."""
    background.start(["background", "observe"], LIMIT_S, _lock())


def _lock() -> str:
    """The path of the lock that the job, or `memory observe`, holds."""
    return os.path.join(files.home(), "cache", "observe.lock")


def _waiting_folder() -> str:
    return os.path.join(work_folder(), "observe-waiting")


def _waiting_files() -> list[str]:
    """The files of the waiting sessions, the oldest first."""
    try:
        with os.scandir(_waiting_folder()) as entries:
            by_time = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if not entry.path.endswith(".tmp")]
    except OSError:
        return []
    return [path for _, path in sorted(by_time)]
