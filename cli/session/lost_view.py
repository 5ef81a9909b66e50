"""`joelclaw lost` on a terminal: a section for each kind, and under it how to get back what it lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.terminal import console, next_steps, plain, safe
from core.quoting import clip, clip_path

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from cli.answer import Answer

_PATH_CHARS = 44
_LINE_CHARS = 180
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
_OUTCOMES = {"ok": ("ok", "green"), "failed": ("failed", "red"), "": ("no outcome", "yellow")}


def lost(answer: Answer) -> None:
    """What a compaction dropped: files and commands as tables, names by place, what was said as it was said."""
    result: Any = answer.result
    screen = console()
    screen.print(_heading(result))
    if result.get("chosen") in _CHOSEN:
        screen.print(safe(_CHOSEN[result["chosen"]], "dim"))
    empty = [kind for kind, part in result["lost"].items() if not part["entries"]]
    for kind, part in result["lost"].items():
        if part["entries"]:
            _section(screen, kind, part)
    screen.print()
    if empty:
        screen.print(safe(f"Nothing is missing of: {', '.join(empty)}.", "dim"))
    if not result["compaction"]["summaryKnown"]:
        screen.print(safe("The client's summary is not known: all that was before the compaction is listed.", "yellow"))
    next_steps(answer, screen)


def _heading(result: Any) -> Text:
    about = result["compaction"]
    at = about["at"].replace("T", " ")[:16] if about["at"][:1].isdigit() else ""
    where = ", ".join(part for part in (result["client"], result["project"], at) if part)
    since = f", {plain(about['callsSince'])} since" if about["callsSince"] else ""
    counted = f"{plain(about['promptsBefore'])} prompts and {plain(about['callsBefore'])} calls before it{since}"
    return Text.assemble(
        (f"Lost in compaction {about['number']} of ", "bold"), safe(result["session"], "bold"),
        safe(f" ({where})\n{counted}; summary of {plain(about['summaryChars'])} characters", "dim"),
    )  # fmt: skip


def _section(screen: Console, kind: str, part: Any) -> None:
    entries = part["entries"]
    more = f"{len(entries)} of {plain(part['count'])}, " if part["count"] > len(entries) else ""
    screen.print()
    screen.print(Text.assemble((kind, "bold cyan"), (f"  {more}{_ABOUT[kind]}", "dim")))
    screen.print(Padding(_DRAWN[kind](entries), (0, 0, 0, 2)))
    if kind != "words":
        likewise = "  and so on" if len(entries) > 1 else ""
        line = Text.assemble(("  → ", "dim"), safe(entries[0]["get"], "dim cyan"), (likewise, "dim"))
        screen.print(line, soft_wrap=True)  # a command that is broken cannot be copied


def _files(entries: Any) -> RenderableType:
    table = _grid()
    for one in entries:
        uses = [f"{word} {plain(one[key])}×" for key, word in (("edits", "edited"), ("reads", "read")) if one[key]]
        table.add_row(safe(clip_path(one["file"], 60)), safe(", ".join(uses), "dim"), _when(one))
    return table


def _names(entries: Any) -> RenderableType:
    places: dict[str, list[str]] = {}
    for one in entries:
        places.setdefault(one["place"], []).append(one["name"])
    table = _grid()
    for place, names in places.items():
        table.add_row(safe(clip_path(place, _PATH_CHARS) or "–", "dim"), safe(", ".join(names)))
    return table


def _commands(entries: Any) -> RenderableType:
    table = _grid()
    for one in entries:
        word, style = _OUTCOMES[one["outcome"]]
        runs = f"{word}, {plain(one['runs'])}×" if one["runs"] > 1 else word
        line = safe(_line(one["command"]))
        if one["outcome"] == "failed" and one["error"]:
            line.append_text(safe("\n" + _line(one["error"]), "red"))
        table.add_row(line, safe(runs, style), _when(one))
    return table


def _errors(entries: Any) -> RenderableType:
    table = _grid()
    for one in entries:
        line = safe(_line(one["error"]), "" if one["answered"] else "red")
        line.append_text(safe("\n" + clip(_line(one["doing"]), 100), "dim"))
        table.add_row(line, safe("answered" if one["answered"] else "open", "dim"), _when(one))
    return table


def _words(entries: Any) -> RenderableType:
    table = _grid()
    for one in entries:
        line = safe(_line(one["text"]))
        line.append_text(safe(f"\n→ {one['get']}", "dim cyan"))
        table.add_row(line, _when(one))
    return table


_DRAWN = {"files": _files, "names": _names, "commands": _commands, "errors": _errors, "words": _words}


def _grid() -> Table:
    return Table.grid(padding=(0, 2, 0, 0))


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
