"""`store init` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.views import console, next_steps, pairs, rows_table, safe

if TYPE_CHECKING:
    from cli.answer import Answer


def initialised(answer: Answer) -> None:
    """What was made, and what was there."""
    result: Any = answer.result
    screen = console()
    screen.print(safe("the cluster is ready" if result["changed"] else "nothing to change", "bold green"))
    screen.print(pairs({"nodes": result["nodes"], "schema": result["schema"], "backend in force": result["backend"]}))
    screen.print()
    rows = [
        {
            "collection": one["collection"],
            "done": "created" if one["created"] else "fields added" if one["addedFields"] else "was there",
            "fields": one["addedFields"],
            "documents": one["documents"],
        }
        for one in result["collections"]
    ]
    screen.print(rows_table(rows))
    if result["backend"] != "typesense":
        screen.print(safe('\nrecall still reads the local file: set backend = "typesense" in the table [store]', "dim"))
    next_steps(answer, screen)
