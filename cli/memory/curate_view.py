"""`memory list` and what changes one memory, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from cli.terminal import console, next_steps, pairs, safe

if TYPE_CHECKING:
    from cli.answer import Answer

_VERDICTS = {"allow": "", "hold": "yellow", "discard": "dim"}
_OWN_TAGS = ("pinned", "stale")
"""Tags that are told by a word of their own."""


def list_(answer: Answer) -> None:
    """Of each memory a line with what is known of it, id first, and its text."""
    screen = console()
    result: Any = answer.result
    if not result["memories"]:
        screen.print(safe("no memory is like that", "yellow"))
    for row in result["memories"]:
        line = Text().append_text(safe(row["id"], "bold"))
        for value, style in ((row["at"][:10], ""), (row["category"], "cyan"), (_about(row), "dim")):
            if value:
                line.append("  ")
                line.append_text(safe(value, style))
        screen.print(line)
        text = safe(" ".join(row["observation"].split()), _VERDICTS.get(row["verdict"], ""))
        screen.print(Padding(text, (0, 0, 1, 4)))
    first = (result["page"] - 1) * result["limit"]
    if result["count"]:
        screen.print(safe(f"{first + 1} to {first + result['count']} of {result['found']}", "dim"))
    next_steps(answer, screen)


def _about(row: dict[str, Any]) -> str:
    """What tells a memory from others, in a few words."""
    words = [row["verdict"]] if row["verdict"] != "allow" else []
    words += [name for name in _OWN_TAGS if row[name]]
    if row["forgotten"]:
        words.append("forgotten")
    if row["supersededBy"]:
        words.append(f"superseded by {row['supersededBy']}")
    words += [f"#{tag}" for tag in row["tags"] if tag not in _OWN_TAGS]
    if row["project"]:
        words.append(row["project"])
    return " · ".join(words)


def changed(answer: Answer) -> None:
    """The memory as it is now."""
    screen = console()
    result: Any = answer.result
    screen.print(safe(result["observation"]))
    rows: dict[str, object] = {"id": result["id"]}
    if not result["changed"]:
        rows["changed"] = safe("nothing: it was so before", "dim")
    if "superseded" in result:
        rows["instead of"] = result["superseded"]["observation"]
    if result.get("before", result["observation"]) != result["observation"]:
        rows["it said"] = result["before"]
    if result.get("merged"):
        rows["merged"] = "a memory said so already: it took the place"
    if result.get("takenOut"):
        rows["forgotten"] = result["takenOut"]
    if result["verdict"] != "allow":
        rows["gate"] = safe(f"{result['verdict']}: {result.get('reason', '')}", "bold yellow")
    if result.get("hint"):
        rows["hint"] = safe(result["hint"], "bold yellow")
    rows["category"] = result["category"]
    rows["tags"] = result["tags"]
    if result.get("redacted"):
        rows["redacted"] = safe(", ".join(result["redacted"]), "bold yellow")
    screen.print(pairs(rows))
    next_steps(answer, screen)
