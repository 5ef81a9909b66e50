"""`recall` on a terminal: the hits, best first."""

from __future__ import annotations

from typing import Any

from rich.padding import Padding
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, safe
from core import clock

_BAR = 10
_TEXT_LIMIT = 600


def hits(answer: Answer) -> None:
    """Rank, score, category, age and origin of every hit, and its text; then what was left out and why."""
    result: Any = answer.result
    screen = console()
    now = clock.now_ms()
    if not result["hits"]:
        screen.print(safe(f"Nothing bears on {result['query'][:120]!r}.", "yellow"))
    for rank, hit in enumerate(result["hits"], 1):
        screen.print(_heading(rank, hit, now))
        where, text = _placed(hit)
        if where:
            screen.print(Padding(safe(where, "bold"), (0, 0, 0, 4)))
        shown = text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"
        if hit.get("title"):
            screen.print(Padding(safe(hit["title"], "bold"), (0, 0, 0, 4)))
        screen.print(Padding(safe(shown), (0, 0, 1, 4)))
    screen.print(_footer(result))
    if result.get("preferredProject"):
        screen.print(safe(f"Hits of {result['preferredProject']} go first; --everywhere treats all alike.", "dim"))
    if "fallback" in result:
        screen.print(safe(f"The cluster was not asked or gave no answer: {result['fallback']['reason']}", "yellow"))
    if "explanation" in result:
        from cli.recall import explain_view

        explain_view.explanation(screen, result["explanation"])
        next_steps(answer, screen)
        return
    for dropped in result.get("droppedDiagnostics", []):
        reasons = ", ".join(dropped["reasons"])
        screen.print(safe(f"  left out ({reasons}): {dropped['observation'][:100]}", "dim"))
    next_steps(answer, screen)


def everywhere(answer: Answer) -> None:
    """Every hit with its collection, title and snippet; then what was counted."""
    result: Any = answer.result
    screen = console()
    if not result["hits"]:
        screen.print(safe(f"Nothing bears on {result['query'][:120]!r}.", "yellow"))
    for hit in result["hits"]:
        line = Text()
        line.append_text(safe(f"{hit['collection']:<20}", "magenta"))
        if hit["score"] is not None:
            line.append_text(bar(hit["score"]))
        line.append_text(safe(f"  {hit['title']}", "bold"))
        screen.print(line)
        screen.print(Padding(safe(" ".join(hit["snippet"].split())), (0, 0, 1, 4)))
    for name, counts in result.get("facets", {}).items():
        shown = ", ".join(f"{one['value']} {one['count']}" for one in counts)
        screen.print(safe(f"{name}: {shown or '–'}", "dim"))
    screen.print(safe(f"{len(result['hits'])} of {result['totalFound']} found", "dim"))
    next_steps(answer, screen)


def _placed(hit: dict[str, Any]) -> tuple[str, str]:
    """The place of a tool call, and the passage in it; no place of a memory."""
    text = str(hit["observation"])
    if hit["collection"] != "calls" or "): " not in text:
        return "", text
    where, _, passage = text.partition("): ")
    return where + ")", passage


def bar(score: float) -> Text:
    """A score from 0 to 1 as ten cells and two digits."""
    filled = round(min(1.0, max(0.0, score)) * _BAR)
    return Text.assemble(("█" * filled, "green"), ("░" * (_BAR - filled), "dim"), f" {score:.2f}")


def age(timestamp: str, now: int) -> str:
    """How long ago an ISO 8601 time was, in its largest unit; empty where it is unknown."""
    at = clock.parse_iso(timestamp)
    if at is None:
        return ""
    minutes = max(0, now - at) // 60_000
    for unit, length in (("y", 525_960), ("mo", 43_830), ("d", 1440), ("h", 60), ("min", 1)):
        if minutes >= length:
            return f"{minutes // length} {unit} ago"
    return "now"


def _heading(rank: int, hit: dict[str, Any], now: int) -> Text:
    line = Text.assemble((f"{rank:>2}  ", "bold"), bar(hit["score"]))
    parts = (
        (hit["categoryId"].removeprefix("jc:"), "cyan"),
        (hit["collection"] if hit["collection"] != "observations" else "", "magenta"),
        (age(hit["timestamp"], now), ""),
        (hit["origin"], "blue"),
        (hit["source"] if hit["source"] != hit["origin"] else "", "dim"),
        (hit["path"] if hit["collection"] not in ("calls", "knowledge") else "", "dim"),
        (hit["writeVerdict"] if hit["writeVerdict"] != "allow" else "", "yellow"),
        (hit["id"], "dim"),
    )
    for value, style in parts:
        if value:
            line.append("  ")
            line.append_text(safe(value, style))
    return line


def _footer(result: dict[str, Any]) -> Text:
    budget = result["budget"]
    words = f"{result['count']} of {result['found']} found · {budget['applied']} · {result['backend']}"
    if result["rewrittenQuery"] != result["query"]:
        words += f" · searched for {result['rewrittenQuery']}"
    if result.get("droppedByTrustPass"):
        words += f" · {result['droppedByTrustPass']} left out"
    return safe(words, "dim")
