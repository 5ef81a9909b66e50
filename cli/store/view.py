"""`store …`, `backup` and `restore` on a terminal."""

from __future__ import annotations

from typing import Any

from cli.answer import Answer
from cli.terminal import console, next_steps, pairs, plain, rows_table, safe, size

_NAMES = {"memories": "memories", "events": "events", "sessions": "sessions", "toolCalls": "tool calls"}


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


def pruned(answer: Answer) -> None:
    """What went, on a terminal."""
    screen = console()
    result: Any = answer.result
    events, room = result["events"], result["bytes"]
    counts = {
        "events by age": events["byAge"], "events by size": events["bySize"], "archived turns": result["episodes"],
        "tool calls": result["toolCalls"], "hooks and injected texts": result["hooksAndInjections"],
    }  # fmt: skip
    rows: dict[str, object] = {told: number for told, number in counts.items() if number}
    done = "would be dropped" if result["dryRun"] else "dropped"
    beyond = room["overLimit"]
    screen.print(safe(done if rows or (beyond and result["dryRun"]) else "nothing is old or too much", "bold"))
    if beyond:
        goes = ": debug events, then turns" if result["dryRun"] else ""
        rows["beyond retention.store_mb"] = f"{size(beyond)}{goes}"
    rows["the store"] = size(room["after"])
    if room["before"] > room["after"]:
        rows["given back"] = size(room["before"] - room["after"])
    screen.print(pairs(rows))
    next_steps(answer, screen)


def backed_up(answer: Answer) -> None:
    """Where the backup is, and what it holds."""
    screen = console()
    result: Any = answer.result
    screen.print(safe(f"backed up to {result['file']}", "bold green"))
    screen.print(pairs({"size": size(result["bytes"]), **_holds(result)}))
    next_steps(answer, screen)


def restored(answer: Answer) -> None:
    """What was verified, where it is now, and where what was there is kept."""
    screen = console()
    result: Any = answer.result
    done = f"restored to {result['home']}" if result["restored"] else "the backup is whole"
    screen.print(safe(done, "bold green"))
    rows: dict[str, object] = {"of": f"{result['createdAt'][:16].replace('T', ' ')}, joelclaw {result['joelclaw']}"}
    rows |= _holds(result)
    if result["keptAside"]:
        rows["kept aside"] = ", ".join(result["keptAside"])
    screen.print(pairs(rows))
    next_steps(answer, screen)


def _holds(result: dict[str, Any]) -> dict[str, object]:
    counts = result["counts"]
    return {"files": result["files"], **{told: counts[name] for name, told in _NAMES.items() if name in counts}}
