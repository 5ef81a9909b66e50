"""To which of several sessions a turn belongs: to the one in which it first appeared. Hot path."""

from __future__ import annotations

from itertools import takewhile

from core import TYPE_CHECKING, words
from core.store import branches, calls, documents, sessions, sqlite
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import apsw

    from core.records import Episode
    from memory.archive.session_archive import Shared


def settle(
    db: apsw.Connection, shared: Sequence[Shared], read: Callable[[str], Sequence[Shared]], *, vectors: bool,
    is_live: bool = False,
) -> None:  # fmt: skip
    """Give each episode that was found in several sessions to the session in which it first appeared.

    That is the parent, if a transcript names it; else the session that first said something of its own. The calls that
    the others copied are deleted. Opens a transaction.

    Args:
        read: archives a session from its beginning, since it got episodes in the order of another session. Returns the
            episodes that it shares.
        is_live: the claiming session is running. If it has said nothing of its own yet, it is a new fork and gets none.
    """
    again: set[str] = set()
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
                again.add(owner)
            for session in group:
                documents.renew_segments(db, session)
                if owner and session != owner:
                    calls.drop_copies(db, session, owner)
                    sessions.note_fork(db, session, owner)
                branches.mark_abandoned(db, session)
        for session in again:
            sessions.read_again(db, session)
    if later := [row for session in sorted(again) for row in read(session)]:
        settle(db, later, read, vectors=vectors, is_live=is_live)


def settle_opening(db: apsw.Connection, session: str, *, vectors: bool) -> None:
    """Leave the turns with which a session and another begin, word for word, to the one that began first.

    This is for a client whose entries have no ids, and that does not name the parent of a copy. Opens a transaction.
    """
    with sqlite.transaction(db):
        signatures = vectors and documents.has_signatures(db)
        answer = next((turn["text"] for turn in sessions.by_time(db, session, 20) if _is_answer(turn)), "")
        others = sessions.with_turn(db, words.fingerprint(answer.lower())) if answer else []
        for other in filter(lambda other: other != session, others):
            known, own, theirs = (
                sessions.by_id(db, session), sessions.by_time(db, session), sessions.by_time(db, other)
            )  # fmt: skip
            if known and known.get("parent") == other:  # the rest of a copy
                first = _said(own[0])
                theirs = theirs[next((at for at, turn in enumerate(theirs) if _said(turn) == first), len(theirs)) :]
            pairs = list(takewhile(lambda pair: _said(pair[0]) == _said(pair[1]), zip(own, theirs, strict=False)))
            while pairs and not _is_answer(pairs[-1][0]):
                pairs.pop()  # two users may say the same
            if not pairs:
                continue
            (owner, _), (copy, copied) = sorted(
                ((session, [turn for turn, _ in pairs]), (other, [turn for _, turn in pairs])),
                key=lambda side: (side[1][0]["created_at"], side[0]),
            )
            for turn in copied:
                documents.remove(db, turn["rowid"], signatures=signatures)
            sessions.leave_prompts(db, copy, sum(not _is_answer(turn) for turn in copied))
            calls.drop_copies(db, copy, owner)
            sessions.note_fork(db, copy, owner)
            documents.renew_segments(db, copy)
            return


def _is_answer(turn: Episode) -> bool:
    return turn["text"].startswith("assistant: ")


def _said(turn: Episode) -> str:
    """What was said in a turn; a subagent's prompts are another agent's words."""
    return turn["text"].partition(": ")[2]


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
