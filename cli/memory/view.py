"""`memory …` on a terminal, where it is more than names and values."""

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, drawn, plain, safe, told

_VERDICTS = {"allow": "green", "hold": "yellow", "discard": "dim"}
_TEXTS = ("observation", "text", "place")  # what of an answer says what the memory says


def memory(answer: Answer) -> None:
    """What a memory says, and what is known of it; of a tool call where it stands, and its lines that are kept."""
    screen = console()
    result: Any = answer.result
    said = next(name for name in _TEXTS if name in result)
    if "verdict" in result:
        screen.print(Text(f"[{result['verdict']}]", style=_VERDICTS.get(result["verdict"], "")), end=" ")
    screen.print(safe(result[said]))
    if result.get("hint"):
        screen.print(safe(result["hint"], "bold yellow"))
    told(answer, without=(*_TEXTS, "verdict", "hint"))


def archived(answer: Answer) -> None:
    """What became of session files; of those that are only there, the sentence."""
    told(answer, without=("history",))


@drawn
def recent(screen: Console, result: Any) -> None:
    """Of each observation a line: when, what it is about, its words."""
    for row in result["observations"]:
        verdict = "" if row["verdict"] == "allow" else f"  {row['verdict']}"
        line = safe(f"{plain(row['at'])[:16]}  {row['category']}{verdict}  ", "dim")
        screen.print(line.append_text(safe(" ".join(row["observation"].split()), _VERDICTS.get(verdict.strip(), ""))))
    if not result["observations"]:
        screen.print(safe(f"No observations in the last {result['hours']:g} hours.", "yellow"))


@drawn
def listed(screen: Console, result: Any) -> None:
    """Of each memory a line with what is known of it, id first, and its text."""
    for row in result["memories"]:
        verdict = "" if row["verdict"] == "allow" else row["verdict"]
        marks = [name for name in ("pinned", "stale", "forgotten") if row[name]]
        by = f"superseded by {row['supersededBy']}" if row["supersededBy"] else ""
        tags = [f"#{tag}" for tag in row["tags"] if tag not in marks]
        about = " · ".join(filter(None, [verdict, *marks, by, *tags, row["project"]]))
        rest = "  ".join(filter(None, [row["at"][:10], row["category"], about]))
        screen.print(safe(row["id"], "bold").append_text(safe("  " + rest, "dim")))
        text = safe(" ".join(row["observation"].split()), _VERDICTS.get(verdict, ""))
        screen.print(Padding(text, (0, 0, 1, 4)))
    first = (result["page"] - 1) * result["limit"]
    shown = f"{first + 1} to {first + result['count']} of {result['found']}"
    screen.print(safe(shown, "dim") if result["count"] else safe("No memory matches.", "yellow"))
