"""`memory …` on a terminal, where it is more than names and values."""

from __future__ import annotations

from typing import Any

from rich.padding import Padding
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, safe, told

_VERDICTS = {"allow": "green", "hold": "yellow", "discard": "dim"}
_TEXTS = ("observation", "text", "place")
"""What of an answer says what the memory says."""
_OWN_TAGS = ("pinned", "stale")
"""Tags that are told by a word of their own."""


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


def listed(answer: Answer) -> None:
    """Of each memory a line with what is known of it, id first, and its text."""
    screen = console()
    result: Any = answer.result
    if not result["memories"]:
        screen.print(safe("no memory is like that", "yellow"))
    for row in result["memories"]:
        line = safe(row["id"], "bold")
        for value, style in ((row["at"][:10], ""), (row["category"], "cyan"), (_about(row), "dim")):
            if value:
                line.append("  ").append_text(safe(value, style))
        screen.print(line)
        style = "" if row["verdict"] == "allow" else _VERDICTS.get(row["verdict"], "")
        screen.print(Padding(safe(" ".join(row["observation"].split()), style), (0, 0, 1, 4)))
    first = (result["page"] - 1) * result["limit"]
    if result["count"]:
        screen.print(safe(f"{first + 1} to {first + result['count']} of {result['found']}", "dim"))
    next_steps(answer, screen)


def _about(row: dict[str, Any]) -> str:
    """What tells a memory from others, in a few words."""
    words = [row["verdict"] if row["verdict"] != "allow" else "", *(name for name in _OWN_TAGS if row[name])]
    words += ["forgotten" if row["forgotten"] else ""]
    words += [f"superseded by {row['supersededBy']}" if row["supersededBy"] else ""]
    words += [*(f"#{tag}" for tag in row["tags"] if tag not in _OWN_TAGS), row["project"]]
    return " · ".join(filter(None, words))
