"""`recall --explain` on a terminal: how each score came about, and why the other candidates were left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding

from cli.terminal import pairs, safe

_MOST_DROPPED = 15
_BY = {"age": "age", "pinned": "pinned, does not age", "time_named": "the time that the query names"}
_REASONS = {
    "beyond_limit": "not among the best that were asked for",
    "too_little_in_common": "shares too little with the query",
    "lacks_the_name": "does not hold the name that was asked for",
    "other_project": "of another project",
}
"""Of the reasons that the trust pass has no word for."""


def explanation(screen: Console, told: Mapping[str, Any]) -> None:
    """The terms, each hit's way to its score, and those that were left out, the best first."""
    screen.print(safe("how the scores came about", "bold cyan"))
    screen.print(safe(f"searched for: {', '.join(told['terms'])}", "dim"))
    for hit in told["hits"]:
        screen.print(safe(f"{hit['rank']:>2}  {hit['score']:.2f}  {hit['id']}", "bold"))
        if "beside" in hit:
            screen.print(Padding(safe(hit["beside"], "dim"), (0, 0, 0, 4)))
        else:
            screen.print(Padding(pairs(_parts(hit)), (0, 0, 0, 4)))
    if not told["dropped"]:
        return
    screen.print(safe("left out", "bold cyan"))
    for entry in told["dropped"][:_MOST_DROPPED]:
        why = ", ".join(_REASONS.get(reason, reason) for reason in entry["reasons"])
        screen.print(safe(f"    {entry['score']:.2f}  {entry['id']}  {why}"))
        words = _words(entry)
        about = " ".join(entry["observation"].split())[:100]
        screen.print(Padding(safe(f"{about}{f'  ({words})' if words else ''}", "dim"), (0, 0, 0, 10)))
    more = sum(told["droppedCount"].values())
    screen.print(safe("    all together: " + ", ".join(f"{why} {n}" for why, n in told["droppedCount"].items()), "dim"))
    if more > len(told["dropped"][:_MOST_DROPPED]):
        screen.print(safe("    --json shows the first 50", "dim"))


def _parts(hit: Mapping[str, Any]) -> dict[str, object]:
    lexical, semantic, decay, boost = hit["lexical"], hit["semantic"], hit["decay"], hit["boost"]
    rows: dict[str, object] = {
        "words": f"{_words(hit) or 'none'}: BM25 {lexical['bm25']:.2f}, gives {lexical['score']:.2f}{_place(lexical)}"
    }
    if semantic is not None:
        rows["meaning"] = f"cosine {semantic['cosine']:.2f}, gives {semantic['score']:.2f}{_place(semantic)}"
    if hit["segment"] is not None:
        segment = hit["segment"]
        rows["turns around"] = f"evidence {segment['evidence']:.2f}, counts {segment['w']:.2f}"
    factors = [
        f"{hit['fused']:.2f} both",
        f"{hit['substance']:.2f} substance" if hit["substance"] != 1 else "",
        f"{decay['factor']:.2f} {_BY[decay['by']]} ({decay['days']:g} days)",
        f"{hit['project']:.2f} other project" if hit["project"] != 1 else "",
        f"{boost['factor']:.2f} use (priority {boost['priority']:g}, recalled {boost['recalls']} times)",
        f"{hit['known']:.2f} known words" if hit["known"] != 1 else "",
        f"{hit['echo']:.2f} only repeats the question" if hit["echo"] != 1 else "",
    ]
    rows["score"] = " × ".join(filter(None, factors)) + f" = {hit['score']:.2f}"
    return rows


def _words(entry: Mapping[str, Any]) -> str:
    return ", ".join(f"{word['term']} {word['weight']:.2f}" for word in entry["words"])


def _place(part: Mapping[str, Any]) -> str:
    return f" (place {part['rank']})" if part["rank"] else ""
