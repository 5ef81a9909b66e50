"""`checkpoint list` and `show`, `inject` and `lost` on a terminal."""

from typing import Any

from rich.console import Console
from rich.panel import Panel

from cli.answer import Answer
from cli.recall.view import age
from cli.session.lost import text_of
from cli.terminal import console, drawn, next_steps, rows_table, safe, told
from core import clock, ids

_CHOSEN = {
    "project": "This is the session last compacted in this folder's project.",
    "last": "No session of this project was compacted; showing the most recent one of any project.",
}


@drawn
def list_(screen: Console, result: Any) -> None:
    """All sessions, newest first."""
    now = clock.now_ms()
    if not result["sessions"]:
        screen.print(safe("No session has a checkpoint yet.", "yellow"))
        return
    rows = [
        {
            **entry,
            "sessionId": ids.shown(entry["sessionId"]),
            "task": entry.get("problem") or entry["task"][:60],
            "updatedAt": age(clock.iso(entry["updatedAt"]), now) if entry["updatedAt"] else "",
        }
        for entry in result["sessions"]
    ]
    screen.print(rows_table(rows))


def show(answer: Answer) -> None:
    """What is known of one session, without what only tells one task from the next."""
    told(answer, without=("version", "taskHash", "recalledHash", "writtenHash", "messages"))


@drawn
def injection(screen: Console, result: Any) -> None:
    """The text for the agent in a box, or why there is none."""
    if result["injected"]:
        title = f"{result['customType']} · {result['estimatedTokens']} tokens"
        screen.print(Panel(safe(result["content"]), title=safe(title, "bold"), border_style="cyan", expand=False))
    else:
        screen.print(safe(f"Nothing injected: {result['reason']}.", "yellow"))
    for name, fault in result.items():
        if name.endswith("Error"):
            screen.print(safe(f"{name}: {fault['message']} ({fault['code']})", "red"))


def lost(answer: Answer) -> None:
    """What a compaction dropped: the best of it in 25 rows, or what was asked for as `--raw` prints it."""
    result: Any = answer.result
    screen = console()
    for line in answer.said.splitlines():
        screen.print(safe(line), no_wrap=True, overflow="ellipsis")
    if not answer.said:
        screen.print(safe(text_of(result)), soft_wrap=True)  # a command that is broken cannot be copied
    if result["chosen"] in _CHOSEN:
        screen.print(safe(f"{_CHOSEN[result['chosen']]} For another: joelclaw lost ID", "dim"))
    next_steps(answer, screen)
