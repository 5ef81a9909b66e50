"""Memories: show, list and count them; edit, tag, pin, supersede and forget them; and how well they serve.

Only observations can be changed; episodes and sections of files (knowledge) can be forgotten. Each
change is one transaction: a Failure means that nothing was changed. An id may be shortened to a beginning that no other
id has.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from core import clock, shell_command
from core.errors import Failure, usage
from core.files import current_folder
from core.project import name_of, names_of
from core.records import Document, EventQuery, FoundCall
from core.store import calls, documents, events, kinds, sessions, sqlite, store_file
from core.store.documents import PINNED
from core.store.sqlite import COLLECTIONS
from memory import gate, write
from recall.call_hits import CALL_PREFIX, call_place
from recall.hit import origin_of, origin_of_call
from recall.query import resolve_category

STALE = "stale"


def find(db: apsw.Connection, identifier: str) -> Document:
    """The memory with this id or beginning of an id, forgotten or not.

    Raises Failure MEMORY_NOT_FOUND or MEMORY_AMBIGUOUS.
    """
    document = documents.by_id(db, identifier)
    shortest = 8  # of a shortened id; ids of the same minute share their first 8 characters
    if document is None and len(identifier) >= shortest:
        names = documents.ids_beginning(db, identifier, 10)
        if len(names) > 1:
            message = f"several ids start with {identifier}: {', '.join(names)}"
            raise Failure("MEMORY_AMBIGUOUS", message, "give a longer beginning, or a whole id")
        document = documents.by_id(db, names[0]) if names else None
    if document is None:
        fix = "see `joelclaw memory list`; the first 8 characters of an id suffice if no other id begins with them"
        raise Failure("MEMORY_NOT_FOUND", f"there is no memory with the id {identifier}", fix)
    return document


def find_call(db: apsw.Connection, identifier: str) -> dict[str, Any]:
    """The tool call `call:<session>:<number>` with all that is stored. Raises the Failures of `known_call`."""
    whole_id, _, _, call = known_call(db, identifier)
    if call is None:
        raise _no_call(identifier)
    same_names = ("session", "client", "project", "number", "prompt", "tool", "file", "command", "error", "passage")
    return {
        "id": whole_id, "collection": "calls", "place": call_place(call),
        "at": clock.iso(call["at"]), "outcome": shell_command.reliable_outcome(call["command"], call["outcome"]),
        "origin": origin_of_call(call["tool"]),
        **{name: call[name] for name in same_names},  # type: ignore[literal-required]  # keys of the TypedDict
    }  # fmt: skip


def known_call(db: apsw.Connection, identifier: str) -> tuple[str, str, int, FoundCall | None]:
    """A call's whole id, session and number, and the call itself; None if it was forgotten by itself.

    Raises Failure MEMORY_NOT_FOUND, SESSION_NOT_FOUND if its session was forgotten, or SESSION_AMBIGUOUS.
    """
    given, _, digits = identifier.removeprefix(CALL_PREFIX).rpartition(":")
    number = int(digits) if digits.isdecimal() and len(digits) < 10 else 0
    if not number:
        raise _no_call(identifier)
    session = sessions.whole_id(db, given, least=8) or given
    is_forgotten = number in kinds.hidden_calls(db, session)
    call = None if is_forgotten else calls.by_number(db, session, number)
    if not is_forgotten and (call is None or call["outcome"] == calls.FORGOTTEN):
        refuse_forgotten(db, session)
        raise _no_call(identifier)
    return f"{CALL_PREFIX}{session}:{number}", session, number, call


def _no_call(identifier: str) -> Failure:
    return Failure("MEMORY_NOT_FOUND", f"there is no tool call {identifier}", "see `joelclaw recall NAME --json`")


def refuse_purged(document: Document) -> None:
    """Raise Failure MEMORY_PURGED for a purged memory, whose row remains only so that it is not imported again."""
    if documents.is_purged(document):
        message = f"{document['id']} was purged: its text was deleted for good"
        raise Failure("MEMORY_PURGED", message, "restore a backup from before, if any")


def refuse_forgotten(db: apsw.Connection, given: str) -> None:
    """Raise Failure SESSION_NOT_FOUND if a session with this id, or beginning of an id, was forgotten or purged."""
    if name := kinds.forgotten_session(db, given):
        done, back = "purged", f"if its transcript still exists: joelclaw memory archive --again {shlex.quote(name)}"
        if kinds.has_kept(db, name):
            done, back = "forgotten", f"bring it back: joelclaw memory forget --undo {shlex.quote(name)}"
        raise Failure("SESSION_NOT_FOUND", f"the session {name} was {done}", back)


def _find_observation(db: apsw.Connection, identifier: str, *, superseded: bool = False) -> Document:
    """The observation with this id. A superseded memory is refused unless `superseded` is set."""
    document = find(db, identifier)
    name, newest = document["id"], document["superseded_by"]
    if document["collection"] != "observations":
        fix = "write a new memory instead: joelclaw memory write TEXT"
        raise Failure("MEMORY_NOT_EDITABLE", f"{name} is in {document['collection']}, and cannot be changed", fix)
    if document["forgotten_at"] is not None:
        fix = f"bring it back first: joelclaw memory forget --undo {name}"
        raise Failure("MEMORY_FORGOTTEN", f"{name} was forgotten", fix)
    if newest and not superseded:
        fix = f"look at that memory: joelclaw memory show {newest}"
        raise Failure("MEMORY_SUPERSEDED", f"{name} was superseded by {newest}", fix)
    return document


def listing(db: apsw.Connection, options: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the observations, newest first, chosen by the options of `memory list`."""
    tags, shows_all, project = options["tag"], bool(options["all"]), options["project"] or ""
    asked: dict[str, Any] = {
        "tags": tags, "category": resolve_category(options["category"] or ""), "whatever": shows_all,
        "projects": [project, *names_of(project, documents.projects(db))] if project else (),
        "verdicts": () if shows_all else ("allow",), "without": "" if shows_all or tags else "session-task",
    }  # fmt: skip
    limit, page = options["limit"], options["page"]
    found, shown = documents.listed(db, "observations", asked, limit=limit, offset=(page - 1) * limit)
    rows = [_row(document) for document in shown]
    return {"found": found, "page": page, "limit": limit, "count": len(rows), "memories": rows}


def _row(document: Document) -> dict[str, Any]:
    keys = (
        "id", "at", "updated_at", "observation", "category", "tags", "project", "session", "source", "verdict",
        "recallCount", "retrievalPriority", "pinned", "stale", "supersededBy", "supersedes", "forgotten", "privacy",
    )  # fmt: skip
    view = {
        **to_view(document), "at": clock.iso(document["created_at"]), "pinned": PINNED in document["tags"],
        "stale": document["stale"] or STALE in document["tags"], "observation": document["text"][:200],
    }  # fmt: skip
    return {key: view[key] for key in keys}


def to_view(document: Document) -> dict[str, Any]:
    """A document as `memory show` prints it: every field, under the contract's names."""
    view = with_iso_times(document)
    names = {
        "id": "id", "collection": "collection", "observation": "text", "context": "context", "origin": "origin",
        "title": "title", "path": "path", "category": "category", "categoryId": "category_id",
        "categoryConfidence": "category_confidence", "categorySource": "category_source",
        "taxonomyVersion": "taxonomy_version", "tags": "tags", "source": "source", "session": "session_id",
        "project": "project", "type": "observation_type", "privacy": "privacy", "created_at": "created_at",
        "updated_at": "updated_at", "verdict": "write_verdict", "confidence": "write_confidence",
        "reason": "write_reason", "gateVersion": "write_gate_version", "gateFallback": "write_gate_fallback",
        "mergedCount": "merged_count", "recallCount": "recall_count", "retrievalPriority": "retrieval_priority",
        "last_used_at": "last_used_at", "supersededBy": "superseded_by", "supersedes": "supersedes", "stale": "stale",
        "history": "history", "forgotten": "forgotten", "forgotten_at": "forgotten_at",
    }  # fmt: skip
    view["origin"] = origin_of(document)
    view["category"] = document["category_id"].removeprefix("jc:")
    view["forgotten"] = document["forgotten_at"] is not None
    return {key: view[name] for key, name in names.items()}


def with_iso_times(document: Document) -> dict[str, Any]:
    """A document with ISO 8601 times in UTC instead of ms."""
    view: dict[str, Any] = {**document}
    for name in ("created_at", "updated_at", "last_used_at", "forgotten_at"):
        view[name] = None if view[name] is None else clock.iso(view[name])
    view["history"] = [{**entry, "at": clock.iso(entry.get("at"))} for entry in document["history"]]
    return view


def recent(db: apsw.Connection, *, hours: float, count: int, now: int) -> list[dict[str, Any]]:
    """The newest observations of the last `hours` that were not forgotten, with any verdict of the write gate."""
    found = documents.recent(db, "observations", int(now - hours * clock.HOUR_MS), count)
    rows = [{**_row(document), "observation": document["text"][:120]} for document in found]
    return [{key: row[key] for key in ("id", "at", "observation", "category", "source", "verdict")} for row in rows]


def stats(db: apsw.Connection) -> dict[str, Any]:
    """Counts of the memories that were not forgotten, and of those that were; the 50 largest sources and projects."""
    counts, span = store_file.counts(db), store_file.span(db)
    archived, call_count = sessions.totals(db)
    largest = {"categories": "category", "sources": "source", "projects": "project"}
    return {
        **{name: sum(entry[name] for entry in counts.values()) for name in ("total", "forgotten")},
        "merged": span["merges"], "sessions": archived, "toolCalls": call_count,
        "collections": {name: counts[name]["total"] for name in COLLECTIONS},
        "verdicts": {name: sum(entry.get(name, 0) for entry in counts.values()) for name in gate.VERDICTS},
        **{name: store_file.largest(db, column, 50) for name, column in largest.items()},
        **{name: None if (at := span[name]) is None else clock.iso(at) for name in ("oldest", "newest")},
    }  # fmt: skip


def _result(document: Document, *, changed: bool) -> dict[str, Any]:
    """What a change of a memory returns: its row with the whole text."""
    hint = {"hint": gate.NOT_REMEMBERED} if document["write_verdict"] == "discard" else {}
    about = {"observation": document["text"], "categoryId": document["category_id"], "changed": changed}
    return {**_row(document), **about, **hint}


def edit(db: apsw.Connection, identifier: str, text: str, *, now: int) -> dict[str, Any]:
    """Give a memory a new text, redacted and judged like any other; the old text stays in its history.

    Raises Failure MEMORY_NOT_ALLOWED if it would hide the memory.
    """
    redacted: list[str] = []
    fresh = _compose(text, redacted, now)
    with sqlite.transaction(db):
        older = _find_observation(db, identifier)
        document: Document = {**older}
        changed = older["text"] != fresh["text"]
        if older["write_verdict"] == "allow":
            _require_allowed(fresh)
        if changed:
            document["history"] = write.extended_history(older)
            write.copy_fields(document, fresh, ("text", "fingerprint", "updated_at", *write.VERDICT_FIELDS))
            if write.is_global(document):
                document["path"] = fresh["path"]
            if _has_new_category(older, fresh):
                write.copy_fields(document, fresh, write.CATEGORY_FIELDS)
            write.store(db, document)
    about = {"before": older["text"], "reason": document["write_reason"], "redacted": list(dict.fromkeys(redacted))}
    return {**_result(document, changed=changed), **about}


def _compose(text: str, redacted: list[str], now: int) -> Document:
    return write.compose(write.Draft(text, written_in=name_of(current_folder())), redacted, now=now)


def _require_allowed(document: Document) -> None:
    """Raise Failure MEMORY_NOT_ALLOWED for a text that would hide the memory that it replaces."""
    if document["write_verdict"] != "allow":
        message = f"recall would not return the new text ({document['write_reason']}), and the old text stays"
        raise Failure("MEMORY_NOT_ALLOWED", message, "write it as a sentence, or put [gate=allow] in front of it")


def _has_new_category(older: Document, newer: Document) -> bool:
    """Whether a new text brings its own category: the old category was a guess, or the text names its category."""
    return older["category_source"] in ("keyword", "fallback") or newer["category_source"] == "annotation"


def tag(
    db: apsw.Connection, identifier: str, *, add: Sequence[str], remove: Sequence[str], pin: bool | None = None
) -> dict[str, Any]:
    """Add and remove tags. `pin`: whether the memory, from now on, neither loses score with age nor becomes stale.

    Only write.MAX_TAGS tags are kept. Raises Failure MEMORY_INVALID_ARGS for no change.
    """
    redacted: list[str] = []
    more, fewer = write.clean_tags(add, redacted), write.clean_tags(remove, redacted)
    if pin is not None:
        more, fewer = ([*more, PINNED], [*fewer, STALE]) if pin else (more, [*fewer, PINNED])
    if not (more or fewer):
        raise usage("MEMORY_INVALID_ARGS", "no tag was given", "give --add-tags CSV or --remove-tags CSV")
    with sqlite.transaction(db):
        older = _find_observation(db, identifier, superseded=not pin)
        before = older["tags"]
        wanted = list(dict.fromkeys([*(name for name in before if name not in fewer), *more]))
        tags = write.clean_tags(wanted, [])
        stale = older["stale"] and not pin
        documents.set_tags(db, older["rowid"], tags, stale=stale)
    changed = (tags, stale) != (before, older["stale"])
    return {
        **_result({**older, "tags": tags, "stale": stale}, changed=changed),
        "added": [name for name in tags if name not in before],
        "removed": [name for name in before if name not in tags],
        "redacted": list(dict.fromkeys(redacted)),
    }


def supersede(db: apsw.Connection, identifier: str, text: str, *, now: int) -> dict[str, Any]:
    """Replace a memory that no longer holds. The new memory gets its tags, project and session.

    Raises Failure MEMORY_NOT_ALLOWED if recall would not return the new text, MEMORY_DUPLICATE if it is the same.
    """
    redacted: list[str] = []
    fresh = _compose(text, redacted, now)
    _require_allowed(fresh)
    with sqlite.transaction(db):
        older = _find_observation(db, identifier)
        if older["fingerprint"] == fresh["fingerprint"]:
            fix = f"to change its wording: joelclaw memory edit {older['id']} TEXT"
            raise Failure("MEMORY_DUPLICATE", "the new text is the same as the old text", fix)
        documents.link(db, older, {**fresh, "rowid": -1}, now)  # so that the new memory is not merged into it
        fresh["tags"] = [name for name in older["tags"] if name != STALE]
        write.copy_fields(fresh, older, ("project", "session_id"))
        if not write.is_global(fresh):
            fresh["path"] = ""
        if not _has_new_category(older, fresh):
            write.copy_fields(fresh, older, write.CATEGORY_FIELDS)
        newer, is_merged = write.place(db, fresh, now=now)
        documents.link(db, older, newer, now)
    return {
        **_result({**newer, "supersedes": older["id"]}, changed=True),
        "merged": is_merged,
        "superseded": {"id": older["id"], "observation": older["text"]},
        "redacted": list(dict.fromkeys(redacted)),
    }


def undo_supersede(db: apsw.Connection, identifier: str, *, now: int) -> dict[str, Any]:
    """Recall a superseded memory again, and forget its replacement unless that was edited or merged since."""
    taken_out = []
    with sqlite.transaction(db):
        older = _find_observation(db, identifier, superseded=True)
        if not older["superseded_by"]:
            fix = f"to replace it: joelclaw memory supersede {older['id']} TEXT"
            raise Failure("MEMORY_NOT_SUPERSEDED", f"nothing has superseded {older['id']}", fix)
        newer = documents.by_id(db, older["superseded_by"])
        documents.unlink(db, older, now)
        if newer is not None and newer["supersedes"] == older["id"] and not (newer["merged_count"] or newer["history"]):
            documents.forget(db, newer["rowid"], now)
            taken_out.append(newer["id"])
    return {**_result({**older, "superseded_by": ""}, changed=True), "undo": True, "takenOut": taken_out}


def forget(db: apsw.Connection, identifiers: Sequence[str], *, now: int, undo: bool = False) -> dict[str, Any]:
    """Hide memories and tool calls from every search, or bring them back; all or none.

    Raises Failure MEMORY_NOT_FOUND; with `undo` also MEMORY_PURGED.
    """
    with sqlite.transaction(db):
        found = [known_call(db, name) for name in dict.fromkeys(identifiers) if name.startswith(CALL_PREFIX)]
        others = [find(db, name) for name in identifiers if not name.startswith(CALL_PREFIX)]
        memories = list({memory["id"]: memory for memory in others}.values())  # an id may be given twice, shortened
        changed = [name for name, _, _, call in found if (call is None) == undo]
        for name, session, number, _ in found:
            if name in changed and undo:
                kinds.bring_back(db, session, number)
            elif name in changed:
                kinds.hide_call(db, session, number, now=now)
        changed += _hide(db, memories, now=now, undo=undo)
    names = [*(name for name, *_ in found), *(memory["id"] for memory in memories)]
    return {
        "ids": names, "restored" if undo else "forgotten": changed,
        "unchanged": [name for name in names if name not in changed], "undo": undo,
        "purged": [memory["id"] for memory in memories if documents.is_purged(memory)],
    }  # fmt: skip


def _hide(db: apsw.Connection, memories: Sequence[Document], *, now: int, undo: bool) -> list[str]:
    """Hide memories, or bring them back; returns the ids of those that changed. Raises Failure MEMORY_PURGED."""
    changed = [memory for memory in memories if (memory["forgotten_at"] is not None) == undo]
    for memory in changed:
        if undo:
            refuse_purged(memory)
            write.store(db, {**memory, "forgotten_at": None, "updated_at": now})
        else:
            documents.forget(db, memory["rowid"], now)
    for session in {memory["session_id"] for memory in changed}:
        documents.renew_segments(db, session)
    return [memory["id"] for memory in changed]


def forget_session(db: apsw.Connection, session: str, *, now: int) -> dict[str, Any]:
    """Hide all that is stored of a session and its subagents: memories, calls, summaries, plans and hooks."""
    names: list[str] = []
    call_count = 0
    with sqlite.transaction(db):
        was_forgotten = sessions.is_forgotten(db, session)
        for member in with_subagents(db, session, forgotten=False):
            known = sessions.by_id(db, member)
            call_count += known["calls"] if known else 0
            memories = [documents.by_id(db, name) for _, name in documents.of_session(db, member)]
            hidden = _hide(db, [*filter(None, memories)], now=now, undo=False)
            kinds.hide_session(db, member, hidden, now=now)
            names += hidden
    return {
        "session": session, "ids": names, "forgotten": names, "unchanged": [session] if was_forgotten else [],
        "toolCalls": call_count,
    }  # fmt: skip


def undo_forget_session(db: apsw.Connection, session: str, *, now: int) -> dict[str, Any]:
    """Undo `forget_session`. Raises Failure MEMORY_PURGED if nothing of the session was kept."""
    names: list[str] = []
    with sqlite.transaction(db):
        for member in with_subagents(db, session, forgotten=True):
            kept = kinds.bring_back(db, member)
            if kept is None and member == session:
                fix = f"if its transcript still exists: joelclaw memory archive --again {session}"
                raise Failure("MEMORY_PURGED", f"session {session} was deleted for good", fix)
            found = [memory for name in kept or () if (memory := documents.by_id(db, name))]
            found = [memory for memory in found if not documents.is_purged(memory)]
            names += _hide(db, found, now=now, undo=True)
        known = sessions.by_id(db, session)
    return {"session": session, "ids": names, "restored": names, "toolCalls": known["calls"] if known else 0}


def with_subagents(db: apsw.Connection, session: str, *, forgotten: bool) -> list[str]:
    """A session and the sessions that it began, directly or not, which were forgotten or were not."""
    names = [session]
    for name in names:  # grows
        names += [member for member in sessions.subagents(db, name, forgotten=forgotten) if member not in names]
    return names


def admit_again(db: apsw.Connection, session: str, source: str, *, now: int) -> None:
    """Bring back a forgotten session, and let its transcript `source` restore what a purge removed."""
    with sqlite.transaction(db):
        kinds.bring_back(db, session)
        for number in kinds.hidden_calls(db, session):
            kinds.bring_back(db, session, number)
        found = [documents.by_id(db, name) for _, name in documents.of_session(db, session, forgotten=True)]
        _hide(db, [*filter(None, found)], now=now, undo=True)
        kinds.admit_again(db, session, source)


# The scorecard


def scorecard(db: apsw.Connection, *, hours: float, now: int) -> dict[str, Any]:
    """The contract's rates over the last `hours`. The overall status is the worst; a red metric breaches its gate."""
    since = int(now - hours * clock.HOUR_MS)
    query: EventQuery = {"components": ["recall-cli"], "actions": ["memory.recall.completed"], "since": since}
    recalls = [event["metadata"] | {"at": event["timestamp"]} for event in events.newest(db, query, 200_000)]
    rewrites = sum(recall.get("rewrite") == "abbreviations" for recall in recalls)
    answered = [recall for recall in recalls if recall.get("returned")]
    last_used = store_file.last_used(db) or 0
    used = sum(last_used >= recall["at"] - 1000 for recall in answered)  # a memory was used after the recall
    verdicts = store_file.verdicts_since(db, since)
    metrics = [
        _metric("rewrite_fallback_rate", "rewrites that fell back to the query", (0.1, 0.3), 0, rewrites),  # none can
        _metric("memory_yield_rate", "recalls that returned a memory", (0.7, 0.5), len(answered), len(recalls)),
        _metric("usage_coverage_rate", "recalls whose use was recorded", (0.95, 0.85), used, len(answered)),
        _metric("observe_skip_rate", "observations that the write gate discarded", (0.3, 0.5),
                verdicts.get("discard", 0), sum(verdicts.values())),
    ]  # fmt: skip
    statuses = [metric["status"] for metric in metrics if metric["value"] is not None]
    return {
        "hours": hours, "computedAt": clock.iso(now), "metrics": metrics,
        "overallStatus": min(statuses, key=("red", "yellow", "green").index, default="not enough yet"),
        "gatesBreached": [metric["name"] for metric in metrics if metric["status"] == "red"],
    }  # fmt: skip


def _metric(name: str, description: str, bounds: tuple[float, float], part: int, whole: int) -> dict[str, Any]:
    """A rate against its bounds for green and yellow; the higher the better if green is."""
    about = {"name": name, "value": None, "description": description}
    needed = 5  # of fewer, a single failure would be more than a fifth
    if whole < needed:
        return {**about, "status": "not enough yet", "detail": f"{whole} in this time, {needed} are needed"}
    value, sign = part / whole, 1 if bounds[0] > bounds[1] else -1
    status = ("red", "yellow", "green")[sum(sign * value >= sign * bound for bound in bounds)]
    return {**about, "value": round(value, 4), "status": status, "detail": f"{part} of {whole}"}
