"""Synced files and the vault on a terminal."""

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.recall.view import bar
from cli.terminal import drawn, safe


@drawn
def hits(screen: Console, result: Any) -> None:
    """Every hit with its score, type, title, place and snippet."""
    if "fallback" in result:
        screen.print(safe(f"searched the texts: {result['fallback']['reason']}", "yellow"))
    if not result["hits"]:
        screen.print(safe(f"No results for {result['query'][:120]!r}.", "yellow"))
    for rank, hit in enumerate(result["hits"], 1):
        line = Text.assemble((f"{rank:>2}  ", "bold"), bar(hit["score"]), "  ")
        if hit.get("type"):
            line.append_text(safe(hit["type"] + "  ", "magenta"))
        screen.print(line.append_text(safe(hit["title"], "bold")))
        place = f"{hit['path']}:{hit['line']}" if hit.get("line") else hit["path"]
        screen.print(Padding(safe(place, "dim"), (0, 0, 0, 4)))
        if hit["snippet"]:
            screen.print(Padding(safe(hit["snippet"]), (0, 0, 1, 4)))
    if not result.get("complete", True):
        screen.print(safe("time ran out before all notes were read", "yellow"))
    screen.print(safe(f"{len(result['hits'])} of {result['found']} found", "dim"))


@drawn
def notes(screen: Console, result: Any) -> None:
    """Each note under a line that says which it is and why."""
    for note, why in zip(result["resolved"], result["resolution"], strict=True):
        line = safe(note["path"], "bold cyan")
        line.append(f"  {why['reason']} {why['score']:.2f}", "dim")
        screen.print(line)
        screen.print(safe(note["content"].rstrip("\n")))
        if note["truncated"]:
            screen.print(safe(f"… of {note['total_lines']:,} lines", "dim"))
