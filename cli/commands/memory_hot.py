"""`joelclaw memory write` and `note`, `otel emit` and `knowledge search`. Hot path."""

from __future__ import annotations

from cli.input import parse_object, read_json, read_text
from cli.output import Answer, step, wrong_usage
from core import TYPE_CHECKING, clock, config, files
from core.store import sqlite

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import apsw


_EVENT_FIELDS = ("source", "component", "level", "success", "id", "timestamp", "error", "duration_ms", "session")
_EVENT_KEYS = {
    **{name: name for name in (*_EVENT_FIELDS, "action", "metadata", "system")},
    "durationMs": "duration_ms", "sessionId": "session", "systemId": "system",
}  # fmt: skip
"""The keys of an event on stdin and the names of these fields here."""
_NOTE_KEYS = {
    "id": "id", "text": "observation", "source": "source", "createdAt": "created_at", "tags": "tags",
    "verdict": "verdict", "category": "category", "categorySource": "categorySource", "hint": "hint",
}  # fmt: skip


def write_memory(options: Mapping[str, Any]) -> Answer:
    """`joelclaw memory write`: store the text, or stdin if it is `-`."""
    return _write({"by_hand": False, **options})


def _write(options: Mapping[str, Any]) -> Answer:
    from core import project as projects
    from memory import gate
    from memory.write import MAX_CHARS, Draft, clean_text, write

    if options["for_all"] and options["project"]:
        raise wrong_usage("--project and --global cannot be used together", "give one of them")
    settings = config.load()
    text = read_text(MAX_CHARS) if options["text"] == "-" else options["text"] or ""
    text = clean_text(text)  # before the store is opened: wrong usage leaves no trace
    db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=True)
    # A memory without a project gets that of its session, so a memory for all projects must have neither.
    session = "" if options["for_all"] else options["session"] or ""
    project = options["project"] or _project(db, options["session"] or "")
    draft = Draft(
        text,
        category=options["category"] or "",
        tags=[*(options["tags"] or "").split(","), "" if options["type"] == "observation" else options["type"]],
        source=options["source"],
        session=session,
        by_hand=options["by_hand"],
        project="" if options["for_all"] else project,
        written_in=project or projects.name_of(files.current_folder()),
    )
    result = write(db, draft, now=clock.now_ms(), vectors=sqlite.load_vectors(db))
    if result["verdict"] == "discard":
        result["hint"] = gate.NOT_REMEMBERED
    forget = step(f"joelclaw memory forget {result['id']}", "remove it from memory")
    show = step(f"joelclaw memory show {result['id']}", "everything known about it")
    return Answer(result, [show, forget], view="cli.views:memory")


def _project(db: apsw.Connection, session: str) -> str:
    """The project of the session, else of the repository around the current folder, or ""."""
    from core import project
    from core.store import folders, sessions

    known = sessions.by_id(db, session) if session else None
    if known is not None and known["project"]:
        return str(known["project"])
    folders.note(db, folder := files.current_folder())
    return project.repository_of(folder)


def note(text: str | None, source: str, tags: str) -> Answer:
    """`joelclaw note`: store an observation with the tag `note`. The gate always allows it, as a person wrote it."""
    given = {"category": "", "session": "", "project": "", "for_all": False, "type": "observation", "by_hand": True}
    written = _write({**given, "text": text, "source": source, "tags": f"note,{tags}"})
    stored: Any = written.result
    result = {key: stored[name] for key, name in _NOTE_KEYS.items() if name in stored}
    return Answer({**result, "status": "stored"}, written.next_actions, view="cli.views:memory")


def emit(options: Mapping[str, Any]) -> Answer:
    """`joelclaw otel emit`: record the event that the words, the flags and perhaps stdin describe."""
    from otel import log
    from otel.log import new_event

    action = (options["action"] or options["action_word"] or "").strip()
    fields: dict[str, Any] = {}
    ignored: list[str] = []
    if not action or options["stdin"]:
        example = 'give a JSON object, such as {"action": "a.b"}'
        given, ignored = read_json(262_144, "give a single event, and less metadata", example, _EVENT_KEYS)
        for key, value in given.items():
            if value is not None:
                fields[_EVENT_KEYS[key]] = _checked(_EVENT_KEYS[key], key, value)
    fields |= {name: options[name] for name in _EVENT_FIELDS if options[name] is not None}
    if options["metadata"] is not None:
        example = "pass a JSON object, such as --metadata '{\"percent\": 41}'"
        fields["metadata"] = parse_object(options["metadata"], "--metadata", example)
    if action:
        fields["action"] = action
    event = new_event(fields.pop("action", ""), now=fields.pop("timestamp", clock.now_ms()), **fields)
    if not event["action"]:
        raise wrong_usage(
            "an event needs an action",
            'name it, as in `joelclaw otel emit compaction.before`, or pass {"action": "compaction.before"} on stdin',
        )
    db = sqlite.open_writing(busy_ms=log.BUSY_MS, durable=False)
    reason = log.append_one(db, event)
    outcome: dict[str, Any] = {"stored": not reason, "eventId": event["id"]}
    if reason:
        outcome |= {"dropped": True, "dropReason": reason}
    result: dict[str, Any] = {
        "endpoint": f"file://{db.filename}", "status": 200, "response": {"ok": True, "result": outcome}, "event": event,
    }  # fmt: skip
    if ignored:
        result["ignored"] = ignored
    return Answer(result, [step("joelclaw otel list --hours 1", "the events of the last hour")])


def _checked(name: str, key: str, value: Any) -> Any:
    """A JSON value as the option of that name takes it; also level names of other loggers, and ISO 8601 times."""
    if isinstance(value, (dict, list)) != (name == "metadata") or isinstance(value, list):
        expected = "an object" if name == "metadata" else "text"
        raise wrong_usage(f"{key} is not {expected}", f"give {key} as {expected}")
    if name == "metadata":
        return value
    if name == "level":
        from otel.log import parse_level

        value = parse_level(str(value)) or value
    elif name == "timestamp" and isinstance(value, str):
        value = clock.parse_iso(value) or value
    from cli.parser import hot_command

    command = hot_command(["otel", "emit"])
    parameters = {parameter.name: parameter for parameter in command.parameters} if command else {}
    return parameters[name].convert(str(value)) if name in parameters else str(value)


def search_knowledge(options: Mapping[str, Any]) -> Answer:
    """`joelclaw knowledge search`: sections of synced files. Records an event, and counts the hits as recalled."""
    from memory.knowledge import parse_type, search
    from otel import log
    from otel.log import new_event, query_excerpt

    query = " ".join(options["query"])
    types = tuple(filter(None, map(parse_type, (options["type"] or "").split(","))))
    result, db = search(query, limit=options["limit"], types=types)
    hits = result["hits"]
    if db is not None:  # None if the store cannot be written, which is no reason to fail
        metadata = {"query": query_excerpt(query), "found": result["found"], "returned": len(hits)}
        event = new_event(
            "knowledge.search.completed", component="knowledge-cli", metadata=metadata, now=clock.now_ms()
        )
        event["recalled"] = [hit["id"] for hit in hits]
        log.store_spooled([event], db)
    view = "cli.views:sections"
    if not hits:
        folder = {"dir": {"description": "a folder; by default those synced before"}}
        return Answer(result, [step("joelclaw knowledge sync <dir>", "import a folder of markdown", folder)], view=view)
    first = {"id": {"description": "its id", "value": hits[0]["id"], "required": True}}
    return Answer(result, [step("joelclaw memory show <id>", "the whole section", first)], view=view)
