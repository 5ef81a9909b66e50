"""Moves documents between the local file and the cluster in batches: sends what waits, fetches what others sent.

The newer write wins (docs/typesense.md says how). The server knows no conditional write: each batch is compared first,
what is newer there is stored here, and whoever fetches a row and knows better sends again. A batch is at most one page
of an answer, and the last that was seen is always read again, since only a part of it may have been there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw
import orjson

from core import clock, ids, words
from core.errors import Failure
from core.records import Document, Event
from core.redaction import redact
from core.store import documents, history, sqlite
from core.store.cluster import client, mapping, outbox
from core.store.cluster.client import PAGE
from core.store.cluster.collections import Cluster
from core.store.cluster.mapping import COLLECTIONS, EVENTS
from core.store.sessions import segments

Row = dict[str, Any]
Embed = Callable[[str, str, str], bytes]
"""What a text's vector is made of: the text, its neighbours and its title."""
_GONE = "~gone"
"""Stands for the hash of a deleted row; greater than any."""
_NO_CONTENT = ("rowid", "recall_count", "retrieval_priority", "last_used_at", "updated_at")
_TEXTS = ("text", "context", "title", "path", "source", "session_id", "project", "write_reason")
_NOT_OF_THE_DOCUMENT = (401, 403, 408, 422, 429)
"""The server says 422 when its disk or memory is short."""


@dataclass(frozen=True)
class Side:
    """A document here or on the cluster; `is_sound`: its content is what the row says of itself."""

    id: str
    collection: str
    document: Document | None
    version: int
    content: str
    counters: tuple[int, int, float] = (0, 0, 0.0)
    forgotten_at: int | None = None
    is_sound: bool = True

    @property
    def dead(self) -> bool:
        """Whether it may not be found."""
        return self.content == _GONE or self.forgotten_at is not None

    def same(self, other: "Side") -> bool:
        """Whether content and counters are equal."""
        return self.same_content(other) and (self.dead or self.counters == other.counters)

    def same_content(self, other: "Side") -> bool:
        """Whether the content is equal."""
        return (self.version, self.content) == (other.version, other.content)


def of_document(document: Document) -> Side:
    """The local side; `content` is a hash of everything but its counters."""
    if document["forgotten_at"] is not None:
        said = f"forgotten {document['id']} {document['forgotten_at']}"
    else:
        content = {name: value for name, value in document.items() if name not in _NO_CONTENT}
        said = orjson.dumps(_plain(content), option=orjson.OPT_SORT_KEYS).decode()
    counters = document["last_used_at"] or 0, document["recall_count"], document["retrieval_priority"]
    version, content_hash = document["updated_at"], ids.fingerprint(said)
    return Side(
        document["id"], document["collection"], document, version, content_hash, counters, document["forgotten_at"]
    )


def _plain(value: Any) -> Any:
    """Numbers in the form of both sides: 1 and 1.0 are the same on the cluster."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def of_row(row: Row, collection: str) -> Side:
    """A row on the cluster as a side."""
    version = max(int(row.get("updated_at") or 0), int(row.get("sync_version") or 0))
    if row.get("sync_content") == _GONE:
        return Side(str(row["id"]), collection, None, version, _GONE)
    document = mapping.from_remote(row, collection)
    document["updated_at"] = version
    side = of_document(document)
    return replace(side, is_sound=side.content == row.get("sync_content"))


def _clean(text: str) -> str:
    return redact(words.clean(text).replace("\0", "\ufffd"))[0]


class Exchange:
    """One run with at most `batch` documents in a request; the caller holds `outbox.lock_path()`."""

    def __init__(
        self, db: apsw.Connection, cluster: Cluster, batch: int, embed: Embed, search_text: Callable[[Event], str]
    ) -> None:
        self.db = db
        self.cluster = cluster
        self.search_text = search_text
        self._batch = min(batch, PAGE)
        self._embed = embed
        self._signatures = sqlite.load_vectors(db)
        if self._signatures:
            with sqlite.transaction(db):
                documents.ensure_signatures(db)
        self._me = str(outbox.state(db, "origin") or "")
        self.documents = 0
        """How many were sent."""
        self.events = 0
        self.refused = 0
        self.received = 0

    def send(self, in_time: Callable[[], bool], progress: Callable[[int], None] = lambda _: None) -> bool:
        """Send everything that waits; returns whether nothing is left."""
        while batch := outbox.next_batch(self.db, now=clock.now_ms(), limit=self._batch):
            if not in_time():
                return False
            for collection in dict.fromkeys(waiting["collection"] for waiting in batch):
                self._send([waiting for waiting in batch if waiting["collection"] == collection], collection)
            progress(len(batch))
        while found := history.behind(self.db, int(outbox.state(self.db, "events") or 0), most=self._batch):
            if not in_time():
                return False
            self._send_events(found)
            progress(len(found))
        return True

    def fetch(self, in_time: Callable[[], bool]) -> None:
        """Store what other machines sent since the last time."""
        asked = {"q": "*", "per_page": 0, "facet_by": "sync_origin", "max_facet_values": PAGE}
        for collection in COLLECTIONS:
            facets = self.cluster.search(COLLECTIONS[collection], asked)["facet_counts"]
            for machine in [count["value"] for facet in facets for count in facet["counts"]]:
                if machine != self._me:
                    self._fetch_from(machine, collection, in_time)

    def merge(self, theirs: Iterable[Side], collection: str) -> None:
        """Merge sides of the cluster into the local file; newer local documents are queued."""
        differing = []
        for side in theirs:
            ours = self._here(side.id, collection)
            if not side.dead if ours is None else not ours.same(side):
                differing.append(side)
        if not differing:
            return
        changed = 0
        back: list[str] = []
        with sqlite.transaction(self.db):
            with outbox.quiet(self.db):
                for side in differing:
                    ours = self._here(side.id, collection)
                    one = side if ours is None else self._merged(ours, side)
                    behind = not one.same(side)
                    if ours is None or not one.same(ours):
                        behind |= self._apply(one, ours)
                        changed += 1
                    if behind:
                        back.append(side.id)
            if outbox.enabled(self.db):
                outbox.add(self.db, back, collection)
        if changed and collection == "episodes":
            segments.catch_up(self.db)
        self.received += changed

    def _here(self, identifier: str, collection: str) -> Side | None:
        """The local side; None if the document was never here."""
        document = documents.by_id(self.db, identifier)
        if document is not None:
            return of_document(document)
        deleted = self.db.execute("SELECT max(version) FROM outbox_version WHERE id = ?", (identifier,))
        version = int(deleted.get or 0)
        return Side(identifier, collection, None, version, _GONE) if version else None

    def _merged(self, ours: Side, theirs: Side) -> Side:
        """The counters of both sides; of uses at the same moment, the unsent local change counts."""
        is_newer = (theirs.version, theirs.is_sound, theirs.content) > (ours.version, True, ours.content)
        newer = theirs if is_newer else ours
        used, used_there = ours.counters[0], theirs.counters[0]
        mine = used > used_there or (used == used_there and outbox.holds(self.db, ours.id))
        return replace(newer, counters=ours.counters if mine else theirs.counters)

    def _apply(self, side: Side, ours: Side | None) -> bool:
        """Make this the local side; returns whether redaction changed it, so that it must be sent back."""
        older = ours.document if ours is not None else None
        if side.content == _GONE:
            if older is not None:
                documents.remove(self.db, older["rowid"], signatures=self._signatures)
            self.db.execute("INSERT OR REPLACE INTO outbox_version VALUES (?, ?)", (side.id, side.version))
            return False
        changed = False
        if ours is None or not ours.same_content(side):
            one: Any
            if side.document is None or side.forgotten_at is not None:
                if older is None:  # a tombstone of what never was here
                    return False
                one = {**older, "forgotten_at": side.forgotten_at}
            else:  # others may write to a cluster too
                one = {**side.document, **{name: _clean(side.document[name]) for name in _TEXTS}}  # type: ignore[literal-required]
                one["tags"] = [_clean(tag) for tag in one["tags"]]
                one["history"] = [
                    {name: _clean(value) if isinstance(value, str) else value for name, value in was.items()}
                    for was in one["history"]
                ]
                changed = one != side.document
                one["rowid"] = older["rowid"] if older is not None else 0
            one["updated_at"] = side.version + changed
            vector = self._embed(one["text"], one["context"], one["title"]) if one["forgotten_at"] is None else b""
            store = documents.insert if older is None else documents.replace
            store(self.db, one, vector, signatures=self._signatures)
        used_at, recalls, priority = side.counters
        counted = "UPDATE document SET recall_count = ?, retrieval_priority = ?, last_used_at = ? WHERE id = ?"
        self.db.execute(counted, (recalls, priority, used_at or None, side.id))
        return changed

    def _send(self, batch: "list[outbox.Waiting]", collection: str) -> None:
        wanted = [(collection, waiting["id"]) for waiting in batch if self._here(waiting["id"], collection)]
        rows = self.cluster.documents(wanted, exclude_fields=mapping.SEARCHED)
        theirs = {identifier: of_row(row, collection) for (_, identifier), row in rows.items()}
        self.merge(theirs.values(), collection)
        news: list[tuple[outbox.Waiting, Side]] = []
        known: list[outbox.Waiting] = []
        for waiting in batch:
            one, there = self._here(waiting["id"], collection), theirs.get(waiting["id"])
            if one is None or (there is not None and one.same(there)):
                known.append(waiting)
            else:
                news.append((waiting, one))
        with sqlite.transaction(self.db):
            outbox.confirm(self.db, known)
        if news:
            self._import(collection, news)

    def _import(self, collection: str, news: "Sequence[tuple[outbox.Waiting, Side]]") -> None:
        number = int(outbox.state(self.db, "number") or 0) + 1
        with sqlite.transaction(self.db):  # before it is sent, so that none is used twice
            outbox.set_state(self.db, number=number)
        vectors = mapping.vectors(self.db, [side.document["rowid"] for _, side in news if side.document is not None])
        rows = [self._to_row(side, vectors, number) for _, side in news]
        outcomes, trouble = self._imported(COLLECTIONS[collection], rows)
        with sqlite.transaction(self.db):
            for (waiting, _), refusal in zip(news, outcomes, strict=True):
                if refusal:
                    outbox.refuse(self.db, waiting, refusal, now=clock.now_ms())
                elif refusal is not None:
                    outbox.confirm(self.db, [waiting])
        self.documents += outcomes.count("")
        _complain(trouble)

    def _imported(self, collection: str, rows: Sequence[Row]) -> tuple[list[str | None], str]:
        """Why each row is refused ("" if it was accepted, None if it is to be sent again), and the reason for that."""
        outcomes: list[str | None] = []
        trouble = ""
        for result in self.cluster.import_(collection, rows):
            code, said = int(result.get("code", 500)), str(result.get("error", "")) or "it gives no reason"
            if result.get("success") is True:
                outcomes.append("")
            elif 400 <= code < 500 and code not in _NOT_OF_THE_DOCUMENT:
                outcomes.append(said)
            else:
                outcomes.append(None)
                trouble = trouble or said
        self.refused += sum(map(bool, outcomes))
        return outcomes, trouble

    def _to_row(self, side: Side, vectors: dict[int, bytes], number: int) -> Row:
        vector = b""
        if side.document is not None and not side.dead:
            document: Any = dict(side.document)
            used_at, document["recall_count"], document["retrieval_priority"] = side.counters
            document["last_used_at"] = used_at or None
            vector = vectors.get(document["rowid"], b"")
        else:
            document = documents.blank(side.collection, side.id, "", side.version)
            document["forgotten_at"] = side.forgotten_at or side.version
        about = {"sync_origin": self._me, "sync_batch": number, "sync_content": side.content}
        return {**mapping.to_remote(document, vector), **about}

    def _send_events(self, found: Sequence[tuple[int, Event]]) -> None:
        rows = [mapping.event_to_remote(event, self.search_text(event)) for _, event in found]
        outcomes, trouble = self._imported(EVENTS, rows)
        carried = outcomes.index(None) if None in outcomes else len(outcomes)
        self.events += outcomes[:carried].count("")
        if carried:
            with sqlite.transaction(self.db):
                outbox.set_state(self.db, events=found[carried - 1][0])
        _complain(trouble)

    def _fetch_from(self, machine: str, collection: str, in_time: Callable[[], bool]) -> None:
        seen = "SELECT max(number) FROM outbox_seen WHERE collection = ? AND origin = ?"
        number = int(self.db.execute(seen, (collection, machine)).get or 0)
        asked = {"q": "*", "per_page": PAGE, "sort_by": "sync_batch:asc", "exclude_fields": mapping.SEARCHED}
        while in_time():
            since = f"sync_origin:=`{machine}` && sync_batch:>={number}"
            answer = self.cluster.search(COLLECTIONS[collection], {**asked, "filter_by": since})
            rows = [hit["document"] for hit in answer["hits"]]
            self.merge((of_row(row, collection) for row in rows), collection)
            last = max((int(row["sync_batch"]) for row in rows), default=number)
            number = last + 1 if len(rows) == PAGE and last == number else last
            with sqlite.transaction(self.db):
                self.db.execute("INSERT OR REPLACE INTO outbox_seen VALUES (?, ?, ?)", (collection, machine, number))
            if len(rows) < PAGE:
                break


def _complain(trouble: str) -> None:
    if trouble:
        said = f"the cluster did not accept everything: {' '.join(trouble.split())[:200]}"
        raise Failure(client.REFUSED, said, "check its disk and memory; what it did not accept is kept and sent again")
