"""`joelclaw inject`: short texts to hand to an agent."""

from __future__ import annotations

from cli.answer import Answer, quoted
from cli.parameter import session_of
from core import config
from core.errors import usage
from session.context import Context
from session.inject.runner import NO_CHECKPOINT, Situation
from session.inject.single_injection import inject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CODE = "INJECT_INVALID_ARGS"


def recovery(options: dict[str, Any]) -> Answer:
    """`joelclaw inject recovery`: after a compaction."""
    context = _context(options)
    from session.inject import recovery

    return _answer(inject(recovery, Situation(context), recovery.Compaction(context)), options)


def memory(options: dict[str, Any]) -> Answer:
    """`joelclaw inject memory`: when a session starts."""
    context = _context(options)
    from session.inject import startup

    situation = Situation(context, query=(options["query"] or "").strip(), project=options["project"] or "")
    return _answer(inject(startup, situation), options)


def refresh(options: dict[str, Any]) -> Answer:
    """`joelclaw inject refresh`: when a new message arrives in a session that goes on."""
    context = _context(options)
    from session.inject import refresh

    situation = Situation(context, message=options["message"] or "", percent=options["percent"])
    return _answer(inject(refresh, situation), options)


def project(options: dict[str, Any]) -> Answer:
    """`joelclaw inject project`: before an agent edits a file."""
    context = _context(options)
    if not options["file"]:
        raise usage(CODE, "no file is named", "give --file PATH, the file that is edited")
    from session.inject import project_context

    situation = Situation(context, files=options["file"], cwd=options["cwd"] or "")
    return _answer(inject(project_context, situation), options)


def _context(options: dict[str, Any]) -> Context:
    return Context(session_of(options["session"], CODE), config.load(), role=options["role"] or "")


def _answer(result: dict[str, Any], options: dict[str, Any]) -> Answer:
    action = f"joelclaw checkpoint show {quoted(result['sessionId'])}"
    known = result["reason"] != NO_CHECKPOINT
    actions = [{"command": action, "description": "everything known of this session"}] if known else []
    return Answer(result, actions, result["content"] if options["raw"] else None, framed=True)  # type: ignore[arg-type]  # as above
