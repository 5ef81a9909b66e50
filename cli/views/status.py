"""`status` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from cli.views import console, next_steps, pairs, rows_table, safe, size

if TYPE_CHECKING:
    from cli.answer import Answer


def overview(answer: Answer) -> None:
    """Whether all is well, then what there is."""
    result: Any = answer.result
    screen = console()
    screen.print(safe("healthy", "bold green") if result["healthy"] else safe("something is wrong", "bold red"))
    for problem in result["problems"]:
        screen.print(Text.assemble(("  ✗ ", "red"), safe(problem["message"]), "\n    → ", safe(problem["fix"], "cyan")))
    store, sessions, events = result["store"], result["sessions"], result["events"]
    newest = sessions["newest"]
    screen.print(
        pairs(
            {
                "joelclaw": f"{result['version']} (python {result['python']}, sqlite {result['sqlite']}, "
                f"sqlite-vec {result['sqliteVec'] or 'missing'})",
                "home": result["home"],
                "store": f"{size(store['bytes'])} + {size(store['walBytes'])} log, schema {store['schema']}"
                if store["exists"]
                else "none yet",
                **_cluster(store),
                "sessions": f"{sessions['count']}, {sessions['damaged']} damaged"
                + (f", newest {newest['at']}" if newest else ""),
                "events": f"{events['total']:,}, {events['errors24h']:,} errors in 24 h",
                "embedding": f"{result['embedding']['space']}, {size(result['embedding']['bytes'])}",
                "extras": ", ".join(f"{name} {version or '–'}" for name, version in result["extras"].items()),
                **({"settings": result["config"]["changed"]} if result["config"]["changed"] else {}),
            }
        )
    )
    screen.print()
    screen.print(rows_table([{"memories": name, **counts} for name, counts in result["counts"].items()]))
    if events["last"]:
        screen.print()
        screen.print(rows_table(events["last"]))
    next_steps(answer, screen)


def _cluster(store: dict[str, Any]) -> dict[str, object]:
    """What waits for the cluster, where there is one."""
    waiting = store.get("waiting")
    if waiting is None:
        return {} if store["backend"] == "sqlite" else {"cluster": "not prepared"}
    count = waiting["documents"] + waiting["events"]
    since = f", the oldest since {waiting['oldest']}" if count and waiting["oldest"] else ""
    return {"cluster": f"{store['backend']} answers; {count:,} waiting{since}; carried at {waiting['syncedAt'] or '–'}"}
