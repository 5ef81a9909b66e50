"""What `cli/terminal.py` cannot draw: hits, conversations, sessions, events, problems and changed files. Loads rich."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from cli.output import Answer, step
from cli.terminal import View, console, label, line, pairs, plain, present, records, safe, values
from core.quoting import clip, counted, shown, shown_id
from core.words import query_terms
from recall.hit import SPEAKERS, is_of_another, written

_INDENT = 4  # columns of a line below another
_SIGNS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"), "error": ("✗", "bold red")}
_LEVEL_STYLES = {"warn": "yellow", "error": "bold red", "fatal": "bold white on red", "debug": "dim", "info": "green"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


# recall, show


def hits(answer: Answer) -> View:
    """Each hit with its origin and the rows of its text that contain most of the query's words; the best comes last."""
    result, height = answer.result, console().height
    found = list(enumerate(result["hits"], 1))
    words = _query_pattern(f"{result['query']} {result['rewrittenQuery']}")
    for rank, hit in reversed(found):
        yield _heading(hit, rank, result.get("preferredProject") or "")
        text = hit["observation"].removeprefix(f"{hit['origin']}: ")
        text = f"{hit['title']}\n{text}" if hit["title"] else text
        yield from _best_rows(text, words, height // 3 if rank == 1 else 3)
    if found:
        dropped = f"{result['droppedByTrustPass']} left out" if result["droppedByTrustPass"] else ""
        yield line((f"top {result['count']} of {result['found']}", "dim"), (dropped, "dim"), fit="cut")
        answer.next_actions = [step("joelclaw recall show 1", answer.next_actions[0]["description"])]
    else:
        yield safe(f"No results for {result['query'][:120]!r}.", "yellow")
    if "fallback" in result:
        yield safe(f"The cluster was not used: {result['fallback']['reason']}", "yellow")


def _query_pattern(query: str) -> re.Pattern[str]:
    """Matches the words of a query, the longer ones with any ending, to highlight them."""
    words = sorted(query_terms(query), key=len, reverse=True)
    parts = [re.escape(word) + (r"\w*" if len(word) >= 4 else r"(?!\w)") for word in words]  # "not" is not "nothing"
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(parts) or chr(0)})", re.IGNORECASE)


def _best_rows(text: str, words: re.Pattern[str], most: int) -> View:
    """The `most` neighbouring rows of a text that contain most of the query's words; "…" marks an omission."""
    screen = console()
    lines = [Text(part.rstrip()) for part in shown(text).expandtabs(4).splitlines() if part.strip()]
    rows = [row for part in lines for row in part.wrap(screen, max(screen.width - _INDENT, 20))]
    found = [{match.lower()[:4] for match in words.findall(row.plain)} for row in rows]
    last = max(len(rows) - most, 0)
    start = max(range(last + 1), key=lambda at: len(set().union(*found[at : at + most])))
    for at, row in enumerate(rows[start : start + most], start):
        row.rstrip()
        row.highlight_regex(words, "bold yellow")
        is_cut = (at == start > 0) or (at == start + most - 1 and start < last)
        yield line(row, ("…" if is_cut else "", "dim"), gap=" ", indent=_INDENT, fit="cut")


def _heading(hit: Any, rank: int, own: str) -> RenderableType:
    """The number, time, project, client, session and speaker of a hit; for a note its category."""
    of_session = bool(hit["session"]) and hit["collection"] != "knowledge"
    return line(
        (f"{rank:>2}", "bold"),
        hit["timestamp"][:16].replace("T", " ") if hit["timestamp"] != "unknown" else "",
        (hit["project"] or written(hit), "red" if is_of_another(hit, own) else "green"),
        hit["source"] if of_session and hit["source"] != hit["origin"] else "",
        (shown_id(hit["session"]) if of_session else "", "cyan"),
        (hit["origin"], "blue"),
        (hit["categoryId"].removeprefix("jc:") if hit["collection"] == "observations" else "", "magenta"),
        (hit["writeVerdict"] if hit["writeVerdict"] != "allow" else "", "yellow"),
        (f"{hit['more']} more in this session" if hit.get("more") else "", "dim"),
        fit="cut",
    )


def conversation(answer: Answer) -> View:
    """A hit in up to half of the screen, and the entries around it in a line each."""
    result = answer.result
    head = (shown_id(result["sessionId"]) or result["id"], "bold cyan")
    yield line(head, *((result[name], "dim") for name in ("project", "client", "folder")), fit="cut")
    for entry in result["entries"]:
        is_match = entry["match"]
        time = entry["at"][:16].replace("T", " ") if entry["at"] != "unknown" else ""
        speaker = (SPEAKERS.get(entry["role"], entry["role"]), "bold" if is_match else "blue")
        begin = Text.assemble(("▌" if is_match else " ", "bold yellow"), safe(time, "dim"))
        yield line(begin, speaker, "" if is_match else " ".join(entry["text"].split()), fit="cut")
        if is_match:
            yield from _best_rows(entry["text"], _query_pattern(result["query"]), console().height // 2)


# status, doctor


def status(answer: Answer) -> View:
    """Whether everything works, the problems, then all that is known."""
    result = answer.result
    yield _verdict(result["problems"], result["healthy"])
    yield from _problems(result["problems"])
    absent = [name for name, value in result.items() if isinstance(value, dict) and value.get("ok", "") is None]
    last = result["events"].pop("last")
    without = ("problems", "healthy", "recall", *absent)
    yield from values(Answer({name: value for name, value in result.items() if name not in without}))
    if last:
        yield from records(last)


def doctor(answer: Answer) -> View:
    """The verdict, then a line for each client and subject, with its problems below."""
    result = answer.result
    findings = result["findings"]
    bad = [finding for finding in findings if finding["severity"] in ("warning", "error")]
    yield _verdict(bad, not result["errors"], f", {result['fixed']} repaired" if result["fixed"] else "")
    lines = dict.fromkeys(result["clients"], "not installed")
    for name, facts in result["clients"].items():
        if facts["installed"]:
            lines[name] = f"installed, {counted(sum(row['calls24h'] for row in facts['events']), 'call')} in 24 h"
    for name, facts in result["subjects"].items():
        lines[name] = str(facts.get("path", "")) if facts.get("exists", True) else "none yet"
    for finding in findings:
        lines.setdefault(finding["subject"], "not checked")
    for name, about in lines.items():
        of_name = [finding for finding in findings if finding["subject"] == name]
        worst = max((finding["severity"] for finding in of_name), key=list(_SIGNS).index, default="ok")
        subject = line(_SIGNS[worst], (name.ljust(max(map(len, lines))), "bold"), gap=" ")
        yield line(subject, (about, "dim"), fit="whole")
        yield from _problems(of_name)


def _verdict(problems: Sequence[Any], healthy: bool, more: str = "") -> RenderableType:
    if problems:
        return safe(f"{counted(len(problems), 'problem')} found{more}", "bold yellow" if healthy else "bold red")
    return safe(f"Everything works{more}", "bold green")


def _problems(findings: Sequence[dict[str, Any]]) -> View:
    for finding in findings:
        text = line(_SIGNS[finding["severity"]], finding["message"], gap=" ")
        yield line(text, (finding["code"], "dim"), indent=_INDENT, fit="whole")
        if finding["fix"]:
            yield line("→", (finding["fix"], "cyan"), gap=" ", indent=_INDENT + 2, fit="whole")


# install, uninstall


def install(answer: Answer) -> View:
    """The changes planned, or the clients with the changes made."""
    if answer.result["dryRun"]:
        yield from changes(file for agent in answer.result["agents"] for file in (agent, *agent["also"]))
    yield from values(answer)


def changes(changed: Iterable[dict[str, Any]]) -> View:
    """The diff of each file, or a row if a file of ours is added or removed."""
    for file in changed:
        text = str(file["diff"]).removesuffix("\n")
        if file.get("what"):
            sign = "-" if text.startswith(f"--- {file['path']}") else "+"
            text = f"{sign} {file['path']} ({plain(file['bytes'], 'bytes')}): {file['what']}"
        for row in text.split("\n") if text else ():
            style = "bold" if row.startswith(("+++ ", "--- ")) else _DIFF_STYLES.get(row[:1], "dim")
            yield line((row, style), fit="whole")


# session show


def session(answer: Answer) -> View:
    """A summary, then the turns: without --full only those in which something happened."""
    result = answer.result
    if answer.message:
        yield safe(answer.message, "dim")
    without = ("turns", "chosen", "full", "folders")
    facts = present({name: value for name, value in result.items() if name not in without})
    yield pairs({**facts, "task": clip(result["task"] or "", 150)})
    for turn in result["turns"]:
        if turn["moments"] or result["full"]:
            yield from _turn(turn, full=result["full"])


def _turn(turn: Any, *, full: bool) -> View:
    """A line with the prompt, then a line for each event in the turn, with the texts that were injected."""
    row = partial(line, fit="fold" if full else "cut")
    calls = f"{counted(turn['toolCalls'], 'call')}, {turn['failedCalls']} failed" if turn["toolCalls"] else ""
    percent = "" if turn["contextPercent"] is None else f"{turn['contextPercent']:.0f} %"
    number = f"#{turn['number']}" if turn["number"] else "before"
    begin = Text.assemble((f"{number:<7}", "bold"), safe(turn["at"][11:19], "dim"))
    yield row(begin, (percent, "dim"), (calls, "dim"), turn["prompt"] or "")
    for moment in turn["moments"]:
        notes = [(f"{plain(moment[name])} {name}", "dim") for name in ("tokens", "ms") if moment.get(name)]
        head = f"{moment['kind']:<11} {moment['text']}"
        yield row((head, "bold red" if moment["kind"] == "error" else ""), *notes, indent=7)
        texts = moment.get("content", "").split("\n")[1:]
        for memory in moment.get("memories", ()):
            outcome = {"echo": "used", "fizzle": "ignored"}.get(memory["outcome"], "")
            texts.append(f"{outcome:<8}{' '.join(memory['text'].split()) or 'forgotten'}")
        yield from (row((text, "dim"), indent=18) for text in (texts if full else texts[:6]))


# otel, o11y


def events(answer: Answer) -> View:
    """A page of events, a line each."""
    result = answer.result
    found = result["events"] if "events" in result else result["hits"]
    yield from map(event, found)
    if found:
        first = (result.get("page", 1) - 1) * result["limit"] + 1
        yield safe(f"\n{first} to {first + len(found) - 1} of {result['found']:,}\n", "dim")
    else:
        yield safe("No event matches. Earlier ones: --hours 168", "yellow")
    if result.get("hiddenCount"):
        names = ",".join(result["hidden"])
        yield safe(f"{counted(result['hiddenCount'], 'routine event')} left out; --action {names} shows them", "dim")


def event(row: Mapping[str, Any]) -> RenderableType:
    """A line for an event: time, session, client, project, and what happened, in the colour of its severity."""
    level = row["level"]
    style = _LEVEL_STYLES.get(level, "")
    known = {name: value for name, value in row["metadata"].items() if value is not None and name != "steps"}
    units = re.compile("(?<=.)(?:Ms|_ms|Percent)$")  # `plain` writes the unit
    about = [f"{label(units.sub('', name))} {clip(plain(value, name), 80)}" for name, value in known.items()]
    columns = f"{row['sessionId'][:8]:8}  {row['client'][:8]:8}  {row['project'][:16]:16}"
    action = line(("" if level == "info" else level, style), (row["action"], style), gap=" ")
    took = "" if row["duration_ms"] is None else plain(row["duration_ms"], "duration_ms")
    happened = ((row["error"] or "", style), (took, "magenta"), (row["component"], "dim"), (" · ".join(about), "dim"))
    texts = ((" ".join(str(text).split()), style) for text, style in happened)
    return line((plain(row["ts"]), "dim"), (columns, "cyan"), action, *texts)
