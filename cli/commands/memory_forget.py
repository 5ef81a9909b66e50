"""`joelclaw memory forget` and `purge`: hide memories, or delete them permanently."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import Commands
from cli.output import Answer, is_for_person, quoted, step
from core import clock, config, files
from core.errors import usage

if TYPE_CHECKING:
    import apsw

app = Commands()

CODE = "MEMORY_INVALID_ARGS"
LEAST_MATCH = 3  # characters of --match
MOST_SHOWN = 10  # memories that a purge lists before it asks
MOST_NAMED = 500  # ids in a printed command: more than a shell may take


def open_writing(identifier: str = "") -> tuple["apsw.Connection", dict[str, Any]]:
    """The store for writing, and the arguments of most changes. For an unknown id, no store is made."""
    from core.store import sqlite
    from memory import curate

    if identifier:
        curate.find(sqlite.open_reading(), identifier)
    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=True)
    return db, {"now": clock.now_ms(), "vectors": sqlite.load_vectors(db)}


@app.command("forget")
def forget(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Their ids; a tool call (call:...) is deleted permanently"),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Everything of a session; its tool calls are deleted permanently"),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Bring them back")] = False,
) -> Answer:
    """Hide memories from recall and export; --undo brings them back."""
    from core.store.purge import PURGED
    from memory import curate
    from recall.names import CALL_PREFIX

    if session:
        return _forget_session(session, ids or [], undo=undo)
    if not ids:
        raise usage(CODE, "no memory was given", "give ids, or --session ID for all of a session")
    calls = [name for name in ids if name.startswith(CALL_PREFIX)]
    if calls:
        return _forget_calls(ids, calls, undo=undo)
    db, about = open_writing(ids[0])
    found = (curate.undo_forget if undo else curate.forget)(db, ids, **about)
    names = [document["id"] for document in found]
    changed = [document["id"] for document in found if (document["forgotten_at"] is not None) == undo]
    unchanged = [name for name in names if name not in changed]
    purged = [document["id"] for document in found if document["write_reason"] == PURGED and not document["text"]]
    result = {
        "ids": names, "restored" if undo else "forgotten": changed, "unchanged": unchanged, "undo": undo,
        "purged": purged,
    }  # fmt: skip
    reverse = "" if undo else " --undo"
    return Answer(result, [step(f"joelclaw memory forget{reverse} {' '.join(names[:5])}", "undo this")])


def _forget_calls(ids: list[str], calls: list[str], *, undo: bool) -> Answer:
    from core.store import sqlite
    from memory import curate

    if undo or len(calls) < len(ids):
        fix = "run --undo with memory ids only" if undo else "forget memories and tool calls in two commands"
        raise usage(CODE, "tool calls cannot be brought back", fix)
    curate.find_call(sqlite.open_reading(), calls[0])  # so that no store is made if there is none
    names = curate.forget_calls(open_writing()[0], calls)
    result = {"ids": names, "forgotten": names, "deletedForGood": names, "unchanged": [], "undo": False}
    return Answer({**result, "toolCalls": len(names)})


def _forget_session(given: str, ids: list[str], *, undo: bool) -> Answer:
    from glob import escape, glob

    from memory import curate
    from otel import log
    from session import known_sessions
    from session.state_file import remove_state, state_path

    if undo or ids:
        fix = "give --session without them; its memories come back by their ids: joelclaw memory forget --undo ID"
        raise usage(CODE, "--session takes no ids and no --undo: the session's tool calls are deleted", fix)
    # Store the session's pending events first, so that they are forgotten too.
    log.store_spooled(busy_ms=config.load().get_int("store.busy_ms"))
    db, about = open_writing()
    session = known_sessions.resolve(db, given)
    remove_state(session)  # fails if the session is locked, before anything is changed
    files.remove(*glob(escape(state_path(session)) + ".damaged-*"))
    names, calls = curate.forget_session(db, session, **about)
    back = f"joelclaw memory forget --undo {' '.join(names[:MOST_NAMED])}"
    result = {"ids": names, "forgotten": names, "unchanged": [], "undo": False, "toolCalls": calls}
    return Answer(result, [step(back, "bring its memories back; `ids` has all of them")] if names else [])


@app.command("purge")
def purge(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Their ids")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Everything of a session")] = None,
    project: Annotated[str, typer.Option(help="Everything of a project")] = "",
    before: Annotated[str, typer.Option(metavar="DATE", help="Everything older than this day")] = "",
    match: Annotated[str, typer.Option(metavar="TEXT", help="Everything that contains this text")] = "",
    confirmed: Annotated[
        bool | None,
        typer.Option("--yes/--dry-run", "-y", help="Delete without asking, or only report what would be deleted"),
    ] = None,
) -> Answer:
    """Delete memories permanently, from every file, with everything that quotes them."""
    from session.backup.purge import Purge

    filters = {"session": (session or "").strip(), "project": project.strip(), "before": before, "match": match}
    before_ms = _checked_filters(ids or [], filters, confirmed)
    selected = Purge(
        config.load(), ids or [], session=filters["session"], project=filters["project"], before=before_ms, match=match
    )
    if confirmed is False:
        words = [quoted(name) for name in ids or []]
        words += [f"--{name} {quoted(value)}" for name, value in filters.items() if value]
        same = step(f"joelclaw memory purge {' '.join(words)} --yes", "delete it permanently")
        return _preview(selected.result(done=False), [same])
    if confirmed is None and not _confirm_purge(_preview(selected.result(done=False))):
        return Answer({"declined": "nothing was deleted"})
    result = selected.run()
    actions = [step("joelclaw store push", "delete it in the cluster too")] if result["cluster"] else []
    return Answer(result, [*actions, step("joelclaw status", "what is left")])


def _checked_filters(ids: list[str], filters: dict[str, str], confirmed: bool | None) -> int | None:
    """The time that `--before` names (ms), or None; raises a Failure if a purge cannot be made of these words."""
    from core.store.purge import folded

    before = filters["before"]
    before_ms = clock.parse_iso(before) if before else None
    message = fix = ""
    if bool(ids) == any(filters.values()):
        message = "ids and filters cannot be used together" if ids else "no memory was given"
        fix = "give ids, or some of --session, --project, --before and --match"
    elif filters["match"] and len(folded(filters["match"])) < LEAST_MATCH:
        message, fix = "--match is too short", f"give {LEAST_MATCH} characters or more"
    elif before and before_ms is None:
        message, fix = f"--before is {before[:60]!r}, which is not a date", "give it as 2026-01-31"
    elif confirmed is None and not (is_for_person() and os.isatty(0)):
        message = "this deletes permanently, and it cannot ask for confirmation without a terminal"
        fix = "give --yes, or --dry-run first"
    if message:
        raise usage(CODE, message, fix)
    return before_ms


def _preview(result: dict[str, Any], actions: Sequence[Any] = ()) -> Answer:
    """What would be deleted, with the beginnings of the first memories for a person."""
    from core.store import documents, sqlite

    db = sqlite.open_reading()
    texts = documents.beginnings(db, result["ids"][:MOST_SHOWN], 100) if db is not None else {}
    shown = [f"  {' '.join(text.split())}" for text in texts.values()]
    more = len(result["ids"]) - len(shown)
    lines = ["Would be deleted permanently:", *shown, *([f"  and {more} more"] if more > 0 else [])]
    return Answer(result, list(actions), message="\n".join(lines))


def _confirm_purge(preview: Answer) -> bool:
    from cli.terminal import confirm, print_values

    print_values(preview, without=("ids",))
    return confirm("delete it permanently?")
