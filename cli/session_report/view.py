"""What `session list`, `session show` and `report` print on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.recall.view import age
from cli.terminal import drawn, pairs, plain, rows_table, safe
from core import clock, ids
from core.quoting import clip

ZONES = {"cold": "blue", "warm": "yellow", "hot": "red"}
_KINDS = {
    "zone": "yellow", "compaction": "bold magenta", "checkpoint": "magenta", "injection": "green", "recall": "cyan",
    "feedback": "green", "error": "bold red", "skipped": "dim", "start": "dim", "event": "dim",
}  # fmt: skip
_LINE_CHARS, _ERROR_CHARS, _TEXT_LINES = 150, 100, 4
_INDENT = " " * 18
_OUTCOMES = {"echo": "used", "fizzle": "ignored"}
_CHOSEN = {
    "project": "The newest of this folder's project. For another: joelclaw session show ID",
    "last": "None of this folder's project is known; this is the newest of all. For another: joelclaw session show ID",
}


@drawn
def list_(screen: Console, result: Any) -> None:
    """Of each session its id as every command takes it, what is known of it, and beneath it the last task."""
    now = clock.now_ms()
    for one in result["sessions"]:
        percent = "" if one["contextPercent"] is None else f"{one['contextPercent']:.0f} %"
        counts = _some(one["turns"], "turn"), _some(one["toolCalls"], "call"), _some(one["compactions"], "compaction")
        parts = [one["client"], one["project"], age(one["updatedAt"], now), *counts, percent]
        about = safe("  " + " · ".join(filter(None, parts)), "dim")
        screen.print(safe(ids.shown(one["sessionId"]), "bold").append_text(about), soft_wrap=True)
        screen.print(safe("    " + clip(one["task"], _LINE_CHARS)) if one["task"] else "", no_wrap=True, end="")
        screen.print()
    if not result["sessions"]:
        screen.print(safe("No session is known.", "yellow"))


@drawn
def show(screen: Console, life: Any) -> None:
    """One session; `full` says whether every turn is told."""
    for said, style in ((_CHOSEN.get(life["chosen"]), "dim"), (life["problem"], "yellow")):
        if said:
            screen.print(safe(said, style))
    where = ", ".join(part for part in (life["client"], life["project"]) if part)
    started, ended = (life[name][:16].replace("T", " ") for name in ("startedAt", "updatedAt"))
    screen.print(safe(life["sessionId"], "bold").append_text(safe(f"  {where}  {started} to {ended} UTC", "dim")))
    if life["task"]:
        screen.print(Text.assemble(("task  ", "dim"), safe(clip(life["task"], _LINE_CHARS))))
    given, memories, hooks, percent = life["injections"], life["memories"], life["hooks"], life["contextPercent"]
    failed = f" ({plain(life['failedCalls'])} failed)" if life["failedCalls"] else ""
    parts = [
        _some(life["turnCount"], "turn"),
        _some(life["toolCalls"], "call") + failed,
        _some(life["compactions"], "compaction"),
        _some(life["recalls"], "recall"),
        "" if percent is None else f"{percent:.0f} % {life['zone']}",
        f"{_some(given['count'], 'injection')}, {plain(given['tokens'])} tokens",
        f"memories {memories['injected']}: {memories['echo']} used, {memories['fizzle']} ignored",
        _some(hooks["count"], "hook")
        + f", median {_ms(hooks['p50'])}, {_ms(hooks['totalMs'])} in all" * bool(hooks["count"]),
    ]
    screen.print(safe(" · ".join(filter(None, parts))))
    quiet: list[Any] = []
    for turn in life["turns"]:
        if turn["moments"] or life["full"]:
            _quiet(screen, quiet)
            quiet = []
            _turn(screen, turn, full=life["full"])
        else:
            quiet.append(turn)
    _quiet(screen, quiet)
    _table(screen, life["hooksByEvent"], ("event", "count", "p50", "p95", "totalMs", "late", "failed"))


@drawn
def report(screen: Console, result: Any) -> None:
    """The figures of the last hours."""
    hooks, recalls, given = result["hooks"], result["recalls"], result["injections"]
    feedback, errors = result["feedback"], result["errors"]
    screen.print(safe(f"last {result['hours']:g} hours", "bold"))
    within = f", median {_ms(hooks['p50'])}, 95 of 100 within {_ms(hooks['p95'])}"
    figures = {
        "sessions": f"{plain(result['sessions'])}, {plain(result['compactions'])} compactions",
        "hooks": f"{plain(hooks['count'])}{within if hooks['count'] else ''}",
        "late hooks": f"{plain(hooks['late'])}, failed {plain(hooks['failed'])}, degraded {plain(hooks['degraded'])}",
        "injections": f"{plain(given['count'])}, {plain(given['tokens'])} tokens",
        "hit rate": f"{_share(recalls['hitRate'])}, {recalls['withHits']} of {recalls['count']} recalls",
        "memories used": f"{_share(feedback['echoRate'])}, {feedback['echo']} of {feedback['judged']} judged",
        "errors": safe(errors["total"], "bold red" if errors["total"] else ""),
    }
    screen.print(pairs(figures))
    _table(screen, hooks["byEvent"], ("client", "event", "count", "p50", "p95", "late", "failed"))
    _table(screen, given["byType"])
    _table(screen, [{**one, "error": clip(" ".join(one["error"].split()), _ERROR_CHARS)} for one in errors["latest"]])


def _turn(screen: Console, turn: Any, *, full: bool) -> None:
    number = f"#{turn['number']}" if turn["number"] else "before"
    said = turn["prompt"] or ("(prompt not archived)" if turn["number"] else "")
    failed = f", {turn['failedCalls']} failed" if turn["failedCalls"] else ""
    took = turn["seconds"] or 0
    size, unit = (86_400, "days") if took >= 172_800 else (3_600, "h") if took >= 7_200 else (1, "s")
    figures = [
        _some(turn["toolCalls"], "call") + failed if turn["toolCalls"] else "",
        f"{_some(turn['hooks'], 'hook')} {_ms(turn['hookMs'])}" if turn["hooks"] else "",
        f"{took / size:,.0f} {unit}" if took else "",
    ]
    percent = "" if turn["contextPercent"] is None else f"{turn['contextPercent']:>3.0f} %  "
    line = Text.assemble((f"{number:<7}", "bold"), safe(turn["at"][11:19] + "  ", "dim"))
    line.append_text(safe(percent, ZONES.get(turn["zone"], "dim")))
    told = " · ".join(filter(None, figures))
    line.append_text(safe(f"{told}  " if told else "", "dim")).append_text(safe(said))
    _print(screen, line, full)
    for one in turn["moments"]:
        _moment(screen, one, full=full)


def _some(number: int, word: str) -> str:
    return f"{plain(number)} {word}{'s' * (number != 1)}"


def _print(screen: Console, line: Text, full: bool) -> None:
    screen.print(line, no_wrap=not full, overflow=None if full else "ellipsis", crop=not full)


def _moment(screen: Console, one: Any, *, full: bool) -> None:
    line = Text.assemble(("       ", ""), safe(f"{one['kind']:<11}", _KINDS.get(one["kind"], "")), safe(one["text"]))
    tokens, took = one.get("tokens"), one.get("ms")
    about = [one.get("customType"), f"{plain(tokens)} tokens" if tokens else "", "" if took is None else _ms(took)]
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
        style = "green" if handed["outcome"] == "echo" else "dim"
        text = safe(f"{_INDENT}{_OUTCOMES.get(handed['outcome'], ''):<8}", style)
        _print(screen, text.append_text(safe(" ".join(handed["text"].split()) or "forgotten", "dim")), full)


def _quiet(screen: Console, turns: Sequence[Any]) -> None:
    if len(turns) == 1:
        _turn(screen, turns[0], full=False)
    elif turns:
        known = [turn["contextPercent"] for turn in turns if turn["contextPercent"] is not None]
        percents = f", context {known[0]:.0f} to {known[-1]:.0f} %" if known else ""
        calls = sum(turn["toolCalls"] for turn in turns)
        numbers = f"#{turns[0]['number']} to #{turns[-1]['number']}"
        screen.print(safe(f"{numbers}: {len(turns)} turns, {plain(calls)} calls{percents}", "dim"))


def _table(screen: Console, rows: Sequence[Any], columns: Sequence[str] = ()) -> None:
    if rows:
        screen.print()
        screen.print(rows_table(rows, columns))


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _share(value: float | None) -> str:
    return "not enough yet" if value is None else f"{value:.0%}".replace("%", " %")
