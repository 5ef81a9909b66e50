"""The export and the import of events on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.views import console, next_steps, pairs, rows_table, safe, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.answer import Answer


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


def live(row: Mapping[str, Any]) -> None:
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
