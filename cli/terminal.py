"""Draws answers on a terminal: names and values, tables, lines of text, and questions. Loads rich.

A view is a function that yields what rich prints, from top to bottom. `values` draws most answers, `message` those that
are a text. The exceptions are in `cli/views.py`.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any

from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.output import Answer, is_for_person, runnable, wrong_usage
from core import clock
from core.quoting import clip, shown, shown_id

_NONE = ("–", "no")  # values that a line leaves out
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_MEMORY = ("id", "at", "category", "verdict", "tags", "observation")
_COLUMNS = {
    "memories": _MEMORY,
    "observations": _MEMORY,
    "sessions": ("sessionId", "client", "project", "updatedAt", "turns", "contextPercent", "percent", "task"),
    "hits": ("score", "sessionId", "client", "collection", "type", "title", "path", "snippet", "snippets"),
    "agents": ("agent", "scope", "changed", "path", "backup", "backupsLeft", "notes"),
    "installs": ("agent", "scope", "present", "installed", "current", "path", "notes"),
}
"""The columns of a list of objects, by its name in the result. Other lists show the first seven values."""
_LABELS = {"present": "agent found", "current": "up to date"}  # of `install --list`

View = Iterator[RenderableType]


def draw(answer: Answer) -> None:
    """Draw an answer with its view, then the commands that make sense next."""
    module, _, name = answer.view.partition(":")
    print_items(getattr(import_module(module), name)(answer))
    for action in answer.next_actions:
        command = runnable(action["command"])
        for parameter, about in action.get("params", {}).items():
            command = command.replace(f"<{parameter}>", str(about.get("value", f"<{parameter}>")))
        arrow = Text.assemble(("→ ", "dim"), safe(command, "dim cyan"))
        print_items([line(arrow, (action["description"], "dim"), fit="whole")])


def print_items(items: Iterable[RenderableType]) -> None:
    """Print what a view yields."""
    screen = Console(highlight=False)
    for item in items:
        if isinstance(item, Text):
            screen.print(item, no_wrap=item.no_wrap, overflow=item.overflow, crop=item.overflow != "ignore")
        else:
            screen.print(item)


def message(answer: Answer) -> View:
    """The view of an answer that is a text."""
    yield safe(answer.message)


def values(answer: Answer) -> View:
    """The view of most answers: names and values, then each list, group and long text under its name."""
    result = present(answer.result if isinstance(answer.result, dict) else {})
    blocks = {
        name: value for name, value in result.items()
        if isinstance(value, dict) or (isinstance(value, str) and "\n" in value)
        or (isinstance(value, list) and (isinstance(value[0], dict) or len(plain(value)) > 60))  # characters
    }  # fmt: skip
    single = {name: value for name, value in result.items() if name not in blocks}
    if answer.message:
        yield safe(answer.message)
    if single:
        yield pairs(single)
    elif not (blocks or answer.message):
        yield safe("none", "dim")
    for name, value in blocks.items():
        yield safe(label(name), "bold cyan")
        if isinstance(value, dict):
            yield pairs(value)
        elif isinstance(value, str):
            yield safe(value)
        elif isinstance(value[0], dict):
            yield from records(value, [column for column in _COLUMNS.get(name, value[0]) if column in value[0]][:7])
        else:
            most = 20  # lines
            yield safe("\n".join([*(plain(item, name) for item in value[:most]), *["…"] * (len(value) > most)]))


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask a question; returns whether the user agrees. `default` is the meaning of an empty line."""
    sys.stdout.write(f"{question} {'[Y/n]' if default else '[y/N]'} ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    return default if answer == "\n" else answer.strip().lower() in ("y", "yes")


def agrees(preview: Answer, question: str = "delete it permanently?") -> bool:
    """Show what would change, and ask. Raises Failure: USAGE if there is no terminal."""
    if not (is_for_person() and os.isatty(0)):
        raise wrong_usage("there is no terminal on which to ask for confirmation", "give --yes")
    print_items(values(preview))
    return confirm(question)


# Lines, values and tables


def line(*parts: object, gap: str = "  ", indent: int = 0, fit: str = "fold") -> Text:
    """A line of values. A part is a value, or a value and its style; those that are "" are left out.

    A line that is too long is folded, `cut`, or left to the terminal (`whole`), so that a command in it can be copied.
    """
    overflow: Any = {"cut": "ellipsis", "whole": "ignore"}.get(fit)
    text = Text(" " * indent, no_wrap=fit != "fold", overflow=overflow)
    begin = len(text)
    for part in parts:
        value, style = part if isinstance(part, tuple) else (part, "")
        if value not in ("", None):
            text.append(gap if len(text) > begin else "")
            text.append_text(value if isinstance(value, Text) else safe(value, style))
    return text


def safe(value: object, style: str = "") -> Text:
    """A value as text, in which no markup or escape sequence has an effect."""
    return Text(shown(plain(value)), style=style)


def plain(value: object, name: str = "") -> str:
    """A JSON value as people write it. The `name` of the value says whether a number is a time, a size or a share."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and value >= 10**12 and name.endswith(("At", "timestamp")):
        value = clock.iso(value)
    if isinstance(value, (int, float)) and name.endswith(("Ms", "_ms")):
        return f"{value:,.0f} ms" if value < 1000 else str(timedelta(seconds=round(value / 1000)))
    if isinstance(value, (int, float)) and name.lower().endswith("percent"):
        return f"{value:,.4g} %"
    if isinstance(value, int):
        return decimal(value) if name.lower().endswith("bytes") else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(item, name) for item in value) or "–"
    if isinstance(value, dict):
        return ", ".join(f"{label(key)} {plain(item, key)}" for key, item in value.items()) or "–"
    text = str(value)
    return text[:19].replace("T", " ") if _TIME.fullmatch(text) else text


def label(name: str) -> str:
    """The name of a JSON value in words, without its unit, which `plain` writes: `contextPercent` is "context"."""
    name = re.sub("(?<=.)(?:Ms|_ms|Percent)$", "", _LABELS.get(name, name))
    return re.sub(r"(?<=[a-z0-9])[A-Z](?![A-Z])", lambda found: " " + found[0].lower(), name)


def pairs(rows: Mapping[str, object]) -> Table:
    """Names on the left, values on the right."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(safe(label(name)), safe(plain(value, name)))
    return grid


def records(rows: Sequence[Mapping[str, object]], columns: Sequence[str] = ()) -> View:
    """Objects with the same keys as a table or, if texts are long, a line of the short values above the long ones.

    The columns are those of the first object unless named.
    """
    texts = {name: [clip(plain(row.get(name), name), 300) for row in rows] for name in columns or rows[0]}
    if "sessionId" in texts:
        texts["sessionId"] = list(map(shown_id, texts["sessionId"]))
    long = [name for name, cells in texts.items() if max(map(len, cells)) > 40]  # characters
    if long:
        for at, row in enumerate(rows):
            short = [(label(name) if row.get(name) is True else texts[name][at]) for name in texts if name not in long]
            yield line(*((text, "dim" if number else "bold") for number, text in enumerate(short) if text not in _NONE))
            below: list[str] = []
            for name in long:
                value = row.get(name)
                items = [clip(plain(item, name), 300) for item in value] if isinstance(value, list) else []
                below += items if any(len(item) > 40 for item in items) else [texts[name][at]]
            for text in dict.fromkeys(below):
                is_cut = text.endswith("…") and any(other.startswith(text[:-1]) for other in below if other != text)
                if text not in _NONE and not is_cut:
                    yield Padding(safe(text), (0, 0, 0, 4), expand=False)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in texts:
        is_number = all(type(row.get(name)) in (int, float) for row in rows)
        table.add_column(label(name), justify="right" if is_number else "left", overflow="fold")
    for cells in zip(*texts.values(), strict=True):
        table.add_row(*map(safe, cells))
    yield table


def present(value: dict[str, Any]) -> dict[str, Any]:
    """The values that are not empty, also in groups within."""
    every = {name: present(item) if isinstance(item, dict) else item for name, item in value.items()}
    return {name: item for name, item in every.items() if item is not None and item not in ("", [], {})}
