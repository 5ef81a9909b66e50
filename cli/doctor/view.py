"""`doctor` on a terminal: a line for each subject that is well, and beneath the others what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from cli.terminal import console, next_steps, safe, size

if TYPE_CHECKING:
    from rich.console import Console

    from cli.answer import Answer

_SIGNS = {"error": ("✗", "bold red"), "warning": ("!", "yellow"), "note": ("·", "dim"), "ok": ("✓", "green")}
_RANK = ("ok", "note", "warning", "error")


def report(answer: Answer) -> None:
    """The verdict, then subject by subject."""
    screen = console()
    result: Any = answer.result
    screen.print(_verdict(result))
    width = max(len(name) for name in (*result["clients"], *result["subjects"]))
    for name, facts in result["clients"].items():
        _subject(screen, name.ljust(width), _of_client(facts), _findings(result, name))
    for name, facts in result["subjects"].items():
        _subject(screen, name.ljust(width), _of_subject(name, facts), _findings(result, name))
    next_steps(answer, screen)


def _verdict(result: dict[str, Any]) -> Text:
    counts = [
        _number(result["errors"], "error"),
        _number(result["warnings"], "warning"),
        _number(result["fixed"], "mended"),
    ]
    said = ", ".join(one for one in counts if one)
    if result["errors"]:
        return safe(said, "bold red")
    return (
        safe(said, "bold yellow")
        if result["warnings"]
        else safe(f"all is well{f', {said}' * bool(said)}", "bold green")
    )


def _number(count: int, what: str) -> str:
    return "" if not count else f"{count} {what}{'s' * (count > 1 and what != 'mended')}"


def _findings(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [found for found in result["findings"] if found["subject"] == name]


def _subject(screen: Console, name: str, facts: str, findings: list[dict[str, Any]]) -> None:
    worst = max((found["severity"] for found in findings), key=_RANK.index, default="ok")
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
    last = max((event["lastAt"] for event in called), default=None)
    parts = [
        f"installed{' for this project' if facts['scope'] == 'project' else ''}",
        "current" if facts["current"] else "",
        f"answers in {facts['trialMs']} ms" if facts["trialMs"] is not None else "",
        f"{sum(event['calls24h'] for event in called):,} calls in 24 h, last {last[:16].replace('T', ' ')}"
        if last
        else "",
    ]
    return ", ".join(part for part in parts if part)


def _of_subject(name: str, facts: dict[str, Any]) -> str:
    if name == "store":
        if not facts["exists"]:
            return "none yet"
        if "size" not in facts:
            return facts["path"]  # type: ignore[no-any-return]  # it cannot be read
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
