"""Decides which of several sessions an entry belongs to: a fork begins with copies of its parent's entries.

An entry belongs to the session in which it first appeared, whichever was archived first. Some clients note from which
session a line was copied, or from which a fork comes. Otherwise the older session has it: the session that first said
something of its own, or if one of them has not, that session.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import clients
from clients import content
from core.store import calls, documents, sessions, sqlite
from core.store.sources import open_source
from memory.archive import branches
from recall.vectors import document_vector

PARENT_BYTES = 256 * 1024  # of a transcript in which a fork names its parent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw

    from clients.base import Client
    from clients.entries import Entry
    from core.store.sources import Source

    Shared = tuple[str, str, str, str]
    """The id of an episode, the session that has it, another session that claims it, and its context there."""


def settle(db: apsw.Connection, shared: Sequence[Shared], *, vectors: bool, is_live: bool = False) -> None:
    """Give each episode that was found in several sessions to the one in which it first appeared.

    That is the parent, if a transcript names it; else the session that first said something of its own. The calls that
    the others copied are deleted. Opens a transaction.

    Args:
        is_live: the claiming session is running. If it has said nothing of its own yet, it is a new fork and gets none.
    """
    holders: dict[str, set[str]] = {}
    contexts: dict[tuple[str, str], str] = {}
    for identifier, stored, claiming, context in shared:
        holders.setdefault(identifier, set()).update((stored, claiming))
        contexts[identifier, claiming] = context
    groups: dict[frozenset[str], list[str]] = {}
    for identifier, claimants in holders.items():
        groups.setdefault(frozenset(claimants), []).append(identifier)
    with sqlite.transaction(db):
        signatures = vectors and documents.has_signatures(db)
        for group, identifiers in groups.items():
            owner = _first_holder(db, group, holders, is_live=is_live)
            for identifier in identifiers if owner else ():
                turn = documents.by_id(db, identifier)
                if turn is None or turn["forgotten_at"] is not None or turn["session_id"] in ("", owner):
                    continue
                turn["context"] = contexts.get((identifier, owner), "")
                vector = document_vector(turn["text"], turn["context"])
                sessions.give_episode(db, turn, owner, vector, signatures=signatures)
            for session in group:
                documents.renew_segments(db, session)
                if owner and session != owner:
                    calls.drop_copies(db, session, owner)
                    sessions.note_fork(db, session, owner)
                branches.mark(db, session)


def _first_holder(db: apsw.Connection, group: Iterable[str], shared: Iterable[str], *, is_live: bool) -> str:
    """The session in which the shared episodes first appeared; "" to leave them where they are."""
    known = {session: sessions.by_id(db, session) for session in group}
    roots = [name for name, session in known.items() if not session or session.get("parent") not in known]
    began = {session: sessions.first_episode_at(db, session, shared) for session in roots or group}
    times = {session: at for session, at in began.items() if at is not None}
    if len(began) > 1 and len(times) < len(began) and is_live:
        return ""
    ended = {session: record["updated_at"] for session, record in known.items() if record}
    return min(began, key=lambda session: (times.get(session, 0), ended.get(session, 0), session))


def end_of_copies(read: Source, path: str, client: Client) -> tuple[int, Entry | None]:
    """The offset after the lines with which a transcript repeats that of its parent, and its first entry.

    The offset is 0 if it repeats none. The entry has the time of the last of these lines.

    This is for a client whose entries have no ids. A line of the parent that is younger than the fork is no original.
    """
    first, _ = next(iter(content.read_lines(read, 0, PARENT_BYTES)), (b"", 0))
    heads = clients.entries_of(client, content.parsed(first) or {})[:1]
    parent = heads[0].copied_from if heads else ""
    original = _transcript_of(parent, path, client) if parent and parent not in os.path.basename(path) else ""
    if not original:
        return 0, None
    try:
        other = open_source(original)
    except OSError:
        return 0, None
    with other:
        end, began = 0, heads[0].at or 0
        heads[0].at = 0
        theirs = _history(other, client)
        for _, payload, line_end in _history(read, client):
            # A subagent gets no calls, no thoughts, and perhaps only the last turns of its parent.
            known = (line for line in theirs if line[1] == payload or (end and _is_prompt(line[1])))
            at, said, _ = next(known, (0, None, 0))
            if said != payload or at > began:
                break
            end, heads[0].at = line_end, at
        return end, heads[0]


def _is_prompt(payload: object) -> bool:
    return content.table(payload).get("role") == "user"


def _transcript_of(session: str, path: str, client: Client) -> str:
    """The transcript of another session: in the same folder, else among those that the client keeps; or ""."""
    from glob import escape, iglob

    kept = [
        (escape(folder), pattern.replace("*", f"*{escape(session)}") + "*") for folder, pattern in client.histories()
    ]
    near = [(escape(os.path.dirname(path)), name) for _, name in kept]
    places = [*(f"{folder}/{name}" for folder, name in near), *(f"{folder}/**/{name}" for folder, name in kept)]
    return next((match for place in places for match in iglob(place, recursive=True)), "")


def _history(read: Source, client: Client) -> Iterator[tuple[int, object, int]]:
    """The lines that a fork copies: the time, the payload, and the offset after the line."""
    offset = 0
    while lines := content.read_lines(read, offset, PARENT_BYTES):
        for line, offset in lines:
            value = content.parsed(line) or {}
            if value.get("type") in client.copied_types:
                yield content.parse_timestamp(value.get("timestamp")) or 0, value.get("payload"), offset
