"""`joelclaw session …`, `briefing`, `lost` and `sessions …`: sessions and their archive."""

import os
from typing import Annotated, Any, Literal

import typer
from typer import Option

from cli import shared
from cli.input import current_session, session_from_environment
from cli.output import Answer, FramedText, is_for_person, quoted, runnable, step, template
from core import clock, config, files, project, quoting
from core.errors import Failure, either
from core.quoting import clip, counted, enclose, one_line
from core.records import Session
from core.store import sessions as stored_sessions
from core.store import sqlite
from memory import curate, session_search
from otel import log
from recall import engine
from recall.query import Query
from session import known_sessions, own_command
from session import lost as losses
from session.reactions.memories import lines_left
from session.session import SessionStore, errors_of
from session.state import stored_id

app = typer.Typer()
session = shared.group(app, "session", "List all sessions, or show a session in detail.")
sessions = shared.group(app, "sessions", "Search and read archived sessions.")

ENTRIES_PRINTED = {"files": 8, "names": 40, "commands": 6, "errors": 5, "words": 6}  # of each kind
KINDS = "|".join(ENTRIES_PRINTED)
CHOSEN = {
    "project": "The latest session of this project.",
    "last": "This project has no such session: the latest of all.",
}
"""Why a session is shown that was not named."""


# session list, session show, report


@session.command("list")
def list_(
    limit: Annotated[int, shared.limit_option(10_000)] = 20,
    project: shared.OnlyProject = "",
    client: shared.OnlyClient = None,
    hours: Annotated[float | None, Option(min=0, max=876_000, help="Hours to look back")] = None,
) -> Answer:
    """List sessions, the most recently active first."""
    since = 0 if hours is None else int(clock.now_ms() - hours * clock.HOUR_MS)
    log.store_spooled()
    asked: dict[str, Any] = {"limit": limit, "since": since, "project": project, "client": client or ""}
    rows, count = known_sessions.rows(sqlite.open_or_empty(), config.load(), **asked)
    about = ("joelclaw session show <id>", "one session in detail", "its id")
    return Answer({"count": count, "sessions": rows}, [template(*about, row["sessionId"]) for row in rows[:1]])


@session.command("show")
def show(
    id: Annotated[str | None, shared.session_argument("Its id (default: the current session, else the newest)")] = None,
    full: Annotated[bool, Option("--full", help="Every turn, and injected texts in full")] = False,
) -> Answer:
    """Show a session: its turns, context, injections, memories and hooks."""
    given, chosen = (id or "").strip(), "given"
    if not given:
        given, chosen = current_session(), "environment"
    log.store_spooled()
    db = sqlite.open_or_empty()
    given = stored_id(given) if given else ""
    if given and (chosen == "given" or known_sessions.is_known(db, given)):
        name = known_sessions.resolve(db, given)
    else:
        name, chosen = known_sessions.newest(db, project.name_of(files.current_folder()))
    found = known_sessions.report(db, name, config.load())
    actions = []
    if not full and any(not turn["moments"] for turn in found["turns"]):
        actions.append(step(f"joelclaw session show {quoted(name)} --full", "every turn"))
    if found["compactions"]:
        actions.append(step(f"joelclaw lost {quoted(name)}", "what the last compaction dropped"))
    message = CHOSEN.get(chosen, "")
    return Answer({**found, "chosen": chosen, "full": full}, actions, message=message, view="cli.views:session")


# briefing


@app.command("briefing")
def briefing(
    repo: Annotated[str | None, Option(metavar="DIR", help="A folder of it (default: the current folder)")] = None,
    budget: Annotated[int, Option("--budget", "-n", min=1, max=100, help="Maximum number of memories")] = 10,
    format: Annotated[Literal["json", "text"], Option(help="text is for an agent")] = "json",
) -> Answer:
    """Show the last work in a repository, and its newest memories."""
    given = os.path.realpath(os.path.expanduser(repo or "."))
    if not os.path.isdir(given):
        raise Failure("BRIEFING_FAILED", f"{given} is not a folder", "name a repository: --repo DIR")
    folder, name, now = project.folder_of(given), project.name_of(given), clock.now_ms()
    store = SessionStore()
    latest: list[Session] = store.read("work", lambda db: stored_sessions.last_of_project(db, name, folder), [])
    db = sqlite.open_or_empty()
    task, *unfinished = lines_left(db, latest, folder, now) or [""]
    if not task.startswith("**Task"):
        task, unfinished = "", [task, *unfinished] if task else []
    last = clock.iso(latest[0]["updated_at"])[:10] if latest else ""
    since = f"{counted(len(latest), 'session')}, the last on {last}" if latest else None
    options: dict[str, Any] = {"category": None, "tag": [], "all": False, "page": 1, "project": name, "limit": budget}
    entries = []
    for memory in curate.listing(db, options)["memories"]:
        sensitive = memory["privacy"] == "sensitive"
        line = "[sensitive]" if sensitive else one_line(memory["observation"])
        entries.append({
            "title": clip(line, 80), "description": clip(line, 240), "sensitive": sensitive,
            "pointer": f"joelclaw show {memory['id']}", "source": "observation", "updated_at": memory["at"],
        })  # fmt: skip
    heading = {"active_arc": task or None, "frontier": " ".join(unfinished) or None, "since_last_session": since}
    result: dict[str, Any] = {
        "repo": folder, "heading": heading, "day_index": None, "entries": entries, "budget": budget,
        "ranking": "recency", "interest_decay": {"status": "reserved"}, **errors_of(store.faults),
    }  # fmt: skip
    text = None
    if format == "text":
        lines = [f"# {one_line(name)}"]
        lines += [f"{key.replace('_', ' ').capitalize()}: {value or '–'}" for key, value in heading.items()]
        for number, entry in enumerate(entries, 1):
            lines.append(f"{number}. {entry['description']} ({runnable(str(entry['pointer']))})")
        text = FramedText(enclose("memory-recall", lines))
    return Answer(result, [step("joelclaw session list", "its sessions")], text)


# lost


@app.command("lost")
def lost(
    session: Annotated[
        str | None, shared.session_argument("Its id (default: the current session, else the last compacted)", "SESSION")
    ] = None,
    limit: Annotated[int | None, shared.limit_option(1000)] = None,
    all: Annotated[bool, Option("--all", help="Show everything of each kind")] = False,
    kind: Annotated[list[str] | None, Option("--kind", "-k", metavar=KINDS, help="Only this kind")] = None,
    raw: shared.Raw = False,
) -> Answer:
    """Show what the last compaction dropped, and how to get each item back."""
    db = sqlite.open_or_empty()
    given = (session or "").strip() or session_from_environment()
    if given:
        given = stored_id(given)
    elif current := current_session():  # else the session that was compacted last
        known = stored_sessions.by_id(db, stored_id(current))
        given = str(known["id"]) if known else ""
    here = "" if given else project.name_of(files.current_folder())
    result: dict[str, Any] = losses.of_project(db, given, kind or losses.KINDS, project=here)
    most = 1000 if all else limit  # entries of each kind
    actions = []
    for name, about in (("words", "your latest request that the summary left out"), ("names", "the most used name")):
        if entries := result["lost"].get(name):
            actions.append(step(entries[0]["get"], about))
    result["lost"] = {
        name: {"count": len(entries), "entries": entries[: most or ENTRIES_PRINTED[name]]}
        for name, entries in result["lost"].items()
    }
    if not all and any(part["count"] > len(part["entries"]) for part in result["lost"].values()):
        actions.append(step(f"joelclaw lost {quoted(quoting.shown_id(result['session']))} --all", "all of it"))
    text = lost_text(result)
    message = "\n".join(filter(None, (text, CHOSEN.get(result["chosen"]))))
    return Answer(result, actions, text if raw else None, message=message, view="cli.terminal:message")


def lost_text(result: dict[str, Any]) -> str:
    """The result of `lost` as text, a line for each entry."""
    name, about = quoting.shown_id(result["session"]), result["compaction"]
    lines = [f"lost in compaction {about['number']} of session {name} of {result['project'] or 'no project'}"]
    if not about["summaryKnown"]:
        lines.append("the client's summary is not known: everything before the compaction is listed")
    for kind, part in result["lost"].items():
        if entries := part["entries"]:
            rows = losses.by_file(entries) if kind == "names" else [_lost_line(kind, entry) for entry in entries]
            total = f", {len(entries)} of {part['count']}" * (part["count"] > len(entries))
            lines += [f"{kind}{total}:", *(f"- {row}" for row in rows)]
    if any(part["entries"] for part in result["lost"].values()):
        lines.append(f"to bring a name back: {own_command.word()} recall NAME --session {name} --raw")
    else:
        lines.append(f"no {either(result['lost'])} were dropped")
    return "\n".join(lines)


def _lost_line(kind: str, entry: dict[str, Any]) -> str:
    short = {name: clip(" ".join(value.split()), 200) for name, value in entry.items() if isinstance(value, str)}
    again = " (back since)" if entry.get("again") else ""
    if kind == "files":
        return short["file"] + again
    if kind == "commands":
        return f"$ {short['command']}" + f"  ({short['outcome']})" * bool(short["outcome"]) + again
    if kind == "errors":
        return f"{short['error']} ({clip(short['doing'], 80)})"
    return short["text"]


# sessions search, sessions extract


@sessions.command("search")
def search(
    query: shared.RequiredQuery,
    limit: shared.Limit = 8,
    extract: Annotated[bool, Option("--extract", help="Also show what each says about it")] = False,
    without_notes: Annotated[bool, Option("--raw", help="Without notes about the sessions")] = False,
    runtime: Annotated[str, Option(metavar=f"{shared.CLIENTS}|generic|claude-code|all", help="Only this client")] = "",
) -> Answer:
    """Find archived sessions by their contents."""
    text, machine = " ".join(query), log.host()
    db = sqlite.open_or_empty()
    kinds = ("episodes", "calls") if without_notes else ("observations", "episodes", "calls")
    asked = Query(text, limit=min(100, limit * 6), budget="balanced", collections=kinds, by_name=True)
    recalled = engine.recall(db, asked, now=clock.now_ms(), config=config.load())
    found = session_search.by_session(
        db, text, recalled["hits"], client=runtime, machine=machine, with_notes=not without_notes
    )
    hits = found[:limit]
    for hit in hits if extract else ():
        hit["extraction"] = session_search.extract(session_search.read(db, hit["sessionId"], identity=stored_id), text)
    result: dict[str, Any] = {
        "query": text, "source": "raw:both" if without_notes else "observations", "resolvedRawSource": "local",
        "machine": machine, "runtime": runtime or "all", "sshTarget": None, "found": len(found), "local": {
            "found": len(found), "rawReturned": len(hits), "emittedHits": len(hits),
            "searchedSessions": stored_sessions.totals(db)[0],
        },
        "hits": hits,
    }  # fmt: skip
    if extract:
        result["extractions"] = [hit["extraction"] for hit in hits]
    command = "joelclaw sessions extract <id>"
    return Answer(result, [template(command, "what it says", "its id", hit["sessionId"]) for hit in hits[:1]])


@sessions.command("extract")
def extract(
    session: Annotated[str, shared.session_argument("Its id or transcript", "SESSION")],
    query: Annotated[str, Option(help="The topic (default: the session's beginning)")] = "",
    format: Annotated[Literal["json", "markdown"], Option(help="markdown adds a text")] = "json",
) -> Answer:
    """Show what an archived session says about a topic."""
    extraction = session_search.extract(session_search.read(sqlite.open_or_empty(), session, identity=stored_id), query)
    result: dict[str, Any] = {"format": format, "extraction": extraction}
    if format == "markdown":
        result["markdown"] = session_search.markdown(extraction)
    return Answer(result, [], session_search.markdown(extraction) if is_for_person() else None)
