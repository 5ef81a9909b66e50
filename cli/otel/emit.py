"""`joelclaw otel emit`: record one event."""

from __future__ import annotations

from cli.answer import Answer, step
from core import clock, config, files, json_text
from core.errors import Failure, usage
from core.store import sqlite
from otel import log, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction

MAX_STDIN_BYTES = 262_144
_NEXT: list[NextAction] = [
    step("joelclaw otel list --hours 1", "the events of the last hour"),
    step(
        "joelclaw otel search <query> --follow",
        "watch events as they come",
        {"query": {"description": "words that must all occur", "required": True}},
    ),
]


def run(options: dict[str, Any]) -> Answer:
    """Record the event that the words, the flags and perhaps stdin describe.

    Raises:
        Failure: OTEL_INVALID_ARGS or INVALID_JSON (exit 2); the store's own code where it cannot be written (exit 1).
    """
    action = (options["action"] or options["action_word"] or "").strip()
    given: dict[str, Any] = {}
    ignored: list[str] = []
    if not action or options["stdin"]:
        given, ignored = _from_stdin()
    for name in ("source", "component", "level", "success", "id", "timestamp", "error", "duration_ms", "session"):
        if options[name] is not None:
            given[name] = options[name]
    if options["metadata"] is not None:
        given["metadata"] = _metadata(options["metadata"])
    settings = config.load()
    event = record.event(
        action or given.get("action", ""),
        source=given.get("source", ""),
        component=given.get("component", ""),
        level=given.get("level", "info"),
        success=given.get("success", True),
        metadata=given.get("metadata"),
        duration_ms=given.get("duration_ms"),
        error=given.get("error"),
        session=given.get("session", ""),
        system=given.get("system", ""),
        now=given.get("timestamp", clock.now_ms()),
        id=given.get("id", ""),
    )
    if not event["action"]:
        raise usage(
            "OTEL_INVALID_ARGS",
            "an event needs an action",
            'name it, as in `joelclaw otel emit compaction.before`, or pass {"action": "compaction.before"} on stdin',
        )
    try:
        db = sqlite.open_writing(busy_ms=settings.whole("otel.busy_ms"), durable=False)
    except files.LockTimeout:
        raise Failure("STORE_BUSY", f"{sqlite.path()} is being set up by another process", "try again") from None
    reason = log.append_one(db, event, debug_limit=settings.whole("otel.debug_limit"))
    result: dict[str, Any] = {**event, "stored": not reason}
    if reason:
        result["reason"] = reason
    if ignored:
        result["ignored"] = ignored
    return Answer(result, _NEXT)


def _from_stdin() -> tuple[dict[str, Any], list[str]]:
    from cli import piped
    from otel import fields

    try:
        text = piped.read_object(MAX_STDIN_BYTES)
    except piped.TooLong:
        raise usage(
            "OTEL_INVALID_ARGS", f"stdin holds more than {MAX_STDIN_BYTES} bytes", "give one event, and less metadata"
        ) from None
    return fields.read(text) if text.strip() else ({}, [])


def _metadata(text: str) -> dict[str, Any]:
    example = "pass a JSON object, such as --metadata '{\"percent\": 41}'"
    try:
        value = json_text.loads(text)
    except json_text.InvalidJSON as error:
        raise usage("INVALID_JSON", f"--metadata is not JSON: {error}", example) from None
    if not isinstance(value, dict):
        raise usage("OTEL_INVALID_ARGS", "--metadata is JSON, but no object", example)
    return value
