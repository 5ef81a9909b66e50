"""`joelclaw inject`: short texts to hand to an agent."""

from __future__ import annotations

from cli.answer import Answer, quoted, step
from cli.parameter import session_of
from core import TYPE_CHECKING, config
from core.errors import usage
from core.quoting import cost
from session import reactions
from session.record import own_event, record, usage_of
from session.session import Session, errors_of

if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent

CODE = "INJECT_INVALID_ARGS"


def recovery(options: dict[str, Any]) -> Answer:
    """`joelclaw inject recovery`: after a compaction."""
    return _answer("recovery", own_event("after_compaction"), options)


def memory(options: dict[str, Any]) -> Answer:
    """`joelclaw inject memory`: when a session starts."""
    query, project = (options["query"] or "").strip(), options["project"] or ""
    return _answer("startup", own_event("start"), options, query=query, project=project)


def refresh(options: dict[str, Any]) -> Answer:
    """`joelclaw inject refresh`: when a new message arrives in a session that goes on."""
    message = (options["message"] or "").strip()
    event = own_event("prompt", messages=[message] if message else [], percent=options["percent"])
    return _answer("refresh", event, options)


def project(options: dict[str, Any]) -> Answer:
    """`joelclaw inject project`: before an agent edits a file."""
    if not options["file"]:
        raise usage(CODE, "no file was given", "give --file PATH, the file that is edited")
    return _answer("project", own_event("tool", files=options["file"], cwd=options["cwd"] or ""), options)


def _answer(name: str, event: HookEvent, options: dict[str, Any], **more: str) -> Answer:
    """Run one reaction; the result says what is injected, or why nothing is."""
    session_id = session_of(options["session"], CODE)
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
        if session.must_store_events or session.has_unspooled_events:
            session.store_events()
    text = next(iter(reaction.texts), None)
    content = text["content"] if text else ""
    result: dict[str, Any] = {
        "injected": text is not None,
        "reason": reaction.reason,
        "customType": text["customType"] if text else None,
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
    known = step(f"joelclaw checkpoint show {quoted(session_id)}", "everything known of this session")
    actions = [known] if reaction.reason != reactions.NO_CHECKPOINT else []
    return Answer(result, actions, content if options["raw"] else None, framed=True)
