"""One document on one side, here or on the cluster, and the merge of two sides.

The rule: of two contents the one with the higher version stays, of equal versions the one with the greater hash, so
that every machine decides alike. Counters are no contents: each machine has its share of them, and the shares are
added up. A forgotten document is a tombstone without words on the cluster; a machine that has the words keeps them, for
`--undo`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from core import ids, words
from core.redaction import redact
from core.store import documents
from core.store.documents import LIMIT
from core.store.replication import outbox

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from core.records import Document

    Shares = dict[str, tuple[int, int, float]]
    Embed = Callable[[str, str, str], bytes]

GONE = "~gone"
"""Instead of a hash, where the row was deleted; greater than any."""
_NO_CONTENT = ("rowid", "recall_count", "retrieval_priority", "last_used_at", "updated_at")
_TEXTS = ("text", "context", "title", "path", "source", "session_id", "project", "write_reason")
_DIGITS = 4


@dataclass(frozen=True)
class Side:
    """A document here or on the cluster.

    Args:
        document: its content; None where it is gone, and for a tombstone that has no words.
        version: see `core.store.replication.outbox`.
        content: `content_hash`, or GONE.
        shares: by machine, (number of the batch that set it, recalls, priority).
    """

    id: str
    collection: str
    document: Document | None
    version: int
    content: str
    shares: Shares = field(default_factory=dict)
    last_used_at: int | None = None
    forgotten_at: int | None = None
    unmet: bool = False
    """It is here, and was never compared with the cluster."""

    @property
    def recalls(self) -> int:
        """How often it was recalled, on all machines."""
        return max(0, sum(share[1] for share in self.shares.values()))

    @property
    def priority(self) -> float:
        """What its use and disuse on all machines come to, -1..1."""
        return max(-LIMIT, min(LIMIT, round(sum(share[2] for share in self.shares.values()), _DIGITS)))

    def same_content(self, other: Side) -> bool:
        """Whether both say the same, counters aside."""
        return (self.version, self.content) == (other.version, other.content)

    def same_counters(self, other: Side) -> bool:
        """Whether both count the same; the numbers of the batches do not matter."""
        if self.content == other.content == GONE:
            return True
        return _values(self.shares) == _values(other.shares) and self.last_used_at == other.last_used_at


def _values(shares: Shares) -> dict[str, tuple[int, float]]:
    return {name: share[1:] for name, share in shares.items() if any(share[1:])}


def content_hash(document: Document) -> str:
    """A hash of everything that is said of a document, without its counters; of a tombstone only that it is one."""
    if document["forgotten_at"] is not None:
        return ids.fingerprint(f"forgotten {document['id']} {document['forgotten_at']}")
    content = {name: value for name, value in document.items() if name not in _NO_CONTENT}
    return ids.fingerprint(orjson.dumps(_plain(content), option=orjson.OPT_SORT_KEYS).decode())


def _plain(value: Any) -> Any:
    """Numbers as both sides have them: 1 and 1.0 are the same on the cluster."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def here(db: apsw.Connection, identifier: str, collection: str) -> Side | None:
    """The local side; None where the document never was here."""
    document = documents.by_id(db, identifier)
    if document is None:
        version = outbox.version(db, identifier, 0)
        return Side(identifier, collection, None, version, GONE, outbox.shares(db, identifier)) if version else None
    return of_document(db, document)


def of_document(db: apsw.Connection, document: Document) -> Side:
    """The local side of a document that was read."""
    identifier = document["id"]
    shares = outbox.shares(db, identifier)
    unmet = not shares
    me = outbox.origin(db)
    known = Side(identifier, document["collection"], None, 0, "", shares)
    recalls = document["recall_count"] - known.recalls
    priority = round(document["retrieval_priority"] - known.priority, _DIGITS)
    if recalls or priority:
        _, mine, favour = shares.get(me, (0, 0, 0.0))
        shares[me] = (outbox.number(db) + 1, mine + recalls, round(favour + priority, _DIGITS))
    return Side(
        identifier,
        document["collection"],
        document,
        outbox.version(db, identifier, document["updated_at"]),
        content_hash(document),
        shares,
        document["last_used_at"],
        document["forgotten_at"],
        unmet,
    )


def merged(ours: Side, theirs: Side, me: str) -> Side:
    """The merge of both sides; `me` is this machine, which alone knows its own share."""
    newer = ours if (ours.version, ours.content) >= (theirs.version, theirs.content) else theirs
    shares: Shares = dict(theirs.shares)
    for machine, share in _attributed(ours, theirs, me).items():
        other = shares.get(machine)
        if other is None or machine == me or share[0] > other[0]:
            shares[machine] = other if other is not None and other[1:] == share[1:] else share
    used = [at for at in (ours.last_used_at, theirs.last_used_at) if at is not None]
    return Side(
        newer.id, newer.collection, newer.document, newer.version, newer.content, shares,
        max(used) if used else None, newer.forgotten_at,
    )  # fmt: skip


def _attributed(ours: Side, theirs: Side, me: str) -> Shares:
    """Our shares. Of a copy (an export that was imported here) only what goes beyond the original is our own."""
    if not ours.unmet or me in theirs.shares or not theirs.recalls + abs(theirs.priority):
        return ours.shares
    number, recalls, _ = ours.shares.get(me, (0, 0, 0.0))
    return {me: (number, max(0, recalls - theirs.recalls), 0.0)}


def apply(db: apsw.Connection, side: Side, ours: Side | None, *, embed: Embed, signatures: bool) -> bool:
    """Make the local side this one, inside the caller's `outbox.quiet` transaction; whether its words were changed
    by redaction, so that it must be sent back.

    Args:
        embed: the vector of a text with its context and title, made anew here: it is cheaper than to carry it.
    """
    older = documents.by_id(db, side.id)
    if side.content == GONE:
        if older is not None:
            documents.remove(db, older["rowid"], signatures=signatures)
        outbox.set_version(db, side.id, side.version, 0)
        return False
    changed = False
    if ours is None or not ours.same_content(side):
        one, changed = _content(side, older)
        if one is None:  # a tombstone of what never was here
            return False
        if older is None:
            documents.insert(db, one, embed(one["text"], one["context"], one["title"]), signatures=signatures)
        else:
            vector = embed(one["text"], one["context"], one["title"]) if one["forgotten_at"] is None else b""
            documents.replace(db, one, vector, signatures=signatures)
        outbox.set_version(db, side.id, side.version + changed, one["updated_at"])
    documents.set_counters(db, side.id, side.recalls, side.priority, side.last_used_at)
    outbox.set_shares(db, side.id, met(side.shares, outbox.origin(db)))
    return changed


def met(shares: Shares, me: str) -> Shares:
    """Shares as they are kept: with our own, if only to say that both sides were compared."""
    return {me: (0, 0, 0.0), **shares}


def _content(side: Side, older: Document | None) -> tuple[Document | None, bool]:
    if side.document is None or side.forgotten_at is not None:
        if older is None:
            return None, False
        return {**older, "forgotten_at": side.forgotten_at, "updated_at": side.version}, False
    one: dict[str, Any] = {**side.document, "rowid": older["rowid"] if older is not None else 0}
    # It was redacted where it was written; but others may write to a cluster too.
    for name in _TEXTS:
        one[name] = _clean(one[name])
    one["tags"] = [_clean(tag) for tag in one["tags"]]
    one["history"] = [
        {name: _clean(value) if isinstance(value, str) else value for name, value in was.items()}
        for was in one["history"]
    ]
    changed = any(one[name] != side.document[name] for name in (*_TEXTS, "tags", "history"))  # type: ignore[literal-required]
    return one, changed  # type: ignore[return-value]  # a Document with other texts


def _clean(text: str) -> str:
    return redact(words.clean(text).replace("\0", "\ufffd"))[0]
