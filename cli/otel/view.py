"""Events on a terminal: one line each, oldest at the top in a live view, newest at the top in a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, rows_table, safe
from core import json_text
from otel import search

_STYLES = {"debug": "dim", "info": "green", "warn": "yellow", "error": "bold red", "fatal": "bold white on red"}
_WHY_NOT = {
    "duplicate-id": "An event with this id is stored already.",
    "debug-noise": "Not stored: too many debug events of this kind within a minute.",
}


def emitted(answer: Answer) -> None:
    """The event that was recorded, or why it was not."""
    result: Any = answer.result
    screen = console()
    screen.print(_line(search.shown(result)))
    if not result["stored"]:
        screen.print(safe(_WHY_NOT[result["reason"]], "yellow"))
    if result.get("ignored"):
        screen.print(safe("Keys that mean nothing here: " + ", ".join(result["ignored"]), "yellow"))
    next_steps(answer, screen)


def events(answer: Answer) -> None:
    """A page of events, newest first, and how they spread over levels, sources and components."""
    result: Any = answer.result
    screen = console()
    if not result["events"]:
        screen.print(safe(f"No events ({result['filterBy']}).", "yellow"))
    for event in result["events"]:
        screen.print(_line(event))
    if result["events"]:
        first = (result["page"] - 1) * result["limit"] + 1
        screen.print(safe(f"\n{first} to {first + len(result['events']) - 1} of {result['found']:,}", "dim"))
        _print_facets(result["facets"])
    next_steps(answer, screen)


def stats(answer: Answer) -> None:
    """Events and errors in the window and in the last 15 minutes, and what they are of."""
    result: Any = answer.result
    screen = console()
    windows = {f"last {result['windowHours']:g} h": result, "last 15 min": result["recent15m"]}
    rows = [
        {"": name, "events": one["total"], "errors": one["errors"], "error rate": f"{one['errorRate']:.1%}"}
        for name, one in windows.items()
    ]
    screen.print(rows_table(rows))
    _print_facets(result["facets"])
    next_steps(answer, screen)


def live(event: Mapping[str, Any]) -> None:
    """Print an event on one line."""
    console().print(_line(event))


def _line(event: Mapping[str, Any]) -> Text:
    duration = f"  {event['duration_ms']:g} ms" if event["duration_ms"] is not None else ""
    metadata = " ".join(f"{key}={_value(value)}" for key, value in event["metadata"].items())
    return Text.assemble(
        safe(event["ts"].replace("T", " ").rstrip("Z") + " ", "dim"),
        safe(f"{event['level']:<5} ", _STYLES.get(event["level"], "")),
        safe(event["action"], "bold" if event["success"] else "bold red"),
        safe(f"  {event['source']}/{event['component']}", "cyan"),
        safe(duration, "magenta"),
        safe("  " + event["error"].replace("\n", " ") if event["error"] else "", "red"),
        safe("  " + metadata if metadata else "", "dim"),
    )


def _value(value: object) -> str:
    text = (value if isinstance(value, str) else json_text.dumps(value)).replace("\n", " ")
    return text if len(text) <= 80 else text[:79] + "…"


def _print_facets(facets: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        {"": "" if place else facet["field_name"], "value": one["value"], "events": one["count"]}
        for facet in facets
        for place, one in enumerate(facet["counts"][:8])
    ]
    if rows:
        console().print()
        console().print(rows_table(rows))
