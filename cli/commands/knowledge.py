"""`joelclaw knowledge …` and `vault …`: synced folders of Markdown, and a folder of notes.

`knowledge search` is a hot command: `hot.py` runs it.
"""

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args

import typer
from typer import Argument, Option

from cli import shared
from cli.output import Answer, is_for_person, require_known, step, template, write_verbatim, wrong_usage
from core import clock, config, words
from core.errors import FAILED, usage
from core.store import documents, sqlite
from memory.knowledge import decisions
from memory.knowledge import search as search_sections
from memory.knowledge import sync as syncing
from memory.knowledge import vault as notes
from otel import log

app = typer.Typer()
knowledge = shared.group(app, "knowledge", "Sync and search folders of Markdown.")
vault = shared.group(app, "vault", "Read and search a folder of notes.")

NOTE_DETAILS = ("--channel", "--decision", "--evidence", "--loop-id", "--project", "--run-id", "--skip-reason",
                "--story-id", "--tools", "--turn-id", "--usefulness")  # fmt: skip


@knowledge.command("sync")
def sync(
    dirs: Annotated[list[str] | None, Argument(metavar="DIR", help="Folders (default: the same again)")] = None,
    adrs_only: Annotated[bool, Option("--adrs-only", help="Only the vault's decisions")] = False,
    skills_only: Annotated[bool, Option("--skills-only", help="Only the folder of JOELCLAW_SKILLS_DIR")] = False,
    prune: Annotated[bool, Option("--prune", help="Remove folders that no longer exist")] = False,
) -> Answer:
    """Import folders of Markdown."""
    folders = list(dirs or ())
    if adrs_only:
        folders.append(os.path.join(notes.root(), decisions.FOLDER))
    if skills_only:
        if not (skills := os.environ.get("JOELCLAW_SKILLS_DIR", "").strip()):
            fix = "set it, or name the folder of skills: joelclaw knowledge sync ~/skills"
            raise usage("KNOWLEDGE_NO_FOLDERS", "JOELCLAW_SKILLS_DIR is not set", fix)
        folders.append(skills)
    now = clock.now_ms()
    with shared.progress_bar("syncing") as (started, advance):
        result, db = syncing.sync_folders(
            folders, prune=prune, config=config.load(), now=now, started=started, progress=advance
        )
    indexed = result["indexed"]
    files = documents.sections_by_file(db)
    indexed["adrs"] = sum(f"/{decisions.FOLDER}/" in path for path in files)
    indexed["skills"] = sum(path.endswith("/SKILL.md") for path in files)
    prune_step = step("joelclaw knowledge sync --prune", "remove the sections of folders that are gone or empty")
    return Answer(result, [prune_step] if result["missing"] else [])


@knowledge.command("search")
def search(
    query: shared.RequiredQuery,
    type: Annotated[
        str, Option("--type", "-t", metavar="CSV", help="Only adr, skill, lesson, pattern, retro, note …")
    ] = "",
    limit: shared.Limit = 10,
) -> None:
    """Find sections of the synced files."""


@knowledge.command("note")
def note(
    source: Annotated[str, Option("--source", "-s", help="Its origin")],
    agent: Annotated[str, Option("--agent", "-a", help="Which agent or component")],
    session: Annotated[str, Option(metavar="ID", help="The session's id")],
    turn: Annotated[int, Option(min=0, max=1_000_000_000, help="The turn's number")],
    summary: Annotated[str, Option(metavar="TEXT", help="The turn's result, unless it is skipped")] = "",
    detail: Annotated[
        list[str] | None, Option("--detail", *NOTE_DETAILS, metavar="NAME=VALUE", help="Or --NAME VALUE")
    ] = None,
) -> Answer:
    """Store the result of an agent's turn."""
    details = {name: value.strip() for name, _, value in (item.partition("=") for item in detail or [])}
    place = {"source": source.strip(), "agent": agent.strip(), "session": session.strip(), "turn": str(turn)}
    skip_reason, text = details.get("skip-reason") or None, summary.strip()
    if skip_reason:
        require_known("--skip-reason", skip_reason, ("routine-heartbeat", "duplicate-signal", "no-new-information"))
    elif not text:
        raise wrong_usage("--summary is missing", "give --summary 'the result', or --skip-reason")
    channel = details.get("channel") or "internal"
    key = ":".join((place["source"], place["agent"], channel, place["session"], place["turn"]))
    turn_id, now = details.get("turn-id") or key, clock.now_ms()
    response: dict[str, Any] = {"ids": []} if skip_reason else _store_note(turn_id, text, place, details, now)
    action = "knowledge.turn_write." + ("skipped" if skip_reason else "completed")
    metadata = {"turnId": turn_id, "agent": place["agent"], "skipReason": skip_reason}
    event = log.new_event(action, component="knowledge-cli", metadata=metadata, session=place["session"], now=now)
    log.store_spooled([event])
    result = {"queued": True, "event": "knowledge/turn.write.requested", "turnId": turn_id, "skipReason": skip_reason}
    return Answer({**result, "stored": not skip_reason, "response": response})


def _store_note(turn_id: str, summary: str, place: dict[str, str], values: dict[str, str], now: int) -> dict[str, Any]:
    about = {"Decision": values.get("decision", "")}
    about |= {name.title(): ", ".join(words.listed(values.get(name, ""))) for name in ("evidence", "tools")}
    about |= {name.title(): values.get(f"{name}-id", "") for name in ("loop", "story", "run")}
    usefulness = ["-".join(tag.lower().split()) for tag in words.listed(values.get("usefulness", ""))]
    tags = ["turn_note", place["source"], place["agent"], values.get("channel", ""), *usefulness]
    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=True)
    origin = {"session": place["session"], "project": values.get("project", ""), "tags": tags}
    key, redacted = syncing.store_note(db, turn_id, summary, about, origin, now=now)
    return {"ids": [key], "redacted": redacted}


# The vault


@vault.command("read")
def read(
    ref: Annotated[list[str], Argument(metavar="REF", help="The note to read")],
    raw: shared.Raw = False,
    verbatim: shared.Verbatim = False,
) -> Answer | int:
    """Print a note by path, ADR-n, project n, name or topic."""
    asked, root = " ".join(ref), notes.root()
    found = notes.find(root, asked)
    if verbatim:
        return write_verbatim("".join(note["content"] for _, note in found))
    result = {"ref": asked, "vault_root": root, "resolved": [note for _, note in found]}
    result["resolution"] = [match._asdict() for match, _ in found]
    text = "\n".join(f"[file {match.path}]\n" + note["content"].rstrip("\n") for match, note in found)
    return Answer(result, [], text if raw or is_for_person() else None)


@vault.command("search")
def search_vault(
    query: shared.RequiredQuery,
    semantic: Annotated[bool, Option("--semantic", help="By meaning, in the synced sections")] = False,
    limit: shared.Limit = 10,
) -> Answer:
    """Find notes."""
    text, root = " ".join(query), notes.root()
    result: dict[str, Any] = {"query": text, "vault_root": root}
    steps = []
    if semantic:
        if notes.is_synced(root):
            found = search_sections(text, limit=limit, below=root)[0]
            result |= {"mode": "semantic", "found": found["found"], "hits": found["hits"]}
            return Answer(result, _read_first(found["hits"]))
        result["fallback"] = {"from": "semantic", "to": "text", "reason": "the vault was never synced"}
        steps.append(step(f"joelclaw knowledge sync {root}", "import the vault, to search it by meaning"))
    report = notes.by_words(root, text, limit=limit)
    matches = [{"path": hit["path"], "line": hit["line"], "context": hit["snippet"]} for hit in report["hits"]]
    result |= {"mode": "text", **report, "limit": limit, "total_matches": report["found"], "matches": matches}
    return Answer(result, [*_read_first(report["hits"]), *steps])


def _read_first(hits: list[dict[str, Any]]) -> list[Any]:
    return [template("joelclaw vault read <ref>", "the whole note", "its path", hit["path"]) for hit in hits[:1]]


@vault.command("ls")
def ls(section: Annotated[str, Argument(metavar="SECTION", help="A section to list")] = "") -> Answer:
    """List the sections of the vault, or the notes of a section."""
    root = notes.root()
    name = section.strip().lower()
    if not name:
        counts = {part: len(notes.entries(root, part)) for part in notes.SECTIONS}
        return Answer({"vault_root": root, "sections": counts})
    require_known("SECTION", name, notes.SECTIONS, "INVALID_SECTION")
    items = notes.entries(root, name)
    return Answer({"vault_root": root, "section": name, "count": len(items), "items": items})


@vault.command("tree")
def tree() -> Answer:
    """Show the folders of the vault, two levels deep."""
    root = notes.root()
    return Answer({"vault_root": root, "max_depth": 2, "directories": notes.folders(root)})


AdrVerb = Literal["list", "locate", "refs", "prompt", "collisions", "audit", "rank", "next"]


@vault.command("adr")
def adr(
    verb: Annotated[AdrVerb | None, Argument(metavar="VERB", help=", ".join(get_args(AdrVerb)))] = None,
    query: Annotated[list[str] | None, Argument(metavar="QUERY", help="For locate, refs and prompt")] = None,
    only: Annotated[str | None, Option("--status", "--band", help="Only this status (list) or band (rank)")] = None,
    limit: Annotated[
        int | None, Option("--limit", "--count", min=1, max=500, help="Maximum number (default: list 200, next 3, 10)")
    ] = None,
    unscored: Annotated[bool, Option("--unscored", help="rank: only records without a score")] = False,
    all: Annotated[bool, Option("--all", help="rank: also records that are not open")] = False,
) -> Answer:
    """Read the decision records of the vault."""
    text = " ".join(query or [])
    if bool(text.strip()) != (verb in ("locate", "refs", "prompt")):
        raise wrong_usage("locate, refs and prompt need a query, others take none", "see joelclaw vault adr --help")
    root = notes.root()
    if not verb:
        verbs = {name: f"joelclaw vault adr {name}" for name in get_args(AdrVerb)}
        return Answer({"description": "The decision records of the vault.", "vault_root": root, "subcommands": verbs})
    records = decisions.read_all(root)
    status = (only or "").strip().lower() if verb == "list" else ""
    band = ("do-next" if only == "next" else only or "") if verb == "rank" else ""
    if status:
        require_known("--status", status, decisions.STATUSES, "INVALID_ADR_STATUS")
    if verb == "rank" and only is not None:
        require_known("--band", band, tuple(decisions.BANDS), "INVALID_ADR_PRIORITY_BAND")
    run: dict[str, Callable[[], dict[str, Any]]] = {
        "list": lambda: decisions.listing(records, status, limit or 200),
        "locate": lambda: decisions.locate(records, text, min(limit or 10, 50)),
        "refs": lambda: decisions.refs(records, text),
        "prompt": lambda: decisions.expand(records, text),
        "collisions": lambda: decisions.collisions(records),
        "audit": lambda: decisions.audit(root, records),
        "rank": lambda: decisions.rank(records, band=band, only_unscored=unscored, closed_too=all),
        "next": lambda: decisions.recommend(records, min(limit or 3, 20)),
    }
    result = run[verb]()
    return Answer(result, exit_code=FAILED if verb == "audit" and not result["ok"] else 0)
