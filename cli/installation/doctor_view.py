"""`doctor` on a terminal: a line for each subject that is well, and beneath the others what is wrong with them."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, safe, size

_SIGNS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"), "error": ("✗", "bold red")}


def report(answer: Answer) -> None:
    """The verdict, then subject by subject."""
    screen = console()
    result: Any = answer.result
    said = [_number(result[name], name) for name in ("errors", "warnings", "fixed") if result[name]]
    style = "bold red" if result["errors"] else "bold yellow" if result["warnings"] else "bold green"
    well = ["all is well"] if not (result["errors"] or result["warnings"]) else []
    screen.print(safe(", ".join(well + said), style))
    width = max(len(name) for name in (*result["clients"], *result["subjects"]))
    lines = {name: _of_client(facts) for name, facts in result["clients"].items()}
    lines |= {name: _of_subject(name, facts) for name, facts in result["subjects"].items()}
    for name, facts in lines.items():
        _subject(screen, name.ljust(width), facts, [found for found in result["findings"] if found["subject"] == name])
    next_steps(answer, screen)


def _number(count: int, what: str) -> str:
    return f"{count} mended" if what == "fixed" else f"{count} {what.removesuffix('s') if count == 1 else what}"


def _subject(screen: Console, name: str, facts: str, findings: list[dict[str, Any]]) -> None:
    worst = max((found["severity"] for found in findings), key=list(_SIGNS).index, default="ok")
    sign, style = _SIGNS[worst]
    screen.print(Text.assemble((f"{sign} ", style), safe(name, "bold"), "  ", safe(facts, "dim")), soft_wrap=True)
    for found in findings:
        sign, style = _SIGNS[found["severity"]]
        line = Text.assemble((f"    {sign} ", style), safe(found["message"]), "  ", safe(found["code"], "dim"))
        screen.print(line, soft_wrap=True)
        if found["fix"]:
            screen.print(Text.assemble("      → ", safe(found["fix"], "cyan")), soft_wrap=True)


def _of_client(facts: dict[str, Any]) -> str:
    """What there is to say of a client in one line."""
    if not facts["installed"]:
        return "not installed" if facts["installed"] is False else "its settings cannot be read"
    called = [event for event in facts["events"] if event["lastAt"]]
    parts = ["installed for this project" if facts["scope"] == "project" else "installed"]
    if facts["current"]:
        parts.append("current")
    if facts["trialMs"] is not None:
        parts.append(f"answers in {facts['trialMs']} ms")
    if called:
        last = max(event["lastAt"] for event in called)[:16].replace("T", " ")
        parts.append(f"{sum(event['calls24h'] for event in called):,} calls in 24 h, last {last}")
    return ", ".join(parts)


def _of_subject(name: str, facts: dict[str, Any]) -> str:
    if name == "store":
        if "size" not in facts:  # it cannot be read
            return str(facts["path"]) if facts["exists"] else "none yet"
        return f"whole, {size(facts['size'])} + {size(facts['log'])} log, schema {facts['schema']}"
    if name == "home":
        free = f", {size(facts['freeBytes'])} free" if facts["freeBytes"] is not None else ""
        return f"{facts['path']}{free}"
    if name == "switches":
        off, excluded = len(facts["off"]), len(facts["excluded"])
        return f"{off} off, {excluded} excluded" if off or excluded else "nothing is off"
    if name == "settings":
        return f"{len(facts['changed'])} of your own" if facts["changed"] else "all as by default"
    if name == "command":
        return f"{facts['path']}, {facts['version']}"
    return "in use" if facts["used"] else "not in use"
