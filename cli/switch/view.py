"""`off`, `on` and `exclude` on a terminal."""

from __future__ import annotations

from typing import Any

from cli.answer import Answer
from cli.terminal import console, next_steps, rows_table, safe

_WHAT = {"everywhere": "everything", "project": "the project", "session": "the session"}
_CHOSEN = {"session": " (the one around this command)", "folder": " (that of this folder)"}


def switched(answer: Answer) -> None:
    """What is off or on now, and what still is off."""
    screen = console()
    result: Any = answer.result
    what = f"{_WHAT[result['scope']]} {result['name']}".strip() + _CHOSEN.get(result["chosenBy"], "")
    state = "off" if result["off"] else "on"
    screen.print(safe(f"{what} is {state}{'' if result['changed'] else ' already'}.", "green"))
    if result["off"]:
        screen.print(safe("Hooks inject, recall, archive and save nothing; recall and memory write still work.", "dim"))
    if result.get("setAside"):
        screen.print(safe(f"What was off before is not known: a damaged file is now {result['setAside']}", "yellow"))
    if result.get("stillOff"):
        screen.print(rows_table(result["stillOff"]))
    next_steps(answer, screen)


def excluded(answer: Answer) -> None:
    """The folder and what holds for it now; or all that are excluded."""
    screen = console()
    result: Any = answer.result
    if isinstance(result["excluded"], list):
        rows = [{"folder": path} for path in result["excluded"]]
        screen.print(rows_table(rows) if rows else safe("No folder is excluded.", "dim"))
        return
    now = "are not archived" if result["excluded"] else "are archived again"
    screen.print(safe(f"Sessions of {result['path']} and of the folders below {now}.", "green"))
    count = len(result["archivedBefore"])
    if count:
        told = "one session stays" if count == 1 else f"{count} sessions stay"
        screen.print(safe(f"What was archived before of {told} until you forget it.", "yellow"))
    next_steps(answer, screen)
