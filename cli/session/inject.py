"""`joelclaw inject`: short texts to hand to an agent."""

from __future__ import annotations

from cli.answer import Answer, quoted
from cli.parameter import session_of
from core import config
from core.errors import usage
from session.inject import runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CODE = "INJECT_INVALID_ARGS"


def recovery(options: dict[str, Any]) -> Answer:
    """`joelclaw inject recovery`: after a compaction."""
    session_id = session_of(options["session"], CODE)
    from session.inject import recovery

    result = recovery.recover(session_id, options["role"] or "", config.load())
    return _answer(result, options)


def memory(options: dict[str, Any]) -> Answer:
    """`joelclaw inject memory`: when a session starts."""
    session_id = session_of(options["session"], CODE)
    from session.inject import start

    result = start.start(
        session_id,
        options["role"] or "",
        config.load(),
        query=(options["query"] or "").strip(),
        project=options["project"] or "",
    )
    return _answer(result, options)


def refresh(options: dict[str, Any]) -> Answer:
    """`joelclaw inject refresh`: when a new message arrives in a session that goes on."""
    session_id = session_of(options["session"], CODE)
    from session.inject import refresh

    result = refresh.refresh(
        session_id,
        options["role"] or "",
        config.load(),
        message=options["message"] or "",
        percent=options["percent"],
    )
    return _answer(result, options)


def project(options: dict[str, Any]) -> Answer:
    """`joelclaw inject project`: before an agent edits a file."""
    session_id = session_of(options["session"], CODE)
    if not options["file"]:
        raise usage(CODE, "no file is named", "give --file PATH, the file that is edited")
    from session.inject import project_context

    result = project_context.inject(
        session_id, options["role"] or "", config.load(), files=options["file"], cwd=options["cwd"] or ""
    )
    return _answer(result, options)


def _answer(result: dict[str, Any], options: dict[str, Any]) -> Answer:
    action = f"joelclaw checkpoint show {quoted(result['sessionId'])}"
    known = result["reason"] != runner.NO_CHECKPOINT
    actions = [{"command": action, "description": "everything known of this session"}] if known else []
    return Answer(result, actions, result["content"] if options["raw"] else None)  # type: ignore[arg-type]  # as above
