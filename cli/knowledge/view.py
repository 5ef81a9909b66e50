"""Synced files and the vault on a terminal."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.answer import Answer
from cli.recall.view import bar
from cli.terminal import console, first_rows, next_steps, pairs, rows_table, safe

_COUNTS = ("files", "sections", "added", "updated", "removed", "unchanged")


def sync(answer: Answer) -> None:
    """The counts, what was passed over, and folders that have vanished."""
    screen = console()
    result: Any = answer.result
    indexed = result["indexed"]
    screen.print(safe(", ".join(result["folders"]), "dim"))
    rows: dict[str, object] = {name: indexed[name] for name in _COUNTS}
    if indexed["redacted"]:
        rows["redacted"] = safe(", ".join(f"{k} {n}" for k, n in indexed["redacted"].items()), "bold yellow")
    screen.print(pairs({**rows, "took": f"{indexed['ms'] / 1000:.2f} s"}))
    for folder in result["missing"]:
        screen.print(safe(f"gone or empty, nothing of it was removed: {folder}", "bold yellow"))
    for folder in result["pruned"]:
        screen.print(safe(f"taken out: {folder}", "yellow"))
    first_rows(screen, indexed["skipped"], ("path", "reason"), indexed["skippedCount"])
    next_steps(answer, screen)


def search(answer: Answer) -> None:
    """Every hit with its score, type, title, place and snippet."""
    screen = console()
    result: Any = answer.result
    if not result["hits"]:
        screen.print(safe(f"Nothing bears on {result['query'][:120]!r}.", "yellow"))
    for rank, hit in enumerate(result["hits"], 1):
        _hit(screen, rank, hit, hit["type"], hit["path"])
    screen.print(safe(f"{len(result['hits'])} of {result['found']} found", "dim"))
    next_steps(answer, screen)


def vault_read(answer: Answer) -> None:
    """Each note under a line that says which it is and why."""
    screen = console()
    result: Any = answer.result
    for note, why in zip(result["resolved"], result["resolution"], strict=True):
        line = safe(note["path"], "bold cyan")
        line.append(f"  {why['reason']} {why['score']:.2f}", "dim")
        screen.print(line)
        screen.print(safe(note["content"].rstrip("\n")))
        if note["truncated"]:
            screen.print(safe(f"… of {note['total_lines']:,} lines", "dim"))
    next_steps(answer, screen)


def vault_search(answer: Answer) -> None:
    """Every note with its score, place and the line that was found."""
    screen = console()
    result: Any = answer.result
    if "fallback" in result:
        screen.print(safe(f"searched the texts: {result['fallback']['reason']}", "yellow"))
    if not result["hits"]:
        screen.print(safe(f"No note has {result['query'][:120]!r}.", "yellow"))
    for rank, hit in enumerate(result["hits"], 1):
        place = f"{hit['path']}:{hit['line']}" if hit.get("line") else hit["path"]
        _hit(screen, rank, hit, hit.get("type", ""), place)
    if not result.get("complete", True):
        screen.print(safe("time ran out before all notes were read", "yellow"))
    screen.print(safe(f"{len(result['hits'])} of {result['found']} found", "dim"))
    next_steps(answer, screen)


def note(answer: Answer) -> None:
    """Which turn it was, and what became of it."""
    screen = console()
    result: Any = answer.result
    kept = "kept" if result["stored"] else f"not kept: {result['skipReason']}"
    screen.print(pairs({"turn": result["turnId"], "": kept}))
    next_steps(answer, screen)


def vault_ls(answer: Answer) -> None:
    """The parts with how much each holds, or the entries of one."""
    screen = console()
    result: Any = answer.result
    screen.print(safe(result["vault_root"], "dim"))
    if "sections" in result:
        screen.print(pairs(result["sections"]))
    for item in result.get("items", []):
        path, status = (item, "") if isinstance(item, str) else (item["path"], item["status"] or "")
        name = safe(os.path.relpath(path, result["vault_root"]))
        screen.print(name.append_text(safe(f"  {status}" if status else "", "cyan")))
    next_steps(answer, screen)


def vault_tree(answer: Answer) -> None:
    """The folders, each as deep as it lies."""
    screen = console()
    result: Any = answer.result
    screen.print(safe(result["vault_root"], "bold"))
    for folder in result["directories"][1:]:
        screen.print(safe("  " * folder["depth"] + os.path.basename(folder["path"])))
    next_steps(answer, screen)


def vault_adr(answer: Answer) -> None:
    """Records with status and date, or the places that were located."""
    screen = console()
    result: Any = answer.result
    if result.get("items"):
        screen.print(rows_table(result["items"], ("number", "status", "title"), len(result["items"])))
    if result.get("matches"):
        screen.print(rows_table(result["matches"], ("number", "title", "filename", "start_line", "reason")))
    if result.get("collision_count"):
        screen.print(rows_table(result["collisions"], ("number", "files")))
    if "filtered" in result:
        screen.print(safe(f"{len(result['items'])} of {result['total']}", "dim"))
    next_steps(answer, screen)


def _hit(screen: Console, rank: int, hit: dict[str, Any], kind: str, place: str) -> None:
    line = Text.assemble((f"{rank:>2}  ", "bold"), bar(hit["score"]), "  ")
    if kind:
        line.append_text(safe(kind, "magenta"))
        line.append("  ")
    line.append_text(safe(hit["title"], "bold"))
    screen.print(line)
    screen.print(Padding(safe(place, "dim"), (0, 0, 0, 4)))
    if hit["snippet"]:
        screen.print(Padding(safe(hit["snippet"]), (0, 0, 1, 4)))
