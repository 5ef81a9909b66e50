"""Events on a terminal: one line each, oldest at the top in a live view, newest at the top in a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, pairs, rows_table, safe, size
from core import json_text
from core.records import Event
from otel import search

_STYLES = {"debug": "dim", "info": "green", "warn": "yellow", "error": "bold red", "fatal": "bold white on red"}
_WHY_NOT = {
    "duplicate-id": "An event with this id is stored already.",
    "debug-noise": "Not stored: too many debug events of this kind within a minute.",
}
_IMPORTED = {
    "lines": "lines", "records": "log records", "added": "added", "duplicates": "known before",
    "others": "spans and metrics", "failed": "bad",
}  # fmt: skip


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


def pruned(answer: Answer) -> None:
    """How many events were dropped and how many are left."""
    result: Any = answer.result
    screen = console()
    screen.print(pairs({"dropped": result["deleted"], "kept": result["kept"], "older than": result["before"]}))
    next_steps(answer, screen)


def live(found: Sequence[Event]) -> None:
    """Print events as they come, each on one line."""
    screen = console()
    for event in found:
        screen.print(_line(search.shown(event)))


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


def exported(answer: Answer) -> None:
    """What was sent where, what waits, or what was written."""
    result: Any = answer.result
    screen = console()
    if "file" in result:
        screen.print(pairs({"written": result["file"], "events": result["events"], "size": size(result["bytes"])}))
    elif "mode" in result:
        screen.print(pairs({"otel.export": "off (OTEL_SDK_DISABLED)" if result["disabled"] else result["mode"]}))
        if "problem" in result:
            screen.print(safe(f"{result['problem']['message']}\n  {result['problem']['fix']}", "bold red"))
        if result["destinations"]:
            names = ("signal", "endpoint", "waiting", "exported", "rejected", "lastExportAt")
            screen.print(rows_table(result["destinations"], names))
    elif result["disabled"]:
        screen.print(safe("Switched off: OTEL_SDK_DISABLED, or OTEL_*_EXPORTER=none.", "yellow"))
    else:
        screen.print(rows_table(result["destinations"], ("signal", "endpoint", "sent", "rejected", "waiting")))
    for one in result.get("destinations", ()):
        said = one.get("warning") or one.get("lastError")
        if said:
            again = f", next try {one['nextTryAt']}" if one.get("nextTryAt") else ""
            screen.print(safe(f"{one['signal']}: {said}{again}", "yellow"))
    next_steps(answer, screen)


def imported(answer: Answer) -> None:
    """What became of the lines, and what is wrong with the bad ones."""
    result: Any = answer.result
    screen = console()
    screen.print(pairs({shown: result[name] for name, shown in _IMPORTED.items() if result[name] or name == "lines"}))
    if result["errors"]:
        screen.print(rows_table(result["errors"], ("line", "reason")))
    next_steps(answer, screen)


def live_export(row: Mapping[str, Any]) -> None:
    """One line of `--follow`."""
    screen = console()
    if row.get("following"):
        places = ", ".join(one["endpoint"] for one in row["destinations"])
        screen.print(safe(f"sending to {places}; Ctrl-C ends it", "dim"))
    elif row.get("error"):
        screen.print(safe(f"{row['ts']}  {row.get('signal', '')}  {row['error']}", "bold red"))
    else:
        screen.print(safe(f"{row['ts']}  {row['signal']:<7}  {row['sent']:,} sent  {row['endpoint']}"))
