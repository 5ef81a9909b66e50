"""What an observer did, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.views import console, next_steps, pairs, plain, safe

if TYPE_CHECKING:
    from cli.answer import Answer


def observe(answer: Answer) -> None:
    """How much was read, what came of it, and what is left."""
    screen = console()
    result: Any = answer.result
    if result.get("detached"):
        screen.print(safe(f"session {result['session']} is observed in the background"))
    elif result["unchanged"]:
        screen.print(safe("nothing was said since the last time", "dim"))
    else:
        noted, left = result["observations"], result["left"]
        rows: dict[str, object] = {
            "session": result["session"],
            "turns": result["turns"],
            "observations": f"{plain(noted['added'])} new, {plain(noted['merged'])} said before",
            "verdicts": noted["byVerdict"],
            "tokens": f"about {plain(result['tokens'])}",
        }
        if left["turns"]:
            budget = {"tokens": "observe.max_tokens", "seconds": "observe.seconds"}.get(left["reason"], "the budget")
            rows["left"] = safe(f"{plain(left['turns'])} turns, since {budget} is used", "yellow")
        screen.print(pairs(rows))
    next_steps(answer, screen)
