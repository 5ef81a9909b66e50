"""What a session copied from another: it stays with the session that said it first. Hot path.

A fork, a resumed session or a subagent may begin with the history of its parent. How a copy is known:

| the transcript says | for example in | what is done |
|---|---|---|
| in each line, who said it | Claude Code | `Transcript._owner_of`: the line is stored as one of that session |
| in its first line, its parent; entries have no ids | Codex | `end_of_copies`: reading begins after them |
| nothing, but copies keep their ids | pi, Gemini CLI | the session that is read later claims them: `settle_claims` |
| nothing, but copies keep their times and texts | OpenCode, notes | likewise (`SessionArchive._copy_of`) |
| nothing, and entries have no ids | Codex | both sessions begin with the same words: `delete_copied_openings` |

`ingest` hands over the claims of a hook, `transcript_files` those of all files. What the sessions copied is moved to
its owner, or deleted. The owner is then read again, since the copies may be in another order.
"""

from __future__ import annotations

from itertools import takewhile

from clients import content
from core import TYPE_CHECKING, words
from core.store import calls, documents, sessions, sources, sqlite
from memory.archive import Claim
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw

    from clients.base import Client
    from core.records import Episode
    from core.store.sources import Source


def end_of_copies(source: Source, client: Client, original: str, began: int) -> tuple[int, int]:
    """The offset after the lines that this file copied from another, and the time of the last; (0, 0) without any.

    A subagent gets no calls, no thoughts, and perhaps only the last turns of its parent; no fork needs to have the
    turns that the user took back. So lines may be left out. One that is younger than the fork is no original.
    """
    end = at = 0
    try:
        with sources.open_source(original) as other:
            theirs = _history(other, client)
            for _, payload, line_end in _history(source, client):
                copied_at = next((written for written, text, _ in theirs if text == payload), None)
                if copied_at is None or copied_at > began:
                    break
                end, at = line_end, copied_at
    except OSError:
        pass
    return end, at


def _history(read: Source, client: Client) -> Iterator[tuple[int, object, int]]:
    """The lines that a fork copies: the time, the payload, and the offset after the line."""
    for line, end in content.lines_from(read):
        value = content.parsed(line) or {}
        if value.get("type") in client.copied_types:
            yield content.parse_timestamp(value.get("timestamp")) or 0, value.get("payload"), end


def settle_claims(db: apsw.Connection, claims: Sequence[Claim], *, is_live: bool = False) -> list[str]:
    """Give each episode that several sessions claim to the session that said it first. Opens a transaction.

    An example: a fork has copied the prompt p1 of its parent, with its id, and has a prompt p2 of its own.

    | read are | p1 is stored | p1 is claimed | so p1 |
    |---|---|---|---|
    | the parent, then the fork | with the parent | by the fork | stays |
    | the fork, then the parent | with the fork | by the parent | is moved to the parent, which is then read again |

    Who said it first; the first row that applies decides (`_owner`):

    | what is known | where | owner |
    |---|---|---|
    | a transcript names the parent | `Piece.begin_line` stored it with the session | the parent |
    | the ids rise with the time | `_note_forks`, from `Claim.first` | the session in which the id is lower |
    | the claimant runs (`is_live`) and has all that the holder has said | `_note_forks` | the holder |
    | the claimant runs, and either has said nothing of its own | `_guessed_owner` | undecided: the holder keeps it |
    | nothing | `_guessed_owner` | the session that said nothing else, or said something else first |

    Returns the sessions to which episodes were moved.
    """
    claimants: dict[str, set[str]] = {}  # by episode
    for claim in claims:
        claimants.setdefault(claim.episode, set()).update((claim.holder, claim.claimant))
    groups: dict[frozenset[str], list[str]] = {}  # the episodes that the same sessions claim
    for episode, names in claimants.items():
        groups.setdefault(frozenset(names), []).append(episode)
    again: set[str] = set()
    with sqlite.transaction(db):
        _note_forks(db, claims, is_live=is_live)
        for group, episodes in groups.items():
            owner = _owner(db, group, claimants, is_live=is_live)
            if not owner:
                continue
            if [episode for episode in episodes if _move(db, episode, owner)]:
                again.add(owner)
            for session in group - {owner}:
                _note_copies(db, session, owner)
        for session in again:
            sessions.read_again(db, session)
    return sorted(again)


def _note_forks(db: apsw.Connection, claims: Sequence[Claim], *, is_live: bool) -> None:
    """Note the forks that the claims show, except those whose transcript names another parent."""
    copied = [claim.episode for claim in claims]
    for holder, claimant, first in dict.fromkeys((claim.holder, claim.claimant, claim.first) for claim in claims):
        if first:
            sessions.note_fork(db, claimant if first == holder else holder, first)
        if is_live and sessions.first_episode_at(db, holder, copied) is None:
            sessions.note_fork(db, claimant, holder)


def _owner(db: apsw.Connection, group: Iterable[str], claimed: Iterable[str], *, is_live: bool) -> str:
    """The session of a group that said the claimed episodes first; "" if that is undecided."""
    lineages = {session: sessions.ancestors(db, session) for session in group}
    roots = [session for session, lineage in lineages.items() if lineages.keys().isdisjoint(lineage[1:])]
    # a fork of a session that is not archived has copied what it has, perhaps from another of these
    roots = [session for session in roots if sessions.by_id(db, lineages[session][-1])] or roots or list(group)
    return roots[0] if len(roots) == 1 else _guessed_owner(db, roots, claimed, is_live=is_live)


def _guessed_owner(db: apsw.Connection, roots: Sequence[str], claimed: Iterable[str], *, is_live: bool) -> str:
    """The session that said nothing but what is claimed, or said something else first; "" if that is undecided."""
    own = {session: sessions.first_episode_at(db, session, claimed) for session in roots}
    if is_live and None in own.values():
        return ""
    return min(roots, key=lambda session: (own[session] or 0, session))


def _move(db: apsw.Connection, identifier: str, owner: str) -> bool:
    """Move an episode to its owner, whose transcript gives it a context; returns whether another session had it."""
    episode = documents.by_id(db, identifier)
    if episode is None or episode["forgotten_at"] is not None or episode["session_id"] in ("", owner):
        return False
    documents.remove(db, episode["rowid"])
    episode["session_id"], episode["context"] = owner, ""
    documents.insert(db, episode, document_vector(episode["text"], ""))
    return True


# Nothing names the parent, and entries have no ids


def delete_copied_openings(db: apsw.Connection, session: str) -> None:
    """If a session and another begin with the same episodes, word for word, delete them from the one that began later.

    Two sessions of a single exchange may be alike by chance. Opens transactions.
    """
    due = [session]
    while due:
        copy = _delete_copied_opening(db, due[-1])
        if copy:  # its forks may have copied more of the other session than it has
            due += sessions.forks(db, copy)
        else:
            due.pop()


def _delete_copied_opening(db: apsw.Connection, session: str) -> str:
    """Delete the opening that a session shares with another; returns which of them lost it, "" if neither did."""
    answer = next((episode["text"] for episode in sessions.by_time(db, session, 20) if _is_answer(episode)), "")
    others = sessions.with_episode(db, words.fingerprint(answer.lower()), session) if answer else ()
    for other in others:
        openings = {name: sessions.by_time(db, name) for name in (session, other)}
        if other in sessions.ancestors(db, session):  # which may have lost its beginning already
            said, first = [*map(_text, openings[other])], _text(openings[session][0])
            openings[other] = openings[other][said.index(first) if first in said else 0 :]
        pairs = list(takewhile(lambda pair: _text(pair[0]) == _text(pair[1]), zip(*openings.values(), strict=False)))
        count = max((number for number, (episode, _) in enumerate(pairs, 1) if _is_answer(episode)), default=0)
        owner, copy = sorted(openings, key=lambda name: (openings[name][0]["created_at"], name))
        if not count or (count < 4 and count == len(openings[copy])):
            continue
        with sqlite.transaction(db):
            for episode in openings[copy][:count]:
                documents.remove(db, episode["rowid"])
            sessions.leave_prompts(db, copy, sum(not _is_answer(episode) for episode in openings[copy][:count]))
            _note_copies(db, copy, owner)
        return copy
    return ""


def _is_answer(episode: Episode) -> bool:
    return episode["text"].startswith("assistant: ")


def _text(episode: Episode) -> str:
    """The text of an episode without its speaker: a subagent's prompts are another agent's words."""
    return episode["text"].partition(": ")[2]


def _note_copies(db: apsw.Connection, copy: str, owner: str) -> None:
    """Note that a session begins with a copy of another, and delete the calls that it copied."""
    calls.drop_copies(db, copy, owner)
    sessions.note_fork(db, copy, owner)
