"""`joelclaw lost` on a terminal: a section for each kind, and under it how to get back what it lists."""

from __future__ import annotations

from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, plain, safe
from core.quoting import clip, clip_path

_PATH_CHARS, _LINE_CHARS = 44, 180
_ABOUT = {
    "files": "worked on",
    "names": "by where they were last at work",
    "commands": "to be run again as they stand",
    "errors": "first those that no later success has answered",
    "words": "of the user",
}
_CHOSEN = {
    "project": "It is the session that was compacted last in this folder's project; another: joelclaw lost ID",
    "last": "No session of this folder's project was compacted: it is the one that was last; another: joelclaw lost ID",
}
_STYLES = {"ok": "green", "failed": "red", "no outcome": "yellow", "open": "red"}


def lost(answer: Answer) -> None:
    """What a compaction dropped: a table for each kind."""
    result: Any = answer.result
    about, screen = result["compaction"], console()
    at = about["at"].replace("T", " ")[:16] if about["at"][:1].isdigit() else ""
    where = ", ".join(part for part in (result["client"], result["project"], at) if part)
    since = f", {plain(about['callsSince'])} since" if about["callsSince"] else ""
    counted = f"{plain(about['promptsBefore'])} prompts and {plain(about['callsBefore'])} calls before it{since}"
    head = Text.assemble((f"Lost in compaction {about['number']} of ", "bold"), safe(result["session"], "bold"))
    head.append_text(safe(f" ({where})\n{counted}; summary of {plain(about['summaryChars'])} characters", "dim"))
    screen.print(head)
    if result.get("chosen") in _CHOSEN:
        screen.print(safe(_CHOSEN[result["chosen"]], "dim"))
    for kind, part in result["lost"].items():
        entries = part["entries"]
        if not entries:
            continue
        more = f"{len(entries)} of {plain(part['count'])}, " if part["count"] > len(entries) else ""
        screen.print()
        screen.print(Text.assemble((kind, "bold cyan"), (f"  {more}{_ABOUT[kind]}", "dim")))
        table = Table.grid(padding=(0, 2, 0, 0))
        for row in _names(entries) if kind == "names" else (_row(kind, one) for one in entries):
            table.add_row(*row)
        screen.print(Padding(table, (0, 0, 0, 2)))
        if kind != "words":
            likewise = "  and so on" if len(entries) > 1 else ""
            line = Text.assemble(("  → ", "dim"), safe(entries[0]["get"], "dim cyan"), (likewise, "dim"))
            screen.print(line, soft_wrap=True)  # a command that is broken cannot be copied
    screen.print()
    empty = [kind for kind, part in result["lost"].items() if not part["entries"]]
    if empty:
        screen.print(safe(f"Nothing is missing of: {', '.join(empty)}.", "dim"))
    if not about["summaryKnown"]:
        screen.print(safe("The client's summary is not known: all that was before the compaction is listed.", "yellow"))
    next_steps(answer, screen)


def _names(entries: Any) -> list[tuple[Text, ...]]:
    """A row a place."""
    places: dict[str, list[str]] = {}
    for one in entries:
        places.setdefault(one["place"], []).append(one["name"])
    return [(safe(clip_path(at, _PATH_CHARS) or "–", "dim"), safe(", ".join(found))) for at, found in places.items()]


def _row(kind: str, one: Any) -> tuple[Text, ...]:
    """What it is with a second line where there is more of it, what came of it, and how long before it was."""
    if kind == "files":
        uses = [f"{word} {plain(one[key])}×" for key, word in (("edits", "edited"), ("reads", "read")) if one[key]]
        first, second, came = clip_path(one["file"], 60), "", ", ".join(uses)
    elif kind == "commands":
        came = one["outcome"] or "no outcome"
        first, second = one["command"], one["error"] if came == "failed" else ""
    elif kind == "errors":
        first, second, came = one["error"], clip(_line(one["doing"]), 100), "answered" if one["answered"] else "open"
    else:
        first, second, came = one["text"], f"→ {one['get']}", ""
    line = safe(_line(first))
    if second:
        line.append_text(safe("\n" + _line(second), "dim"))
    runs = f", {plain(one['runs'])}×" if one.get("runs", 1) > 1 else ""
    return line, safe(came + runs, _STYLES.get(came, "dim")), _when(one)


def _line(text: str) -> str:
    return clip(" ".join(text.split()), _LINE_CHARS)


def _when(one: Any) -> Text:
    """How long before the compaction, and whether it came back since."""
    prompts, calls = one["promptsBefore"], one.get("callsBefore")
    if prompts or calls is None:
        said = f"{plain(prompts)} prompt{'s' if prompts != 1 else ''} before" if prompts else "last prompt"
    else:
        said = f"{plain(calls)} calls before" if calls > 1 else "just before"
    return safe(said + (", back since" if one.get("again") else ""), "dim")
