"""`joelclaw memory …` and `note`: write, find, correct, forget and purge memories.

`memory write` is a hot command: `hot.py` runs it. `memory_bulk.py` has the commands on many memories.
"""

from typing import Annotated, Any, Literal

import apsw
import typer
from typer import Argument, Option

from cli import shared
from cli.commands import memory_bulk
from cli.declarations import declared
from cli.input import text_or_stdin
from cli.output import Answer, quoted, step, write_verbatim, wrong_usage
from core import clock, config
from core.errors import Failure
from core.store import documents, kinds, sqlite
from core.store.deletion import folded
from memory import curate
from otel import log
from recall.call_hits import CALL_PREFIX
from session import known_sessions
from session.known_states import bring_back_state, hide_state
from session.state import state_lock

app = typer.Typer()
memory = shared.group(app, "memory", "Write, find, move and forget memories.")

MemoryId = Annotated[str, shared.memory_argument("Its id, or the beginning of it")]
MemoryIds = Annotated[list[str] | None, shared.memory_argument("Ids of memories or tool calls")]
Tags = Annotated[str, Option("--tags", "-t", metavar="CSV", help="Its tags")]
Source = Annotated[str, Option("--source", "-s", help="Its origin")]
Text = Annotated[str | None, Argument(metavar="TEXT", help="The text (- reads it from stdin)")]
TAGS = shared.stored("tags")


@memory.command("write")
def write(
    text: Text = None,
    category: Annotated[str, Option("--category", "-c", help="Its category (default: from its words)")] = "",
    tags: Tags = "",
    source: Source = "cli",
    session: Annotated[str, shared.session_option("The session's id")] = "",
    project: shared.Project = "",
    type: Annotated[
        Literal["observation", "lesson", "pattern", "failed_target"], Option(help="Becomes a tag")
    ] = "observation",
    for_all: Annotated[bool, Option("--global", help="Recall it in every project")] = False,
) -> None:
    """Store an observation, which can be recalled at once."""


@app.command("note")
def note(text: Text = None, source: Source = "cli", tags: Tags = "") -> Answer:
    """Store an observation with the tag note."""
    given = {"text": text, "source": source, "tags": f"note,{tags}", "by_hand": True}  # so the gate allows it
    written: Any = declared("memory")["memory write"].call(given)
    about = {"text": written.result["observation"], "createdAt": written.result["created_at"], "status": "stored"}
    return Answer({**written.result, **about}, written.next_actions)


@memory.command("search")
def search(
    query: shared.Query = None, limit: shared.Hits = None, category: shared.Category = None, raw: shared.Raw = False
) -> Answer | int | None:
    """Search memory with the automatic budget."""
    return declared("recall")["recall"].call(locals())


@memory.command("recent")
def recent(
    count: Annotated[int, Option("--count", "-n", min=1, max=1000, help="How many")] = 10, hours: shared.Hours = 24
) -> Answer:
    """List the newest observations."""
    observations = curate.recent(sqlite.open_or_empty(), hours=hours, count=count, now=clock.now_ms())
    return Answer({"count": len(observations), "hours": hours, "observations": observations})


@memory.command("scorecard")
def scorecard(hours: shared.Hours = 24) -> Answer:
    """Report how well memory works."""
    log.store_spooled()
    return Answer(curate.scorecard(sqlite.open_or_empty(), hours=hours, now=clock.now_ms()))


@memory.command("stats")
def stats() -> Answer:
    """Count the memories."""
    return Answer(curate.stats(sqlite.open_or_empty()))


@memory.command("list")
def list_(
    tag: Annotated[list[str] | None, Option("--tag", "-t", help="Only with this tag", autocompletion=TAGS)] = None,
    category: shared.Category = None,
    project: shared.OnlyProject = "",
    all: Annotated[bool, Option("--all", help="Also tasks, and what recall does not return")] = False,
    limit: Annotated[int, shared.limit_option(1000)] = 30,
    page: shared.Page = 1,
) -> Answer:
    """List the observations, newest first."""
    filters = {"category": category, "project": project, "tag": tag or [], "all": all}
    result = curate.listing(sqlite.open_or_empty(), {**filters, "limit": limit, "page": page})
    return Answer(result, [_show_step(row["id"]) for row in result["memories"][:1]])


@memory.command("show")
def show(id: MemoryId, verbatim: shared.Verbatim = False) -> Answer | int:
    """Show a memory or a tool call."""
    db = sqlite.open_or_empty()
    if id.startswith(CALL_PREFIX):
        call = curate.find_call(db, id)
        return write_verbatim(call["passage"]) if verbatim else Answer(call)
    document = curate.find(db, id)
    curate.refuse_purged(document)
    if verbatim:
        return write_verbatim(document["text"])
    result = curate.to_view(document)
    undo, about = (" --undo", "bring it back") if result["forgotten"] else ("", "remove it from memory")
    return Answer(result, [step(f"joelclaw memory forget{undo} {result['id']}", about)])


@memory.command("edit")
def edit(
    id: MemoryId,
    text: Text = None,
    add_tags: Annotated[str, Option(metavar="CSV", help="Tags to add")] = "",
    remove_tags: Annotated[str, Option(metavar="CSV", help="Tags to remove")] = "",
    pin: Annotated[bool | None, Option("--pin/--unpin", help="Exempt it from ageing")] = None,
) -> Answer:
    """Change a memory's text or tags, or pin it."""
    if text is None and pin is None and not (add_tags or remove_tags):
        raise wrong_usage("nothing was given to change", "give a text, --add-tags, --remove-tags, --pin or --unpin")
    new_text = text_or_stdin(text)
    db, about = open_writing(id)
    result: dict[str, Any] = {}
    if add_tags or remove_tags or pin is not None:
        result |= curate.tag(db, id, add=add_tags.split(","), remove=remove_tags.split(","), pin=pin)
    if new_text is not None:
        result |= curate.edit(db, id, new_text, **about)
    return Answer(result, [_show_step(result["id"])])


@memory.command("supersede")
def supersede(
    id: MemoryId, text: Text = None, undo: Annotated[bool, Option("--undo", help="Restore the replaced memory")] = False
) -> Answer:
    """Replace a memory that is no longer true."""
    call = f"joelclaw memory supersede {quoted(id)}"
    if undo == (text is not None):
        raise wrong_usage("give either a text or --undo", f"run: {call} 'what holds now', or {call} --undo")
    new_text = text_or_stdin(text) or ""
    db, about = open_writing(id)
    if undo:
        restored = curate.undo_supersede(db, id, **about)
        return Answer(restored, [_show_step(restored["id"])])
    result = curate.supersede(db, id, new_text, **about)
    back = step(f"joelclaw memory supersede {result['superseded']['id']} --undo", "undo this")
    return Answer(result, [_show_step(result["id"]), back])


# forget, purge


@memory.command("forget")
def forget(
    ids: MemoryIds = None,
    session: Annotated[str, shared.session_option("The session to hide as a whole")] = "",
    undo: Annotated[bool, Option("--undo", help="Undo a forget")] = False,
) -> Answer:
    """Hide memories, tool calls or a whole session."""
    if bool(ids) == bool(session):
        message = "--session takes no ids" if ids else "no memory was given"
        raise wrong_usage(message, "give ids, or --session ID for all of a session")
    if session and not undo:
        return _forget_session(session)
    given = session or (ids or [""])[0]
    db = sqlite.open_or_empty()
    if undo and (session or documents.by_id(db, given) is None):
        if name := kinds.forgotten_session(db, given, least=8):
            return _bring_back_session(name)
        if session:
            fix = "give 8 characters of its id or more; to forget it, leave out --undo"
            raise Failure("SESSION_NOT_FOUND", f"no session {session[:80]!r} was forgotten", fix)
    db, about = open_writing("" if given.startswith(CALL_PREFIX) else given)
    result = curate.forget(db, ids or [], undo=undo, **about)
    reverse = "" if undo else " --undo"
    return Answer(result, [step(f"joelclaw memory forget{reverse} {' '.join(result['ids'][:500])}", "undo this")])


def _forget_session(given: str) -> Answer:
    # Store the session's pending events first, so that they are forgotten too.
    log.store_spooled(busy_ms=config.load().get_int("store.busy_ms"))
    db, about = open_writing()
    session = kinds.forgotten_session(db, given, least=8) or known_sessions.resolve(db, given, least=8)
    with state_lock(session):
        result = curate.forget_session(db, session, **about)
        hide_state(session)
    undo = step(f"joelclaw memory forget --undo {quoted(session)}", "bring it back; until then, nothing is archived")
    return Answer(result, [undo])


def _bring_back_session(session: str) -> Answer:
    db, about = open_writing()
    with state_lock(session):
        bring_back_state(session)  # first: if this is killed, the session is still forgotten, and can be brought back
        try:
            result = curate.undo_forget_session(db, session, **about)
        except Failure:  # it was purged: nothing of it may be kept
            hide_state(session)
            raise
    return Answer(result, [step(f"joelclaw memory forget --session {quoted(session)}", "undo this")])


@memory.command("purge")
def purge(
    ids: MemoryIds = None,
    session: shared.OnlySession = "",
    project: shared.OnlyProject = "",
    before: Annotated[str, Option(metavar="DATE", help="Only memories older than this day")] = "",
    match: Annotated[str, Option(metavar="TEXT", help="Only what contains this text")] = "",
    confirmed: shared.Confirmed = None,
) -> Answer:
    """Permanently delete memories, and what quotes them."""
    from cli.terminal import agrees
    from session.purge import Purge

    filters = {"session": (session or "").strip(), "project": project.strip(), "before": before, "match": match}
    if bool(ids) == any(filters.values()):
        message = "ids and filters cannot be used together" if ids else "no memory was given"
        raise wrong_usage(message, "give ids, or some of --session, --project, --before and --match")
    least_match = 3  # characters
    if match and len(folded(match)) < least_match:
        raise wrong_usage("--match is too short", f"give {least_match} characters or more")
    if before and clock.local_period(before) is None:
        raise wrong_usage(f"--before {before[:60]!r} is not a date", "give it as 2026-01-31")
    would = "Would be deleted permanently:"
    with shared.progress_bar("searching") as bar:
        selected = Purge(config.load(), ids or [], filters, bar)
    if confirmed is False:
        return Answer(selected.result(done=False), message=would)
    if confirmed is None and not agrees(Answer(selected.result(done=False), message=would)):
        return Answer({}, message="Cancelled; nothing was deleted.")
    with shared.progress_bar("deleting") as bar:
        result = selected.run(bar)
    return Answer(result, [step("joelclaw store push", "delete it in the cluster too")] if result["cluster"] else [])


memory.registered_commands += memory_bulk.app.registered_commands


def open_writing(identifier: str = "") -> tuple[apsw.Connection, dict[str, Any]]:
    """The store for writing, and the arguments of most changes. For an unknown id, no store is made."""
    if identifier:
        curate.find(sqlite.open_or_empty(), identifier)
    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=True)
    return db, {"now": clock.now_ms()}


def _show_step(id: str) -> Any:
    return step(f"joelclaw memory show {quoted(id)}", "everything known about it")
