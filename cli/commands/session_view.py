"""How `session …`, `report`, `lost` and `sessions …` look on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.commands.session import lost_text
from cli.output import Answer
from cli.terminal import age, console, next_steps, pairs, plain, rows_table, safe, score_bar, view
from core import clock, ids
from core.quoting import clip

LINE_CHARACTERS = 150
TEXT_LINES = 4  # of an injected text, without --full
ZONE_STYLES = {"cold": "blue", "warm": "yellow", "hot": "red"}
_MOMENT_STYLES = {
    "zone": "yellow", "compaction": "bold magenta", "checkpoint": "magenta", "injection": "green", "recall": "cyan",
    "feedback": "green", "error": "bold red", "skipped": "dim", "start": "dim", "event": "dim",
}  # fmt: skip
_OUTCOMES = {"echo": "used", "fizzle": "ignored"}
_CHOSEN_SESSION = {
    "project": "The newest session of this folder's project. For another: joelclaw session show ID",
    "last": "This folder's project has no sessions; this is the newest of all. For another: joelclaw session show ID",
}
_CHOSEN_COMPACTION = {
    "project": "This is the session last compacted in this folder's project.",
    "last": "No session of this project was compacted; showing the most recent one of any project.",
}


@view
def draw_list(screen: Console, result: Any) -> None:
    """Two lines for each session: its id and numbers, and its last task."""
    now = clock.now_ms()
    for row in result["sessions"]:
        percent = "" if row["contextPercent"] is None else f"{row['contextPercent']:.0f} %"
        counts = (
            count(row["turns"], "turn"), count(row["toolCalls"], "call"), count(row["compactions"], "compaction")
        )  # fmt: skip
        parts = [row["client"], row["project"], age(row["updatedAt"], now), *counts, percent]
        about = safe("  " + " · ".join(filter(None, parts)), "dim")
        screen.print(safe(ids.shown(row["sessionId"]), "bold").append_text(about), soft_wrap=True)
        screen.print(safe("    " + clip(row["task"], LINE_CHARACTERS)) if row["task"] else "", no_wrap=True, end="")
        screen.print()
    if not result["sessions"]:
        screen.print(safe("No session is known.", "yellow"))


@view
def draw_session(screen: Console, result: Any) -> None:
    """One session: a summary, then its turns. Without --full, turns in which nothing happened share a line."""
    for line, style in ((_CHOSEN_SESSION.get(result["chosen"]), "dim"), (result["problem"], "yellow")):
        if line:
            screen.print(safe(line, style))
    _draw_summary(screen, result)
    quiet: list[Any] = []
    for turn in result["turns"]:
        if turn["moments"] or result["full"]:
            _draw_quiet_turns(screen, quiet)
            quiet = []
            _draw_turn(screen, turn, full=result["full"])
        else:
            quiet.append(turn)
    _draw_quiet_turns(screen, quiet)
    _draw_table(screen, result["hooksByEvent"], ("event", "count", "p50", "p95", "totalMs", "late", "failed"))


def _draw_summary(screen: Console, result: Any) -> None:
    place = ", ".join(part for part in (result["client"], result["project"]) if part)
    started, ended = (result[name][:16].replace("T", " ") for name in ("startedAt", "updatedAt"))
    screen.print(safe(result["sessionId"], "bold").append_text(safe(f"  {place}  {started} to {ended} UTC", "dim")))
    if result["task"]:
        screen.print(Text.assemble(("task  ", "dim"), safe(clip(result["task"], LINE_CHARACTERS))))
    injections, memories, hooks = result["injections"], result["memories"], result["hooks"]
    percent = result["contextPercent"]
    failed = f" ({plain(result['failedCalls'])} failed)" if result["failedCalls"] else ""
    times = f", median {milliseconds(hooks['p50'])}, {milliseconds(hooks['totalMs'])} in all"
    parts = [
        count(result["turnCount"], "turn"),
        count(result["toolCalls"], "call") + failed,
        count(result["compactions"], "compaction"),
        count(result["recalls"], "recall"),
        "" if percent is None else f"{percent:.0f} % {result['zone']}",
        f"{count(injections['count'], 'injection')}, {plain(injections['tokens'])} tokens",
        f"memories {memories['injected']}: {memories['echo']} used, {memories['fizzle']} ignored",
        count(hooks["count"], "hook") + times * bool(hooks["count"]),
    ]
    screen.print(safe(" · ".join(filter(None, parts))))


def _draw_turn(screen: Console, turn: Any, *, full: bool) -> None:
    number = f"#{turn['number']}" if turn["number"] else "before"
    prompt = turn["prompt"] or ("(prompt not archived)" if turn["number"] else "")
    failed = f", {turn['failedCalls']} failed" if turn["failedCalls"] else ""
    seconds = turn["seconds"] or 0
    unit_seconds, unit = (86_400, "days") if seconds >= 172_800 else (3_600, "h") if seconds >= 7_200 else (1, "s")
    figures = [
        count(turn["toolCalls"], "call") + failed if turn["toolCalls"] else "",
        f"{count(turn['hooks'], 'hook')} {milliseconds(turn['hookMs'])}" if turn["hooks"] else "",
        f"{seconds / unit_seconds:,.0f} {unit}" if seconds else "",
    ]
    percent = "" if turn["contextPercent"] is None else f"{turn['contextPercent']:>3.0f} %  "
    line = Text.assemble((f"{number:<7}", "bold"), safe(turn["at"][11:19] + "  ", "dim"))
    line.append_text(safe(percent, ZONE_STYLES.get(turn["zone"], "dim")))
    about = " · ".join(filter(None, figures))
    line.append_text(safe(f"{about}  " if about else "", "dim")).append_text(safe(prompt))
    _print_line(screen, line, full)
    for moment in turn["moments"]:
        _draw_moment(screen, moment, full=full)


def _draw_moment(screen: Console, moment: Any, *, full: bool) -> None:
    """A line about an event in a turn, with the text and memories that were injected."""
    indent = " " * 18
    kind = safe(f"{moment['kind']:<11}", _MOMENT_STYLES.get(moment["kind"], ""))
    line = Text.assemble(("       ", ""), kind, safe(moment["text"]))
    tokens, took = moment.get("tokens"), moment.get("ms")
    about = [
        moment.get("customType"),
        f"{plain(tokens)} tokens" if tokens else "",
        "" if took is None else milliseconds(took),
    ]
    if any(about):
        line.append_text(safe(f"  ({', '.join(filter(None, about))})", "dim"))
    _print_line(screen, line, full)
    lines = moment.get("content", "").split("\n")[1:]
    shown = lines if full else lines[:TEXT_LINES]
    for text in shown:
        _print_line(screen, safe(indent + text, "dim"), full)
    if len(lines) > len(shown):
        screen.print(safe(f"{indent}… {len(lines) - len(shown)} more lines: --full", "dim"))
    for memory in moment.get("memories", ()):
        style = "green" if memory["outcome"] == "echo" else "dim"
        outcome = safe(f"{indent}{_OUTCOMES.get(memory['outcome'], ''):<8}", style)
        text = " ".join(memory["text"].split()) or "forgotten"
        _print_line(screen, outcome.append_text(safe(text, "dim")), full)


def _draw_quiet_turns(screen: Console, turns: Sequence[Any]) -> None:
    if len(turns) == 1:
        _draw_turn(screen, turns[0], full=False)
    elif turns:
        known = [turn["contextPercent"] for turn in turns if turn["contextPercent"] is not None]
        percents = f", context {known[0]:.0f} to {known[-1]:.0f} %" if known else ""
        calls = sum(turn["toolCalls"] for turn in turns)
        numbers = f"#{turns[0]['number']} to #{turns[-1]['number']}"
        screen.print(safe(f"{numbers}: {len(turns)} turns, {plain(calls)} calls{percents}", "dim"))


def _print_line(screen: Console, line: Text, full: bool) -> None:
    screen.print(line, no_wrap=not full, overflow=None if full else "ellipsis", crop=not full)


@view
def draw_report(screen: Console, result: Any) -> None:
    """The numbers of the last hours, then tables of hooks, injections and errors."""
    hooks, recalls, injections = result["hooks"], result["recalls"], result["injections"]
    feedback, errors = result["feedback"], result["errors"]
    screen.print(safe(f"last {result['hours']:g} hours", "bold"))
    times = f", median {milliseconds(hooks['p50'])}, 95 of 100 within {milliseconds(hooks['p95'])}"
    numbers = {
        "sessions": f"{plain(result['sessions'])}, {plain(result['compactions'])} compactions",
        "hooks": f"{plain(hooks['count'])}{times if hooks['count'] else ''}",
        "late hooks": f"{plain(hooks['late'])}, failed {plain(hooks['failed'])}, degraded {plain(hooks['degraded'])}",
        "injections": f"{plain(injections['count'])}, {plain(injections['tokens'])} tokens",
        "hit rate": f"{_share(recalls['hitRate'])}, {recalls['withHits']} of {recalls['count']} recalls",
        "memories used": f"{_share(feedback['echoRate'])}, {feedback['echo']} of {feedback['judged']} judged",
        "errors": safe(errors["total"], "bold red" if errors["total"] else ""),
    }
    screen.print(pairs(numbers))
    _draw_table(screen, hooks["byEvent"], ("client", "event", "count", "p50", "p95", "late", "failed"))
    _draw_table(screen, injections["byType"])
    _draw_table(screen, [{**row, "error": clip(" ".join(row["error"].split()), 100)} for row in errors["latest"]])


def _draw_table(screen: Console, rows: Sequence[Any], columns: Sequence[str] = ()) -> None:
    if rows:
        screen.print()
        screen.print(rows_table(rows, columns))


def count(number: int, word: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{plain(number)} {word}{'s' * (number != 1)}"


def milliseconds(value: float | None) -> str:
    """A time in ms, or in seconds from one second on; – if it is unknown."""
    if value is None:
        return "–"
    return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _share(value: float | None) -> str:
    return "not enough yet" if value is None else f"{value:.0%}".replace("%", " %")


def draw_lost(answer: Answer) -> None:
    """The best of what a compaction dropped in 25 rows, or all that was asked for."""
    result: Any = answer.result
    screen = console()
    for line in answer.message.splitlines():
        screen.print(safe(line), no_wrap=True, overflow="ellipsis")
    if not answer.message:
        screen.print(safe(lost_text(result)), soft_wrap=True)  # a command that is broken into rows cannot be copied
    if result["chosen"] in _CHOSEN_COMPACTION:
        screen.print(safe(f"{_CHOSEN_COMPACTION[result['chosen']]} For another: joelclaw lost ID", "dim"))
    next_steps(answer, screen)


@view
def draw_found_sessions(screen: Console, result: Any) -> None:
    """Every session with its score, client, start, folder and snippets."""
    for rank, hit in enumerate(result["hits"], 1):
        head = safe(ids.shown(hit["sessionId"]), "bold cyan")
        head.append_text(safe(f"  {hit['client']}  {hit['startedAt'][:16]}  {hit['folder']}", "dim"))
        screen.print(Text.assemble((f"{rank:>2}  ", "bold"), score_bar(hit["score"]), "  ", head))
        for text in hit["snippets"]:
            screen.print(Padding(safe(" ".join(text.split())), (0, 0, 1, 4)))
    screen.print(safe(f"top {len(result['hits'])} of {result['found']} sessions", "dim"))


@view
def draw_extraction(screen: Console, result: Any) -> None:
    """An extraction as Markdown."""
    from memory import sessions

    extraction = result["extraction"]
    screen.print(safe(sessions.markdown(extraction)))
    if extraction["query"] and not extraction["matched"]:
        query = extraction["query"][:120]
        screen.print(safe(f"Nothing in this session matches {query!r}: this is its beginning.", "yellow"))
