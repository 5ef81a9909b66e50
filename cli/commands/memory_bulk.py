"""`joelclaw memory import`, `export`, `archive` and `observe`: many memories at once."""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any, Literal

import typer
from rich.filesize import decimal
from typer import Argument, Option

import clients
from cli import shared
from cli.input import numbered_lines, open_input, report_unknown_keys
from cli.output import Answer, is_for_person, quoted, step, template, write_bytes, wrong_usage
from core import clock, config, switches
from core.command import model_from_config, model_not_configured
from core.errors import FAILED, Failure, either
from core.quoting import counted
from core.store import kinds, sessions, sources, sqlite
from memory import curate
from memory.archive import ingest, transcript_files
from memory.archive.admission import folders_in
from memory.archive.transcript_files import Archived, KnownFiles
from session.known_states import bring_back_state
from session.state import state_lock, stored_id

app = typer.Typer()

NAME_TRANSCRIPTS = f"name transcripts of {either(clients.keeping_files())}; --agent names the client"


@app.command("import")
def import_(
    file: Annotated[str, Argument(metavar="FILE", help="The file (- for JSON lines on stdin)")],
    format: Annotated[Literal["auto", "ours", "markdown"], Option(help="The file's format")] = "auto",
    preview: Annotated[bool, Option("--preview", help="Only show what would happen")] = False,
) -> Answer:
    """Import Markdown or JSON lines. JSON lines are global unless they name a `project`."""
    from memory import transfer  # loads a parser of Markdown

    form = transfer.detect_format(file) if format == "auto" else format
    about: dict[str, Any] = {"preview": preview, "now": clock.now_ms(), "config": config.load()}
    message, failed = "", 0
    if form == transfer.LINES:
        with open_input(file, "JSON lines") as handle:
            size = None if file == "-" else os.fstat(handle.fileno()).st_size
            with shared.progress_bar("importing", size) as (_, advance):
                report = transfer.import_lines(numbered_lines(handle, 16 * 1024 * 1024), **about, progress=advance)
        report_unknown_keys(report["ignored"], transfer.LINE_KEYS)
        if failed := report["failed"]:
            first, lines = report["errors"][0], report["lines"]
            message = f"{failed} of {lines} lines cannot be imported; line {first['line']}: {first['reason']}"
            if failed == lines:
                raise Failure("IMPORT_FAILED", message, 'give a JSON object per line, such as {"text": "..."}')
    else:
        if not os.path.exists(file):
            raise wrong_usage(f"there is no file {file}", "name a Markdown file; only JSON lines are read from stdin")
        with shared.progress_bar("importing") as (_, advance):
            report = transfer.import_markdown(file, **about, progress=advance)
        if not report["items"]:
            why = "".join(f": {item['where']}: {item['reason']}" for item in report["leftOut"][:1])
            raise Failure("IMPORT_FAILED", f"nothing in {file} can be imported as {form}{why}", "give its --format")
    if stale := report["staleAge"]:
        too_old = f"Recall leaves out {counted(stale, 'memory')} older than 90 days, unless `updated_at` is newer."
        message = ". ".join(filter(None, (message, too_old)))
    steps = [step(f"joelclaw memory import {quoted(file)}", "once the lines in `errors` are corrected")] * bool(failed)
    return Answer({"file": file, **report}, steps, exit_code=FAILED * (bool(failed) and not preview), message=message)


@app.command("export")
def export(
    collection: Annotated[str | None, Option(metavar="NAMES", help="Only observations, episodes or knowledge")] = None,
) -> int:
    """Print every memory as JSON lines, for `memory import`."""
    from cli.commands.recall_hot import parse_collections
    from memory import transfer

    names = parse_collections(collection)
    if lost := sqlite.lost_store(sqlite.open_reading()):  # the copy would replace a complete one
        raise lost
    lines = transfer.export_lines(sqlite.open_or_empty(), names)
    while block := list(islice(lines, 500)):
        if not write_bytes(b"".join(block)):
            break
    return 0


@app.command("archive")
def archive(
    paths: Annotated[
        list[str] | None, Argument(metavar="PATH", help="Transcripts, or folders; with --again also sessions")
    ] = None,
    all: Annotated[bool, Option("--all", help="All that the clients keep")] = False,
    agent: Annotated[str, Option(metavar="NAME", help="The client that wrote it")] = "",
    again: Annotated[bool, Option("--again", help="Also sessions that were forgotten or purged")] = False,
) -> Answer:
    """Archive transcripts. Without PATH, report how many are left, and ask."""
    if paths or all:
        return archive_files(paths or [], agent, all=all, again=again)
    if agent or again:
        raise wrong_usage("no transcript is named", "name files or folders, or give --all")
    offered, actions = offer_past_sessions()
    return Answer(offered.get("archived", offered), actions)


def archive_files(paths: list[str], agent: str, *, all: bool, again: bool = False) -> Answer:
    """Archive transcripts, or those that the clients keep. Files that did not change are not opened.

    `again`: the paths may also be sessions, and what was forgotten or purged is archived, too.
    """
    if all and agent not in ("", *clients.keeping_files()):
        raise wrong_usage(f"it is not known where {agent!r} keeps sessions", "name its transcripts instead of --all")
    given = [path for name in paths for path in (_transcripts_of(name) if again else [name])]
    found = transcript_files.find(given, agent, every=all)
    if paths and not found:
        raise Failure("ARCHIVE_FAILED", f"there is no transcript in {paths[0]}", NAME_TRANSCRIPTS)
    back = _admit_again(found, agent) if again else 0
    result = _archive(found, agent, is_every=all and not agent, again=again)
    if result["skipped"] and not result["transcripts"] and not all:
        first = result["skipped"][0]
        about = f"{counted(result['skippedCount'], 'file')} could not be archived; {first['path']}: {first['reason']}"
        raise Failure("ARCHIVE_FAILED", about, NAME_TRANSCRIPTS)
    actions, message = [step("joelclaw recall <query>", "find what was said")], ""
    if again:
        result["broughtBack"] = back
        message = f"{counted(back, 'session')} brought back." if back else "None of these sessions had been forgotten."
    elif result["forgotten"]:
        message = f"{counted(result['forgotten'], 'session')} forgotten before: --again archives what is named."
        named = step(f"joelclaw memory archive --again {' '.join(map(quoted, paths))}", message)
        actions.append(template("joelclaw memory archive --again <session>", message, "its id") if all else named)
    return Answer(result, actions, message=message)


def _transcripts_of(name: str) -> list[str]:
    """A path, or the transcripts of the session with this id and its subagents. Raises Failure if there is none."""
    db = sqlite.open_reading()
    if os.path.exists(name) or db is None:
        return [name]
    session = kinds.forgotten_session(db, name) or sessions.whole_id(db, name) or name
    found = transcript_files.of_sessions(db, *curate.with_subagents(db, session, forgotten=True))
    if not found:
        fix = f"if it was forgotten but not purged: joelclaw memory forget --undo {quoted(session)}"
        raise Failure("ARCHIVE_FAILED", f"there is no file {name}, and no transcript of a session with this id", fix)
    return found


def _admit_again(found: Sequence[Any], agent: str) -> int:
    """Bring back the forgotten sessions that these transcripts belong to; returns how many they are."""
    back = 0
    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=True)
    for file in found:
        try:
            session = stored_id(transcript_files.look_at(file.path, agent)[1])
        except Failure:  # the archive reports it
            continue
        with state_lock(session):
            back += sessions.is_forgotten(db, session)
            bring_back_state(session)
            curate.admit_again(db, session, ingest.source_of(file.path), now=clock.now_ms())
    return back


def _archive(found: Sequence[Any], agent: str, *, is_every: bool, again: bool) -> dict[str, Any]:
    """Archive the files that are new or have changed, and count the others. Returns what the command prints.

    `is_every`: these are all files of all clients.
    """
    db, busy_ms = sqlite.open_or_empty(), config.load().get_int("store.busy_ms")
    if sessions.has_unchecked(db):
        writing = sqlite.open_writing(busy_ms=busy_ms, durable=False)
        with sqlite.transaction(writing):
            sessions.read_emptied_again(writing)
    known, report = KnownFiles(db, agent, clock.now_ms()), Archived()
    states = [(file, None if again else known.of(file)) for file in found]
    new = [file for file, state in states if state is None]
    if new or any(clients.by_name(name).titles() for name in clients.keeping_files()):
        writing = sqlite.open_writing(busy_ms=busy_ms, durable=False)
        archiver = transcript_files.Archiver(writing, stored_id, agent, again=again)
        with shared.progress_bar("archiving", sum(file.size for file in new)) as (_, advance):
            report = transcript_files.ingest_all(archiver, new, progress=advance, known=known)
        known.save(writing, found if is_every else None)
    for file, state in states:
        if state is not None and state["client"]:
            report.take(state["client"], file.path)
        elif state is not None:
            report.leave_out(file.path, state["reason"])
    if is_every and sqlite.lost_store(sqlite.open_reading()):
        sqlite.note_archived_again()
    return report.result


# Past sessions that are not archived yet


def offer_past_sessions(wanted: bool | None = None) -> tuple[dict[str, Any], list[Any]]:
    """Archive past sessions if `wanted`; None asks on a terminal. Returns values for the result, and next steps.

    `history`: how many sessions of each client are not archived, their size, and how many cannot be read, by reason.
    """
    db = sqlite.open_or_empty()
    left = {name: transcript_files.not_archived(db, name) for name in clients.keeping_files()}
    reasons = transcript_files.unreadable(file for some in left.values() for file in some)
    left = {
        name: [file for file in some if file.path not in reasons and not _is_excluded(file.path, name)]
        for name, some in left.items()
    }
    counts = {name: len(some) for name, some in left.items() if some}
    size = sum(file.size for some in left.values() for file in some)
    history: dict[str, Any] = {"sessions": sum(counts.values()), "clients": counts, "bytes": size}
    history["unreadable"] = Counter(reasons.values())
    steps = [step("joelclaw doctor", f"{counted(len(reasons), 'past session')} cannot be read")] * bool(reasons)
    if not counts:
        return {"history": history}, steps
    about = f"{counted(history['sessions'], 'past session')} found ({', '.join(counts)}), {decimal(size)}"
    if wanted is None and is_for_person() and os.isatty(0):
        from cli.terminal import confirm

        wanted = confirm(f"{about}: archive now?", default=True)
    if wanted:
        done = archive_files([], "", all=True)
        return {"history": history, "archived": done.result}, [*done.next_actions, *steps]
    return {"history": history}, [step("joelclaw memory archive --all", about), *steps]


def _is_excluded(path: str, client: str) -> bool:
    """Whether a transcript names folders, and the user has excluded all of them."""
    known, _ = switches.load()
    if not known["excluded"]:
        return False
    with sources.open_source(path) as read:
        excluded = (switches.is_excluded(known, folder) for folder in folders_in(read, clients.by_name(client)))
        return next(excluded, False) and all(excluded)  # reads only up to a folder that is not excluded


@app.command("observe")
def observe(
    transcript: Annotated[str, Argument(metavar="TRANSCRIPT", help="The transcript; it is archived first")] = "",
    session: Annotated[str, shared.session_option("An archived session instead of TRANSCRIPT")] = "",
    command: shared.ModelCommand = "",
) -> Answer:
    """Have a model record facts worth remembering."""
    from session import known_sessions, observe_job

    if bool(transcript) == bool(session):
        raise wrong_usage("name either a transcript or a session", "give TRANSCRIPT, or --session ID")
    session = session and known_sessions.resolve(sqlite.open_or_empty(), session)
    session_id = observe_job.session_name(transcript_files.look_at(transcript)[1] if transcript else session)
    settings = config.load()
    model = model_from_config(settings, command)
    if model is None:
        raise model_not_configured()
    result = observe_job.observe(settings, model, session_id, transcript)
    rest = step(f"joelclaw memory observe --session {quoted(session_id)}", "continue with the rest")
    return Answer(result, [rest] if result["left"]["turns"] else [])
