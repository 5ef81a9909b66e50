"""A piece of a session, read and stored: each message becomes an episode with its vector.

A draft of an episode holds redacted, bounded strings only: what was said. What tools did is `session_work`'s. The last
draft, which the next message or a longer version of itself may still change, is stored as JSON between two calls, with
what else the next piece needs: the carry. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, ids, json_text, project
from core.redaction import redact
from core.store import documents, progress, sessions, sqlite
from core.words import clean
from memory.archive import plain_text
from memory.archive.session_work import SessionWork
from recall import categories
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw

    from clients.event import Item, Queue, Said
    from core.records import Document

    Draft = dict[str, Any]
    """An episode in the making: id, role, body, prompt of its turn, the texts before and after it, and its time."""
    Carry = dict[str, Any]
    """What outlives a piece: the `prompt` of the turn; in `drafts` the last one, if any; the `queue` of what the user
    typed ahead and the model does not know yet, "" for what the client itself put there; in `handed` fingerprints of
    what was in it and is known now, since some clients say it once more; and the `work` of `session_work`."""

COLLECTION = "episodes"
BODY_CHARS = 4000  # of a message: what is longer keeps its head and its tail
PROMPT_CHARS = 500
NEIGHBOUR_CHARS = 300
_TAIL_CHARS = 1500
_LONGEST_ID = 200
_LONGEST_NAME = 400
_LONGEST_QUEUE = 20
_CUT = "\n[…]\n"
_LAST_MS = 253_402_300_799_999


class SessionArchive:
    """Stores what one session said and did; the arguments are those of `ingest.ingest_file`."""

    def __init__(self, db: apsw.Connection, agent: str, session: str, cwd: str, now: int, vectors: bool) -> None:
        self.db = db
        self.session = clean_name(session)
        self.project = clean_name(project.name_of(cwd))
        self.folder = clean_name(project.folder_of(cwd))
        self._client = clean_name(agent)
        self._now = now
        self._vectors = vectors

    def store(
        self, source: str, found: tuple[int, str, str] | None, piece: Piece, offset: int = 0, head: str = ""
    ) -> tuple[int, int, int] | None:
        """Store a piece and the offset behind it: what is new and changed; None where the offset moved meanwhile."""
        added = updated = 0
        ready = [self._document(draft) for draft in piece.changed.values()]
        carry = json_text.dumps(piece.carried())
        with sqlite.transaction(self.db):
            if progress.transcript_position(self.db, source) != found:
                return None
            if former := project.without_host(self.project):
                sessions.rename_project(self.db, self.project, former, self.folder)
            if ready and self._vectors:
                documents.ensure_signatures(self.db)
            known = [documents.by_id(self.db, one["id"]) for one, _ in ready]
            # of what was purged but the id is kept (`core.store.purge`)
            purged = {one["id"] for one in known if one and one["write_reason"] == "purged" and not one["text"]}
            if purged:  # what is said around it stays out, too
                for one, _ in ready:
                    one["context"] = ""
                ready = [(one, document_vector(one["text"], "")) for one, _ in ready]
                carry = _without(carry, purged)
            for (one, vector), older in zip(ready, known, strict=True):
                if older is None:
                    documents.insert(self.db, one, vector, signatures=self._vectors)
                    added += 1
                else:
                    updated += self._grow(older, one, vector)
            progress.renew_segments(self.db, self.session)
            new_calls = piece.work.store(
                self.db,
                {"id": self.session, "client": self._client, "project": self.project, "folder": self.folder,
                 "updated_at": 0, "prompts": 0, "calls": 0, "plan": []},
                prompts=piece.prompts, anew=found is None or piece.is_first, now=self._now,
            )  # fmt: skip
            if found != (offset, head, carry):
                progress.save_transcript_position(self.db, source, offset, head, carry, self._now)
        return added, updated, new_calls

    def _document(self, draft: Draft) -> tuple[Document, bytes]:
        """A draft as a document, with its vector."""
        at = draft["at"]
        when = at if isinstance(at, int) and 0 <= at <= _LAST_MS else self._now
        one = documents.blank(COLLECTION, draft["id"], f"{draft['role']}: {draft['body']}", when)
        one["context"], one["observation_type"] = _context(draft), "episode"
        one["source"], one["session_id"], one["project"] = self._client, self.session, self.project
        one["write_confidence"], one["write_reason"] = 1.0, "archived"
        return _derived(one), document_vector(one["text"], one["context"])

    def _grow(self, older: Document, newer: Document, vector: bytes) -> bool:
        """Write what was added to a stored episode: reading a transcript again removes nothing."""
        if older["forgotten_at"] is not None or older["collection"] != COLLECTION:
            return False
        text = older["text"] if older["text"].startswith(newer["text"]) else newer["text"]
        context = newer["context"] if newer["context"].startswith(older["context"]) else older["context"]
        grown: Document = {**older, "text": text, "context": context}
        if grown == older:
            return False
        if (text, context) != (newer["text"], newer["context"]):
            vector = document_vector(text, context)
        documents.replace(self.db, _derived(grown), vector, signatures=self._vectors)
        return True


class Piece:
    """A stretch of a session, read and redacted, before it is stored; it goes on behind what was carried."""

    def __init__(self, session: str, folder: str, carried: Mapping[str, Any]) -> None:
        self._session = session
        self.carry = read_carry(carried)
        self.is_first = not carried
        self.work = SessionWork(self.carry["work"], folder)
        self.items: list[Item] = []
        self._by_id: dict[str, Draft] = {draft["id"]: draft for draft in self.carry["drafts"]}
        self.changed: dict[str, Draft] = {}  # by id, the drafts that are new or say more than before
        self.prompts = 0  # how many of the user's were new

    def add(self, item: Item, line: bytes = b"", number: int = 0) -> None:
        """Add what the `number`th item of a line says."""
        self.items.append(item)
        self.work.add(item, self.prompts)
        if item["kind"] == "said":
            self._said(item, line, number)
        elif item["kind"] == "queue":
            self._queue(item)

    def new_of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Those from the last known message on: a client without a file gives the same ones again."""
        known = next(iter(self._by_id), "")
        for place in range(len(items) - 1, -1, -1):
            item = items[place]
            if item["kind"] == "said" and known and identifier_of(item, self._session, b"", 0) == known:
                return items[place:]
        return items

    def _said(self, said: Said, line: bytes, number: int) -> None:
        body = bounded(said["text"])
        if not body:
            return
        identifier = identifier_of(said, self._session, line, number)
        is_user = said["role"] == "user"
        draft, drafts = self._by_id.get(identifier), self.carry["drafts"]
        if draft is None:
            if is_user and self._is_handed(body):
                return
            prompt, before = "" if is_user else self.carry["prompt"], ""
            if drafts:
                last = drafts[-1]
                before, last["after"] = last["body"][:NEIGHBOUR_CHARS], body[:NEIGHBOUR_CHARS]
                self.changed[last["id"]] = last
            about: Draft = {"id": identifier, "role": said["role"], "at": said["at"]}
            draft = {**about, "prompt": prompt, "before": before, "after": ""}
            drafts.append(draft)
            self._by_id[identifier] = draft
            self.prompts += is_user
        elif draft["body"] == body:  # else the client writes a message again that grows
            return
        draft["body"] = body
        self.changed[identifier] = draft
        if is_user:
            self.carry["prompt"] = body[:PROMPT_CHARS]

    def _queue(self, queue: Queue) -> None:
        """Follow what the user types ahead; it becomes a message when the model gets it."""
        waiting, handed = self.carry["queue"], self.carry["handed"]
        if queue["operation"] == "enqueue":
            waiting.append(bounded(queue["text"]))
            del waiting[:-_LONGEST_QUEUE]
        elif queue["operation"] == "popAll":
            waiting.clear()
        elif waiting:
            text = waiting.pop(0)
            if queue["operation"] == "remove" and text:
                # known by its text and time: lines that hand over several at once are all alike
                at = queue["at"]
                self._said({"kind": "said", "id": "", "role": "user", "text": text, "tools": [], "at": at}, b"", 0)
                handed.append(ids.fingerprint(text))
                del handed[:-_LONGEST_QUEUE]

    def _is_handed(self, body: str) -> bool:
        """Whether a message was in the queue and is known already; if it still waits there, it does so no longer."""
        known, queue = ids.fingerprint(body), self.carry["queue"]
        if known in self.carry["handed"]:
            self.carry["handed"].remove(known)
            return True
        if body in queue:
            queue[queue.index(body)] = ""
        return False

    def carried(self) -> Carry:
        """The carry without what can change no more."""
        return {**self.carry, "drafts": self.carry["drafts"][-1:]}


def read_carry(value: Mapping[str, Any]) -> Carry:
    """The carry as it was stored; a new one where it is none."""
    try:
        drafts = value["drafts"][-1:]
        for draft in drafts:
            _context(draft), draft["id"], draft["role"], draft["body"], draft["at"]
        work = {str(key): str(text) for key, text in value["work"].items()}
        queue, handed = [*map(str, value["queue"])], [*map(str, value["handed"])]
        return {"prompt": str(value["prompt"]), "drafts": drafts, "queue": queue, "handed": handed, "work": work}
    except (TypeError, KeyError, AttributeError):
        return {"prompt": "", "drafts": [], "queue": [], "handed": [], "work": {}}


def identifier_of(said: Said, session: str, line: bytes, number: int) -> str:
    """The message's own id, else one made of its session and its line; a secret-like or long one as a hash."""
    given = said["id"]
    if not given:
        about = line.decode("utf-8", "replace") if line else f"{said['role']}\0{said['text']}\0{said['at']}"
        return "ep-" + ids.fingerprint(f"{session}\0{number}\0{about}")
    plain = clean(given).replace("\0", "\ufffd")
    if plain != given or len(plain) > _LONGEST_ID or plain.split() != [plain] or redact(plain)[1]:
        return "ep-" + ids.fingerprint(given)
    return plain


def bounded(text: str) -> str:
    """A message without secrets, its middle left out where it is too long."""
    text = text.strip()
    if len(text) > 2 * plain_text.MARGIN + BODY_CHARS:
        from memory.archive import stuck

        head = plain_text.start(text, BODY_CHARS)
        tail = stuck.tail(text, plain_text.plain, _TAIL_CHARS, plain_text.MARGIN)
    else:
        head = tail = plain_text.plain(text)
        if len(head) <= BODY_CHARS:
            return head
    return head[: BODY_CHARS - _TAIL_CHARS].rstrip() + _CUT + tail[-_TAIL_CHARS:].lstrip()


def clean_name(text: str) -> str:
    """A short field on one line, without secrets."""
    return " ".join(redact(" ".join(clean(text).replace("\0", "").split()))[0].split())[:_LONGEST_NAME]


def _context(draft: Draft) -> str:
    """The prompt of the turn and both neighbours; it grows at its end only."""
    parts = [draft["prompt"], draft["before"] if draft["before"] != draft["prompt"] else "", draft["after"]]
    return "\n".join(part for part in parts if part)


def _without(carry: str, purged: set[str]) -> str:
    """The carry of a piece in which something was purged."""
    left = read_carry(json_text.loads(carry))
    left["prompt"], left["queue"] = "", []
    kept = (draft for draft in left["drafts"] if draft["id"] not in purged)
    left["drafts"] = [{**draft, "prompt": "", "before": "", "after": ""} for draft in kept]
    return json_text.dumps(left)


def _derived(document: Document) -> Document:
    document["fingerprint"] = ids.fingerprint(document["text"].lower())
    document["category_id"], document["category_confidence"] = categories.classify(document["text"])
    matched = document["category_confidence"] > categories.FALLBACK_CONFIDENCE
    document["category_source"] = "keyword" if matched else "fallback"
    return document
