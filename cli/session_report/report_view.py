"""`joelclaw report` on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from cli.terminal import console, next_steps, pairs, plain, rows_table, safe
from core.quoting import clip
from session.session_report.page import ms, share, when

if TYPE_CHECKING:
    from rich.console import Console

    from cli.answer import Answer

_BAD = ("late", "failed", "degraded")
_ERROR_CHARS = 100


def report(answer: Answer) -> None:
    """The figures, then what hooks cost by client and event, injections by kind, and the last errors."""
    result: Any = answer.result
    screen = console()
    hooks, recalls, given = result["hooks"], result["recalls"], result["injections"]
    feedback, errors = result["feedback"], result["errors"]
    bad = ", ".join(f"{plain(hooks[name])} {name}" for name in _BAD if hooks[name]) or "none late or failed"
    screen.print(safe(f"last {result['hours']:g} hours", "bold"))
    screen.print(
        pairs(
            {
                "sessions": f"{plain(result['sessions'])}, {plain(result['compactions'])} compactions",
                "hooks": f"{plain(hooks['count'])}, {bad}; {ms(hooks['p50'])} median, {ms(hooks['p95'])} in 95 of 100",
                "injections": f"{plain(given['count'])}, {plain(given['tokens'])} tokens",
                "hit rate": f"{share(recalls['hitRate'])}, {recalls['withHits']} of {recalls['count']} recalls",
                "echo rate": f"{share(feedback['echoRate'])}, {feedback['echo']} of {feedback['judged']} judged",
                "errors": safe(errors["total"], "bold red" if errors["total"] else ""),
            }
        )
    )
    _hooks(screen, hooks["byEvent"])
    if given["byType"]:
        screen.print()
        screen.print(rows_table(given["byType"], ("customType", "count", "memories", "tokens")))
    if errors["latest"]:
        screen.print()
        rows = [
            {"last at (UTC)": when(one["at"]), "event": one["action"], "times": one["count"],
             "error": clip(" ".join(one["error"].split()), _ERROR_CHARS)}
            for one in errors["latest"]
        ]  # fmt: skip
        screen.print(rows_table(rows))
    next_steps(answer, screen)


def _hooks(screen: Console, rows: Any) -> None:
    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("client", "event"):
        table.add_column(name)
    for name in ("hooks", "median", "95 %", "longest", "together", "not ok"):
        table.add_column(name, justify="right")
    for one in rows:
        bad = ", ".join(f"{plain(one[name])} {name}" for name in _BAD if one[name])
        table.add_row(
            safe(one["client"] or "–"), safe(one["event"] or "not read"), safe(one["count"]), ms(one["p50"]),
            ms(one["p95"]), ms(one["max"]), ms(one["totalMs"]), safe(bad or "–", "red" if bad else "dim"),
        )  # fmt: skip
    screen.print()
    screen.print(table)
