"""`joelclaw idle`: sessions that are compacted while nobody talks to them."""

from __future__ import annotations

import os

from cli.answer import Answer, quoted, step
from cli.parameter import session_of
from cli.stdout import is_terminal, write_out
from core import TYPE_CHECKING, config
from core.errors import usage
from core.output import shown_line
from session import idle_timers
from session.state import role_name

if TYPE_CHECKING:
    from typing import Any

_CODE = "IDLE_INVALID_ARGS"
_RUN = "compact sessions as they come due, until Ctrl-C"
_WHY_NOT = {
    idle_timers.OFF: "No timer: give --minutes, or set compaction.idle_trigger_minutes.",
    idle_timers.SWITCHED_OFF: "No timer: the session is off (joelclaw on).",
    idle_timers.UNKNOWN: "No timer: its context usage is not known; give --percent, or --tokens and --window.",
    idle_timers.BELOW: "No timer: its context is not full enough.",
}


def schedule(options: dict[str, Any]) -> Answer:
    """`joelclaw idle schedule`: set the timer of a session, or say why there is none."""
    session_id = session_of(options["session"], _CODE)
    percent, tokens, window = (options[name] for name in ("percent", "tokens", "window"))
    if percent is None and (tokens is None) != (window is None):
        raise usage(_CODE, "--tokens and --window go together", "give --tokens and --window, or --percent")
    result = idle_timers.schedule(
        session_id,
        config.load(),
        idle_timers.ratio(percent, tokens if percent is None else None, window),
        minutes=options["minutes"] or 0,
        agent=role_name(options["agent"] or ""),
        cwd=os.path.abspath(options["cwd"]) if options["cwd"] else "",
    )
    cancelling = step(f"joelclaw idle cancel --session {quoted(session_id)}", "when a message arrives")
    said = _WHY_NOT.get(result["reason"], "")
    return Answer(result, [cancelling, step("joelclaw idle run", _RUN)] if result["scheduled"] else [], said=said)


def cancel(options: dict[str, Any]) -> Answer:
    """`joelclaw idle cancel`: without a timer, or without such a session, it only says so."""
    return Answer(idle_timers.cancel(session_of(options["session"], _CODE)))


def list_(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every handler takes its options
    """`joelclaw idle list`: all timers, the soonest first."""
    found = _listed()
    return Answer({"count": len(found), "timers": found}, [step("joelclaw idle run", _RUN)] if found else [])


def due(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every handler takes its options
    """`joelclaw idle due`: those that have come due, a running turn or not."""
    found = [one for one in _listed() if one["standing"] != idle_timers.WAITING]
    actions = [step("joelclaw idle run --once", "compact them now")] if found else []
    return Answer({"count": len(found), "timers": found}, actions)


def _listed() -> list[dict[str, Any]]:
    from session import idle_run

    return idle_run.timers()


def run(options: dict[str, Any]) -> Answer:
    """`joelclaw idle run`: in the foreground; on a terminal it tells what it does as it does it."""
    if options["once"] and options["until_empty"]:
        raise usage(_CODE, "--once and --until-empty cannot be used together", "give one of them")
    from core.process.command import Interrupts
    from session import idle_run

    with Interrupts() as interrupts:
        ways = {"once": options["once"], "until_empty": options["until_empty"]}
        done = idle_run.run(config.load(), interrupts, tell if is_terminal() else lambda _what, _about: None, **ways)
    actions = [step("joelclaw otel search compaction.idle.failed", "what went wrong")] if done["failed"] else []
    return Answer({**done, "timersLeft": len(idle_run.timers())}, actions)


def tell(what: str, about: dict[str, Any]) -> None:
    """One line for a person, as it happens."""
    line = f"compacting {about['sessionId']} in {about.get('cwd', '')}"
    if what != "started":
        took = f" in {about['ms'] / 1000:.1f} s" if "ms" in about else ""
        line = f"{about['outcome']} {about['sessionId']}{took}" + (f": {about['error']}" if about.get("error") else "")
    write_out(shown_line(line) + "\n")
