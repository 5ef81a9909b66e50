"""Idle timers on a terminal, and what `idle run` does as it does it; other answers are shown as they are."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, rows_table, safe

_COLOURS = {"completed": "green", "failed": "red", "cancelled": "yellow"}


def timers(answer: Answer) -> None:
    """The timers as a table."""
    result: Any = answer.result
    rows = [
        {
            "session": one["sessionId"],
            "agent": one["agent"],
            "context": f"{one['percent']:.0f} %",
            "when": _in(one["dueInSeconds"]) if one["standing"] == "waiting" else one["standing"],
            "folder": one["cwd"],
        }
        for one in result["timers"]
    ]
    screen = console()
    screen.print(rows_table(rows) if rows else safe("No timer.", "yellow"))
    next_steps(answer, screen)


def _in(seconds: int) -> str:
    return f"in {seconds} s" if seconds < 120 else f"in {seconds // 60} min"


def live(what: str, about: dict[str, Any]) -> None:
    """One line, as it happens; a terminal that went away is no reason to stop."""
    line = Text.assemble(("compacting ", "cyan"), safe(about["sessionId"]), safe(f" in {about.get('cwd', '')}"))
    if what != "started":
        line = Text.assemble((about["outcome"], _COLOURS[about["outcome"]]), " ", safe(about["sessionId"]))
        line.append_text(safe(f" in {about['ms'] / 1000:.1f} s" if "ms" in about else "", "dim"))
        line.append_text(safe(f": {about['error']}" if about.get("error") else ""))
    try:
        console().print(line)
    except OSError:
        pass
