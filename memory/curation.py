"""A person looks through the memories and mends them: list, edit, tag, pin, supersede. Observations only.

What was said in a session (an episode) and what a file says (knowledge) stays as it was said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from core import clock
from core.config import Config
from core.errors import Failure, usage
from core.project import names_of
from core.records import Document
from core.store import curation, document_rows, documents, sqlite
from core.store.curation import PINNED
from memory import gate, near_duplicate
from memory.forget import find
from memory.json_form import to_view
from memory.write import (
    CATEGORY_FIELDS,
    COLLECTION,
    VERDICT_FIELDS,
    clean_tags,
    composed,
    placed,
    take,
    with_history,
)
from recall import categories
from recall.static_vectors import document_vector

STALE = "stale"
_SHOWN = 200
_CODE = "MEMORY_INVALID_ARGS"
_KEYS = (
    "id", "at", "updated_at", "observation", "category", "tags", "project", "session", "source", "verdict",
    "recallCount", "retrievalPriority", "pinned", "stale", "supersededBy", "supersedes", "forgotten",
)  # fmt: skip
_DERIVED = ("keyword", "fallback")
"""Sources of a category that the words of the text chose."""


def listing(db: apsw.Connection | None, options: Mapping[str, Any], *, now: int) -> dict[str, Any]:
    """A page of the observations, the newest first; without `all` or a verdict those that recall may hand out.

    Args:
        options: those of `memory list`.
    """
    verdict, whatever, project = options["verdict"], bool(options["all"]), options["project"] or ""
    asked: Any = {
        "tags": options["tag"], "category": categories.resolve(options["category"] or ""), "projects": (),
        "verdicts": (verdict,) if verdict else () if whatever else ("allow",), "source": options["source"] or "",
        "since": _days_ago(options["days"], now), "before": _days_ago(options["older_than"], now),
        "whatever": whatever,
    }  # fmt: skip
    limit, page = options["limit"], options["page"]
    found: int = 0
    shown: list[Document] = []
    if db is not None:
        if project:
            asked["projects"] = [project, *names_of(project, document_rows.projects(db))]
        found, shown = curation.listed(db, COLLECTION, asked, limit=limit, offset=(page - 1) * limit)
    return {
        "found": found,
        "page": page,
        "limit": limit,
        "count": len(shown),
        "filtersApplied": _applied(asked, project),
        "memories": [_row(document) for document in shown],
    }


def _days_ago(days: float | None, now: int) -> int | None:
    return None if days is None else int(now - days * clock.DAY_MS)


def _applied(asked: dict[str, Any], project: str) -> list[str]:
    named = (
        *(("tag", tag) for tag in asked["tags"]),
        ("category", asked["category"]), ("project", project), ("source", asked["source"]),
        *(("write_verdict", verdict) for verdict in asked["verdicts"]),
        ("since", "" if asked["since"] is None else clock.iso(asked["since"])),
        ("before", "" if asked["before"] is None else clock.iso(asked["before"])),
    )  # fmt: skip
    applied = [f"{name}:{value}" for name, value in named if value]
    return applied if asked["whatever"] else [*applied, "not forgotten", "not superseded"]


def _row(document: Document) -> dict[str, Any]:
    view = {**to_view(document), "at": clock.iso(document["created_at"]), "pinned": PINNED in document["tags"]}
    view["stale"] = document["stale"] or STALE in document["tags"]
    return {key: view[key] for key in _KEYS} | {"observation": document["text"][:_SHOWN]}


def edit(db: apsw.Connection, identifier: str, text: str, *, now: int, vectors: bool, config: Config) -> dict[str, Any]:
    """Give a memory another text: redacted, judged and embedded anew; what it said goes to its history.

    Its id, age of creation, tags and links stay; a category that was chosen stays, one that its words chose follows.

    Raises:
        Failure: EMPTY_TEXT, TEXT_TOO_LONG, MEMORY_DUPLICATE where another memory that is handed out says that already;
            what `_found` raises. Nothing was changed.
    """
    kinds: list[str] = []
    fresh, _ = composed(text, kinds, now=now, config=config)
    with sqlite.transaction(db):
        if vectors:
            documents.ensure_signatures(db)
        older = _found(db, identifier)
        one: Document = {**older}
        changed = older["text"] != fresh["text"]
        if changed:
            same = documents.by_fingerprint(db, fresh["fingerprint"], COLLECTION)
            is_other = same is not None and same["id"] != older["id"] and same["project"] == older["project"]
            if same is not None and is_other and same["write_verdict"] == "allow":
                raise Failure(
                    "MEMORY_DUPLICATE",
                    f"another memory says that already: {same['id']}",
                    f"take this one out: joelclaw memory forget {older['id']}",
                )
            one["history"] = with_history(older)
            take(one, fresh, ("text", "fingerprint", "updated_at", *VERDICT_FIELDS))
            if older["category_source"] in _DERIVED or fresh["category_source"] == "annotation":
                take(one, fresh, CATEGORY_FIELDS)
            vector = document_vector(one["text"], one["context"], one["title"])
            documents.replace(db, one, vector, signatures=vectors)
    return {**_changed(one, changed), "before": older["text"], "reason": one["write_reason"], **_redacted(kinds)}


def tag(db: apsw.Connection, identifier: str, *, add: Sequence[str], remove: Sequence[str]) -> dict[str, Any]:
    """Add tags to a memory and take others away; its age stays.

    Raises:
        Failure: MEMORY_INVALID_ARGS where no tag is named or over 64 would be; what `_found` raises.
    """
    kinds: list[str] = []
    more, fewer = clean_tags(add, kinds), set(clean_tags(remove, kinds))
    if not (more or fewer):
        raise usage(_CODE, "no tag is named", "give --add or --remove with tags, joined by commas")
    with sqlite.transaction(db):
        older = _found(db, identifier, superseded=True)
        wanted = list(dict.fromkeys([*(one for one in older["tags"] if one not in fewer), *more]))
        tags = clean_tags(wanted, kinds)
        if len(tags) < len(wanted):
            raise usage(_CODE, f"a memory has {len(tags)} tags at most", "remove some in the same call: --remove CSV")
        result = _retagged(db, older, tags, stale=older["stale"])
    gone = [name for name in older["tags"] if name not in tags]
    return {
        **result,
        "added": [name for name in tags if name not in older["tags"]],
        "removed": gone,
        **_redacted(kinds),
    }


def pin(db: apsw.Connection, identifier: str, *, undo: bool = False) -> dict[str, Any]:
    """Pin a memory, so that it neither decays nor goes stale, or undo that. A mark as stale goes with pinning.

    Raises:
        Failure: what `_found` raises.
    """
    with sqlite.transaction(db):
        older = _found(db, identifier, superseded=undo)
        tags = [name for name in older["tags"] if undo or name != STALE]
        if undo:
            tags = [name for name in tags if name != PINNED]
        elif PINNED not in tags:
            tags.append(PINNED)
        return {**_retagged(db, older, tags, stale=older["stale"] and undo), "undo": undo}


def _retagged(db: apsw.Connection, older: Document, tags: list[str], *, stale: bool) -> dict[str, Any]:
    changed = tags != older["tags"] or stale != older["stale"]
    if changed:
        curation.set_tags(db, older["rowid"], tags, stale=stale)
    return _changed({**older, "tags": tags, "stale": stale}, changed)


def supersede(
    db: apsw.Connection, identifier: str, text: str, *, now: int, vectors: bool, config: Config
) -> dict[str, Any]:
    """Store what holds now in the place of a memory that no longer does, which is not handed out any more.

    The new one has the tags of the old one, a category that was chosen, its project and session, and an id of its own;
    where a third memory says it already, that one takes the place. All in one transaction.

    Raises:
        Failure: EMPTY_TEXT, TEXT_TOO_LONG; MEMORY_NOT_ALLOWED where the write gate would hold the new text back;
            MEMORY_DUPLICATE where it says the same as the old one; what `_found` raises. Nothing was changed.
    """
    kinds: list[str] = []
    fresh, tokens = composed(text, kinds, now=now, config=config)
    if fresh["write_verdict"] != "allow":
        raise Failure(
            "MEMORY_NOT_ALLOWED",
            f"the new text would not be handed out ({fresh['write_reason']}), and the old one stays",
            "say it in a sentence; or put [gate=allow] in front of it",
        )
    vector = document_vector(fresh["text"])
    with sqlite.transaction(db):
        if vectors:
            documents.ensure_signatures(db)
        older = _found(db, identifier)
        if near_duplicate.Tokens(older["text"]).key == tokens.key:
            raise Failure(
                "MEMORY_DUPLICATE", "the new text says the same as the old one",
                f"to change its wording: joelclaw memory edit {older['id']} TEXT"
            )  # fmt: skip
        curation.link(db, older, {**fresh, "rowid": -1}, now)  # so that the new one is not merged into it
        fresh["tags"] = [name for name in older["tags"] if name != STALE]
        fresh["project"], fresh["session_id"] = older["project"], older["session_id"]
        if older["category_source"] not in _DERIVED and fresh["category_source"] != "annotation":
            take(fresh, older, CATEGORY_FIELDS)
        newer, was_merged = placed(db, fresh, tokens, vector, now=now, vectors=vectors)
        curation.link(db, older, newer, now)
    return {
        **_changed({**newer, "supersedes": older["id"]}, True),
        "merged": was_merged,
        "superseded": {"id": older["id"], "observation": older["text"]},
        **_redacted(kinds),
    }


def bring_back(db: apsw.Connection, identifier: str, *, now: int, vectors: bool) -> dict[str, Any]:
    """Undo `supersede`: the memory is handed out again, and what was written in its place is forgotten.

    What others said too, what was there before, what was edited since or pinned, stays. All in one transaction.

    Raises:
        Failure: MEMORY_NOT_SUPERSEDED; what `_found` raises.
    """
    with sqlite.transaction(db):
        older = _found(db, identifier, superseded=True)
        if not older["superseded_by"]:
            raise Failure(
                "MEMORY_NOT_SUPERSEDED", f"nothing took the place of {older['id']}",
                f"to say what holds now: joelclaw memory supersede {older['id']} TEXT"
            )  # fmt: skip
        newer = documents.by_id(db, older["superseded_by"])
        curation.unlink(db, older, now)
        forgotten = []
        if newer is not None and _is_only_its_successor(newer, older):
            documents.forget(db, newer["rowid"], now, signatures=vectors and document_rows.has_signatures(db))
            forgotten.append(newer["id"])
    return {**_changed({**older, "superseded_by": ""}, True), "undo": True, "takenOut": forgotten}


def _is_only_its_successor(newer: Document, older: Document) -> bool:
    """Whether a memory was written to take the place of another one, and nothing has been made of it since."""
    return (
        newer["supersedes"] == older["id"]
        and newer["merged_count"] == 0
        and not newer["history"]
        and (PINNED in older["tags"] or PINNED not in newer["tags"])
        and newer["forgotten_at"] is None
        and not newer["superseded_by"]
    )


def _found(db: apsw.Connection, identifier: str, *, superseded: bool = False) -> Document:
    """The observation with this id, or the only one whose id begins so.

    Args:
        superseded: one whose place another has taken will do.

    Raises:
        Failure: MEMORY_NOT_FOUND, MEMORY_AMBIGUOUS, MEMORY_FORGOTTEN, MEMORY_SUPERSEDED, MEMORY_NOT_EDITABLE.
    """
    document = find(db, identifier)
    name, newest = document["id"], document["superseded_by"]
    if document["collection"] != COLLECTION:
        what = "what a file says" if document["collection"] == "knowledge" else "what was said in a session"
        fix = "write what holds as a memory of its own: joelclaw memory write TEXT"
        raise Failure("MEMORY_NOT_EDITABLE", f"{name} is {what}, and stays as it is", fix)
    if document["forgotten_at"] is not None:
        fix = f"bring it back first: joelclaw memory forget --undo {name}"
        raise Failure("MEMORY_FORGOTTEN", f"{name} was forgotten", fix)
    if newest and not superseded:
        fix = f"look at that one: joelclaw memory show {newest}"
        raise Failure("MEMORY_SUPERSEDED", f"{name} was superseded by {newest}", fix)
    return document


def _changed(document: Document, changed: bool) -> dict[str, Any]:
    """What a change answers: the memory as it is now, and whether anything changed."""
    row = _row(document)
    hint = {"hint": gate.NOT_REMEMBERED} if document["write_verdict"] == "discard" else {}
    return {**row, "observation": document["text"], "categoryId": document["category_id"], "changed": changed, **hint}


def _redacted(kinds: Sequence[str]) -> dict[str, Any]:
    return {"redacted": list(dict.fromkeys(kinds))}
