"""`joelclaw recall`, `show`, `how`, `fix` and `search`: find earlier work.

`recall` is a hot command: `recall_hot.py` runs it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from cli import shared
from cli.commands import recall_hot
from cli.output import Answer, is_for_person, quoted, require_known, step, tell, wrong_usage
from core import clock, config, files, project, quoting
from core.errors import Failure
from core.quoting import clip, shown
from core.store import sqlite
from memory import session_search
from recall import engine
from recall.hit import SPEAKERS, snippet
from recall.query import Query as RecallQuery
from session import past_runs
from session.state import stored_id

app = typer.Typer()


Composed = Annotated[str | None, Option(metavar="TEXT", help="Composed recall")]
ComposedLimit = Annotated[int | None, Option(help="Composed recall: 1 to 50")]


@app.command("recall")
def recall(
    query: shared.Query = None,
    limit: shared.Hits = None,
    min_score: Annotated[float, Option(min=0, max=1, help="The lowest score of a hit")] = 0,
    raw: shared.Raw = False,
    verbatim: shared.Verbatim = False,
    include_hold: Annotated[bool, Option("--include-hold", help="Also what the write gate held back")] = False,
    include_discard: Annotated[bool, Option("--include-discard", help="Also what the write gate discarded")] = False,
    budget: Annotated[Literal["auto", "lean", "balanced", "deep"], Option(help="How thoroughly to search")] = "auto",
    category: shared.Category = None,
    tag: Annotated[list[str] | None, Option(help="Only with this tag", autocompletion=shared.stored("tags"))] = None,
    collection: Annotated[
        str | None, Option(metavar="NAMES", help="Only observations, episodes, knowledge or calls")
    ] = None,
    session: shared.OnlySession = "",
    project: shared.OnlyProject = "",
    everywhere: Annotated[bool, Option("--everywhere", help="Rank all projects alike")] = False,
    since: shared.Since = None,
    until: Annotated[str | None, Option(metavar="TIME", help="Only older texts")] = None,
    by: Annotated[Literal["session"] | None, Option(help="Only the best hit of each session")] = None,
    exit_code: shared.ExitCode = False,
    batch: Annotated[str | None, Option(metavar="FILE", help="A query per line (- for stdin)")] = None,
    request_file: Annotated[str | None, Option(metavar="FILE", help="Composed recall: request (- for stdin)")] = None,
    workstream: Composed = None,
    principal_ref: Composed = None,
    purpose: Composed = None,
    allowed_privacy: Composed = None,
    include_superseded: Annotated[
        bool, Option("--include-superseded", help="Composed recall: include replaced memories")
    ] = False,
    reflection_limit: ComposedLimit = None,
    observation_limit: ComposedLimit = None,
    curated_limit: ComposedLimit = None,
) -> None:
    """Search memory."""


@app.command("show")
def show(
    id: Annotated[str, shared.memory_argument("A hit's number, or an id", metavar="N|ID")],
    before: Annotated[int, Option(min=0, max=1000, help="Entries before it")] = 4,
    after: Annotated[int, Option(min=0, max=1000, help="Entries after it")] = 8,
    raw: shared.Raw = False,
) -> Answer:
    """Show the conversation around a hit, with its tool calls."""
    last = recall_hot.last_recall()
    identifier = id
    if id.isdecimal() and len(id) <= 3:
        if not 1 <= int(id) <= len(last["hits"]):
            about = f"there is no hit {id}: the last recall ({last['query'] or 'none yet'}) found {len(last['hits'])}"
            raise Failure("NO_SUCH_HIT", about, "run joelclaw recall QUERY first, or give an id")
        identifier = last["hits"][int(id) - 1]
        if raw or is_for_person():
            tell(shown(f"hit {id} of: recall {last['query']} ({clock.iso(last['at'])[:16]}, {last['folder']})\n"))
    result = session_search.around(sqlite.open_or_empty(), identifier, before, after, identity=stored_id)
    result["query"] = last["query"] if identifier in last["hits"] else ""
    if identifier != id:
        result["recall"] = {"query": last["query"], "at": clock.iso(last["at"]), "folder": last["folder"]}
    session = quoted(quoting.shown_id(result["sessionId"]) or result["id"])
    actions = [step(f"joelclaw session show {session} --full", "all of it")] if result["sessionId"] else []
    lines = (f"{SPEAKERS.get(entry['role'], entry['role'])}: {entry['text']}" for entry in result["entries"])
    return Answer(result, actions, "\n".join(lines) if raw else None, view="cli.views:conversation")


ToolQuery = Annotated[list[str], Argument(metavar="QUERY", help="A tool, or words of the command")]
ErrorQuery = Annotated[list[str], Argument(metavar="QUERY", help="The error, or part of it")]


@app.command("how")
def how(query: ToolQuery, limit: shared.Limit = 5, raw: shared.Raw = False) -> Answer:
    """Show commands that ran before, this project's and working ones first."""
    return _past(past_runs.ways, "commands", " ".join(query), limit, raw=raw)


@app.command("fix")
def fix(query: ErrorQuery, limit: shared.Limit = 3, raw: shared.Raw = False) -> Answer:
    """Show how such errors were handled, and what then worked."""
    return _past(past_runs.endings, "errors", " ".join(query), limit, raw=raw)


def _past(find: Callable[..., list[dict[str, Any]]], name: str, query: str, limit: int, *, raw: bool) -> Answer:
    found = find(sqlite.open_or_empty(), query, limit, project.name_of(files.current_folder()))
    result: dict[str, Any] = {"query": query, "count": len(found), name: found}
    action = step(f"joelclaw recall {quoted(query)}", "conversations about it")
    if found and not found[0]["isOtherProject"]:
        first = found[0].get("ended") or found[0]
        action = step(f"joelclaw recall show {quoted(_shown_id(first))}", "the conversation around the best result")
    text = "\n".join(past_lines(result))
    message = text or f"No results for {query[:120]!r}."
    return Answer(result, [action], text if raw else None, view="cli.terminal:message", message=message)


def past_lines(result: dict[str, Any]) -> Iterator[str]:
    """The result of `how` or `fix` as text: a line for each command or error, and indented lines about it."""
    for run in result.get("commands", ()):
        yield _command_line(run)
        runs = f"{run['runs']} runs, the last" if run["runs"] > 1 else ""
        yield f"    {run['outcome'] or 'no outcome'} · {_origin(run, runs)}"
    for error in result.get("errors", ()):
        yield f"{_mark(error)}{error['error'][:200] or error['tool'] + ' failed'} · {_origin(error)}"
        yield f"    {error['outcome'] or 'no outcome'}: {_command_line(error)}"
        if error["said"]:
            yield f"    said: {error['said']}"
        yield from (f"    then: {_mark(error)}{line}" for line in error["did"])
        if run := error["ended"]:
            yield f"    {run['outcome'] or 'no outcome'}: {_command_line(run)} ({_shown_id(run)})"


def _command_line(run: dict[str, Any]) -> str:
    first, more, _ = run["command"].strip().partition("\n")
    shown = f"$ {clip(first, 300)}" + " …" * bool(more) if first and not run["file"] else f"{run['tool']} {run['file']}"
    return _mark(run) + shown


def _mark(run: dict[str, Any]) -> str:
    """The mark in front of a command that another project ran, which may be hostile."""
    return f"[other project: {run['project'] or 'unknown'}] " if run["isOtherProject"] else ""


def _origin(run: dict[str, Any], runs: str = "") -> str:
    return " · ".join(filter(None, (_shown_id(run), runs, run["at"][:10], run["project"], run["folder"])))


def _shown_id(run: dict[str, Any]) -> str:
    return str(run["id"]).replace(run["session"], quoting.shown_id(run["session"]))


# search

_COLLECTIONS = {"vault_notes": "knowledge", "memory_observations": "observations", "run_chunks": "episodes"}
"""The collections of the mirrored CLI that have contents here, and ours."""
_EMPTY_COLLECTIONS = ("blog_posts", "system_log", "discoveries", "transcripts", "voice_transcripts", "docs",
                      "docs_chunks_v2", "pi_mono_artifacts", "otel_events")  # fmt: skip
"""Further collections of the mirrored CLI."""
_FIELDS = {"type": "type", "source": "source", "project": "project", "category": "categoryId", "tags": "tags"}
"""What hits can be filtered and counted by, and the names of these values here."""


@app.command("search")
def search(
    query: shared.RequiredQuery,
    collection: Annotated[
        str, Option("--collection", "-c", metavar="NAME", help=f"Only {', '.join(_COLLECTIONS)}")
    ] = "",
    limit: shared.Limit = 5,
    filter: Annotated[str, Option("--filter", "-f", help="Such as type:=adr && source:=[a,b]")] = "",
    facet: Annotated[str, Option(help=f"Count the hits by {', '.join(_FIELDS)}")] = "",
    semantic: Annotated[bool, Option("--semantic", "-s", help="Has no effect")] = False,
) -> Answer:
    """Search notes, memories and sessions."""
    text, db, settings = " ".join(query), sqlite.open_or_empty(), config.load()
    if facet:
        require_known("--facet", facet, _FIELDS)
    names, conditions = _collections(collection), _conditions(filter)
    total, hits, counts = 0, [], Counter[str]()
    for name in names:
        most = 100 if conditions else limit
        asked = RecallQuery(text, limit=most, budget="balanced", collections=(_COLLECTIONS[name],))
        found = engine.recall(db, asked, now=clock.now_ms(), config=settings)
        matching = [hit for hit in found["hits"] if all(_matches(hit, *condition) for condition in conditions)]
        total += len(matching) if conditions else found["found"]
        for hit in matching[:limit]:
            counts.update(_values(hit, facet) if facet else ())
            line = " ".join(hit["observation"].split())
            hits.append({
                "collection": name, "id": hit["id"], "title": (hit["title"] or line)[:120],
                "snippet": snippet(hit["observation"], text.split(), 300), "path": hit["path"] or None,
                "score": hit["score"], "type": hit["type"],
            })  # fmt: skip
    result: dict[str, Any] = {"query": text, "collection": collection or None, "semantic": semantic}
    result |= {"totalFound": total, "hits": hits}
    if not names:
        result["reason"] = f"{collection} is always empty here; these are not: {', '.join(_COLLECTIONS)}"
    if facet:
        result["facets"] = {facet: [{"value": value, "count": count} for value, count in counts.most_common()]}
    return Answer(result, [step(f"joelclaw memory show {quoted(hit['id'])}", "a hit in full") for hit in hits[:1]])


def _collections(given: str) -> list[str]:
    """The collections that a name or its beginning means, all for ""; raises INVALID_COLLECTION."""
    wanted = given.strip().lower()
    names = {ours: name for name, ours in _COLLECTIONS.items()} | {"system_knowledge": "vault_notes"}
    names |= {name: name for name in _COLLECTIONS}
    found = [*dict.fromkeys(name for known, name in names.items() if known.startswith(wanted))]
    if not (found or any(name.startswith(wanted) for name in _EMPTY_COLLECTIONS)):
        require_known("--collection", given, _COLLECTIONS, "INVALID_COLLECTION")
    return found


def _conditions(given: str) -> list[tuple[str, set[str], bool]]:
    """A filter such as `type:=adr && source:=[a,b]`: fields, their values, and whether a value must match exactly."""
    conditions = []
    for part in filter(str.strip, given.split("&&")):
        name, _, value = (piece.strip() for piece in part.partition(":"))
        values = {word.strip(" `'\"").lower() for word in value.removeprefix("=").strip(" []").split(",")} - {""}
        if name not in _FIELDS or not values:
            fix = f"write it as type:=adr; the fields are {', '.join(_FIELDS)}"
            raise wrong_usage(f"--filter {part[:80]!r} cannot be parsed", fix)
        conditions.append((name, values, value.startswith("=")))
    return conditions


def _matches(hit: Any, name: str, wanted: set[str], exact: bool) -> bool:
    """Whether a hit matches a condition of a filter."""
    values = [value.lower() for value in _values(hit, name)]
    return any(value == word if exact else word in value for value in values for word in wanted)


def _values(hit: Any, field: str) -> list[str]:
    value = hit[_FIELDS[field]]
    return [text for text in (value if isinstance(value, list) else [value]) if text]
