"""`store …` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.terminal import console, next_steps, pairs, plain, rows_table, safe

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


def sync(answer: Answer) -> None:
    """What was moved both ways, and what still waits."""
    screen = console()
    result: Any = answer.result
    rows: dict[str, object] = {"sent": result["sent"], "received": result["received"]}
    if result["refused"]:
        rows["refused"] = safe(f"{plain(result['refused'])}: {result['waiting']['refusal']}", "bold yellow")
    screen.print(pairs(rows))
    _waiting(result["waiting"], screen)
    next_steps(answer, screen)


def moved(answer: Answer) -> None:
    """What a push or a pull moved."""
    screen = console()
    result: Any = answer.result
    names = ("sent", "received", "events", "refused", "left")
    done = {name: result[name] for name in names if result.get(name)}
    screen.print(pairs(done or {"moved": "nothing: all is there"}))
    _waiting(result["waiting"], screen)
    next_steps(answer, screen)


def verified(answer: Answer) -> None:
    """Both sides, and where they differ."""
    screen = console()
    result: Any = answer.result
    if result["same"]:
        screen.print(safe("both sides hold the same", "bold green"))
    else:
        screen.print(safe("the sides differ", "bold red"))
    rows = [{"collection": name, **counts} for name, counts in result["collections"].items()]
    rows.append({"collection": "events", **result["events"]})
    screen.print(rows_table(rows, ("collection", "here", "there", "same", "different", "missingThere")))
    if result["differences"]:
        screen.print()
        screen.print(rows_table(result["differences"]))
    _waiting(result["waiting"], screen)
    next_steps(answer, screen)


def watched(value: dict[str, Any]) -> None:
    """One line of `store sync --watch`."""
    if "error" in value:
        console().print(safe(value["ts"][11:19], "dim"), safe(value["error"], "bold red"))
    elif "ts" in value:
        said = f"sent {plain(value['sent'])}, received {plain(value['received'])}"
        console().print(safe(value["ts"][11:19], "dim"), safe(said))
    else:
        console().print(safe("watching; Ctrl-C ends it", "dim"))


def _waiting(found: dict[str, Any], screen: Any) -> None:
    if found["documents"] or found["events"] or found["error"]:
        shown = {name: found[name] for name in ("documents", "events", "oldest", "error", "nextTry") if found[name]}
        screen.print(safe("waiting", "bold yellow"))
        screen.print(pairs(shown))
