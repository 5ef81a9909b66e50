"""What `cli/terminal.py` cannot draw: hits, conversations, sessions, events, problems and changed files. Loads rich."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from cli.output import Answer
from cli.terminal import View, label, line, pairs, plain, present, safe, values
from core.quoting import clip, counted, shown_id
from core.words import query_terms
from recall.hit import SPEAKERS, is_of_another, snippet, written

_SIGNS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"), "error": ("✗", "bold red")}
_LEVEL_STYLES = {"warn": "yellow", "error": "bold red", "fatal": "bold white on red", "debug": "dim", "info": "green"}


# recall, show


def hits(answer: Answer) -> View:
    """Each hit with its origin and what its text says about the query; the best comes last."""
    result = answer.result
    query = f"{result['query']} {result['rewrittenQuery']}"
    for rank, hit in reversed([*enumerate(result["hits"], 1)]):
        yield _heading(hit, rank, result.get("preferredProject") or "")
        text = hit["observation"].removeprefix(f"{hit['origin']}: ")
        yield _excerpt(f"{hit['title']}\n{text}" if hit["title"] else text, query, 600 if rank == 1 else 250)
    if result["hits"]:
        dropped = f"{result['droppedByTrustPass']} left out" if result["droppedByTrustPass"] else ""
        yield line((f"top {result['count']} of {result['found']}", "dim"), (dropped, "dim"), fit="cut")
    else:
        yield safe(f"No results for {result['query'][:120]!r}.", "yellow")
    if "fallback" in result:
        yield safe(f"The cluster was not used: {result['fallback']['reason']}", "yellow")


def _heading(hit: Any, rank: int, own: str) -> RenderableType:
    """The number, time, project, session and speaker of a hit; for a note its category."""
    of_session = hit["session"] and hit["collection"] != "knowledge"
    return line(
        (f"{rank:>2}", "bold"),
        hit["timestamp"][:16].replace("T", " ") if hit["timestamp"] != "unknown" else "",
        (hit["project"] or written(hit), "red" if is_of_another(hit, own) else "green"),
        (shown_id(hit["session"]) if of_session else "", "cyan"),
        (hit["origin"], "blue"),
        (hit["categoryId"].removeprefix("jc:") if hit["collection"] == "observations" else "", "magenta"),
        (hit["writeVerdict"] if hit["writeVerdict"] != "allow" else "", "yellow"),
        (f"{hit['more']} more in this session" if hit.get("more") else "", "dim"),
        fit="cut",
    )


def _excerpt(text: str, query: str, characters: int) -> RenderableType:
    """The lines of a text that contain most of a query's words, which are highlighted."""
    words = query_terms(query)
    excerpt = safe(snippet(text, words, characters))
    excerpt.highlight_words(words, "bold yellow", case_sensitive=False)
    return Padding(excerpt, (0, 0, 0, 4), expand=False)


def conversation(answer: Answer) -> View:
    """What a hit says about the query, and the entries around it in a line each."""
    result = answer.result
    head = (shown_id(result["sessionId"]) or result["id"], "bold cyan")
    yield line(head, *((result[name], "dim") for name in ("project", "client", "folder")), fit="cut")
    for entry in result["entries"]:
        mark = ("▌" if entry["match"] else " ", "bold yellow")
        time = entry["at"][:16].replace("T", " ") if entry["at"] != "unknown" else ""
        speaker = (SPEAKERS.get(entry["role"], entry["role"]), "blue")
        text = "" if entry["match"] else " ".join(entry["text"].split())
        yield line(Text.assemble(mark, safe(time, "dim")), speaker, text, fit="cut")
        if entry["match"]:
            yield _excerpt(entry["text"], result["query"], 600)


# status, doctor


def status(answer: Answer) -> View:
    """Whether everything works, the problems, then all that is known."""
    result = answer.result
    yield _verdict(result["problems"], result["healthy"])
    yield from _problems(result["problems"])
    absent = [name for name, value in result.items() if isinstance(value, dict) and value.get("ok", "") is None]
    without = ("problems", "healthy", "recall", *absent)
    yield from values(Answer({name: value for name, value in result.items() if name not in without}))


def doctor(answer: Answer) -> View:
    """The verdict, the checks and their findings."""
    result = answer.result
    bad = [finding for finding in result["findings"] if finding["severity"] in ("warning", "error")]
    yield _verdict(bad, not result["errors"], f", {result['fixed']} repaired" if result["fixed"] else "")
    checked = {name: "installed" if row["installed"] else "not installed" for name, row in result["clients"].items()}
    for name, about in result["subjects"].items():
        checked[name] = about.get("path", "checked") if about.get("exists", True) else "none yet"
    yield pairs(checked)
    yield from _problems(result["findings"])


def _verdict(problems: Sequence[Any], healthy: bool, more: str = "") -> RenderableType:
    if problems:
        return safe(f"{counted(len(problems), 'problem')} found{more}", "bold yellow" if healthy else "bold red")
    return safe(f"Everything works{more}", "bold green")


def _problems(findings: Sequence[dict[str, Any]]) -> View:
    for finding in findings:
        text = line(_SIGNS[finding["severity"]], f"{finding['subject']}: {finding['message']}", gap=" ")
        yield line(text, (finding["code"], "dim"), fit="whole")
        if finding["fix"]:
            yield line("→", (finding["fix"], "cyan"), gap=" ", indent=2, fit="whole")


# install, uninstall


def install(answer: Answer) -> View:
    """The changes planned, or the clients with the changes made."""
    agents = answer.result["agents"]
    if answer.result["dryRun"]:
        yield from changes(file for agent in agents for file in (agent, *agent["also"]))
    shown = [{**agent, "path": [agent["path"], *(file["path"] for file in agent["also"])]} for agent in agents]
    yield from values(Answer({**answer.result, "agents": shown}))


def changes(changed: Iterable[dict[str, Any]]) -> View:
    """The diff of each file; of a file of ours that is added or removed, what it is."""
    for file in changed:
        if file["diff"]:
            what = f"{file['path']} ({plain(file['bytes'], 'bytes')}): {file['what']}" if file.get("what") else ""
            yield line(what or file["diff"], fit="whole")


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
        style = "bold red" if moment["kind"] == "error" else ""
        yield row((f"{moment['kind']:<11} {moment['text']}", style), indent=7)
        texts = moment.get("content", "").split("\n")[1:]
        yield from (row((text, "dim"), indent=18) for text in (texts if full else texts[:6]))


# otel, o11y


def events(answer: Answer) -> View:
    """A page of events, a line each."""
    result = answer.result
    found = result["events"] if "events" in result else result["hits"]
    yield from map(event, found)
    yield safe(f"\n{len(found)} of {result['found']:,}\n" if found else "No event matches.", "dim")
    if result.get("hiddenCount"):
        names = ",".join(result["hidden"])
        yield safe(f"{counted(result['hiddenCount'], 'routine event')} left out; include with --action {names}", "dim")


def event(row: Mapping[str, Any]) -> RenderableType:
    """A line for an event: time, session, client, project, and what happened, in the colour of its severity."""
    style = _LEVEL_STYLES[row["level"]]
    known = {name: value for name, value in row["metadata"].items() if value is not None and name != "steps"}
    about = " · ".join(f"{label(name)} {clip(plain(value, name), 80)}" for name, value in known.items())
    return line(
        (plain(row["ts"]), "dim"),
        (f"{row['sessionId'][:8]:8}  {row['client'][:8]:8}  {row['project'][:16]:16}", "cyan"),
        ("" if row["level"] == "info" else row["level"], style),
        (row["action"], style),
        (" ".join((row["error"] or "").split()), style),
        ("" if row["duration_ms"] is None else plain(row["duration_ms"], "duration_ms"), "magenta"),
        (row["component"], "dim"),
        (" ".join(about.split()), "dim"),
    )
