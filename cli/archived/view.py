"""Archived sessions on a terminal."""

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.recall.show import SPOKE
from cli.recall.view import bar
from cli.terminal import drawn, safe
from core import ids
from memory import sessions


@drawn
def search(screen: Console, result: Any) -> None:
    """Every session with its score, client, start, folder and what was found in it."""
    if "fallback" in result:
        screen.print(safe(f"{result['fallback']['from']}: {result['fallback']['reason']}", "yellow"))
    for rank, hit in enumerate(result["hits"], 1):
        screen.print(Text.assemble((f"{rank:>2}  ", "bold"), bar(hit["score"]), "  ", _heading(hit)))
        for text in hit["snippets"]:
            screen.print(Padding(safe(" ".join(text.split())), (0, 0, 1, 4)))
    screen.print(safe(f"{len(result['hits'])} of {result['found']} sessions found", "dim"))


@drawn
def extract(screen: Console, result: Any) -> None:
    """An extraction as its markdown."""
    made = result["extraction"]
    screen.print(safe(sessions.markdown(made)))
    if made["query"] and not made["matched"]:
        screen.print(safe(f"Nothing in this session matches {made['query'][:120]!r}: this is its beginning.", "yellow"))


@drawn
def inspect(screen: Console, result: Any) -> None:
    """Every match with the lines around it."""
    screen.print(_heading(result))
    if not result["matches"]:
        screen.print(safe(f"No line matches {result['around'][:120]!r}.", "yellow"))
    for match in result["matches"]:
        screen.print(safe(f"lines {match['startLine']} to {match['endLine']}", "bold"))
        for entry in match["entries"]:
            line = safe(f"{entry['line']:>5}  {SPOKE.get(entry['role'], entry['role']):<9}  ", "dim")
            style = "yellow" if entry["line"] == match["matchLine"] else ""
            screen.print(line.append_text(safe(" ".join(entry["text"].split()), style)))


def _heading(about: dict[str, Any]) -> Text:
    line = safe(ids.shown(about["sessionId"]), "bold cyan")
    return line.append_text(safe(f"  {about['client']}  {about['startedAt'][:16]}  {about['folder']}", "dim"))
