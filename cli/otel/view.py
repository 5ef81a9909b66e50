"""Events on a terminal: one line each, oldest at the top in a live view, newest at the top in a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from cli.terminal import console, next_steps, pairs, rows_table, safe, size
from core import json_text
from otel import search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cli.answer import Answer
    from core.records import Event


_STYLES = {"debug": "dim", "info": "green", "warn": "yellow", "error": "bold red", "fatal": "bold white on red"}
_BAR = 20


def emitted(answer: Answer) -> None:
    """The event that was recorded, or why it was not."""
    result: Any = answer.result
    screen = console()
    screen.print(_line(search.shown(result)))
    if not result["stored"]:
        why = {
            "duplicate-id": "An event with this id is stored already.",
            "debug-noise": "Not stored: too many debug events of this kind within a minute.",
        }
        screen.print(safe(why.get(result["reason"], result["reason"]), "yellow"))
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
        last = first + len(result["events"]) - 1
        screen.print(safe(f"\n{first} to {last} of {result['found']:,}", "dim"))
        _print_facets(result["facets"])
    next_steps(answer, screen)


def stats(answer: Answer) -> None:
    """Events and errors in the window and in the last 15 minutes, and what they are of."""
    result: Any = answer.result
    screen = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in ("events", "errors", "error rate"):
        table.add_column(name, justify="right")
    for name, rates in ((f"last {result['windowHours']:g} h", result), ("last 15 min", result["recent15m"])):
        style = "bold red" if rates["errors"] else "green"
        table.add_row(
            name, safe(rates["total"]), safe(rates["errors"], style), safe(f"{rates['errorRate']:.1%}", style)
        )
    screen.print(table)
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
    style = _STYLES.get(event["level"], "")
    line = Text()
    line.append_text(safe(event["ts"].replace("T", " ").rstrip("Z") + " ", "dim"))
    line.append_text(safe(f"{event['level']:<5} ", style))
    line.append_text(safe(event["action"], "bold" if event["success"] else "bold red"))
    line.append_text(safe(f"  {event['source']}/{event['component']}", "cyan"))
    if event["duration_ms"] is not None:
        line.append_text(safe(f"  {event['duration_ms']:g} ms", "magenta"))
    if event["error"]:
        line.append_text(safe("  " + event["error"].replace("\n", " "), "red"))
    if event["metadata"]:
        shown = " ".join(f"{key}={_value(value)}" for key, value in event["metadata"].items())
        line.append_text(safe("  " + shown, "dim"))
    return line


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json_text.dumps(value)
    text = text.replace("\n", " ")
    return text if len(text) <= 80 else text[:79] + "…"


def _print_facets(facets: Sequence[Mapping[str, Any]]) -> None:
    """The values of each facet with a bar for each, relative to the most frequent."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    table.add_column(style="cyan")
    for facet in facets:
        for place, entry in enumerate(facet["counts"][:8]):
            length = max(1, round(_BAR * entry["count"] / facet["counts"][0]["count"]))
            name = "" if place else facet["field_name"]
            table.add_row(name, safe(entry["value"]), safe(entry["count"]), "█" * length)
    if table.row_count:
        screen = console()
        screen.print()
        screen.print(table)


def exported(answer: Answer) -> None:
    """What was sent where, what waits, or what was written."""
    result: Any = answer.result
    screen = console()
    if "file" in result:
        rows = {"written": result["file"], "events": result["events"], "size": size(result["bytes"])}
        screen.print(pairs(rows))
    elif "mode" in result:
        _status(result)
    elif result["disabled"]:
        screen.print(safe("Switched off: OTEL_SDK_DISABLED, or OTEL_*_EXPORTER=none.", "yellow"))
    else:
        screen.print(rows_table(result["destinations"], ("signal", "endpoint", "sent", "rejected", "waiting")))
        for one in result["destinations"]:
            if one.get("warning"):
                screen.print(safe(f"{one['signal']}: {one['warning']}", "yellow"))
    next_steps(answer, screen)


def imported(answer: Answer) -> None:
    """What became of the lines, and what is wrong with the bad ones."""
    result: Any = answer.result
    screen = console()
    names = {
        "lines": "lines",
        "records": "log records",
        "added": "added",
        "duplicates": "known before",
        "others": "spans and metrics",
        "failed": "bad",
    }
    screen.print(pairs({shown: result[name] for name, shown in names.items() if result[name] or name == "lines"}))
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


def _status(result: Mapping[str, Any]) -> None:
    screen = console()
    mode = "off" if result["disabled"] else result["mode"]
    screen.print(pairs({"otel.export": mode + (" (OTEL_SDK_DISABLED)" if result["disabled"] else "")}))
    if "problem" in result:
        screen.print(safe(f"{result['problem']['message']}\n  {result['problem']['fix']}", "bold red"))
    if result["destinations"]:
        names = ("signal", "endpoint", "waiting", "exported", "rejected", "lastExportAt")
        screen.print(rows_table(result["destinations"], names))
    for one in result["destinations"]:
        if one["lastError"]:
            again = f", next try {one['nextTryAt']}" if one["nextTryAt"] else ""
            screen.print(safe(f"{one['signal']}: {one['lastError']}{again}", "red"))
