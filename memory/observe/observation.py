"""What a model observed, on its way into the store: gate, category, near duplicates, evidence. Off the hot path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core import ids
from core.redaction import redact
from core.store import documents, sqlite
from core.store.sessions import observed
from core.words import clean
from memory import gate, near_duplicate
from memory.write import COLLECTION, clean_name, placed, set_category, set_verdict
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.records import Document
    from memory.observe.reply import Item

SOURCE = "observe"


@dataclass(frozen=True, slots=True)
class Observation:
    """A document that is ready to be stored."""

    document: Document
    tokens: near_duplicate.Tokens
    vector: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of an observation; `merged` when it took the place of one that said the same."""

    id: str
    type: str
    verdict: str
    merged: bool


def drafted(items: Iterable[Item], *, session: str, project: str, now: int) -> list[Observation]:
    """The items as documents, redacted, judged and embedded; those that are but an annotation are left out."""
    made = (_draft(item, session, project, now) for item in items)
    return [one for one in made if one is not None]


def _draft(item: Item, session: str, project: str, now: int) -> Observation | None:
    judged = gate.judge(redact(clean(item.text).replace("\0", "\ufffd"))[0].strip())
    if not any(map(str.isalnum, judged["text"])):
        return None
    document = documents.blank(COLLECTION, ids.uuid7(), judged["text"], now)
    document["source"] = SOURCE
    document["session_id"] = session
    document["project"] = project
    document["observation_type"] = item.type
    set_category(document, "", clean_name(judged["category"], []))
    set_verdict(document, judged)
    tokens = near_duplicate.Tokens(document["text"])
    document["fingerprint"] = ids.fingerprint(tokens.key)
    return Observation(document, tokens, document_vector(document["text"]))


def store(
    db: apsw.Connection,
    observations: Sequence[Observation],
    *,
    session: str,
    episodes: Sequence[str],
    before: tuple[int, str] | None,
    reached: int,
    tail: str,
    now: int,
    vectors: bool,
) -> list[Stored] | None:
    """Store the observations of a range and how far the session is observed now, all or nothing.

    Args:
        episodes: ids of those that were observed.
        before: the position at which the range began. None is returned, and nothing is changed, where the session has
            another by now.
        reached, tail: the position behind the range.

    Raises:
        Failure: what the store says; nothing was changed.
    """
    done: list[Stored] = []
    with sqlite.transaction(db):
        if observed.position(db, session) != before:
            return None
        if vectors and observations:
            documents.ensure_signatures(db)
        number = observed.add_range(db, session, episodes, now) if observations else 0
        for one in observations:
            kept, was_merged = placed(db, one.document, one.tokens, one.vector, now=now, vectors=vectors)
            observed.add_evidence(db, kept["id"], number)
            done.append(Stored(kept["id"], one.document["observation_type"], kept["write_verdict"], was_merged))
        observed.advance(db, session, reached, tail, now)
    return done
