"""Compactions on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.panel import Panel

from cli.terminal import console, next_steps, pairs, safe

if TYPE_CHECKING:
    from rich.console import Console

    from cli.answer import Answer


_REASONS = {
    "above-threshold": "the context holds more than the threshold",
    "below-threshold": "the context is below the threshold",
    "switched-off": "the client's own settings switch compactions off",
    "nothing-since-compaction": "nothing was said since the last compaction",
    "empty": "nothing was said",
    "nothing-to-summarize": "all of it is kept",
}
_SHOWN = 20


def decide(answer: Answer) -> None:
    """Yes or no, why, and the figures."""
    screen = console()
    result: Any = answer.result
    word = "compact" if result["compact"] else "do not compact"
    line = safe(word, "bold yellow" if result["compact"] else "bold green")
    screen.print(line.append(f": {_REASONS[result['reason']]}", ""))
    rows: dict[str, object] = {
        "context": f"{result['contextTokens']:,} tokens, by {result['source']}",
        "threshold": f"{result['threshold']:,} = window {result['window']:,} ({result['windowFrom']}) less"
        f" {result['reserve']:,}",
        "messages since the last compaction": result["messagesSinceCompaction"],
    }
    if result["staleUsageIgnored"]:
        rows["not counted"] = f"{result['staleUsageTokens']:,} tokens, told before the last compaction"
    screen.print(pairs(rows))
    _problems(result, screen)
    next_steps(answer, screen)


def prepare(answer: Answer) -> None:
    """The cut, the counts and the files."""
    screen = console()
    result: Any = answer.result
    if result["reason"] != "ready":
        screen.print(safe(f"nothing to compact: {_REASONS[result['reason']]}", "yellow"))
    rows: dict[str, object] = {
        "keep from": result["firstKeptEntryId"],
        "messages to summarize": len(result["messagesToSummarize"]),
    }
    if result["isSplitTurn"]:
        rows["messages of the split turn"] = len(result["turnPrefixMessages"])
    rows |= {"tokens before": result["tokensBefore"], "previous summary": bool(result["previousSummary"])}
    screen.print(pairs(rows | _files(result["fileOps"])))
    _problems(result, screen)
    next_steps(answer, screen)


def serialize(answer: Answer) -> None:
    """The text."""
    screen = console()
    result: Any = answer.result
    screen.print(safe(result["text"]))
    _problems(result, screen)


def branch(answer: Answer) -> None:
    """The way that is left, the files and the summary."""
    screen = console()
    result: Any = answer.result
    rows: dict[str, object] = {
        "from": result["from"],
        "to": result["to"],
        "common ancestor": result["commonAncestorId"],
        "entries left behind": result["branchEntries"],
        "taken, newest first": f"{len(result['entries'])}, {result['tokens']:,} of {result['budget']:,} tokens",
    }
    screen.print(pairs(rows | _files(result["fileOps"])))
    if result["summary"]:
        screen.print()
        screen.print(safe(result["summary"]))
    _problems(result, screen)


def _files(ops: dict[str, list[str]]) -> dict[str, object]:
    return {
        f"files {name}": safe(
            "\n".join([*paths[:_SHOWN], *([f"and {len(paths) - _SHOWN} more"] if paths[_SHOWN:] else [])])
        )
        for name, paths in ops.items()
        if paths
    }


def _problems(result: dict[str, Any], screen: Console) -> None:
    for problem in result["problems"]:
        screen.print(safe(f"a part is missing: {problem}", "yellow"))


_SOURCES = {"model": "a model", "extractive": "quotes of the transcript"}


def summarize(answer: Answer) -> None:
    """The text in a frame, then source, sizes, why a model's reply was not used, and what could not be read."""
    screen = console()
    result: Any = answer.result
    screen.print(Panel(safe(result["summary"]), title=safe("summary", "bold cyan"), title_align="left"))
    rows: dict[str, object] = {
        "made by": _SOURCES.get(result["source"], result["source"]),
        "tokens, about": result["estimatedTokens"],
        "instead of": result["tokensBefore"],
        "kept from": result["firstKeptEntryId"],
        "split turn": result["isSplitTurn"] or None,
        "files read": len(result["readFiles"]),
        "files modified": len(result["modifiedFiles"]),
    }
    screen.print(pairs({name: value for name, value in rows.items() if value is not None}))
    fallback = result["fallback"]
    if fallback:
        screen.print(
            safe(f"the model's summary of the {fallback['part']} was not used: {fallback['reason']}", "yellow")
        )
    for problem in result["problems"]:
        screen.print(safe(problem, "yellow"))
    next_steps(answer, screen)
