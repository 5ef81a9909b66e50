"""`recall` and `search` on a terminal: the hits, best first, and how their scores came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, pairs, plain, rows_table, safe
from core import clock, ids
from core.words import query_terms
from recall import snippet

_BAR, _TEXT_LIMIT, _MOST_DROPPED = 10, 480, 15
_INDENTED = (0, 0, 0, 4)
_UNITS = (("y", 525_960), ("mo", 43_830), ("d", 1440), ("h", 60), ("min", 1))


def hits(answer: Answer) -> None:
    """Where each hit is from, and its lines around what was asked for, the best one last: it stands above the prompt.
    Then what was left out and why."""
    result: Any = answer.result
    screen = console()
    now = clock.now_ms()
    if not result["hits"]:
        screen.print(safe(f"No results for {result['query'][:120]!r}.", "yellow"))
    asked = sorted({*query_terms(result["rewrittenQuery"]), *query_terms(result["query"])}, key=lambda term: -len(term))
    ranked = list(enumerate(result["hits"], 1))
    for rank, hit in reversed(ranked) if screen.is_terminal else ranked:
        screen.print(_heading(rank, hit, now))
        text = str(hit["observation"])
        if hit["collection"] == "calls" and "): " in text:  # the place of a tool call stands before what it said
            where, _, text = text.partition("): ")
            screen.print(Padding(safe(where + ")", "bold"), _INDENTED))
        if hit.get("title"):
            screen.print(Padding(safe(hit["title"], "bold"), _INDENTED))
        shown = safe(snippet.around(text, asked, _TEXT_LIMIT))
        shown.highlight_words(asked, "bold yellow", case_sensitive=False)
        screen.print(Padding(shown, (0, 0, 1, 4)))
    words = f"{result['count']} of {result['found']} found · {result['budget']['applied']} · {result['backend']}"
    if result["rewrittenQuery"] != result["query"]:
        words += f" · searched for {result['rewrittenQuery']}"
    if result.get("droppedByTrustPass"):
        words += f" · {result['droppedByTrustPass']} left out"
    screen.print(safe(words, "dim"))
    if result.get("preferredProject"):
        screen.print(safe(f"Hits of {result['preferredProject']} go first; --everywhere treats all alike.", "dim"))
    if "fallback" in result:
        screen.print(safe(f"The cluster was not asked or gave no answer: {result['fallback']['reason']}", "yellow"))
    if "explanation" in result:
        _explanation(screen, result["explanation"])
    else:
        for dropped in result.get("droppedDiagnostics", []):
            reasons = ", ".join(dropped["reasons"])
            screen.print(safe(f"  left out ({reasons}): {dropped['observation'][:100]}", "dim"))
    next_steps(answer, screen)


def everywhere(answer: Answer) -> None:
    """Every hit with its collection, title and snippet; then what was counted."""
    result: Any = answer.result
    screen = console()
    if not result["hits"]:
        screen.print(safe(f"No results for {result['query'][:120]!r}.", "yellow"))
    else:
        hits = [{**hit, "snippet": " ".join(hit["snippet"].split())} for hit in result["hits"]]
        screen.print(rows_table(hits, ("collection", "score", "title", "snippet"), most=len(hits)))
    for name, counts in result.get("facets", {}).items():
        counted = ", ".join(f"{one['value']} {one['count']}" for one in counts)
        screen.print(safe(f"{name}: {counted or '–'}", "dim"))
    screen.print(safe(f"{len(result['hits'])} of {result['totalFound']} found", "dim"))
    next_steps(answer, screen)


def _explanation(screen: Console, told: Mapping[str, Any]) -> None:
    """The terms, each hit's way to its score, and those that were left out, the best first."""
    screen.print(safe("how the scores came about", "bold cyan"))
    screen.print(safe(told["formula"], "dim"))
    screen.print(safe(f"searched for: {', '.join(told['terms'])}", "dim"))
    for hit in told["hits"]:
        screen.print(safe(f"{hit['rank']:>2}  {hit['score']:.2f}  {hit['id']}", "bold"))
        parts = {
            name: value for name, value in hit.items() if name not in ("rank", "score", "id") and value is not None
        }
        if "words" in parts:
            parts["words"] = {word["term"]: word["weight"] for word in parts["words"]}
        screen.print(Padding(pairs(parts), _INDENTED))
    if told["dropped"]:
        screen.print(safe("left out", "bold cyan"))
        columns = ("score", "id", "reasons", "observation")
        rows = [{**one, "observation": " ".join(one["observation"].split())[:100]} for one in told["dropped"]]
        screen.print(rows_table(rows, columns, most=_MOST_DROPPED))
        screen.print(safe(f"all together: {plain(told['droppedCount'])}", "dim"))


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
    return next((f"{minutes // length} {unit} ago" for unit, length in _UNITS if minutes >= length), "now")


def _heading(rank: int, hit: dict[str, Any], now: int) -> Text:
    line = Text.assemble((f"{rank:>2}  ", "bold"), bar(hit["score"]))
    parts = (
        (hit["categoryId"].removeprefix("jc:"), "cyan"),
        (hit["collection"] if hit["collection"] != "observations" else "", "magenta"),
        (age(hit["timestamp"], now), ""),
        (hit["project"], ""),
        (f"session {ids.shown(hit['session'])}" if hit["session"] else "", ""),
        (hit["origin"], "blue"),
        (hit["source"] if hit["source"] != hit["origin"] else "", "dim"),
        (hit["path"] if hit["collection"] not in ("calls", "knowledge") else "", "dim"),
        (hit["writeVerdict"] if hit["writeVerdict"] != "allow" else "", "yellow"),
        (hit["id"], "dim"),
    )
    for value, style in parts:
        if value:
            line.append("  ").append_text(safe(value, style))
    return line
