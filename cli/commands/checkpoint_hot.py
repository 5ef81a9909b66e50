"""`joelclaw checkpoint save` and `flush`, and the four `inject` commands. Hot path.

A hook script calls them to do what `joelclaw hook` does by itself; both run the same code in `session`.
"""

from __future__ import annotations

import time

from cli.input import read_json, required_session
from cli.output import Answer, FramedText, quoted, step, tell, wrong_usage
from core import TYPE_CHECKING, config
from core.errors import FAILED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clients.base import HookEvent, Kind


def save(options: Mapping[str, Any]) -> Answer:
    """`joelclaw checkpoint save`: save what the session is doing, at the end of a turn."""
    from session.reactions import task

    given: dict[str, Any] = {}
    ignored: list[str] = []
    if options["stdin"]:
        example = 'give an object, such as {"session": "ID", "percent": 45, "messages": ["..."]}'
        keys = (
            "session", "sessionId", "percent", "contextPercent", "tokens", "window", "message", "messages", "file",
            "files", "role", "cwd", "entries",
        )  # fmt: skip
        given, ignored = read_json(4_000_000, "give the last messages only", example, keys)
    sent = None
    if given.get("entries"):
        from clients.generic import Generic

        sent = Generic().read(given, "turn_end")
        given = {"messages": sent["messages"], "files": sent["files"], "session": sent["session"], **given}
    session_id = required_session(options["session"] or "".join(_texts(given, "session", "sessionId")[:1]))
    flags = {name: value for name, value in options.items() if value not in (None, [])}
    if "percent" in flags or "tokens" in flags:  # flags replace the context usage that stdin gives
        given = {name: value for name, value in given.items() if name not in ("percent", "contextPercent", "tokens")}
    given = {**given, **flags}
    event = _event("turn", session_id, given)
    if sent is not None:
        event["items"], event["cwd"] = sent["items"], sent["cwd"]
    result = task.save_checkpoint(event, config.load(), role="".join(_texts(given, "role")[:1]))
    if ignored:
        result["ignored"] = ignored
    session = quoted(result["sessionId"])
    actions = [step(f"joelclaw checkpoint show {session}", "everything known about this session")]
    if result["zone"] == "hot":
        actions.append(step(f"joelclaw checkpoint flush --session {session}", "before the compaction that is due"))
    return Answer(result, actions)


def flush(options: Mapping[str, Any]) -> Answer:
    """`joelclaw checkpoint flush`: save the last checkpoint before a compaction."""
    from session.reactions import task

    session_id = required_session(options["session"])
    event = _event("before_compaction", session_id, options)
    settings = config.load()
    result = task.save_checkpoint(event, settings, role=options["role"] or "")
    if result.get("reason") != "off" and settings.get_bool("compaction.notify_on_start"):
        from session import compaction

        result["notice"] = compaction.notice_text(settings)
    after = f"joelclaw inject recovery --session {quoted(session_id)}"
    return Answer(result, [step(after, "after the compaction: the recovery note for the agent")])


def _event(kind: Kind, session_id: str, given: Mapping[str, Any]) -> HookEvent:
    """The event that options and stdin describe, as a hook would get it."""
    from session.record import own_event

    percent = _number(given, "percent", "contextPercent", most=100)
    tokens = _number(given, "tokens")
    window = _number(given, "window", least=1)
    if percent is None and tokens is not None and window is None:
        raise wrong_usage("--tokens needs --window", "give --window too, or --percent")
    return own_event(
        kind,
        session=session_id,
        messages=_texts(given, "message", "messages"),
        files=_texts(given, "file", "files"),
        percent=percent,
        tokens=None if tokens is None else int(tokens),
        window=None if window is None else int(window),
    )


def _first(given: Mapping[str, Any], *names: str) -> Any:
    """The first value that is given under one of the names; null counts as not given."""
    return next((given[name] for name in names if given.get(name) is not None), None)


def _number(given: Mapping[str, Any], *names: str, least: int = 0, most: float = 10**15) -> float | None:
    value = _first(given, *names)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        message = f"{names[0]} is {value!r}, which is not a number from {least} to {most:g}"
        raise wrong_usage(message[:200], f"give {names[0]} a number from {least} to {most:g}")
    return value


def _texts(given: Mapping[str, Any], *names: str) -> list[str]:
    value = _first(given, *names)
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise wrong_usage(f"{names[0]} contains a value that is not text", f"give {names[0]} as JSON strings")
    return texts


def inject_recovery(options: Mapping[str, Any]) -> Answer:
    """`joelclaw inject recovery`: the recovery note, after a compaction."""
    from session.record import own_event

    return _inject("recovery", own_event("after_compaction"), options)


def inject_memory(options: Mapping[str, Any]) -> Answer:
    """`joelclaw inject memory`: relevant memories, when a session starts."""
    from session.record import own_event

    query, project = (options["query"] or "").strip(), options["project"] or ""
    return _inject("startup", own_event("start"), options, query=query, project=project)


def inject_refresh(options: Mapping[str, Any]) -> Answer:
    """`joelclaw inject refresh`: current memories, when a message arrives in a long session."""
    from session.record import own_event

    message = (options["message"] or "").strip()
    event = own_event("prompt", messages=[message] if message else [], percent=options["percent"])
    return _inject("refresh", event, options)


def inject_project(options: Mapping[str, Any]) -> Answer:
    """`joelclaw inject project`: memories that name a file, before an agent edits it."""
    from session.record import own_event

    if not options["file"]:
        raise wrong_usage("no file was given", "give --file PATH, the file that is edited")
    return _inject("project", own_event("tool", files=options["file"], cwd=options["cwd"] or ""), options)


def _inject(name: str, event: HookEvent, options: Mapping[str, Any], **more: str) -> Answer:
    """Run one reaction; the result has the text to inject, or the reason why it has no text."""
    from core.quoting import cost, shown
    from session import reactions
    from session.record import record, usage_of
    from session.session import Session, errors_of

    began = time.monotonic()
    session_id = required_session(options["session"])
    session = Session(session_id, config.load(), role=options["role"] or "", creates_state=name != "recovery")
    reaction = reactions.Reaction(reactions.OFF)
    if not session.is_off(event["cwd"]):
        with session:
            session.usage = usage_of(event)
            if name == "recovery":
                record(event, session)
                session.save()
            elif name == "refresh" and event["messages"]:
                session.state.last_message_at = session.now
            reaction = reactions.run(name, event, session, **more)
            session.save()
            if session.before is not None or reaction.texts:  # nothing is written about an unknown session
                command = "memory" if name == "startup" else name
                session.spool([session.completed(f"inject {command}", began)])
        if session.must_store_events or session.has_unspooled_events:
            session.store_events()
    content = "\n\n".join(text["content"] for text in reaction.texts)
    result: dict[str, Any] = {
        "injected": bool(reaction.texts),
        "reason": reaction.reason,
        "customType": reaction.texts[0]["customType"] if reaction.texts else None,
        "content": content,
        "display": False,
        "chars": len(content),
        "estimatedTokens": cost(content),
        "sessionId": session_id,
        **reaction.about,
    }
    if session.set_aside:
        result["setAside"] = session.set_aside
    result |= errors_of(session.faults)
    show = step(f"joelclaw checkpoint show {quoted(session_id)}", "everything known about this session")
    actions = [show] if reaction.reason != reactions.NO_CHECKPOINT else []
    view, code = "cli.views:injection", 0
    if not options["raw"]:
        return Answer(result, actions, view=view)
    for fault in session.faults:
        tell(shown(f"joelclaw inject: {fault['message']} ({fault['code']})\n"))
        code = 0 if reaction.texts else FAILED
    return Answer(result, actions, FramedText(content), view=view, exit_code=code)
