"""Events on a terminal, one line each: newest first in a page, as they come in a live view."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, drawn, rows_table, safe, told
from core import json_text

_STYLES = {"debug": "dim", "info": "green", "warn": "yellow", "error": "bold red", "fatal": "bold white on red"}


@drawn
def events(screen: Console, result: Any) -> None:
    """A page of events, and how they spread over levels, sources and components."""
    if not result["events"]:
        screen.print(safe(f"No events ({result['filterBy']}).", "yellow"))
    live(result["events"])
    if result["events"]:
        first = (result["page"] - 1) * result["limit"] + 1
        screen.print(safe(f"\n{first} to {first + len(result['events']) - 1} of {result['found']:,}\n", "dim"))
    _print_facets(result)


def stats(answer: Answer) -> None:
    """How many events and errors there are, and what they are of."""
    _print_facets(answer.result)
    told(answer, without=("facets",))


def _print_facets(result: Any) -> None:
    rows = [
        {"": "" if place else facet["field_name"], "value": one["value"], "events": one["count"]}
        for facet in result["facets"]
        for place, one in enumerate(facet["counts"][:8])
    ]
    if rows:
        console().print(rows_table(rows))


def live(found: Iterable[Mapping[str, Any]]) -> None:
    """Print events as they come."""
    screen = console()
    for event in found:
        duration = f"  {event['duration_ms']:g} ms" if event["duration_ms"] is not None else ""
        metadata = " ".join(f"{key}={_value(value)}" for key, value in event["metadata"].items())
        line = Text.assemble(
            safe(event["ts"].replace("T", " ").rstrip("Z") + " ", "dim"),
            safe(f"{event['level']:<5} ", _STYLES.get(event["level"], "")),
            safe(event["action"], "bold" if event["success"] else "bold red"),
            safe(f"  {event['source']}/{event['component']}", "cyan"),
            safe(duration, "magenta"),
            safe("  " + event["error"].replace("\n", " ") if event["error"] else "", "red"),
            safe("  " + metadata if metadata else "", "dim"),
        )
        screen.print(line)


def _value(value: object) -> str:
    text = (value if isinstance(value, str) else json_text.dumps(value)).replace("\n", " ")
    return text if len(text) <= 80 else text[:79] + "…"
