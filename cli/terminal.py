"""What the views share: how values, tables and next steps look on a terminal."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.answer import Answer, runnable
from core import clock
from core.output import shown

_MAX_ROWS = 50
_MAX_COLUMNS = 7
_LINE = 60
"""Characters of a list that is told on one line."""
_ONE_WORD, _SHORT = 40, 20
"""A column of values this long, of one word or of several, is not broken: ids and times can be copied."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_FIRST_MS = 10**12
"""September 2001 in ms since the epoch: smaller figures are no time."""


def console() -> Console:
    """The terminal behind stdout."""
    return Console(highlight=False)


def safe(value: object, style: str = "") -> Text:
    """A value as text that no markup or escape sequence in it can style."""
    return Text(shown(plain(value)), style=style)


def plain(value: object, name: str = "") -> str:
    """A JSON value as people write it: thousands grouped, lists with commas; by their `name` times and bytes."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and value >= _FIRST_MS and name.endswith(("At", "timestamp")):
        value = clock.iso(value)
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
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def pairs(rows: Mapping[str, object]) -> Table:
    """Names on the left, values on the right."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(safe(label(name)), value if isinstance(value, (Text, Table)) else safe(plain(value, name)))
    return grid


def rows_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str] = (), most: int = _MAX_ROWS) -> Table:
    """Objects with the same keys as a table; the columns are those of the first unless named."""
    names = list(columns or rows[0])[:_MAX_COLUMNS]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        number = all(isinstance(row.get(name), (int, float)) and not isinstance(row.get(name), bool) for row in rows)
        told = [plain(row.get(name), name) for row in rows[:most]]
        whole = all(len(text) <= (_SHORT if " " in text else _ONE_WORD) for text in told)
        table.add_column(label(name), justify="right" if number else "left", overflow="fold", no_wrap=whole)
    for row in rows[:most]:
        table.add_row(*(safe(plain(row.get(name), name)) for name in names))
    return table


def next_steps(answer: Answer, screen: Console) -> None:
    """The commands that make sense now, quietly."""
    for action in answer.next_actions:
        line = Text("→ ", style="dim")
        command = runnable(action["command"])
        for name, about in action.get("params", {}).items():
            if "value" in about:
                command = command.replace(f"<{name}>", str(about["value"]))
        line.append_text(safe(command, "dim cyan"))
        line.append_text(safe("  " + action["description"], "dim"))
        screen.print(line, soft_wrap=True)  # a row that is broken here could not be copied


def drawn(draw: Callable[[Console, Any], None]) -> Callable[[Answer], None]:
    """A view: what `draw` makes of an answer's result on the screen, then the next steps."""

    @wraps(draw)
    def view(answer: Answer) -> None:
        screen = console()
        draw(screen, answer.result)
        next_steps(answer, screen)

    return view


def told(answer: Answer, *, without: Sequence[str] = ()) -> None:
    """An answer as it is: names and values, then each list and each group under its name, and the next steps."""
    screen = console()
    every: dict[str, Any] = answer.result if isinstance(answer.result, dict) else {}
    result = filled(
        {name: value for name, value in every.items() if name not in without and (value != 0 or value is False)}
    )
    groups = {name: value for name, value in result.items() if _is_group(value)}
    single = {name: value for name, value in result.items() if name not in groups}
    if answer.said:
        screen.print(safe(answer.said))
    if single:
        screen.print(pairs(single))
    elif not (groups or answer.said):
        screen.print(safe("none", "dim"))
    for name, value in groups.items():
        screen.print(safe(label(name), "bold cyan"))
        if isinstance(value, dict):
            screen.print(pairs(value))
        elif isinstance(value[0], dict):
            screen.print(rows_table(value, most=len(value)))
        else:
            screen.print(safe("\n".join(plain(one, name) for one in value)))
    next_steps(answer, screen)


def filled(value: dict[str, Any]) -> dict[str, Any]:
    """Without what is empty or not known, in the groups within it, too."""
    every = {name: filled(one) if isinstance(one, dict) else one for name, one in value.items()}
    return {name: one for name, one in every.items() if one is not None and one not in ("", [], {})}


def _is_group(value: object) -> bool:
    if isinstance(value, list):
        return isinstance(value[0], dict) or len(plain(value)) > _LINE
    return isinstance(value, dict)


def text_first(answer: Answer) -> None:
    """The one long text of an answer as it is, then the rest as `told` shows it."""
    result: Any = answer.result
    name = "text" if "text" in result else "summary"
    console().print(safe(result[name] or ""))
    told(answer, without=(name,))


def agreed(question: str, *, otherwise: bool = False) -> bool:
    """Whether the user says yes; `otherwise` is what an empty line means."""
    sys.stdout.write(f"{question} {'[Y/n]' if otherwise else '[y/N]'} ")
    sys.stdout.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stdout.write("\n")
    return otherwise if answer == "\n" else answer.strip().lower() in ("y", "yes")
