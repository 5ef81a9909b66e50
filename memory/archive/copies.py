"""What a session copied from another: it stays with the session in which it first appeared. Hot path.

A fork or a subagent may begin with the history of its parent. If its lines name the session that they are from, they
are sent there (`ingest`). If its first line names the parent, whose lines have no ids, reading begins behind the copies
(`end_of_copies`). Else two sessions claim the same episode (`settle`), or begin with the same words (`settle_opening`).
"""

from __future__ import annotations

import os
from itertools import takewhile

import clients
from clients import content
from clients.entries import Entry
from core import TYPE_CHECKING, words
from core.store import branches, calls, documents, sessions, sources, sqlite
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw

    from clients.base import Client
    from core.records import Episode
    from core.store.sources import Source
    from memory.archive.session_archive import Claim


def end_of_copies(read: Source, path: str, client: Client) -> tuple[int, Entry | None]:
    """The offset after the lines with which a fork repeats its parent's transcript, 0 if it repeats none; its first
    entry, with the time of the last of these lines.

    This is for a client whose entries have no ids. A line of the parent that is younger than the fork is no original.
    """
    _, head = first_entry(read, client)
    parent = head.copied_from
    is_other = parent and parent not in os.path.basename(path)
    original = next(client.files_of(parent, path), "") if is_other else ""
    try:
        other = sources.open_source(original)
    except OSError:
        return 0, None
    with other:
        end, began = 0, head.at or 0
        head.at = 0
        theirs = _history(other, client)
        for _, payload, line_end in _history(read, client):
            # A subagent gets no calls, no thoughts, and perhaps only the last turns of its parent; no fork needs to
            # have the turns that the user took back.
            at = next((at for at, original, _ in theirs if original == payload), None)
            if at is None or at > began:
                break
            end, head.at = line_end, at
        return end, head


def first_entry(read: Source, client: Client) -> tuple[int, Entry]:
    """The offset after the first line of a transcript, and its entry."""
    line, end = next(iter(content.read_lines(read, 0, 1)), (b"", 0))
    return end, next(iter(clients.entries_of(client, content.parsed(line) or {})), Entry("node"))


def _history(read: Source, client: Client) -> Iterator[tuple[int, object, int]]:
    """The lines that a fork copies: the time, the payload, and the offset after the line."""
    for line, end in content.lines_from(read):
        value = content.parsed(line) or {}
        if value.get("type") in client.copied_types:
            yield content.parse_timestamp(value.get("timestamp")) or 0, value.get("payload"), end


def settle(db: apsw.Connection, claims: Sequence[Claim], *, vectors: bool, is_live: bool = False) -> list[str]:
    """Give each episode that several sessions claim to the session in which it first appeared.

    That is the parent, if a transcript names it; else the session that first said something of its own. The calls that
    the others copied are deleted. Opens a transaction.

    Args:
        is_live: the claiming session is running. If it has said nothing of its own yet, it is a new fork and gets none.

    Returns the sessions that got episodes. They must be read again, since the others may have them in another order.
    """
    again: set[str] = set()
    claimants: dict[str, set[str]] = {}  # by episode
    contexts: dict[tuple[str, str], str] = {}
    for identifier, holder, claimant, context in claims:
        claimants.setdefault(identifier, set()).update((holder, claimant))
        contexts[identifier, claimant] = context
    with sqlite.transaction(db):
        signatures = vectors and documents.has_signatures(db)
        _note_whole_copies(db, claims if is_live else ())
        for group in dict.fromkeys(map(frozenset, claimants.values())):
            owner = _first_of(db, group, claimants, is_live=is_live)
            for identifier in [name for name, names in claimants.items() if owner and names == group]:
                episode = documents.by_id(db, identifier)
                if episode is not None and episode["forgotten_at"] is None and episode["session_id"] not in ("", owner):
                    documents.remove(db, episode["rowid"], signatures=signatures)
                    episode["session_id"], episode["context"] = owner, contexts.get((identifier, owner), "")
                    vector = document_vector(episode["text"], episode["context"])
                    documents.insert(db, episode, vector, signatures=signatures)
                    again.add(owner)
            for session in group:
                if owner and session != owner:
                    _note_copies(db, session, owner)
                documents.renew_segments(db, session)
                branches.mark_abandoned(db, session)
        for session in again:
            sessions.read_again(db, session)
    return sorted(again)


def _note_whole_copies(db: apsw.Connection, claims: Sequence[Claim]) -> None:
    """Note that a running session is a fork of another, if it has copied all that the other has said."""
    copied = [claim[0] for claim in claims]
    for holder, claimant in {claim[1:3] for claim in claims}:
        if sessions.first_episode_at(db, holder, copied) is None:
            sessions.note_fork(db, claimant, holder)


def settle_opening(db: apsw.Connection, session: str, *, vectors: bool) -> None:
    """Leave the episodes with which a session and another begin, word for word, to the one that began first.

    Neither names the other, and entries have no ids. Two sessions of a single exchange may be alike by chance. Opens
    transactions.
    """
    while _settle_first_opening(db, session, vectors=vectors):  # a fork of a fork began with the words of several
        pass


def _settle_first_opening(db: apsw.Connection, session: str, *, vectors: bool) -> bool:
    """Do so for one other session; returns whether any begins alike."""
    answer = next((episode["text"] for episode in sessions.by_time(db, session, 20) if _is_answer(episode)), "")
    others = sessions.with_episode(db, words.fingerprint(answer.lower()), session) if answer else ()
    for other in others:
        episodes = {name: sessions.by_time(db, name) for name in (session, other)}
        if other in sessions.ancestors(db, session):  # a hook reads a long copy in parts: this is a later part
            said, first = [*map(_text, episodes[other])], _text(episodes[session][0])
            episodes[other] = episodes[other][said.index(first) if first in said else 0 :]
        pairs = list(takewhile(lambda pair: _text(pair[0]) == _text(pair[1]), zip(*episodes.values(), strict=False)))
        count = max((number for number, (episode, _) in enumerate(pairs, 1) if _is_answer(episode)), default=0)
        owner, copy = sorted(episodes, key=lambda name: (episodes[name][0]["created_at"], name))
        if not count or (count < 4 and count == len(episodes[copy])):
            continue
        with sqlite.transaction(db):
            for episode in episodes[copy][:count]:
                documents.remove(db, episode["rowid"], signatures=vectors and documents.has_signatures(db))
            sessions.leave_prompts(db, copy, sum(not _is_answer(episode) for episode in episodes[copy][:count]))
            _note_copies(db, copy, owner)
            documents.renew_segments(db, copy)
        return True
    return False


def _note_copies(db: apsw.Connection, copy: str, owner: str) -> None:
    """Note that a session begins with a copy of another, and delete the calls that it copied."""
    calls.drop_copies(db, copy, owner)
    sessions.note_fork(db, copy, owner)


def _is_answer(episode: Episode) -> bool:
    return episode["text"].startswith("assistant: ")


def _text(episode: Episode) -> str:
    """The text of an episode without its speaker: a subagent's prompts are another agent's words."""
    return episode["text"].partition(": ")[2]


def _first_of(db: apsw.Connection, group: Iterable[str], claimed: Iterable[str], *, is_live: bool) -> str:
    """The session of a group in which the claimed episodes first appeared; "" to leave them where they are."""
    known = {session: sessions.by_id(db, session) for session in group}
    lines = {name: sessions.ancestors(db, name) for name in known}
    roots = [name for name, line in lines.items() if known.keys().isdisjoint(line[1:])]
    # a fork of a session that is not archived has copied what it has, perhaps from another of these
    roots = [name for name in roots if sessions.by_id(db, lines[name][-1])] or roots
    began = {session: sessions.first_episode_at(db, session, claimed) for session in roots or group}
    times = {session: at for session, at in began.items() if at is not None}
    if len(began) > 1 and len(times) < len(began) and is_live:
        return ""
    ended = {session: record["updated_at"] for session, record in known.items() if record}
    return min(began, key=lambda session: (times.get(session, 0), ended.get(session, 0), session))
