"""`joelclaw otel emit`: record one event."""

from __future__ import annotations

from cli.answer import Answer
from core import config, json_text
from core.errors import usage
from otel import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction

MAX_STDIN_BYTES = 262_144
_FIELDS = ("source", "component", "level", "success", "id", "timestamp", "error", "duration_ms", "session")
_NEXT: list[NextAction] = [
    {"command": "joelclaw otel list --hours 1", "description": "the events of the last hour"},
    {
        "command": "joelclaw otel search <query> --follow",
        "description": "watch events as they come",
        "params": {"query": {"description": "words that must all occur", "required": True}},
    },
]


def run(options: dict[str, Any]) -> Answer:
    """Record the event that the words, the flags and perhaps stdin describe."""
    action = (options["action"] or options["action_word"] or "").strip()
    fields: dict[str, Any] = {}
    ignored: list[str] = []
    if not action or options["stdin"]:
        text = _stdin()
        fields, ignored = emit.read_fields(text) if text.strip() else ({}, [])
    for name in _FIELDS:
        if options[name] is not None:
            fields[name] = options[name]
    if options["metadata"] is not None:
        fields["metadata"] = _metadata(options["metadata"])
    if action:
        fields["action"] = action
    event, reason = emit.emit(fields, config.load())
    result: dict[str, Any] = {**event, "stored": not reason}
    if reason:
        result["reason"] = reason
    if ignored:
        result["ignored"] = ignored
    return Answer(result, _NEXT)


def _stdin() -> bytes:
    from cli import piped

    try:
        return piped.read_object(MAX_STDIN_BYTES)
    except piped.TooLong:
        raise usage(
            "OTEL_INVALID_ARGS", f"stdin holds more than {MAX_STDIN_BYTES} bytes", "give one event, and less metadata"
        ) from None


def _metadata(text: str) -> dict[str, Any]:
    example = "pass a JSON object, such as --metadata '{\"percent\": 41}'"
    try:
        value = json_text.loads(text)
    except json_text.InvalidJSON as error:
        raise usage("INVALID_JSON", f"--metadata is not JSON: {error}", example) from None
    if not isinstance(value, dict):
        raise usage("OTEL_INVALID_ARGS", "--metadata is JSON, but no object", example)
    return value
