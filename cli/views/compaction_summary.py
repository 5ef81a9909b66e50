"""`compaction summarize` on a terminal: the summary, and below it where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.panel import Panel

from cli.views import console, next_steps, pairs, safe

if TYPE_CHECKING:
    from cli.answer import Answer

_SOURCES = {"model": "a model", "extractive": "quotes of the transcript"}


def summarize(answer: Answer) -> None:
    """The text in a frame, then source, sizes, why a model's reply was not used, and what could not be read."""
    screen = console()
    result: Any = answer.result
    screen.print(Panel(safe(result["summary"]), title=safe("summary", "bold cyan"), title_align="left"))
    rows: dict[str, object] = {
        "made by": _SOURCES.get(result["source"], result["source"]),
        "tokens, about": result["estimatedTokens"],
        "instead of": result["tokensBefore"],
        "kept from": result["firstKeptEntryId"],
        "split turn": result["isSplitTurn"] or None,
        "files read": len(result["readFiles"]),
        "files modified": len(result["modifiedFiles"]),
    }
    screen.print(pairs({name: value for name, value in rows.items() if value is not None}))
    fallback = result["fallback"]
    if fallback:
        screen.print(
            safe(f"the model's summary of the {fallback['part']} was not used: {fallback['reason']}", "yellow")
        )
    for problem in result["problems"]:
        screen.print(safe(problem, "yellow"))
    next_steps(answer, screen)
