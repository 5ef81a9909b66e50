"""Events on a terminal, one line each: newest first in a page, as they come in a live view."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.terminal import console, drawn, plain, rows_table, safe
from core import json_text

_STYLES = {"debug": "dim", "info": "green", "warn": "yellow", "error": "bold red", "fatal": "bold white on red"}


@drawn
def events(screen: Console, result: Any) -> None:
    """A page of events, and how they spread over levels, sources and components; or those of one session or machine."""
    found = result["events"] if "events" in result else result["hits"]
    live(found)
    if found:
        first = (result.get("page", 1) - 1) * result["limit"] + 1
        screen.print(safe(f"\n{first} to {first + len(found) - 1} of {result['found']:,}\n", "dim"))
    else:
        screen.print(safe("No event matches. Earlier ones: --hours 168", "yellow"))
    _print_facets(result.get("facets", ()))


@drawn
def stats(screen: Console, result: Any) -> None:
    """How many events and errors there are, and what they are of."""
    whole, recent = (f"{one['total']:,}, errors: {one['errors']:,}" for one in (result, result["recent15m"]))
    screen.print(f"Events in the last {result['windowHours']} h: {whole}; in the last 15 minutes: {recent}\n")
    _print_facets(result["facets"])


def _print_facets(facets: Iterable[Any]) -> None:
    rows = [
        {"flag": "" if place else f"--{facet['field_name']}", "value": one["value"], "events": one["count"]}
        for facet in facets
        for place, one in enumerate(facet["counts"][:8])
    ]
    if rows:
        console().print(rows_table(rows))


def live(found: Iterable[Mapping[str, Any]]) -> None:
    """Print events as they come: of ours what happened, in words; of others' the name, and what they hold."""
    screen = console()
    for event in found:
        level, said = event["level"], _in_words(event)
        metadata = " ".join(f"{key}={_value(value)}" for key, value in event["metadata"].items())
        about = "" if said else f"  {event['component']}  {metadata}"
        line = Text.assemble(
            safe(f"{plain(event['ts'])}  ", "dim"),
            safe("" if level == "info" else f"{level} ", _STYLES.get(level, "")),
            safe(said or event["action"], "" if event["success"] else "bold red"),
            safe(f"  {event['error']}".replace("\n", " ") if event["error"] else "", "red"),
            safe("" if event["duration_ms"] is None else f"  {event['duration_ms']:,.0f} ms", "magenta"),
            safe(about, "dim"),
        )
        screen.print(line)


def _in_words(event: Mapping[str, Any]) -> str:
    """What happened in the words of `in_words.json`, the first whose figures the event has; "" of others' events."""
    for words in _forms().get(event["action"].removeprefix("gateway."), ()):
        with suppress(KeyError, TypeError, ValueError):
            return str(words.format_map({key: one for key, one in event["metadata"].items() if one not in (None, "")}))
    return ""


@cache
def _forms() -> dict[str, list[str]]:
    with open(os.path.join(os.path.dirname(__file__), "in_words.json"), encoding="utf-8") as file:
        found: dict[str, list[str]] = json_text.loads(file.read())
    return found


def _value(value: object) -> str:
    text = (value if isinstance(value, str) else json_text.dumps(value)).replace("\n", " ")
    return text if len(text) <= 80 else text[:79] + "…"
