"""The commands that hook scripts call, except `recall` (`recall_hot.py`). Hot path.

They are `memory write`, `otel emit` and `knowledge search`; and `checkpoint save`, `checkpoint flush` and
`inject …`, which do what `joelclaw hook` does by itself. Both run the same code in `session`.
"""

from __future__ import annotations

from cli.input import parse_object, read_json, required_session, text_or_stdin
from cli.output import Answer, FramedText, quoted, require_known, step, tell, template, wrong_usage
from core import TYPE_CHECKING, clock, config, files
from core.errors import FAILED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import apsw

    from clients.base import HookEvent, Kind


_EVENT_FIELDS = ("source", "component", "level", "success", "id", "timestamp", "error", "duration_ms", "session")
_EVENT_KEYS = {
    **{name: name for name in (*_EVENT_FIELDS, "action", "metadata", "system")},
    "durationMs": "duration_ms", "sessionId": "session", "systemId": "system",
}  # fmt: skip
"""The keys of an event on stdin and the names of these fields here."""


def memory_write(**options: Any) -> Answer:
    """`joelclaw memory write`: store the text, or stdin if it is `-`."""
    from core import project as projects
    from core.store import sqlite
    from memory import gate
    from memory.write import Draft, clean_text, write

    if options["for_all"] and options["project"]:
        raise wrong_usage("--global contradicts --project", "give one of them")
    settings = config.load()
    text = clean_text(text_or_stdin(options["text"]) or "")  # before the store is opened: wrong usage leaves no trace
    db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=True)
    # A memory without a project gets that of its session, so a memory for all projects must have neither.
    given = _whole_id(db, options["session"] or "")
    session = "" if options["for_all"] else given
    project = options["project"] or _project(db, given)
    draft = Draft(
        text,
        category=options["category"] or "",
        tags=[*(options["tags"] or "").split(","), "" if options["type"] == "observation" else options["type"]],
        source=options["source"],
        session=session,
        by_hand=options.get("by_hand", False),
        project="" if options["for_all"] else project,
        written_in=project or projects.name_of(files.current_folder()),
    )
    result = write(db, draft, now=clock.now_ms())
    if result["verdict"] == "discard":
        result["hint"] = gate.NOT_REMEMBERED
    forget = step(f"joelclaw memory forget {result['id']}", "remove it from memory")
    show = step(f"joelclaw memory show {result['id']}", "everything known about it")
    return Answer(result, [show, forget])


def _whole_id(db: apsw.Connection, given: str) -> str:
    """The archived session whose UUID begins like `given`, else `given` itself. Raises Failure SESSION_AMBIGUOUS."""
    from core.store import sessions

    is_of_uuid = len(given) >= 8 and not given.strip("0123456789abcdef-")  # listings show the first eight digits
    found = sessions.whole_id(db, given) if is_of_uuid else ""
    return found if len(found) == 36 else given  # another form of id may only begin alike: 2026-11-2, 2026-11-29


def _project(db: apsw.Connection, session: str) -> str:
    """The project of the session, else of the repository around the current folder, or ""."""
    from core import project
    from core.store import folders, sessions

    known = sessions.by_id(db, session) if session else None
    if known is not None and known["project"]:
        return str(known["project"])
    folders.note(db, folder := files.current_folder())
    return project.repository_of(folder)


def otel_emit(**options: Any) -> Answer:
    """`joelclaw otel emit`: record the event that the words, the flags and perhaps stdin describe."""
    from core.store import sqlite  # not needed by `checkpoint`
    from otel import log

    action = (options["action"] or options["action_word"] or "").strip()
    fields: dict[str, Any] = {}
    ignored: list[str] = []
    if not action or options["stdin"]:
        example = 'give a JSON object, such as {"action": "a.b"}'
        fields, ignored = read_json(262_144, "give a single event, and less metadata", example, _EVENT_KEYS)
        unchecked: dict[str, Any] = {name: fields.pop(name) for name in ("metadata", "system") if name in fields}
        for name, kind, expected in (("metadata", dict, "an object"), ("system", str, "text")):
            if not isinstance(unchecked.get(name, kind()), kind):
                raise wrong_usage(f"{name} is not {expected}", f"give {name} as {expected}")
        if "level" in fields:
            fields["level"] = log.parse_level(str(fields["level"])) or fields["level"]
        fields = {**_checked("otel emit", fields), **unchecked}
    fields |= {name: options[name] for name in _EVENT_FIELDS if options[name] is not None}
    if options["metadata"] is not None:
        example = "pass a JSON object, such as --metadata '{\"percent\": 41}'"
        fields["metadata"] = parse_object(options["metadata"], "--metadata", example)
    if action:
        fields["action"] = action
    event = log.new_event(fields.pop("action", ""), now=fields.pop("timestamp", clock.now_ms()), **fields)
    if not event["action"]:
        raise wrong_usage(
            "an event needs an action",
            'name it, as in `joelclaw otel emit compaction.before`, or pass {"action": "compaction.before"} on stdin',
        )
    db = sqlite.open_writing(busy_ms=log.BUSY_MS, durable=False)
    (reason,) = log.append(db, [event])
    outcome: dict[str, Any] = {"stored": not reason, "eventId": event["id"]}
    if reason:
        outcome |= {"dropped": True, "dropReason": reason}
    result: dict[str, Any] = {
        "endpoint": f"file://{db.filename}", "status": 200, "response": {"ok": True, "result": outcome}, "event": event,
    }  # fmt: skip
    if ignored:
        result["ignored"] = ignored
    return Answer(result, [step("joelclaw otel list --hours 1", "the events of the last hour")])


def _checked(path: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values by the names of a command's options, checked and converted like the words of a call."""
    from cli import parser

    words = []
    for name, value in given.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, (str, int, float)):
                raise wrong_usage(f"{name} is not text", f"give {name} as text, a number or a list of texts")
            words.append(f"--{name.replace('_', '-')}={item}")
    command: Any = parser.hot_command(path.split())
    options: Any = parser.parse(command, words)
    return {name: options[name] for name in given}


def knowledge_search(**options: Any) -> Answer:
    """`joelclaw knowledge search`: sections of synced files. Records an event, and counts the hits as recalled."""
    from memory.knowledge import TYPE_NAMES, parse_type, search
    from otel import log

    query = " ".join(options["query"])
    types = tuple(filter(None, map(parse_type, (options["type"] or "").split(","))))
    result, db = search(query, limit=options["limit"], types=types)
    hits = result["hits"]
    if types and db is not None and not hits:
        from core.store import store_file

        stored = store_file.newest(db, "types", 10_000)
        for name in types if stored else ():
            require_known("--type", name, sorted({*TYPE_NAMES.values(), *stored}))
    if db is not None:  # None if the store cannot be written, which is no reason to fail
        metadata = {"query": log.query_excerpt(query), "found": result["found"], "returned": len(hits)}
        event = log.new_event(
            "knowledge.search.completed", component="knowledge-cli", metadata=metadata, now=clock.now_ms()
        )
        event["recalled"] = [hit["id"] for hit in hits]
        log.store_spooled([event], db)
    about = ("joelclaw memory show <id>", "the whole section", "its id")
    return Answer(result, [template(*about, hit["id"]) for hit in hits[:1]])


# checkpoint, inject

_TURN_KEYS = {
    **{name: name for name in ("session", "percent", "tokens", "window", "message", "file", "role", "cwd", "entries")},
    "sessionId": "session", "contextPercent": "percent", "messages": "message", "files": "file",
}  # fmt: skip
"""The keys of a turn on stdin and the names of these values here."""


def checkpoint_save(**options: Any) -> Answer:
    """`joelclaw checkpoint save`: save what the session is doing, at the end of a turn."""
    from session.reactions import task

    given: dict[str, Any] = {}
    ignored: list[str] = []
    sent: dict[str, Any] = {}
    if options["stdin"]:
        from clients.generic import Generic

        example = 'give an object, such as {"session": "ID", "percent": 45, "messages": ["..."]}'
        fields, ignored = read_json(4_000_000, "give the last messages only", example, _TURN_KEYS)
        about = {name: fields.pop(name, None) for name in ("cwd", "entries")}
        read = Generic().read({**about, "session": fields.get("session")}, "turn_end")
        given = {"message": read["messages"], "file": read["files"], "session": read["session"]}
        given |= _checked("checkpoint save", fields)
        sent = {"items": read["items"], "cwd": read["cwd"], "bad_lines": read["bad_lines"]}
    flags = {name: value for name, value in options.items() if value not in (None, [])}
    if "percent" in flags or "tokens" in flags:  # flags replace the context usage that stdin gives
        given |= {"percent": None, "tokens": None}
    given |= flags
    event = _event("turn", required_session(given.get("session")), given)
    event.update(sent)  # type: ignore[typeddict-item]  # its keys are those of an event
    result = task.save_checkpoint(event, config.load(), role=given.get("role") or "")
    if ignored:
        result["ignored"] = ignored
    if event["bad_lines"]:
        result["badLines"] = event["bad_lines"]
    return Answer(result)


def checkpoint_flush(**options: Any) -> Answer:
    """`joelclaw checkpoint flush`: save the last checkpoint before a compaction."""
    from session.reactions import task

    session_id = required_session(options["session"])
    event = _event("before_compaction", session_id, options)
    settings = config.load()
    result = task.save_checkpoint(event, settings, role=options["role"] or "")
    if result.get("reason") != "off" and settings.get_bool("compaction.notify_on_start"):
        from session import compaction

        result["notice"] = compaction.notice_text(settings)
    return Answer(result, [step(f"joelclaw inject recovery --session {quoted(session_id)}", "after the compaction")])


def _event(kind: Kind, session_id: str, given: Mapping[str, Any]) -> HookEvent:
    """The event that options and stdin describe, as a hook would get it."""
    from session.record import own_event

    percent, tokens, window = (given.get(name) for name in ("percent", "tokens", "window"))
    if percent is None and tokens is not None and window is None:
        raise wrong_usage("tokens were given without a window", "give the window too, or percent instead of both")
    return own_event(
        kind, session=session_id, messages=given.get("message") or [], files=given.get("file") or [],
        percent=percent, tokens=tokens, window=window,
    )  # fmt: skip


def inject_recovery(**options: Any) -> Answer:
    """`joelclaw inject recovery`: the recovery note, after a compaction."""
    return _inject("recovery", options, "after_compaction", {})


def inject_memory(**options: Any) -> Answer:
    """`joelclaw inject memory`: relevant memories, when a session starts."""
    query, project = (options["query"] or "").strip(), options["project"] or ""
    return _inject("startup", options, "start", {}, query=query, project=project)


def inject_refresh(**options: Any) -> Answer:
    """`joelclaw inject refresh`: current memories, when a message arrives in a long session."""
    message = (options["message"] or "").strip()
    fields = {"messages": [message] if message else [], "percent": options["percent"]}
    return _inject("refresh", options, "prompt", fields)


def inject_project(**options: Any) -> Answer:
    """`joelclaw inject project`: memories that name a file, before an agent edits it."""
    if not options["file"]:
        raise wrong_usage("no file was given", "give --file PATH, the file that is edited")
    return _inject("project", options, "tool", {"files": options["file"], "cwd": options["cwd"] or ""})


def _inject(name: str, options: Mapping[str, Any], kind: Kind, fields: dict[str, Any], **more: str) -> Answer:
    """Run one reaction to an event with these fields. The result has its text, or the reason why there is none."""
    from core.quoting import cost, shown
    from session import reactions
    from session.record import own_event
    from session.session import errors_of

    session_id = required_session(options["session"])
    event = own_event(kind, session=session_id, **fields)
    reaction, session = reactions.inject(name, event, config.load(), role=options["role"] or "", **more)
    content = "\n\n".join(text["content"] for text in reaction.texts)
    result: dict[str, Any] = {
        "injected": bool(reaction.texts), "reason": reaction.reason,
        "customType": reaction.texts[0]["customType"] if reaction.texts else None, "content": content,
        "display": False, "chars": len(content), "estimatedTokens": cost(content), "sessionId": session_id,
        **reaction.about,
    }  # fmt: skip
    if session.set_aside:
        result["setAside"] = session.set_aside
    result |= errors_of(session.faults)
    if not options["raw"]:
        return Answer(result)
    code = 0
    for fault in session.faults:
        tell(shown(f"joelclaw inject: {fault['message']} ({fault['code']})\n"))
        code = 0 if reaction.texts else FAILED
    return Answer(result, text=FramedText(content), exit_code=code)
