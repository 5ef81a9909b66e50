"""A person looks through the memories and mends them: list, edit, tag, pin, supersede, forget.

Only observations are mended: what was said in a session (an episode) and what a file says (knowledge) is only
forgotten. Each change is one transaction; where it raises Failure, nothing was changed. An id may be the beginning of
one: MEMORY_NOT_FOUND, MEMORY_AMBIGUOUS; what is mended must stand: MEMORY_FORGOTTEN, MEMORY_SUPERSEDED, and others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from core import clock
from core.errors import Failure, usage
from core.files import current_folder
from core.project import name_of, names_of
from core.records import Document
from core.store import calls, documents, hook_calls, progress, sessions, sqlite
from core.store.documents import PINNED
from core.store.purge import PURGED
from memory import gate, write
from memory.json_form import to_view
from recall import categories, names

STALE = "stale"
SHORTEST_PREFIX = 8
_MOST_LISTED = 10
_SHOWN = 200
_TASK = "session-task"
_CODE = "MEMORY_INVALID_ARGS"
_KEYS = (
    "id", "at", "updated_at", "observation", "category", "tags", "project", "session", "source", "verdict",
    "recallCount", "retrievalPriority", "pinned", "stale", "supersededBy", "supersedes", "forgotten", "privacy",
)  # fmt: skip
_DERIVED = ("keyword", "fallback")  # sources of a category that the words of the text chose


def find(db: apsw.Connection | None, identifier: str) -> Document:
    """The memory with this id, or the only one whose id begins so (8 characters or more), forgotten or not."""
    document = documents.by_id(db, identifier) if db is not None else None
    if document is None and db is not None and len(identifier) >= SHORTEST_PREFIX:
        names = documents.ids_beginning(db, identifier, _MOST_LISTED + 1)
        if len(names) > 1:
            shortest = ", ".join(_shortest(one, names) for one in names[:_MOST_LISTED])
            message = f"several ids start with {identifier}: {shortest}"
            raise Failure("MEMORY_AMBIGUOUS", message, "give one of these beginnings, or a whole id")
        document = documents.by_id(db, names[0]) if names else None
    if document is None:
        fix = "see `joelclaw memory list`; an id's beginning works if no other id begins with it; nothing was changed"
        raise Failure("MEMORY_NOT_FOUND", f"there is no memory with the id {identifier}", fix)
    return document


def find_call(db: apsw.Connection | None, identifier: str) -> dict[str, Any]:
    """The tool call `call:<session>:<number>`."""
    call = names.call_by_id(db, identifier)
    if call is None:
        raise Failure("MEMORY_NOT_FOUND", f"there is no tool call {identifier}", "see `joelclaw recall NAME --json`")
    return call


def _shortest(name: str, names: Sequence[str]) -> str:
    """The shortest beginning of an id with which no other of these begins, else the whole id."""
    sizes = range(SHORTEST_PREFIX, len(name))
    return next((name[:size] for size in sizes if sum(one.startswith(name[:size]) for one in names) == 1), name)


def refuse_purged(document: Document) -> None:
    """Raises Failure MEMORY_PURGED for a memory of which only the mark is left that keeps it from coming back."""
    if document["write_reason"] == PURGED and not document["text"]:
        message = f"{document['id']} was purged: its text was deleted for good"
        raise Failure("MEMORY_PURGED", message, "restore a backup from before, if any")


def _observation(db: apsw.Connection, identifier: str, *, superseded: bool = False) -> Document:
    """The observation that `find` finds; one whose place another has taken only where `superseded` says so."""
    document = find(db, identifier)
    name, newest = document["id"], document["superseded_by"]
    if document["collection"] != write.COLLECTION:
        what = "what a file says" if document["collection"] == "knowledge" else "what was said in a session"
        fix = "write a new memory instead: joelclaw memory write TEXT"
        raise Failure("MEMORY_NOT_EDITABLE", f"{name} is {what}, and cannot be changed", fix)
    if document["forgotten_at"] is not None:
        fix = f"bring it back first: joelclaw memory forget --undo {name}"
        raise Failure("MEMORY_FORGOTTEN", f"{name} was forgotten", fix)
    if newest and not superseded:
        fix = f"look at that one: joelclaw memory show {newest}"
        raise Failure("MEMORY_SUPERSEDED", f"{name} was superseded by {newest}", fix)
    return document


def listing(db: apsw.Connection, options: Mapping[str, Any], *, now: int) -> dict[str, Any]:
    """A page of the observations, the newest first, by the options of `memory list`."""
    verdict, whatever, project = options["verdict"], bool(options["all"]), options["project"] or ""
    since, before = (
        None if days is None else int(now - days * clock.DAY_MS) for days in (options["days"], options["older_than"])
    )
    asked: dict[str, Any] = {
        "tags": options["tag"], "category": categories.resolve(options["category"] or ""), "projects": (),
        "verdicts": (verdict,) if verdict else () if whatever else ("allow",), "source": options["source"] or "",
        "since": since, "before": before, "whatever": whatever,
        "without": "" if whatever or options["tag"] else _TASK,
    }  # fmt: skip
    limit, page = options["limit"], options["page"]
    if project:
        asked["projects"] = [project, *names_of(project, documents.projects(db))]
    found, shown = documents.listed(db, write.COLLECTION, asked, limit=limit, offset=(page - 1) * limit)
    rows = [_row(document) for document in shown]
    return {"found": found, "page": page, "limit": limit, "count": len(rows), "memories": rows}


def _row(document: Document) -> dict[str, Any]:
    view = {**to_view(document), "at": clock.iso(document["created_at"]), "pinned": PINNED in document["tags"]}
    view["stale"] = document["stale"] or STALE in document["tags"]
    return {key: view[key] for key in _KEYS} | {"observation": document["text"][:_SHOWN]}


def _changed(document: Document, changed: bool) -> dict[str, Any]:
    hint = {"hint": gate.NOT_REMEMBERED} if document["write_verdict"] == "discard" else {}
    about = {"observation": document["text"], "categoryId": document["category_id"], "changed": changed}
    return {**_row(document), **about, **hint}


def edit(db: apsw.Connection, identifier: str, text: str, *, now: int, vectors: bool) -> dict[str, Any]:
    """Give a memory another text: redacted, judged and embedded anew; what it said goes to its history."""
    kinds: list[str] = []
    fresh = write.compose(write.Draft(text, written_in=name_of(current_folder())), kinds, now=now)
    with sqlite.transaction(db):
        older = _observation(db, identifier)
        one: Document = {**older}
        changed = older["text"] != fresh["text"]
        if changed:
            same = documents.by_fingerprint(db, fresh["fingerprint"], write.COLLECTION)
            is_told = same is not None and same["write_verdict"] == "allow" and same["project"] == older["project"]
            if same is not None and is_told and same["id"] != older["id"]:
                fix = f"forget this one: joelclaw memory forget {older['id']}"
                raise Failure("MEMORY_DUPLICATE", f"another memory already says that: {same['id']}", fix)
            one["history"] = write.extended_history(older)
            write.copy_fields(one, fresh, ("text", "fingerprint", "updated_at", *write.VERDICT_FIELDS))
            one["path"] = fresh["path"] if write.is_global(one) else one["path"]
            if older["category_source"] in _DERIVED or fresh["category_source"] == "annotation":
                write.copy_fields(one, fresh, write.CATEGORY_FIELDS)
            write.store(db, one, vectors=vectors)
    about = {"before": older["text"], "reason": one["write_reason"], "redacted": list(dict.fromkeys(kinds))}
    return {**_changed(one, changed), **about}


def tag(db: apsw.Connection, identifier: str, *, add: Sequence[str], remove: Sequence[str]) -> dict[str, Any]:
    """Add tags to a memory and take others away. Raises Failure MEMORY_INVALID_ARGS for no tag, or over 64."""
    kinds: list[str] = []
    more, fewer = write.clean_tags(add, kinds), write.clean_tags(remove, kinds)
    if not (more or fewer):
        raise usage(_CODE, "no tag given", "give --add or --remove with tags, joined by commas")
    older, result = _retagged(db, identifier, more, fewer)
    return {
        **result,
        "added": [name for name in result["tags"] if name not in older["tags"]],
        "removed": [name for name in older["tags"] if name not in result["tags"]],
        "redacted": list(dict.fromkeys(kinds)),
    }


def pin(db: apsw.Connection, identifier: str, *, undo: bool = False) -> dict[str, Any]:
    """Pin a memory, so that it neither decays nor goes stale, or undo that. A mark as stale goes with pinning."""
    more, fewer = ([], [PINNED]) if undo else ([PINNED], [STALE])
    return {**_retagged(db, identifier, more, fewer, fresh=not undo)[1], "undo": undo}


def _retagged(
    db: apsw.Connection, identifier: str, more: list[str], fewer: list[str], *, fresh: bool = False
) -> tuple[Document, dict[str, Any]]:
    """The memory as it was, and what its new tags answer; `fresh` takes a mark as stale away."""
    with sqlite.transaction(db):
        older = _observation(db, identifier, superseded=not fresh)
        wanted = list(dict.fromkeys([*(one for one in older["tags"] if one not in fewer), *more]))
        tags = write.clean_tags(wanted, [])
        if len(tags) < len(wanted):
            raise usage(_CODE, f"a memory has {len(tags)} tags at most", "remove some in the same call: --remove CSV")
        stale = older["stale"] and not fresh
        changed = tags != older["tags"] or stale != older["stale"]
        if changed:
            documents.set_tags(db, older["rowid"], tags, stale=stale)
    return older, _changed({**older, "tags": tags, "stale": stale}, changed)


def supersede(db: apsw.Connection, identifier: str, text: str, *, now: int, vectors: bool) -> dict[str, Any]:
    """Store what holds now in the place of a memory that no longer does, which is not handed out any more."""
    kinds: list[str] = []
    fresh = write.compose(write.Draft(text, written_in=name_of(current_folder())), kinds, now=now)
    if fresh["write_verdict"] != "allow":
        message = f"recall would not return the new text ({fresh['write_reason']}), and the old one stays"
        raise Failure("MEMORY_NOT_ALLOWED", message, "write it as a sentence, or put [gate=allow] in front of it")
    with sqlite.transaction(db):
        older = _observation(db, identifier)
        if older["fingerprint"] == fresh["fingerprint"]:
            fix = f"to change its wording: joelclaw memory edit {older['id']} TEXT"
            raise Failure("MEMORY_DUPLICATE", "the new text is the same as the old one", fix)
        documents.link(db, older, {**fresh, "rowid": -1}, now)  # so that the new one is not merged into it
        fresh["tags"] = [name for name in older["tags"] if name != STALE]
        write.copy_fields(fresh, older, ("project", "session_id"))
        fresh["path"] = fresh["path"] if write.is_global(fresh) else ""
        if older["category_source"] not in _DERIVED and fresh["category_source"] != "annotation":
            write.copy_fields(fresh, older, write.CATEGORY_FIELDS)
        newer, was_merged = write.place(db, fresh, now=now, vectors=vectors)
        documents.link(db, older, newer, now)
    return {
        **_changed({**newer, "supersedes": older["id"]}, True),
        "merged": was_merged,
        "superseded": {"id": older["id"], "observation": older["text"]},
        "redacted": list(dict.fromkeys(kinds)),
    }


def undo_supersede(db: apsw.Connection, identifier: str, *, now: int, vectors: bool) -> dict[str, Any]:
    """Hand a memory out again, and forget what was written in its place; others' words and edits stay."""
    taken_out = []
    with sqlite.transaction(db):
        older = _observation(db, identifier, superseded=True)
        if not older["superseded_by"]:
            fix = f"to replace it: joelclaw memory supersede {older['id']} TEXT"
            raise Failure("MEMORY_NOT_SUPERSEDED", f"nothing has superseded {older['id']}", fix)
        newer = documents.by_id(db, older["superseded_by"])
        documents.unlink(db, older, now)
        if newer is not None and newer["supersedes"] == older["id"]:
            is_changed = newer["merged_count"] or newer["history"] or newer["superseded_by"] or newer["forgotten_at"]
            is_pinned = PINNED in newer["tags"] and PINNED not in older["tags"]
            if not (is_changed or is_pinned):
                documents.forget(db, newer["rowid"], now, signatures=vectors and documents.has_signatures(db))
                taken_out.append(newer["id"])
    return {**_changed({**older, "superseded_by": ""}, True), "undo": True, "takenOut": taken_out}


def forget(db: apsw.Connection, identifiers: Sequence[str], *, now: int, vectors: bool) -> list[Document]:
    """Take memories out of every search, all or none; one forgotten before stays so. Returns them as they were."""
    with sqlite.transaction(db):
        found = _found(db, identifiers)
        for document in found:
            if document["forgotten_at"] is None:
                documents.forget(db, document["rowid"], now, signatures=vectors and documents.has_signatures(db))
                progress.renew_segments(db, document["session_id"])
    return found


def undo_forget(db: apsw.Connection, identifiers: Sequence[str], *, now: int, vectors: bool) -> list[Document]:
    """Bring memories back, all or none; returns them as they were. Raises Failure MEMORY_PURGED."""
    with sqlite.transaction(db):
        found = _found(db, identifiers)
        for one in found:
            refuse_purged(one)
            if one["forgotten_at"] is not None:
                write.store(db, {**one, "forgotten_at": None, "updated_at": now}, vectors=vectors)
                progress.renew_segments(db, one["session_id"])
    return found


def _found(db: apsw.Connection, identifiers: Sequence[str]) -> list[Document]:
    found = [find(db, identifier) for identifier in identifiers]
    return list({document["id"]: document for document in found}.values())


def forget_calls(db: apsw.Connection, identifiers: Sequence[str]) -> list[str]:
    """Delete what is kept of tool calls, `call:<session>:<number>`, for good, all or none; returns their whole ids."""
    with sqlite.transaction(db):
        found = {call["id"]: call for call in (find_call(db, identifier) for identifier in identifiers)}
        for call in found.values():
            calls.forget(db, call["session"], call["number"])
    return list(found)


def forget_session(db: apsw.Connection, given: str, *, now: int, vectors: bool) -> tuple[list[str], int]:
    """Take a session's memories out of every search, and its tool calls, texts and hooks for good."""
    with sqlite.transaction(db):
        session = sessions.whole_id(db, given) or given
        found = documents.of_session(db, session)
        known = sessions.by_id(db, session)
        signatures = vectors and documents.has_signatures(db)
        for rowid, _ in found:
            documents.forget(db, rowid, now, signatures=signatures)
        progress.renew_segments(db, session)
        sessions.forget(db, session)
        hook_calls.forget(db, session)
    return [identifier for _, identifier in found], known["calls"] if known else 0
