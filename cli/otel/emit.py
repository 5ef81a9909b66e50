"""`joelclaw otel emit`: record one event. Hot path."""

from __future__ import annotations

from cli import piped
from cli.answer import Answer
from cli.otel.commands import COMMANDS
from core import TYPE_CHECKING, clock, config
from core.errors import usage
from core.store import sqlite
from otel import log
from otel.event import new_event, parse_level

if TYPE_CHECKING:
    from typing import Any

    from cli.answer import NextAction

_CODE = "OTEL_INVALID_ARGS"
MAX_STDIN_BYTES = 262_144
_EXAMPLE = 'give one JSON object, such as {"action": "a.b"}'
_FIELDS = ("source", "component", "level", "success", "id", "timestamp", "error", "duration_ms", "session")
_NAMES = {
    **{name: name for name in (*_FIELDS, "action", "metadata", "system")},
    "durationMs": "duration_ms",
    "sessionId": "session",
    "systemId": "system",
}
"""Keys of an event on stdin → what they are here."""
_NEXT: list[NextAction] = [
    {"command": "joelclaw otel list --hours 1", "description": "the events of the last hour"},
    {
        "command": "joelclaw otel search <query> --follow",
        "description": "watch events as they come",
        "params": {"query": {"description": "all words must match", "required": True}},
    },
]


def run(options: dict[str, Any]) -> Answer:
    """Record the event that the words, the flags and perhaps stdin describe."""
    action = (options["action"] or options["action_word"] or "").strip()
    fields: dict[str, Any] = {}
    ignored: list[str] = []
    if not action or options["stdin"]:
        given = piped.read_json(MAX_STDIN_BYTES, _CODE, "give one event, and less metadata", _EXAMPLE)
        ignored = [key for key in given if key not in _NAMES]
        known = ((key, value) for key, value in given.items() if key in _NAMES and value is not None)
        fields = {_NAMES[key]: _checked(_NAMES[key], key, value) for key, value in known}
    fields |= {name: options[name] for name in _FIELDS if options[name] is not None}
    if options["metadata"] is not None:
        example = "pass a JSON object, such as --metadata '{\"percent\": 41}'"
        fields["metadata"] = piped.parsed(options["metadata"], "--metadata", _CODE, example)
    if action:
        fields["action"] = action
    settings = config.load()
    event = new_event(fields.pop("action", ""), now=fields.pop("timestamp", clock.now_ms()), **fields)
    if not event["action"]:
        raise usage(
            _CODE,
            "an event needs an action",
            'name it, as in `joelclaw otel emit compaction.before`, or pass {"action": "compaction.before"} on stdin',
        )
    db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=False)
    reason = log.append_one(db, event)
    said: dict[str, Any] = {"stored": not reason, "eventId": event["id"]}
    if reason:
        said |= {"dropped": True, "dropReason": reason}
    result: dict[str, Any] = {
        "endpoint": f"file://{db.filename}", "status": 200, "response": {"ok": True, "result": said}, "event": event,
    }  # fmt: skip
    if ignored:
        result["ignored"] = ignored
    return Answer(result, _NEXT)


def _checked(name: str, key: str, value: Any) -> Any:
    """A value of JSON as the flag of that name takes it; a level may have its name in other loggers, a time be ISO."""
    if isinstance(value, (dict, list)) != (name == "metadata") or isinstance(value, list):
        wanted = "an object" if name == "metadata" else "text"
        raise usage(_CODE, f"{key} is not {wanted}", f"give {key} as {wanted}")
    if name == "level":
        value = parse_level(str(value)) or value
    elif name == "timestamp" and isinstance(value, str):
        value = clock.parse_iso(value) or value
    takes = {parameter.name: parameter for parameter in COMMANDS[0].parameters}
    if name == "metadata":
        return value
    return takes[name].convert(str(value), _CODE) if name in takes else str(value)
