"""`session list`, `session show` and `report`: on a terminal, and as a page that rich exports of the same."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from cli.answer import Answer
from cli.recall.view import age
from cli.session_report.page_file import POLICY
from cli.terminal import console, next_steps, pairs, plain, rows_table, safe
from core import clock
from core.output import shown_line
from core.quoting import clip

ZONES = {"cold": "blue", "warm": "yellow", "hot": "red"}
_KINDS = {
    "zone": "yellow", "compaction": "bold magenta", "checkpoint": "magenta", "injection": "green", "recall": "cyan",
    "feedback": "green", "error": "bold red", "skipped": "dim", "start": "dim", "event": "dim",
}  # fmt: skip
_BAR = 8
_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE = 60
_LINE_CHARS = 150
_NAME_CHARS = 24
_TASK_LEAST, _OTHERS = 16, 66
"""Columns of the last task in a list, and of what stands before it beside names."""
_TEXT_LINES = 4
_INDENT = " " * 18
_CHOSEN = {
    "project": "The newest of this folder's project; another: joelclaw session show ID",
    "last": "No session of this folder's project is known: the newest of all; another: joelclaw session show ID",
    "environment": "",
    "given": "",
}
_BAD = ("late", "failed", "degraded")
_ERROR_CHARS = 100
_PAGE_WIDTH = 132
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
{stylesheet}
body {{ color: {foreground}; background-color: {background}; margin: 1.5rem; }}
pre {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .85rem; white-space: pre-wrap; }}
</style>
</head>
<body><pre><code>{code}</code></pre></body>
</html>
"""


def list_(answer: Answer) -> None:
    """The sessions, a line each."""
    result: Any = answer.result
    screen = console()
    if not result["sessions"]:
        screen.print(safe("No session is known.", "yellow"))
        return
    now = clock.now_ms()
    table = _table(("session", "client", "project", "last seen"), ("turns", "calls", "comp.", "context"))
    table.add_column("last task", no_wrap=True)
    longest = [max(len(one[name][:_NAME_CHARS]) for one in result["sessions"]) for name in ("client", "project")]
    room = max(_TASK_LEAST, screen.width - _OTHERS - sum(longest))
    for one in result["sessions"]:
        percent = one["contextPercent"]
        shown = "–" if percent is None else f"{percent:.0f} %"
        table.add_row(
            safe(one["sessionId"][:12]), safe(one["client"]), safe(clip(one["project"], _NAME_CHARS)),
            safe(age(one["updatedAt"], now), "dim"), safe(one["turns"]), safe(one["toolCalls"]),
            safe(one["compactions"]), safe(shown, ZONES.get(one["zone"], "dim")), safe(clip(one["task"], room)),
        )  # fmt: skip
    screen.print(table)
    if result["count"] > len(result["sessions"]):
        screen.print(safe(f"{len(result['sessions'])} of {plain(result['count'])}; more with --limit", "dim"))
    next_steps(answer, screen)


def show(answer: Answer) -> None:
    """One session: who and what for, the context as a curve, its turns, what its hooks cost."""
    screen = console()
    draw_session(screen, answer.result)
    next_steps(answer, screen)


def report(answer: Answer) -> None:
    """The figures, then what hooks cost by client and event, injections by kind, and the last errors."""
    screen = console()
    draw_report(screen, answer.result)
    next_steps(answer, screen)


def page(draw: Callable[[Console, Any], None], result: Any, title: str) -> str:
    """What `draw` draws as one self-contained page."""
    screen = Console(
        record=True, file=io.StringIO(), width=_PAGE_WIDTH, force_terminal=True, color_system="truecolor",
        highlight=False, no_color=False, legacy_windows=False,
    )  # fmt: skip
    draw(screen, result)
    screen.print(safe("\nTimes are UTC. Written by joelclaw from what it keeps on this machine.", "dim"))
    frame = _PAGE % (POLICY, escape(shown_line(title)).replace("{", "{{").replace("}", "}}"))
    return screen.export_html(theme=DEFAULT_TERMINAL_THEME, code_format=frame)


def draw_session(screen: Console, life: Any) -> None:
    """One session; `full` says whether every turn is told."""
    if _CHOSEN.get(life["chosen"]):
        screen.print(safe(_CHOSEN[life["chosen"]], "dim"))
    if life["problem"]:
        screen.print(safe(life["problem"], "yellow"))
    _head(screen, life)
    curve = _curve(life)
    if curve.plain:
        screen.print(curve)
    quiet: list[Any] = []
    for turn in life["turns"]:
        if not turn["moments"] and not life["full"]:
            quiet.append(turn)
            continue
        _quiet(screen, quiet)
        _turn(screen, turn, full=life["full"])
    _quiet(screen, quiet)
    _cost_table(screen, life["hooksByEvent"], ("event",))


def draw_report(screen: Console, result: Any) -> None:
    """The figures of the last hours."""
    hooks, recalls, given = result["hooks"], result["recalls"], result["injections"]
    feedback, errors = result["feedback"], result["errors"]
    screen.print(safe(f"last {result['hours']:g} hours", "bold"))
    bad = _bad(hooks) or "none late or failed"
    screen.print(
        pairs(
            {
                "sessions": f"{plain(result['sessions'])}, {plain(result['compactions'])} compactions",
                "hooks": f"{plain(hooks['count'])}, {bad}; {ms(hooks['p50'])} median, {ms(hooks['p95'])} in 95 of 100",
                "injections": f"{plain(given['count'])}, {plain(given['tokens'])} tokens",
                "hit rate": f"{_share(recalls['hitRate'])}, {recalls['withHits']} of {recalls['count']} recalls",
                "echo rate": f"{_share(feedback['echoRate'])}, {feedback['echo']} of {feedback['judged']} judged",
                "errors": safe(errors["total"], "bold red" if errors["total"] else ""),
            }
        )
    )
    _cost_table(screen, [{**one, "notOk": _bad(one)} for one in hooks["byEvent"]], ("client", "event"))
    if given["byType"]:
        screen.print()
        screen.print(rows_table(given["byType"], ("customType", "count", "memories", "tokens")))
    if errors["latest"]:
        screen.print()
        rows = [
            {
                "last at (UTC)": one["at"][:19].replace("T", " "),
                "event": one["action"],
                "times": one["count"],
                "error": clip(" ".join(one["error"].split()), _ERROR_CHARS),
            }
            for one in errors["latest"]
        ]
        screen.print(rows_table(rows))


def _bad(figures: Any) -> str:
    return ", ".join(f"{plain(figures[name])} {name}" for name in _BAD if figures[name])


def _head(screen: Console, life: Any) -> None:
    where = ", ".join(part for part in (life["client"], life["project"]) if part)
    started, ended = (life[name][:16].replace("T", " ") for name in ("startedAt", "updatedAt"))
    screen.print(safe(life["sessionId"], "bold").append_text(safe(f"  {where}  {started} to {ended} UTC", "dim")))
    if life["task"]:
        screen.print(Text.assemble(("task  ", "dim"), safe(clip(life["task"], _LINE_CHARS))))
    given, memories, hooks, percent = life["injections"], life["memories"], life["hooks"], life["contextPercent"]
    failed = f" ({plain(life['failedCalls'])} failed)" if life["failedCalls"] else ""
    counted = (("turnCount", "turn"), ("toolCalls", "call"), ("compactions", "compaction"), ("recalls", "recall"))
    parts = [_some(life[name], word) + (failed if word == "call" else "") for name, word in counted]
    line = safe(" · ".join(parts) + " · ")
    if percent is not None:
        line.append_text(safe(f"{percent:.0f} % {life['zone']}", ZONES.get(life["zone"], "")))
        line.append(" · ")
    line.append_text(
        safe(
            f"{_some(given['count'], 'injection')}, {plain(given['tokens'])} tokens · "
            f"memories {memories['injected']}, echo {memories['echo']}, fizzle {memories['fizzle']} · "
            f"{_some(hooks['count'], 'hook')}, {ms(hooks['p50'])} median, {ms(hooks['totalMs'])} together"
        )
    )
    screen.print(line)


def _curve(life: Any) -> Text:
    """The context as a row of blocks, each in the colour of its zone; a bar where it was compacted."""
    points = life["context"]
    line = Text()
    if len(points) < 2:
        return line
    compacted = sorted(one["at"] for turn in life["turns"] for one in turn["moments"] if one["kind"] == "compaction")
    size = max(1, -(-len(points) // _CURVE))
    line.append("context  ", "dim")
    before = ""
    for at in range(0, len(points), size):
        group = points[at : at + size]
        if any(before < one < group[-1]["at"] for one in compacted) and before:
            line.append("│", "magenta")
        before = group[-1]["at"]
        percent = max(one["percent"] for one in group)
        zone = "red" if percent >= life["hotPercent"] else "yellow" if percent >= life["warmPercent"] else "blue"
        line.append(_BLOCKS[min(7, max(0, int(percent / 12.5)))], zone)
    return line


def _turn(screen: Console, turn: Any, *, full: bool) -> None:
    number = f"#{turn['number']}" if turn["number"] else "before"
    said = turn["prompt"] or ("(prompt not archived)" if turn["number"] else "")
    failed = f", {turn['failedCalls']} failed" if turn["failedCalls"] else ""
    counted = (
        _some(turn["toolCalls"], "call") + failed if turn["toolCalls"] else "",
        f"{_some(turn['hooks'], 'hook')} {ms(turn['hookMs'])}" if turn["hooks"] else "",
        duration(turn["seconds"]) if turn["seconds"] else "",
    )
    figures = " · ".join(filter(None, counted))
    line = Text.assemble((f"{number:<7}", "bold"), safe(turn["at"][11:19] + "  ", "dim"))
    line.append_text(_gauge(turn["contextPercent"], turn["zone"]))
    line.append_text(safe(f"{figures}  " if figures else "", "dim")).append_text(safe(said))
    _print(screen, line, full)
    for one in turn["moments"]:
        _moment(screen, one, full=full)


def _some(number: int, word: str) -> str:
    return f"{plain(number)} {word}{'s' * (number != 1)}"


def _print(screen: Console, line: Text, full: bool) -> None:
    """A line; cut at the edge of the screen unless all is asked for."""
    screen.print(line, no_wrap=not full, overflow=None if full else "ellipsis", crop=not full)


def _gauge(percent: float | None, zone: str) -> Text:
    if percent is None:
        return Text("")
    filled = round(min(100.0, percent) / 100 * _BAR)
    colour = ZONES.get(zone, "dim")
    return Text.assemble(("█" * filled, colour), ("░" * (_BAR - filled), "dim"), (f" {percent:>3.0f} %  ", colour))


def _moment(screen: Console, one: Any, *, full: bool) -> None:
    line = Text.assemble(("       ", ""), safe(f"{one['kind']:<11}", _KINDS.get(one["kind"], "")), safe(one["text"]))
    tokens, took = one.get("tokens"), one.get("ms")
    about = [one.get("customType"), f"{plain(tokens)} tokens" if tokens else "", "" if took is None else ms(took)]
    if any(about):
        line.append_text(safe(f"  ({', '.join(filter(None, about))})", "dim"))
    _print(screen, line, full)
    lines = one.get("content", "").split("\n")[1:]
    shown = lines if full else lines[:_TEXT_LINES]
    for said in shown:
        _print(screen, safe(_INDENT + said, "dim"), full)
    if len(lines) > len(shown):
        screen.print(safe(f"{_INDENT}… {len(lines) - len(shown)} more lines: --full", "dim"))
    for handed in one.get("memories", ()):
        text = safe(f"{_INDENT}{handed['outcome']:<7}", "green" if handed["outcome"] == "echo" else "dim")
        _print(screen, text.append_text(safe(" ".join(handed["text"].split()) or "forgotten", "dim")), full)


def _quiet(screen: Console, turns: list[Any]) -> None:
    """Turns in which nothing happened, as one line; the list is emptied."""
    if not turns:
        return
    first, last = turns[0], turns[-1]
    if len(turns) == 1:
        _turn(screen, first, full=False)
    else:
        known = [turn["contextPercent"] for turn in turns if turn["contextPercent"] is not None]
        percents = f", context {known[0]:.0f} to {known[-1]:.0f} %" if known else ""
        calls = sum(turn["toolCalls"] for turn in turns)
        numbers = f"#{first['number']} to #{last['number']}"
        screen.print(safe(f"{numbers}: {len(turns)} turns, {plain(calls)} calls{percents}", "dim"))
    turns.clear()


def _cost_table(screen: Console, rows: Sequence[Any], names: Sequence[str]) -> None:
    """What hooks cost, a line each of what `names` tell apart."""
    if not rows:
        return
    table = _table(names, ("hooks", "median", "95 %", "longest", "together", "not ok"))
    for one in rows:
        table.add_row(
            *(safe(one[name] or ("not read" if name == "event" else "–")) for name in names),
            *(safe(one["count"]), ms(one["p50"]), ms(one["p95"]), ms(one["max"]), ms(one["totalMs"])),
            safe(one["notOk"] or "–", "red" if one["notOk"] else "dim"),
        )
    screen.print()
    screen.print(table)


def _table(texts: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in (*texts, *numbers):
        table.add_column(name, justify="right" if name in numbers else "left", no_wrap=True)
    return table


def ms(value: float | None) -> str:
    """A duration: `7.4 ms`, `230 ms`, `2.1 s`; a dash where it is not known."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value / 1000:,.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _share(value: float | None) -> str:
    return "not enough yet" if value is None else f"{value:.0%}".replace("%", " %")
