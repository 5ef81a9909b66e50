"""`joelclaw memory observe`: a model notes what a session said that is worth keeping."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cli.answer import Answer
from cli.session_id import quoted
from core import clock, config, files
from core.errors import Failure, usage
from core.process import background_process, model_command
from core.store import sqlite
from memory.archive import transcript_files
from memory.observe import observer
from otel import log
from otel.event import new_event
from session.state import state_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from core.config import Config
    from core.envelope import NextAction

_CODE = "MEMORY_INVALID_ARGS"
_COMPONENT = "observe"
_SLACK_S = 60
"""Of a detached run beyond `observe.seconds`: for the archive before, and the end of the model's command."""


@dataclass(slots=True)
class _Work:
    """What one call is about."""

    settings: Config
    model: model_command.Model
    session: str
    transcript: str
    began: float = field(default_factory=time.monotonic)
    run: observer.Run = field(default_factory=observer.Run)

    def event(self, action: str, metadata: dict[str, Any], *, error: str = "") -> None:
        """Note what happened; a store that does not take it does not stop the work."""
        made = new_event(
            action,
            source="cli",
            component=_COMPONENT,
            level="error" if error else "info",
            success=not error,
            error=error or None,
            metadata=metadata,
            duration_ms=None if action.endswith("started") else round((time.monotonic() - self.began) * 1000),
            session=self.session,
            now=clock.now_ms(),
        )
        try:
            db = sqlite.open_writing(busy_ms=self.settings.whole("otel.busy_ms"), durable=False)
            log.append(db, [made], debug_limit=self.settings.whole("otel.debug_limit"))
            db.close()
        except (Failure, sqlite.StoreError):
            pass


def run(options: dict[str, Any]) -> Answer:
    """Observe a transcript, which is archived first, or an archived session.

    Raises:
        Failure: MEMORY_INVALID_ARGS, MODEL_… (`core.process.model_command`), OBSERVE_BUSY, OBSERVE_REPLY_INVALID,
            TRANSCRIPT_UNREADABLE, SESSION_NOT_FOUND, or what the store says. Ranges that were stored before stay.
    """
    holds_lock = bool(
        os.environ.get(background_process.LIMIT)
    )  # the process that started us took it and handed it down
    background_process.stop_in_time()
    settings = config.load()
    session, transcript = _meant(options)
    model = model_command.from_config(settings, options["command"])
    if model is None:
        raise model_command.not_configured()
    if options["detach"]:
        return _detach(options, session, transcript, settings)
    work = _Work(settings, model, session, transcript)
    if holds_lock:
        return _observed(work)
    with _alone(session):
        return _observed(work)


@contextmanager
def _alone(session: str) -> Iterator[None]:
    """Nobody else observes the session meanwhile."""
    lock = files.FileLock(_lock(session), 0)
    try:
        lock.__enter__()
    except files.LockTimeout:
        raise _busy() from None
    except OSError as error:
        raise state_file.failure_of(error) from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def _meant(options: dict[str, Any]) -> tuple[str, str]:
    """The session's id in the store, and the transcript's path or ""."""
    path: str = options["transcript"] or ""
    if bool(path) == bool(options["session"]):
        raise usage(_CODE, "name either a transcript or a session", "give TRANSCRIPT, or --session ID")
    if not path:
        return _name(options["session"]), ""
    if not os.path.exists(path) or os.path.isdir(path):
        kind = "is a folder" if os.path.isdir(path) else "is not there"
        raise usage(_CODE, f"{path} {kind}", "name a transcript, or give --session ID")
    try:
        return _name(transcript_files.look_at(path).session), path
    except transcript_files.NotATranscriptError as reason:
        raise _not_a_transcript(path, str(reason)) from None


def _name(session: str) -> str:
    """As episodes are kept under it (`memory.archive.ingest`)."""
    return " ".join(state_file.identity(session).split())


def _lock(session: str) -> str:
    return os.path.join(state_file.folder(), ".locks", "observe", files.safe_name(session))


def _detach(options: dict[str, Any], session: str, transcript: str, settings: Config) -> Answer:
    words = ["memory", "observe", "--json"]
    words += [os.path.abspath(transcript)] if transcript else [f"--session={options['session']}"]
    if options["command"]:
        words.append(f"--command={options['command']}")
    if not background_process.begin(_lock(session), words, settings.whole("observe.seconds") + _SLACK_S):
        raise Failure("OBSERVE_FAILED", "no process of its own could be started", "run it without --detach")
    action: NextAction = {
        "command": "joelclaw otel search memory.observe --hours 1",
        "description": "what came of it",
    }
    return Answer({"session": session, "detached": True}, [action])


def _observed(work: _Work) -> Answer:
    try:
        archived = _run(work)
    except Failure as failure:
        work.event("memory.observe.failed", _counts(work.run), error=f"{failure.code}: {failure.message}")
        if work.run.ranges:
            count = len(work.run.ranges)
            failure.message += f" ({count} range{'s' * (count > 1)} of turns before it stored)"
        raise
    except BaseException as error:
        work.event("memory.observe.failed", _counts(work.run), error=type(error).__name__)
        raise
    counts = _counts(work.run)
    unchanged = not (work.run.turns or work.run.passed_turns or work.run.left_turns)
    if not unchanged:
        work.event("memory.observe.completed", counts)
    result = {"session": work.session, "unchanged": unchanged, **counts, "ranges": work.run.ranges, **archived}
    return Answer(result, _next_actions(work))


def _run(work: _Work) -> dict[str, Any]:
    """Archive and observe; what the archive took in, by the name of its key in the result."""
    settings = work.settings
    busy_ms = settings.whole("store.busy_ms")
    db = sqlite.open_writing(busy_ms=busy_ms, durable=False)
    vectors = sqlite.load_vectors(db)
    archived = _archive(work, db, vectors) if work.transcript else {}
    sqlite.be_durable(db, True, busy_ms=busy_ms)  # what the model was paid for stays
    if not work.transcript and not observer.is_known(db, work.session):
        raise Failure(
            "SESSION_NOT_FOUND",
            f"no turns of a session {work.session[:80]!r} are archived",
            "name its transcript, or take it in with joelclaw memory archive",
        )
    observer.observe(
        db,
        work.session,
        work.model,
        observer.Budget(settings.whole("observe.max_tokens"), settings.whole("observe.seconds")),
        vectors=vectors,
        most_bytes=settings.whole("model.max_prompt_bytes"),
        begin=lambda turns, tokens: work.event("memory.observe.started", {"turns": turns, "tokens": tokens}),
        run=work.run,
    )
    return archived


def _archive(work: _Work, db: apsw.Connection, vectors: bool) -> dict[str, Any]:
    report = transcript_files.take_all(
        db,
        [work.transcript],
        identity=state_file.identity,
        project_of=lambda cwd: os.path.basename(cwd.rstrip("/")),
        now=clock.now_ms(),
        vectors=vectors,
        config=work.settings,
        progress=lambda _: None,
    )
    if report.skipped:
        raise _not_a_transcript(work.transcript, report.skipped[0]["reason"])
    return {"episodes": {"added": report.added, "updated": report.updated}, "badLines": report.bad_lines}


def _counts(run: observer.Run) -> dict[str, Any]:
    return {
        "turns": run.turns,
        "passedTurns": run.passed_turns,
        "tokens": run.tokens,
        "rangeCount": len(run.ranges),
        "observations": {
            "count": len(run.stored),
            "added": len(run.stored) - run.merged,
            "merged": run.merged,
            "byType": dict(Counter(one.type for one in run.stored)),
            "byVerdict": dict(Counter(one.verdict for one in run.stored)),
        },
        "left": {"turns": run.left_turns, "tokens": run.left_tokens, "reason": run.stopped_by},
    }


def _next_actions(work: _Work) -> list[NextAction]:
    if work.run.left_turns:
        return [
            {
                "command": f"joelclaw memory observe --session {quoted(work.session)}",
                "description": "go on with what is left",
            }
        ]
    return [{"command": "joelclaw memory recent", "description": "what is remembered now"}]


def _busy() -> Failure:
    return Failure(
        "OBSERVE_BUSY", "another process observes this session", "wait for it; what it leaves, the next run takes"
    )


def _not_a_transcript(path: str, reason: str) -> Failure:
    known = ", ".join(transcript_files.AGENTS)
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason}", f"name a session's transcript of {known}")
