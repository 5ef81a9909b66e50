"""`joelclaw idle`: sessions that are compacted while nobody talks to them."""

from __future__ import annotations

import os

from cli.answer import Answer, quoted, step
from cli.parameter import session_of
from core import clock, config
from core.errors import usage
from session.idle import timers
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction

CODE = "IDLE_INVALID_ARGS"


def schedule(options: dict[str, Any]) -> Answer:
    """`joelclaw idle schedule`: set the timer of a session, or say why there is none."""
    session_id = session_of(options["session"], CODE)
    tokens, window = options["tokens"], options["window"]
    if options["percent"] is None and (tokens is None) != (window is None):
        raise usage(CODE, "tokens and window go together", "give --tokens and --window, or --percent")
    result = timers.schedule(
        session_id,
        config.load(),
        percent=options["percent"],
        tokens=None if options["percent"] is not None else tokens,
        window=window,
        minutes=options["minutes"] or 0,
        agent=state_file.role_name(options["agent"] or ""),
        cwd=os.path.abspath(options["cwd"]) if options["cwd"] else "",
    )
    actions: list[NextAction] = []
    if result["scheduled"]:
        actions = [
            step(f"joelclaw idle cancel --session {quoted(session_id)}", "when a message arrives"),
            step("joelclaw idle run", "compact what comes due, until Ctrl-C"),
        ]
    return Answer(result, actions)


def cancel(options: dict[str, Any]) -> Answer:
    """`joelclaw idle cancel`: without a timer, or without such a session, it only says so."""
    return Answer(timers.cancel(session_of(options["session"], CODE)))


def list_(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every handler takes its options
    """`joelclaw idle list`: all timers, the soonest first."""
    return _listed(_timers(), "joelclaw idle run", "compact what comes due, until Ctrl-C")


def due(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every handler takes its options
    """`joelclaw idle due`: those that have come due, a running turn or not."""
    found = [one for one in _timers() if one["standing"] != "waiting"]
    return _listed(found, "joelclaw idle run --once", "compact them now")


def _timers() -> list[dict[str, Any]]:
    from session.idle import run

    return run.listed(run.states(), clock.now_ms())


def _listed(found: list[dict[str, Any]], command: str, description: str) -> Answer:
    return Answer({"count": len(found), "timers": found}, [step(command, description)] if found else [])


def run(options: dict[str, Any]) -> Answer:
    """`joelclaw idle run`: in the foreground; on a terminal it tells what it does as it does it."""
    if options["once"] and options["until_empty"]:
        raise usage(CODE, "--once and --until-empty say different things", "give one of them")
    from core.process.process_group import Interrupts
    from session.idle import run

    settings = config.load()
    with Interrupts() as interrupts:
        done = run.run(settings, interrupts, _tell(), once=options["once"], until_empty=options["until_empty"])
    actions: list[NextAction] = []
    if done["failed"]:
        actions.append(step("joelclaw otel search compaction.idle.failed", "what went wrong"))
    return Answer({**done, "timersLeft": len(_timers())}, actions)


def _tell() -> Any:
    """What a person reads while it runs; a script reads the result, and the events."""
    from cli.stdout import is_terminal

    if not is_terminal():
        return lambda _what, _about: None
    from cli.idle.view import live

    return live
