"""`checkpoint` and `inject` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.panel import Panel
from rich.text import Text

from cli.recall.view import age
from cli.terminal import console, next_steps, pairs, rows_table, safe, size
from core import clock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.answer import Answer

_ZONES = {"cold": "blue", "warm": "yellow", "hot": "red", "unknown": "dim"}
_BAR = 20
_WHY = {
    "below-warm": "the context is not warm yet",
    "percent-unknown": "the context usage is not known",
    "unchanged": "the task has not changed",
    "in-flight": "another hook is at it",
    "no-task": "no user message yet",
    "query-too-short": "the messages are too short to search for",
    "cached": "the cache has memories",
    "not-hot": "the context is not hot yet",
    "failed": "the store could not be used",
    "rapid-recompaction": "the last injection is less than the cooldown ago",
    "no-checkpoint": "nothing is known of this session",
    "already-injected": "this session has had its memories",
    "no-results": "no memory bears on it",
    "not-due": "a refresh is not due",
    "no-seed": "the messages hold no topic to recall for",
    "no-scope": "the file belongs to no package and no configured scope",
}


def save(answer: Answer) -> None:
    """What a turn or a flush did: the gauge, what was recalled and remembered or why not, task and files."""
    result: Any = answer.result
    screen = console()
    screen.print(_gauge(result["percent"], result["zone"]))
    recalled = f"{result['hits']} memories" if result["recalled"] else _why(result["recallReason"])
    written = result["memoryId"] if result["written"] else _why(result["writeReason"])
    rows: dict[str, object] = {
        "session": result["sessionId"],
        "entered": result["entered"],
        "recalled": recalled,
        "remembered": written,
        "task": result["currentTask"],
        "files": result["filesModified"],
        "compactions": result["compactionCount"],
        "took": f"{result['ms']:.1f} ms",
    }
    screen.print(pairs({name: value for name, value in rows.items() if value not in ("", [])}))
    _odd(result, screen.print)
    next_steps(answer, screen)


def show(answer: Answer) -> None:
    """One session: its checkpoint first, then the cache and the counts."""
    state: Any = answer.result
    screen = console()
    checkpoint = state["checkpoint"]
    zone = "hot" if state["hotZoneEntered"] else "warm" if state["warmZoneEntered"] else "cold"
    screen.print(_gauge(checkpoint["contextPercentAtCapture"], zone))
    now = clock.now_ms()
    rows: dict[str, object] = {
        "session": f"{state['sessionId']} ({state['role']})",
        "task": checkpoint["currentTask"],
        "files": checkpoint["filesModified"],
        "compactions": checkpoint["compactionCount"],
        "started": age(clock.iso(state["startedAt"]), now),
        "updated": age(clock.iso(state["updatedAt"]), now),
        "counts": state["counts"],
        "injected": list(state["injectedKinds"]) + state["injectedScopes"],
    }
    screen.print(pairs({name: value for name, value in rows.items() if value not in ("", [])}))
    for recalled in state["recallCache"]:
        screen.print()
        screen.print(Text.assemble(("recalled ", "bold cyan"), safe(recalled["query"])))
        for hit in recalled["hits"]:
            screen.print(Text.assemble((f"  {hit['score']:.2f} ", "green"), safe(hit["text"])))
    next_steps(answer, screen)


def list_(answer: Answer) -> None:
    """All sessions, newest first."""
    result: Any = answer.result
    screen = console()
    if not result["sessions"]:
        screen.print(safe("No session has a checkpoint yet.", "yellow"))
        return
    now = clock.now_ms()
    rows = [
        {
            "session": entry["sessionId"],
            "role": entry["role"],
            "task": entry.get("problem") or entry["task"][:60],
            "percent": entry["percent"],
            "compactions": entry["compactionCount"],
            "updated": age(clock.iso(entry["updatedAt"]), now) if entry["updatedAt"] else "",
            "size": size(entry["bytes"]),
        }
        for entry in result["sessions"]
    ]
    screen.print(rows_table(rows))
    next_steps(answer, screen)


def clear(answer: Answer) -> None:
    """That the state is gone."""
    result: Any = answer.result
    console().print(safe(f"Forgot the state of {result['sessionId']}; its memories stay.", "green"))


def injection(answer: Answer) -> None:
    """The text for the agent in a box, or why there is none."""
    result: Any = answer.result
    screen = console()
    if result["injected"]:
        title = f"{result['customType']} · {result['estimatedTokens']} tokens"
        screen.print(Panel(safe(result["content"]), title=safe(title, "bold"), border_style="cyan", expand=False))
    else:
        screen.print(safe(f"Nothing injected: {_why(result['reason'])}.", "yellow"))
    _odd(result, screen.print)
    next_steps(answer, screen)


def _why(reason: str) -> str:
    return _WHY.get(reason, reason)


def _gauge(percent: float | None, zone: str) -> Text:
    """The context usage as a bar in the colour of its zone."""
    colour = _ZONES[zone]
    if percent is None:
        return Text("context usage unknown", style="dim")
    filled = round(min(100.0, percent) / 100 * _BAR)
    return Text.assemble(("█" * filled, colour), ("░" * (_BAR - filled), "dim"), f" {percent:.0f} %  ", (zone, colour))


def _odd(result: Mapping[str, Any], write: Any) -> None:
    """What did not go as it should."""
    if result.get("setAside"):
        write(safe(f"A damaged state file was set aside: {result['setAside']}", "yellow"))
    for name in result:
        if name.endswith("Error"):
            write(safe(f"{name}: {result[name]['message']} ({result[name]['code']})", "red"))
