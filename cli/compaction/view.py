"""The texts of compactions on a terminal; other answers are shown as they are (`cli.terminal.told`)."""

from __future__ import annotations

from typing import Any

from rich.panel import Panel

from cli.answer import Answer
from cli.terminal import console, safe, told


def serialize(answer: Answer) -> None:
    """The text, and what could not be read."""
    result: Any = answer.result
    console().print(safe(result["text"]))
    told(answer, without=("text",))


def summarize(answer: Answer) -> None:
    """The text in a frame, then its source, sizes, files, why a model's reply was not used, what could not be read."""
    result: Any = answer.result
    if result["summary"]:
        console().print(Panel(safe(result["summary"]), title=safe("summary", "bold cyan"), title_align="left"))
    told(answer, without=("summary",))
