"""How the results of the commands look on a terminal, except those of `recall` (`cli/recall_views.py`). Loads rich."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.panel import Panel
from rich.text import Text

from cli.output import Answer
from cli.terminal import View, age, label, line, pairs, plain, present, rows_table, safe, score_bar, size, values
from core import clock, quoting
from core.quoting import clip, counted

_LINE_CHARACTERS = 150
_SIGNS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"), "error": ("✗", "bold red")}
_VERDICT_STYLES = {"allow": "green", "hold": "yellow", "discard": "dim"}
_LEVEL_STYLES = {"warn": "yellow", "error": "bold red", "fatal": "bold white on red", "debug": "dim", "info": "green"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_TEXT_NAMES = ("observation", "text", "place")  # the names of the text in the result for a memory or tool call
_CHOSEN = {
    "project": "This is the latest session of this folder's project. For another, give its ID.",
    "last": "This folder's project has no such session; this is the latest of all. For another, give its ID.",
}
"""Why a session is shown that was not named."""

archived = partial(values, without=("history",))
state = partial(values, without=("version", "taskHash", "recalledHash", "writtenHash", "messages"))


def text_first(answer: Answer) -> View:
    """The result's long text (`text` or `summary`), then the other values."""
    name = "text" if "text" in answer.result else "summary"
    yield safe(answer.result[name] or "")
    yield from values(answer, without=(name,))


# status, doctor


def status(answer: Answer) -> View:
    """Whether everything works, the problems, then versions, counts and the last events."""
    result = answer.result
    problems = result["problems"]
    yield _verdict(len(problems), "red" if not result["healthy"] else "yellow")
    yield from _findings(problems)
    for unknown in result["config"].get("unknown", ()):
        yield line(("!", "yellow"), unknown, gap=" ", indent=2)
    store, sessions, events = result["store"], result["sessions"], result["events"]
    sizes = f"{size(store['bytes'])} + {size(store['walBytes'])} log, schema {store['schema']}"
    facts = {
        "joelclaw": f"{result['version']} (python {result['python']}, sqlite {result['sqlite']})",
        "home": result["home"],
        "store": sizes if store["exists"] else "none yet",
        "cluster": present(store.get("waiting") or {}),
        "off": ", ".join(row["name"] or row["scope"] for row in result["switches"]["off"]),
        "never archived": result["switches"]["excluded"],
        "state files": f"{sessions['count']}, {sessions['damaged']} damaged",
        "events": f"{events['total']:,}, {events['errors24h']:,} errors in 24 h, {events['waiting']:,} not stored yet",
        "export": result["otelExport"],
        "settings": result["config"]["changed"],
    }
    yield pairs({name: value for name, value in facts.items() if value})
    yield rows_table([{"memories": name, **counts} for name, counts in result["counts"].items()])
    if events["last"]:
        yield rows_table(events["last"])


def doctor(answer: Answer) -> View:
    """The verdict, then a line for each client and subject, with its problems below."""
    result = answer.result
    repaired = f", {result['fixed']} repaired" if result["fixed"] else ""
    yield _verdict(result["errors"] + result["warnings"], "red" if result["errors"] else "yellow", repaired)
    lines = {name: _client_line(facts) for name, facts in result["clients"].items()}
    lines |= {name: _subject_line(facts) for name, facts in result["subjects"].items()}
    width = max(map(len, lines))
    for name, about in lines.items():
        findings = [finding for finding in result["findings"] if finding["subject"] == name]
        worst = max((finding["severity"] for finding in findings), key=list(_SIGNS).index, default="ok")
        subject = line(_SIGNS[worst], (name.ljust(width), "bold"), gap=" ")
        yield line(subject, (about, "dim"), fit="whole")
        yield from _findings(findings)


def _verdict(problems: int, colour: str, more: str = "") -> Any:
    if problems:
        return safe(f"{counted(problems, 'problem')} found{more}", f"bold {colour}")
    return safe(f"Everything works{more}", "bold green")


def _findings(findings: Sequence[dict[str, Any]]) -> View:
    for finding in findings:
        text = line(_SIGNS[finding["severity"]], finding["message"], gap=" ")
        yield line(text, (finding["code"], "dim"), indent=4, fit="whole")
        if finding["fix"]:
            yield line("→", (finding["fix"], "cyan"), gap=" ", indent=6, fit="whole")


def _client_line(facts: dict[str, Any]) -> str:
    if not facts["installed"]:
        return "not installed" if facts["installed"] is False else "its settings cannot be read"
    calls = sum(event["calls24h"] for event in facts["events"])
    return f"installed, {counted(calls, 'call')} in 24 h"


def _subject_line(facts: dict[str, Any]) -> str:
    if not facts.get("exists", True):
        return "none yet"
    return str(facts["path"]) if "path" in facts else "" if facts.get("used", True) else "not in use"


# install, uninstall


def install(answer: Answer) -> View:
    """The installations, or the changes of each client's files."""
    result = answer.result
    if "installs" in result:
        yield rows_table(result["installs"], ("agent", "scope", "present", "installed", "current", "path"))
        return
    for agent in result["agents"]:
        yield from _changed_agent(agent, dry_run=result["dryRun"], declined=result.get("declined", False))
    for agent in result["skipped"]:
        yield line((agent["agent"], "bold dim"), (f"skipped: {agent['reason']}", "dim"), gap=" ")
    if done := result.get("archived"):
        yield safe(f"{done['transcripts']:,} past sessions archived.", "bold")
    elif result.get("memoryLeft"):
        yield safe(f"The memory stays in {result['memoryLeft']}.")


def _changed_agent(agent: dict[str, Any], *, dry_run: bool, declined: bool) -> View:
    others = agent["also"]
    if dry_run:
        yield from changes([agent, *others])
    done = "would change" if dry_run and (agent["diff"] or others) else "nothing to change"
    done = "done" if agent["changed"] else "nothing was changed" if declined else done
    yield line((agent["agent"], "bold"), done, (agent["path"], "dim"), gap=" ")
    left = [path for path in agent.get("backupsLeft", ()) if path != agent["backup"]]
    below = [f"and {other['path']}" for other in others if not dry_run]
    below += [f"backup: {agent['backup']}"] if agent["backup"] else []
    below += [f"older backup, which you may delete: {path}" for path in left]
    yield from (safe(f"  {text}", "dim") for text in below)
    yield from (safe(f"  - {note}") for note in agent["notes"] if not declined)


def changes(changed: Iterable[dict[str, Any]]) -> View:
    """The diff of each file, or a row if a file of ours is added or removed."""
    for file in changed:
        text = str(file["diff"]).removesuffix("\n")
        if file.get("what"):
            sign = "-" if text.startswith(f"--- {file['path']}") else "+"
            text = f"{sign} {file['path']} ({size(file['bytes'])}): {file['what']}"
        for row in text.split("\n") if text else ():
            style = "bold" if row.startswith(("+++ ", "--- ")) else _DIFF_STYLES.get(row[:1], "dim")
            yield line((row, style), fit="whole")


# session, lost, checkpoint, inject


def sessions(answer: Answer) -> View:
    """Two lines for each session: its id and numbers, and its last task."""
    now = clock.now_ms()
    for row in answer.result["sessions"]:
        numbers = {"turn": row["turns"], "call": row["toolCalls"], "compaction": row["compactions"]}
        counts = [counted(number, noun) for noun, number in numbers.items()]
        percent = "" if row["contextPercent"] is None else f"{row['contextPercent']:.0f} %"
        about = (_relation(row), row["client"], row["project"], age(row["updatedAt"], now), *counts, percent)
        yield line((quoting.shown_id(row["sessionId"]), "bold"), (_joined(about), "dim"), fit="whole")
        for text in filter(None, (row["title"], row["task"])):
            yield line(clip(text, _LINE_CHARACTERS), indent=4, fit="cut")
    if not answer.result["sessions"]:
        yield safe("No session is known.", "yellow")


def _joined(parts: Iterable[str | None], joint: str = " · ") -> str:
    return joint.join(filter(None, parts))


def _relation(row: dict[str, Any]) -> str:
    """`subagent of 1a2b3c4d`; "" for a session that the user began."""
    return f"{row['kind']} of {quoting.shown_id(row['parent'])}" if row["parent"] else ""


def session(answer: Answer) -> View:
    """A summary, then the turns: without --full only those in which something happened."""
    result = answer.result
    yield from _why_chosen(result)
    if result["problem"]:
        yield safe(result["problem"], "yellow")
    hooks, memories, injections = result["hooks"], result["memories"], result["injections"]
    times = f"median {_milliseconds(hooks['p50'])}, {_milliseconds(hooks['totalMs'])} in all"
    percent = "" if result["contextPercent"] is None else f"{result['contextPercent']:.0f} % {result['zone']}"
    compactions, recalls = counted(result["compactions"], "compaction"), counted(result["recalls"], "recall")
    summary = {
        "session": _joined((result["sessionId"], _relation(result)), ", "),
        "title": result["title"],
        "client": _joined((result["client"], result["project"]), ", "),
        "time (UTC)": " to ".join(plain(result[name])[:16] for name in ("startedAt", "updatedAt")),
        "task": clip(result["task"] or "", _LINE_CHARACTERS),
        "turns": f"{result['turnCount']}, {counted(result['toolCalls'], 'call')} ({result['failedCalls']} failed)",
        "context": _joined((percent, compactions, recalls), ", "),
        "injections": f"{injections['count']}, {plain(injections['tokens'])} tokens",
        "memories": f"{memories['injected']}: {memories['echo']} used, {memories['fizzle']} ignored",
        "hooks": _joined((f"{hooks['count']}", times if hooks["count"] else ""), ", "),
    }
    yield pairs({name: value for name, value in summary.items() if value})
    for turn in result["turns"]:
        if turn["moments"] or result["full"]:
            yield from _turn(turn, full=result["full"])


def _why_chosen(result: dict[str, Any]) -> View:
    if result["chosen"] in _CHOSEN:
        yield safe(_CHOSEN[result["chosen"]], "dim")


def _turn(turn: Any, *, full: bool) -> View:
    """A line with the prompt, then a line for each event in the turn, with the texts that were injected."""
    row = partial(line, fit="fold" if full else "cut")
    failed = f", {turn['failedCalls']} failed" if turn["failedCalls"] else ""
    percent = "" if turn["contextPercent"] is None else f"{turn['contextPercent']:.0f} %"
    calls = f"{counted(turn['toolCalls'], 'call')}{failed}" if turn["toolCalls"] else ""
    prompt = turn["prompt"] or ("(prompt not archived)" if turn["number"] else "")
    number = f"#{turn['number']}" if turn["number"] else "before"
    begin = Text.assemble((f"{number:<7}", "bold"), safe(turn["at"][11:19], "dim"))
    yield row(begin, (percent, "dim"), (calls, "dim"), prompt)
    for moment in turn["moments"]:
        tokens, took = moment.get("tokens"), moment.get("ms")
        notes = (f"{plain(tokens)} tokens" if tokens else "", "" if took is None else _milliseconds(took))
        note = _joined((moment.get("customType"), *notes), ", ")
        head = f"       {moment['kind']:<11} {moment['text']}" + f"  ({note})" * bool(note)
        yield row((head, "bold red" if moment["kind"] == "error" else ""))
        lines = moment.get("content", "").split("\n")[1:]
        yield from (row((" " * 18 + text, "dim")) for text in (lines if full else lines[:4]))
        for memory in moment.get("memories", ()):
            outcome = {"echo": "used", "fizzle": "ignored"}.get(memory["outcome"], "")
            text = " ".join(memory["text"].split()) or "forgotten"
            yield row((f"{' ' * 18}{outcome:<8}{text}", "dim"))


def _milliseconds(value: float | None) -> str:
    """A time in ms, or in seconds from one second on; – if it is unknown."""
    if value is None:
        return "–"
    return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def lost(answer: Answer) -> View:
    """The best of what a compaction dropped in 25 rows (the message), or all that was asked for."""
    from cli.commands.session import lost_text

    if answer.message:
        yield from (line(row, fit="cut") for row in answer.message.splitlines())
    else:
        yield line(lost_text(answer.result), fit="whole")
    yield from _why_chosen(answer.result)


def found_sessions(answer: Answer) -> View:
    """Every session with its score, client, start, folder and snippets."""
    result = answer.result
    for rank, hit in enumerate(result["hits"], 1):
        about = (hit["client"], hit["startedAt"][:16], hit["folder"])
        name = (quoting.shown_id(hit["sessionId"]), "bold cyan")
        yield line((f"{rank:>2}", "bold"), score_bar(hit["score"]), name, *((part, "dim") for part in about))
        for text in hit["snippets"]:
            yield line(" ".join(text.split()), indent=4)
            yield ""
    yield safe(f"top {len(result['hits'])} of {result['found']} sessions", "dim")


def states(answer: Answer) -> View:
    """All sessions with a state file, a row for each: the task is as wide as the terminal allows."""
    now = clock.now_ms()
    rows = [
        {
            "session": quoting.shown_id(row["sessionId"]),
            "context": f"{row['percent']:.0f} %" if row["percent"] else "",
            "compactions": row["compactionCount"],
            "updated": age(clock.iso(row["updatedAt"]), now),
            "task": clip(row.get("problem") or row["task"], 200),
        }
        for row in answer.result["sessions"]
    ]
    yield rows_table(rows, most=len(rows)) if rows else safe("No session has a state file.", "yellow")


def injection(answer: Answer) -> View:
    """The text for the agent in a box, or the reason why there is none."""
    result = answer.result
    if result["injected"]:
        title = safe(f"{result['customType']} · {result['estimatedTokens']} tokens", "bold")
        yield Panel(safe(result["content"]), title=title, border_style="cyan", expand=False)
    else:
        yield safe(f"Nothing injected: {result['reason']}.", "yellow")
    for name, fault in result.items():
        if name.endswith("Error"):
            yield safe(f"{name}: {fault['message']} ({fault['code']})", "red")


# memory, knowledge, vault


def memory(answer: Answer) -> View:
    """The text of a memory, or the place of a tool call, and everything known of it."""
    result = answer.result
    name = next(name for name in _TEXT_NAMES if name in result)
    verdict = result.get("verdict", "")
    yield line((f"[{verdict}]" if verdict else "", _VERDICT_STYLES.get(verdict, "")), result[name], gap=" ")
    if result.get("hint"):
        yield safe(result["hint"], "bold yellow")
    yield from values(answer, without=(*_TEXT_NAMES, "verdict", "hint"))


def memories(answer: Answer) -> View:
    """Observations, each with its id, time, category, marks, tags and text."""
    result = answer.result
    rows = result.get("memories", result.get("observations"))
    for row in rows:
        verdict = "" if row["verdict"] == "allow" else row["verdict"]
        marks = [name for name in ("pinned", "stale", "forgotten") if row.get(name)]
        by = f"superseded by {row['supersededBy']}" if row.get("supersededBy") else ""
        tags = [f"#{tag}" for tag in row.get("tags", ()) if tag not in marks]
        about = _joined((verdict, *marks, by, *tags, row.get("project")))
        rest = (row["at"][:16].replace("T", " "), row["category"], about)
        yield line((row["id"], "bold"), *((part, "dim") for part in rest))
        yield line((" ".join(row["observation"].split()), _VERDICT_STYLES.get(verdict, "")), indent=4)
        yield ""
    if not rows:
        yield safe("No memory matches.", "yellow")
    elif "page" in result:
        first = (result["page"] - 1) * result["limit"]
        yield safe(f"{first + 1} to {first + result['count']} of {result['found']}", "dim")


def sections(answer: Answer) -> View:
    """Every hit with its score, type, title, place and snippet."""
    result = answer.result
    if "fallback" in result:
        yield safe(f"searched the texts: {result['fallback']['reason']}", "yellow")
    if not result["hits"]:
        yield safe(f"No results for {result['query'][:120]!r}.", "yellow")
    for rank, hit in enumerate(result["hits"], 1):
        title = ((hit.get("type"), "magenta"), (hit["title"], "bold"))
        yield line((f"{rank:>2}", "bold"), score_bar(hit["score"]), *title)
        yield line((f"{hit['path']}:{hit['line']}" if hit.get("line") else hit["path"], "dim"), indent=4)
        if hit["snippet"]:
            yield line(hit["snippet"], indent=4)
            yield ""
    yield safe(f"top {len(result['hits'])} of {result['found']}", "dim")


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


def event(row: Mapping[str, Any]) -> Any:
    """A line for an event: time, session, client, project, and what happened, in the colour of its severity."""
    level = row["level"]
    style = _LEVEL_STYLES.get(level, "")
    left_out = ("agent", "steps") if row["client"] else ("steps",)
    known = {key: value for key, value in row["metadata"].items() if value is not None and key not in left_out}
    about = (f"{label(_without_unit(key))} {_short(plain(value, key))}" for key, value in known.items())
    columns = f"{row['sessionId'][:8]:8}  {row['client'][:8]:8}  {row['project'][:16]:16}"
    action = line(("" if level == "info" else level, style), (row["action"], style), gap=" ")
    took = "" if row["duration_ms"] is None else f"{row['duration_ms']:,.0f} ms"
    error = (row["error"] or "").replace("\n", " ")
    happened = (action, (error, style), (took, "magenta"), (row["component"], "dim"), (" · ".join(about), "dim"))
    return line((plain(row["ts"]), "dim"), (columns, "cyan"), *happened)


def _without_unit(key: str) -> str:
    return key.removesuffix("Ms").removesuffix("_ms").removesuffix("Percent") or key


def _short(text: str) -> str:
    """A value in a row: on one line, and at most 80 characters."""
    text = text.replace("\n", " ")
    return text if len(text) <= 80 else text[:79] + "…"
