"""`idle` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from cli.terminal import console, next_steps, pairs, rows_table, safe

if TYPE_CHECKING:
    from cli.answer import Answer

_WHY = {
    "switched-off": "the agent's own settings switch compactions off",
    "off": "compaction.idle_trigger_minutes is not set, and no --minutes is given",
    "percent-unknown": "how full its context is is not known",
    "below-threshold": "its context is not full enough",
    "waiting": "waiting",
    "due": "due",
    "turn-running": "due; a turn is running",
    "in-progress": "being compacted",
}
_COLOURS = {"completed": "green", "failed": "red", "cancelled": "yellow", "skipped": "yellow"}


def scheduled(answer: Answer) -> None:
    """When the session comes due, or why it does not."""
    result: Any = answer.result
    screen = console()
    if result["scheduled"]:
        from core import clock

        screen.print(safe(f"{result['sessionId']} is compacted {_in(result['dueAt'] - clock.now_ms())}.", "green"))
    else:
        screen.print(safe(f"No timer: {_why(result['reason'])}.", "yellow"))
    used = "unknown" if result["ratio"] is None else f"{result['ratio'] * 100:.0f} %"
    screen.print(pairs({"context": used, "threshold": f"{result['threshold'] * 100:.0f} %"}))
    next_steps(answer, screen)


def cancelled(answer: Answer) -> None:
    """Whether there was a timer."""
    result: Any = answer.result
    if result["cancelled"]:
        said, colour = f"{result['sessionId']} has no timer any more.", "green"
    elif result["known"]:
        said, colour = f"{result['sessionId']} had no timer.", "yellow"
    else:
        said, colour = f"There is no session {result['sessionId']}.", "yellow"
    console().print(safe(said, colour))


def timers(answer: Answer) -> None:
    """The timers as a table."""
    result: Any = answer.result
    screen = console()
    if not result["timers"]:
        screen.print(safe("No timer.", "yellow"))
        return
    rows = [
        {
            "session": one["sessionId"],
            "agent": one["agent"],
            "context": f"{one['percent']:.0f} %",
            "when": _in(one["dueInSeconds"] * 1000) if one["standing"] == "waiting" else _why(one["standing"]),
            "folder": one["cwd"],
        }
        for one in result["timers"]
    ]
    screen.print(rows_table(rows))
    next_steps(answer, screen)


def ran(answer: Answer) -> None:
    """What was done; the sessions were told as they came."""
    result: Any = answer.result
    screen = console()
    for one in result["sessions"]:
        if one["outcome"] == "skipped":
            screen.print(_line(one))
    names = ("completed", "failed", "cancelled", "skipped", "timersLeft")
    screen.print(pairs({name.replace("timersLeft", "timers left"): result[name] for name in names}))
    next_steps(answer, screen)


def live(what: str, about: dict[str, Any]) -> None:
    """One line, as it happens; a terminal that went away is no reason to stop."""
    try:
        if what == "started":
            console().print(
                Text.assemble(("compacting ", "cyan"), safe(about["sessionId"]), safe(f" in {about['cwd']}"))
            )
        else:
            console().print(_line(about))
    except OSError:
        pass


def _line(about: dict[str, Any]) -> Text:
    outcome = about["outcome"]
    line = Text.assemble((outcome, _COLOURS[outcome]), " ", safe(about["sessionId"]))
    if "ms" in about:
        line.append_text(safe(f" in {about['ms'] / 1000:.1f} s", "dim"))
    if about.get("error") or about.get("reason"):
        line.append_text(safe(": " + (about.get("error") or _why(about["reason"]))))
    return line


def _in(ms: int) -> str:
    seconds = max(0, ms // 1000)
    return f"in {seconds} s" if seconds < 120 else f"in {seconds // 60} min"


def _why(reason: str) -> str:
    return _WHY.get(reason, reason)
