"""Draws answers on a terminal, and what views share: lines, values, tables, questions. Loads rich.

A view is a function that yields what rich prints, from top to bottom: lines (`line`), names and values (`pairs`), and
tables (`rows_table`). The views of the commands are in `cli/views.py`, those of `recall` in `cli/recall_views.py`.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.output import Answer, is_for_person, runnable, wrong_usage
from core import clock
from core.quoting import shown

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_AGES = (("y", 525_960), ("mo", 43_830), ("d", 1440), ("h", 60), ("min", 1))
_OVERFLOW: Any = {"cut": "ellipsis", "whole": "ignore"}

View = Iterator[RenderableType]


def console() -> Console:
    """The terminal behind stdout."""
    return Console(highlight=False)


def draw(answer: Answer) -> None:
    """Draw an answer with its view, then the commands that make sense next."""
    module, _, name = answer.view.partition(":")
    view = getattr(__import__(module, fromlist=[name]), name)
    print_items(view(answer))
    print_items(_action_line(action) for action in answer.next_actions)


def print_items(items: Iterable[RenderableType]) -> None:
    """Print what a view yields."""
    screen = console()
    for item in items:
        if isinstance(item, Text):
            screen.print(item, no_wrap=item.no_wrap, overflow=item.overflow, crop=item.overflow != "ignore")
        else:
            screen.print(item)


def _action_line(action: Any) -> RenderableType:
    command = runnable(action["command"])
    for name, about in action.get("params", {}).items():
        if "value" in about:
            command = command.replace(f"<{name}>", str(about["value"]))
    return line(Text.assemble(("→ ", "dim"), safe(command, "dim cyan")), (action["description"], "dim"), fit="whole")


def values(answer: Answer, *, without: Sequence[str] = ()) -> View:
    """The default view: names and values, then each list and each group under its name."""
    every: dict[str, Any] = answer.result if isinstance(answer.result, dict) else {}
    result = present(
        {name: value for name, value in every.items() if name not in without and (value != 0 or value is False)}
    )
    groups = {name: value for name, value in result.items() if _is_group(value)}
    single = {name: value for name, value in result.items() if name not in groups}
    if answer.message:
        yield safe(answer.message)
    if single:
        yield pairs(single)
    elif not (groups or answer.message):
        yield safe("none", "dim")
    for name, value in groups.items():
        yield safe(label(name), "bold cyan")
        if isinstance(value, dict):
            yield pairs(value)
        elif isinstance(value[0], dict):
            yield rows_table(value, most=len(value))
        else:
            yield safe("\n".join(plain(item, name) for item in value))


def _is_group(value: object) -> bool:
    if isinstance(value, list):
        return isinstance(value[0], dict) or len(plain(value)) > 60  # characters
    return isinstance(value, dict)


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask a question; returns whether the user agrees. `default` is the meaning of an empty line."""
    sys.stdout.write(f"{question} {'[Y/n]' if default else '[y/N]'} ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stdout.write("\n")
    return default if answer == "\n" else answer.strip().lower() in ("y", "yes")


def may_delete(preview: Answer) -> bool:
    """Show what would be deleted permanently, and ask. Raises Failure: USAGE if there is no terminal."""
    return agrees(preview, "delete it permanently?", fix="give --yes, or --dry-run first")


def agrees(preview: Answer, question: str, *, fix: str = "give --yes") -> bool:
    """Show what would change, and ask. Raises Failure: USAGE if there is no terminal."""
    if not (is_for_person() and os.isatty(0)):
        raise wrong_usage("there is no terminal on which to ask for confirmation", fix)
    print_items(values(preview, without=("ids", "purged", "dryRun")))
    return confirm(question)


# Lines, values and tables


def line(*parts: object, gap: str = "  ", indent: int = 0, fit: str = "fold") -> RenderableType:
    """A line of values. A part is a value, or a value and its style; those that are "" are left out.

    A line that is too long is folded, `cut`, or left to the terminal (`whole`), so that a command in it can be copied.
    """
    text = Text(no_wrap=fit != "fold", overflow=_OVERFLOW.get(fit))
    for part in parts:
        value, style = part if isinstance(part, tuple) else (part, "")
        if value not in ("", None):
            text.append(gap if text else "").append_text(value if isinstance(value, Text) else safe(value, style))
    if indent and fit == "fold":
        return Padding(text, (0, 0, 0, indent), expand=False)
    return Text(" " * indent, no_wrap=text.no_wrap, overflow=text.overflow).append_text(text)


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
        return duration(value)
    if isinstance(value, (int, float)) and name.lower().endswith("percent"):
        return f"{value:,.4g} %"
    if isinstance(value, int):
        return size(value) if name.lower().endswith("bytes") else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(item, name) for item in value) or "–"
    if isinstance(value, dict):
        return ", ".join(f"{label(key)} {plain(item, key)}" for key, item in value.items()) or "–"
    text = str(value)
    return text[:19].replace("T", " ") if _TIME.fullmatch(text) else text


def label(name: str) -> str:
    """The name of a JSON value in words: `contextPercent` is "context percent"."""
    return re.sub(r"(?<=[a-z0-9])[A-Z](?![A-Z])", lambda found: " " + found[0].lower(), name)


def size(count: float) -> str:
    """A number of bytes in the largest unit that keeps it above 1."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def duration(ms: float) -> str:
    """A time in ms, in its largest unit and the next."""
    if ms < 60_000:
        return f"{ms:,.0f} ms" if ms < 1000 else f"{ms / 1000:.3g} s"
    minutes = int(ms) // 60_000
    parts = {"d": minutes // 1440, "h": minutes // 60 % 24, "min": minutes % 60, "s": int(ms) // 1000 % 60}
    return " ".join([f"{count} {unit}" for unit, count in parts.items() if count][:2])


def age(timestamp: str, now: int) -> str:
    """How long ago an ISO 8601 time was, in its largest unit; "" if it is unknown."""
    at = clock.parse_iso(timestamp)
    if at is None:
        return ""
    minutes = max(0, now - at) // 60_000
    return next((f"{minutes // length} {unit} ago" for unit, length in _AGES if minutes >= length), "now")


def score_bar(score: float) -> Text:
    """A score from 0 to 1 as ten cells and two digits."""
    filled = round(min(1.0, max(0.0, score)) * 10)
    return Text.assemble(("█" * filled, "green"), ("░" * (10 - filled), "dim"), f" {score:.2f}")


def pairs(rows: Mapping[str, object]) -> Table:
    """Names on the left, values on the right."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(safe(label(name)), value if isinstance(value, (Text, Table)) else safe(plain(value, name)))
    return grid


def rows_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str] = (), most: int = 50) -> Table:
    """Objects with the same keys as a table. The columns are those of the first object unless named."""
    names = list(columns or rows[0])[:7]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        number = all(isinstance(row.get(name), (int, float)) and not isinstance(row.get(name), bool) for row in rows)
        texts = [plain(row.get(name), name) for row in rows[:most]]
        # Ids stay in one piece, so that they can be copied, and so do short phrases, such as times.
        unbroken = all(len(text) <= (20 if " " in text else 40) for text in texts)
        table.add_column(label(name), justify="right" if number else "left", overflow="fold", no_wrap=unbroken)
    for row in rows[:most]:
        table.add_row(*(safe(plain(row.get(name), name)) for name in names))
    return table


def present(value: dict[str, Any]) -> dict[str, Any]:
    """The values that are not empty, also in groups within."""
    every = {name: present(item) if isinstance(item, dict) else item for name, item in value.items()}
    return {name: item for name, item in every.items() if item is not None and item not in ("", [], {})}
