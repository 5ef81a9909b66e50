"""`backup` and `restore` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.terminal import console, next_steps, pairs, safe, size

if TYPE_CHECKING:
    from cli.answer import Answer

_NAMES = {"memories": "memories", "events": "events", "sessions": "sessions", "toolCalls": "tool calls"}


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
