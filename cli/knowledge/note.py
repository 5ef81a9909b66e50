"""`joelclaw knowledge note`: what one turn of an agent came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.answer import Answer, quoted, step
from core import clock, config
from core.errors import usage
from core.store import sqlite
from memory.knowledge import turn_note
from otel import log
from otel.event import new_event

if TYPE_CHECKING:
    from core.config import Config
    from core.envelope import NextAction

_CODE = "INVALID_KNOWLEDGE_NOTE"
_NEEDED = ("source", "agent", "session", "turn")
_ABOUT = {"loop_id": "Loop", "story_id": "Story", "run_id": "Run"}


def run(options: dict[str, Any]) -> Answer:
    """Keep the note, or with `--skip-reason` only an event that there was nothing to keep.

    Raises:
        Failure: INVALID_KNOWLEDGE_NOTE, or what the store says.
    """
    told: dict[str, Any] = {
        name: (value.strip() if isinstance(value, str) else value) for name, value in options.items()
    }
    for name in _NEEDED:
        if told[name] in (None, ""):
            raise usage(_CODE, f"--{name} is not given", _example())
    if not told["skip_reason"] and not told["summary"]:
        raise usage(_CODE, "--summary is not given, nor a --skip-reason", _example())
    channel = told["channel"] or ""
    identifier = told["turn_id"] or turn_note.turn_id(
        told["source"], told["agent"], channel, told["session"], told["turn"]
    )
    settings = config.load()
    kept: dict[str, Any] = {"ids": []}
    if not told["skip_reason"]:
        kept = _stored(told, channel, identifier, settings)
    _tell(told, identifier, settings)
    result = {
        "queued": True,
        "event": "knowledge/turn.write.requested",
        "turnId": identifier,
        "skipReason": told["skip_reason"],
        "stored": not told["skip_reason"],
        "response": kept,
    }
    return Answer(result, _next(told["summary"], kept["ids"]))


def _stored(told: dict[str, Any], channel: str, identifier: str, settings: Config) -> dict[str, Any]:
    note = turn_note.TurnNote(
        source=told["source"],
        agent=told["agent"],
        session=told["session"],
        turn=told["turn"],
        turn_id=identifier,
        summary=told["summary"],
        channel=channel,
        decision=told["decision"] or "",
        project=told["project"] or "",
        evidence=turn_note.evidence(told["evidence"] or ""),
        tags=turn_note.tags(told["usefulness"] or ""),
        tools=turn_note.listed(told["tools"] or "", 20),
        about={title: told[name] for name, title in _ABOUT.items() if told[name]},
    )
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
    key, redacted = turn_note.store(db, note, now=clock.now_ms(), vectors=sqlite.load_vectors(db))
    return {"ids": [key], "redacted": redacted}


def _tell(told: dict[str, Any], identifier: str, settings: Config) -> None:
    """The event; a store that cannot take it is no reason to fail."""
    action = "knowledge.turn_write." + ("skipped" if told["skip_reason"] else "completed")
    about = {"turnId": identifier, "agent": told["agent"], "skipReason": told["skip_reason"]}
    made = new_event(action, component="knowledge-cli", metadata=about, session=told["session"], now=clock.now_ms())
    log.try_append(None, [made], settings)


def _next(summary: str | None, kept: list[str]) -> list[NextAction]:
    actions = [step("joelclaw otel search knowledge.turn_write --hours 1", "the events of such notes")]
    if kept and summary:
        words = quoted(" ".join(summary.split()[:8]))
        actions.insert(0, step(f"joelclaw knowledge search {words} --type turn_note", "find it again"))
    return actions


def _example() -> str:
    call = "joelclaw knowledge note --source cli --agent me --session s1 --turn 1"
    return f"give all it takes: {call} --summary 'what came of it'"
