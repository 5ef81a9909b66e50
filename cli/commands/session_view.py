"""How `session …`, `report`, `lost` and `sessions …` look on a terminal."""

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.commands.session import lost_text
from cli.output import Answer
from cli.terminal import age, console, next_steps, pairs, plain, safe, score_bar, view
from core import clock, ids
from core.quoting import clip, counted

LINE_CHARACTERS = 150
_CHOSEN = {
    "project": "This is the latest session of this folder's project. For another, give its ID.",
    "last": "This folder's project has no such session; this is the latest of all. For another, give its ID.",
}


@view
def draw_list(screen: Console, result: Any) -> None:
    """Two lines for each session: its id and numbers, and its last task."""
    now = clock.now_ms()
    for row in result["sessions"]:
        numbers = {"turn": row["turns"], "call": row["toolCalls"], "compaction": row["compactions"]}
        counts = [counted(number, noun) for noun, number in numbers.items()]
        percent = "" if row["contextPercent"] is None else f"{row['contextPercent']:.0f} %"
        parts = [row["client"], row["project"], age(row["updatedAt"], now), *counts, percent]
        about = safe("  " + " · ".join(filter(None, parts)), "dim")
        screen.print(safe(ids.shown(row["sessionId"]), "bold").append_text(about), soft_wrap=True)
        if row["task"]:
            screen.print(safe("    " + clip(row["task"], LINE_CHARACTERS)), no_wrap=True)
    if not result["sessions"]:
        screen.print(safe("No session is known.", "yellow"))


@view
def draw_session(screen: Console, result: Any) -> None:
    """A summary, then the turns: without --full only those in which something happened."""
    for line, style in ((_CHOSEN.get(result["chosen"]), "dim"), (result["problem"], "yellow")):
        if line:
            screen.print(safe(line, style))
    hooks, memories, injections = result["hooks"], result["memories"], result["injections"]
    times = f", median {milliseconds(hooks['p50'])}, {milliseconds(hooks['totalMs'])} in all" if hooks["count"] else ""
    percent = "" if result["contextPercent"] is None else f"{result['contextPercent']:.0f} % {result['zone']}"
    compactions, recalls = counted(result["compactions"], "compaction"), counted(result["recalls"], "recall")
    summary = {
        "session": result["sessionId"],
        "client": ", ".join(filter(None, (result["client"], result["project"]))),
        "time (UTC)": " to ".join(plain(result[name])[:16] for name in ("startedAt", "updatedAt")),
        "task": clip(result["task"] or "", LINE_CHARACTERS),
        "turns": f"{result['turnCount']}, {counted(result['toolCalls'], 'call')} ({result['failedCalls']} failed)",
        "context": ", ".join(filter(None, (percent, compactions, recalls))),
        "injections": f"{injections['count']}, {plain(injections['tokens'])} tokens",
        "memories": f"{memories['injected']}: {memories['echo']} used, {memories['fizzle']} ignored",
        "hooks": f"{hooks['count']}{times}",
    }
    screen.print(pairs({name: value for name, value in summary.items() if value}))
    for turn in result["turns"]:
        if turn["moments"] or result["full"]:
            _draw_turn(screen, turn, full=result["full"])


def _draw_turn(screen: Console, turn: Any, *, full: bool) -> None:
    """A line with the prompt, then a line for each event in the turn, with the texts that were injected."""
    failed = f", {turn['failedCalls']} failed" if turn["failedCalls"] else ""
    percent = "" if turn["contextPercent"] is None else f"{turn['contextPercent']:.0f} %"
    calls = f"{counted(turn['toolCalls'], 'call')}{failed}" if turn["toolCalls"] else ""
    about = "  ".join(filter(None, [turn["at"][11:19], percent, calls]))
    prompt = turn["prompt"] or ("(prompt not archived)" if turn["number"] else "")
    number = f"#{turn['number']}" if turn["number"] else "before"
    line = Text.assemble((f"{number:<7}", "bold"), safe(about + "  ", "dim"), safe(prompt))
    screen.print(line, no_wrap=not full, overflow="ellipsis")
    for moment in turn["moments"]:
        tokens, took = moment.get("tokens"), moment.get("ms")
        notes = [f"{plain(tokens)} tokens" if tokens else "", "" if took is None else milliseconds(took)]
        note = ", ".join(filter(None, [moment.get("customType"), *notes]))
        head = f"       {moment['kind']:<11} {moment['text']}" + f"  ({note})" * bool(note)
        style = "bold red" if moment["kind"] == "error" else ""
        screen.print(safe(head, style), no_wrap=not full, overflow="ellipsis")
        lines = moment.get("content", "").split("\n")[1:]
        for text in lines if full else lines[:4]:
            screen.print(safe(" " * 18 + text, "dim"), no_wrap=not full, overflow="ellipsis")
        for memory in moment.get("memories", ()):
            outcome = {"echo": "used", "fizzle": "ignored"}.get(memory["outcome"], "")
            text = " ".join(memory["text"].split()) or "forgotten"
            screen.print(safe(f"{' ' * 18}{outcome:<8}{text}", "dim"), no_wrap=not full, overflow="ellipsis")


def milliseconds(value: float | None) -> str:
    """A time in ms, or in seconds from one second on; – if it is unknown."""
    if value is None:
        return "–"
    return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def draw_lost(answer: Answer) -> None:
    """The best of what a compaction dropped in 25 rows, or all that was asked for."""
    result: Any = answer.result
    screen = console()
    for line in answer.message.splitlines():
        screen.print(safe(line), no_wrap=True, overflow="ellipsis")
    if not answer.message:
        screen.print(safe(lost_text(result)), soft_wrap=True)  # a command that is broken into rows cannot be copied
    if result["chosen"] in _CHOSEN:
        screen.print(safe(_CHOSEN[result["chosen"]], "dim"))
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
