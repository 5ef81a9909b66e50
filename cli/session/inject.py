"""`joelclaw inject`: short texts to hand to an agent."""

from __future__ import annotations

from cli.answer import Answer, quoted, step
from cli.parameter import session_of
from core import TYPE_CHECKING, config
from core.errors import usage
from core.quoting import cost
from session.faults import errors_of
from session.inject.runner import NO_CHECKPOINT, OFF, InjectionStep, Situation
from session.step import Context, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from session.records import Text
    from session.step import Step

CODE = "INJECT_INVALID_ARGS"


def recovery(options: dict[str, Any]) -> Answer:
    """`joelclaw inject recovery`: after a compaction."""
    context = _context(options)
    from session.inject import recovery

    return _answer(options, recovery, Situation(context), recovery.Compaction(context))


def memory(options: dict[str, Any]) -> Answer:
    """`joelclaw inject memory`: when a session starts."""
    context = _context(options)
    from session.inject import startup

    query, project = (options["query"] or "").strip(), options["project"] or ""
    return _answer(options, startup, Situation(context, query=query, project=project))


def refresh(options: dict[str, Any]) -> Answer:
    """`joelclaw inject refresh`: when a new message arrives in a session that goes on."""
    context = _context(options)
    from session.inject import refresh

    return _answer(options, refresh, Situation(context, message=options["message"] or "", percent=options["percent"]))


def project(options: dict[str, Any]) -> Answer:
    """`joelclaw inject project`: before an agent edits a file."""
    context = _context(options)
    if not options["file"]:
        raise usage(CODE, "no file was given", "give --file PATH, the file that is edited")
    from session.inject import project_context

    return _answer(options, project_context, Situation(context, files=options["file"], cwd=options["cwd"] or ""))


def _context(options: dict[str, Any]) -> Context:
    return Context(session_of(options["session"], CODE), config.load(), role=options["role"] or "")


def _answer(options: dict[str, Any], injection: ModuleType, situation: Situation, *before: Step) -> Answer:
    """What is injected, or why nothing is."""
    context, session, reason = situation.context, situation.context.session_id, OFF
    text: Text | None = None
    about: Mapping[str, Any] = {}
    if not context.is_off(situation.cwd):
        injected = InjectionStep(injection, situation)
        run(context, (*before, injected))
        context.close()
        text, reason, about = injected.text, injected.reason, injected.decision.about
        if text is not None:
            reason, about = "injected", injected.about(text)
    content = text["content"] if text is not None else ""
    result: dict[str, Any] = {
        "injected": text is not None,
        "reason": reason,
        "customType": text["customType"] if text is not None else None,
        "content": content,
        "display": False,
        "chars": len(content),
        "estimatedTokens": cost(content),
        "sessionId": session,
        **about,
    }
    if context.set_aside:
        result["setAside"] = context.set_aside
    result |= errors_of(context.faults)
    known = step(f"joelclaw checkpoint show {quoted(session)}", "everything known of this session")
    actions = [known] if reason != NO_CHECKPOINT else []
    return Answer(result, actions, content if options["raw"] else None, framed=True)
