"""Compactions on a terminal."""

from __future__ import annotations

from typing import Any

from rich.panel import Panel

from cli.answer import Answer
from cli.terminal import console, next_steps, pairs, safe

_REASONS = {
    "above-threshold": "the context holds more than the threshold",
    "below-threshold": "the context is below the threshold",
    "switched-off": "the client's own settings switch compactions off",
    "nothing-since-compaction": "nothing was said since the last compaction",
    "empty": "nothing was said",
    "nothing-to-summarize": "all of it is kept",
}
_SOURCES = {"model": "a model", "extractive": "quotes of the transcript"}
_SHOWN = 20


def decide(answer: Answer) -> None:
    """Yes or no, why, and the figures."""
    result: Any = answer.result
    word, style = ("compact", "bold yellow") if result["compact"] else ("do not compact", "bold green")
    console().print(safe(word, style).append(f": {_REASONS[result['reason']]}", ""))
    threshold = f"{result['threshold']:,} = window {result['window']:,} ({result['windowFrom']}) less"
    stale = {}
    if result["staleUsageIgnored"]:
        stale = {"not counted": f"{result['staleUsageTokens']:,} tokens, told before the last compaction"}
    _figures(
        answer,
        {
            "context": f"{result['contextTokens']:,} tokens, by {result['source']}",
            "threshold": f"{threshold} {result['reserve']:,}",
            "messages since the last compaction": result["messagesSinceCompaction"],
            **stale,
        },
    )


def prepare(answer: Answer) -> None:
    """The cut, the counts and the files."""
    result: Any = answer.result
    if result["reason"] != "ready":
        console().print(safe(f"nothing to compact: {_REASONS[result['reason']]}", "yellow"))
    split = {"messages of the split turn": len(result["turnPrefixMessages"])} if result["isSplitTurn"] else {}
    _figures(
        answer,
        {
            "keep from": result["firstKeptEntryId"],
            "messages to summarize": len(result["messagesToSummarize"]),
            **split,
            "tokens before": result["tokensBefore"],
            "previous summary": bool(result["previousSummary"]),
            **_files(result["fileOps"]),
        },
    )


def serialize(answer: Answer) -> None:
    """The text."""
    result: Any = answer.result
    console().print(safe(result["text"]))
    _figures(answer, {})


def branch(answer: Answer) -> None:
    """The way that is left, the files and the summary."""
    result: Any = answer.result
    rows = {
        "from": result["from"],
        "to": result["to"],
        "common ancestor": result["commonAncestorId"],
        "entries left behind": result["branchEntries"],
        "taken, newest first": f"{len(result['entries'])}, {result['tokens']:,} of {result['budget']:,} tokens",
        **_files(result["fileOps"]),
    }
    _figures(answer, rows, f"\n{result['summary']}" if result["summary"] else "")


def summarize(answer: Answer) -> None:
    """The text in a frame, then source, sizes, why a model's reply was not used, and what could not be read."""
    result: Any = answer.result
    console().print(Panel(safe(result["summary"]), title=safe("summary", "bold cyan"), title_align="left"))
    rows: dict[str, object] = {
        "made by": _SOURCES.get(result["source"], result["source"]),
        "tokens, about": result["estimatedTokens"],
        "instead of": result["tokensBefore"],
        "kept from": result["firstKeptEntryId"],
        "split turn": result["isSplitTurn"] or None,
        "files read": len(result["readFiles"]),
        "files modified": len(result["modifiedFiles"]),
    }
    fallback = result["fallback"]
    if fallback:
        rows["not used"] = safe(f"the model's summary of the {fallback['part']}: {fallback['reason']}", "yellow")
    _figures(answer, {name: value for name, value in rows.items() if value is not None})


def _figures(answer: Answer, rows: dict[str, object], text: str = "") -> None:
    """Figures, a text below them, what could not be read, and what to do next."""
    screen = console()
    result: Any = answer.result
    if rows:
        screen.print(pairs(rows))
    if text:
        screen.print(safe(text))
    for problem in result["problems"]:
        screen.print(safe(f"a part is missing: {problem}", "yellow"))
    next_steps(answer, screen)


def _files(ops: dict[str, list[str]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, paths in ops.items():
        more = [f"and {len(paths) - _SHOWN} more"] if len(paths) > _SHOWN else []
        if paths:
            found[f"files {name}"] = safe("\n".join([*paths[:_SHOWN], *more]))
    return found
