"""A piece of a session, read and stored: each message becomes an episode with its vector. Hot path.

A draft of an episode holds redacted, bounded strings of a message; tool calls are collected in `calls`. The carry is
stored as JSON with the position, for the next piece. It holds above all the last draft, which the next message or a
longer version of itself may still change.
"""

from __future__ import annotations

from clients.entries import Entry
from core import TYPE_CHECKING, ids, json_text, project
from core.redaction import redact
from core.store import documents, progress, sessions, sqlite
from core.words import clean
from memory.archive import texts
from memory.archive.calls import SessionCalls
from recall import categories
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw

    from core.records import Document, Session
    from memory.archive import Origin

    Draft = dict[str, Any]
    """An episode before it is stored: id, role, body, prompt of its turn, the texts before and after it, its time."""
    Carry = dict[str, Any]
    """What outlives a piece: the `prompt` of the turn; in `drafts` the last one, if any; the `queue` of what the user
    typed ahead and the model does not have yet ("" for the client's own texts); in `handed` fingerprints of what was in
    it and the model has now, since some clients repeat it; and the `work` of `SessionCalls`."""

COLLECTION = "episodes"
MAX_BODY_CHARS = 4000  # of a message; if it is longer, its head and its tail are kept
TAIL_CHARS = 1500
PROMPT_CHARS = 500  # of the prompt, as context of the messages in its turn
NEIGHBOUR_CHARS = 300  # of the messages before and after, as context
MAX_ID_CHARS = 200
MAX_NAME_CHARS = 400
MAX_QUEUE = 20  # prompts typed ahead
LEFT_OUT = "\n[…]\n"
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


class SessionArchive:
    """Stores the messages and calls of a session."""

    def __init__(self, db: apsw.Connection, origin: Origin) -> None:
        self.db = db
        self.session = clean_name(origin.session)
        self.project = clean_name(project.name_of(origin.cwd))
        self.folder = clean_name(project.folder_of(origin.cwd))
        self._client = clean_name(origin.agent)
        self._now = origin.now
        self._vectors = origin.vectors

    def store(
        self, source: str, found: tuple[int, str, str] | None, piece: Piece, offset: int = 0, head: str = ""
    ) -> tuple[int, int, int] | None:
        """Store a piece and the offset after it, unless the offset has moved meanwhile.

        Returns how many episodes are new and changed, and how many calls are new; None if the offset has moved.
        """
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
            known = [documents.by_id(self.db, document["id"]) for document, _ in ready]
            # of a purged episode only the id remains (`core.store.purge`)
            purged = {row["id"] for row in known if row and row["write_reason"] == "purged" and not row["text"]}
            if purged:  # their neighbours must not quote them
                for document, _ in ready:
                    document["context"] = ""
                ready = [(document, document_vector(document["text"], "")) for document, _ in ready]
                carry = _without(carry, purged)
            for (document, vector), older in zip(ready, known, strict=True):
                if older is None:
                    documents.insert(self.db, document, vector, signatures=self._vectors)
                    added += 1
                else:
                    updated += self._grow(older, document, vector)
            progress.renew_segments(self.db, self.session)
            is_first = found is None or piece.is_first
            new_calls = piece.calls.store(
                self.db, self._blank_session(), prompts=piece.prompts, is_first=is_first, now=self._now
            )
            if found != (offset, head, carry):
                progress.save_transcript_position(self.db, source, offset, head, carry, self._now)
        return added, updated, new_calls

    def _blank_session(self) -> Session:
        return {
            "id": self.session, "client": self._client, "project": self.project, "folder": self.folder,
            "updated_at": 0, "prompts": 0, "calls": 0, "plan": [],
        }  # fmt: skip

    def _document(self, draft: Draft) -> tuple[Document, bytes]:
        """A draft as a document, with its vector."""
        at = draft["at"]
        when = at if isinstance(at, int) and 0 <= at <= LAST_MS else self._now
        document = documents.blank(COLLECTION, draft["id"], f"{draft['role']}: {draft['body']}", when)
        document["context"], document["observation_type"] = _context(draft), "episode"
        document["source"], document["session_id"], document["project"] = self._client, self.session, self.project
        document["write_confidence"], document["write_reason"] = 1.0, "archived"
        return _categorised(document), document_vector(document["text"], document["context"])

    def _grow(self, older: Document, newer: Document, vector: bytes) -> bool:
        """Extend a stored episode; reading a transcript again removes nothing. Returns whether it grew."""
        if older["forgotten_at"] is not None or older["collection"] != COLLECTION:
            return False
        text = older["text"] if older["text"].startswith(newer["text"]) else newer["text"]
        context = newer["context"] if newer["context"].startswith(older["context"]) else older["context"]
        grown: Document = {**older, "text": text, "context": context}
        if grown == older:
            return False
        if (text, context) != (newer["text"], newer["context"]):
            vector = document_vector(text, context)
        documents.replace(self.db, _categorised(grown), vector, signatures=self._vectors)
        return True


class Piece:
    """A piece of a session, read and redacted, before it is stored. It continues the piece before by its carry."""

    def __init__(self, session: str, folder: str, carried: Mapping[str, Any]) -> None:
        self._session = session
        self.carry = read_carry(carried)
        self.is_first = not carried
        self.calls = SessionCalls(self.carry["work"], folder)
        self.entries: list[Entry] = []
        self._by_id: dict[str, Draft] = {draft["id"]: draft for draft in self.carry["drafts"]}
        self.changed: dict[str, Draft] = {}  # by id, the drafts that are new or say more than before
        self.prompts = 0  # new ones

    def add(self, entry: Entry, line: bytes = b"", number: int = 0) -> None:
        """Add the `number`th entry of a line."""
        self.entries.append(entry)
        self.calls.add(entry, self.prompts)
        if entry.kind in ("prompt", "answer"):
            self._add_message(entry, identifier_of(entry, self._session, line, number) if entry.text else "")
        elif entry.kind == "queue":
            self._follow_queue(entry)

    def new_of(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries from the last known message on; a client without a file sends the earlier ones again."""
        known = next(iter(self._by_id), "")
        for place in range(len(entries) - 1, -1, -1):
            entry = entries[place]
            if known and entry.kind in ("prompt", "answer") and identifier_of(entry, self._session, b"", 0) == known:
                return entries[place:]
        return entries

    def _add_message(self, message: Entry, identifier: str) -> None:
        body = bounded(message.text)
        if not body:
            return
        is_prompt = message.kind == "prompt"
        draft, drafts = self._by_id.get(identifier), self.carry["drafts"]
        if draft is None:
            if is_prompt and self._was_queued(body):
                return
            prompt, before = "" if is_prompt else self.carry["prompt"], ""
            if drafts:
                last = drafts[-1]
                before, last["after"] = last["body"][:NEIGHBOUR_CHARS], body[:NEIGHBOUR_CHARS]
                self.changed[last["id"]] = last
            role = "user" if is_prompt else "assistant"
            draft = {"id": identifier, "role": role, "at": message.at, "prompt": prompt, "before": before, "after": ""}
            drafts.append(draft)
            self._by_id[identifier] = draft
            self.prompts += is_prompt
        elif draft["body"] == body:  # else the client wrote a message again that has grown
            return
        draft["body"] = body
        self.changed[identifier] = draft
        if is_prompt:
            self.carry["prompt"] = body[:PROMPT_CHARS]

    def _follow_queue(self, queue: Entry) -> None:
        """Follow what the user types ahead; it becomes a message when the model gets it."""
        waiting, handed = self.carry["queue"], self.carry["handed"]
        if queue.operation == "enqueue":
            waiting.append(bounded(queue.text))
            del waiting[:-MAX_QUEUE]
        elif queue.operation == "popAll":
            waiting.clear()
        elif waiting:
            text = waiting.pop(0)
            if queue.operation == "remove" and text:
                message = Entry("prompt", queue.at)
                message.text = text
                # identified by its text and time, since lines that hand over several at once are all alike
                self._add_message(message, identifier_of(message, self._session, b"", 0))
                handed.append(ids.fingerprint(text))
                del handed[:-MAX_QUEUE]

    def _was_queued(self, body: str) -> bool:
        """Whether a message was in the queue and is stored already; if it still waits there, it is taken out."""
        known, queue = ids.fingerprint(body), self.carry["queue"]
        if known in self.carry["handed"]:
            self.carry["handed"].remove(known)
            return True
        if body in queue:
            queue[queue.index(body)] = ""
        return False

    def carried(self) -> Carry:
        """The carry, without drafts that can no longer change."""
        return {**self.carry, "drafts": self.carry["drafts"][-1:]}


def read_carry(value: Mapping[str, Any]) -> Carry:
    """The carry as it was stored; a new carry if it is damaged or missing."""
    try:
        drafts = value["drafts"][-1:]
        for draft in drafts:
            _context(draft), draft["id"], draft["role"], draft["body"], draft["at"]
        work = {str(key): str(text) for key, text in value["work"].items()}
        queue, handed = [*map(str, value["queue"])], [*map(str, value["handed"])]
        return {"prompt": str(value["prompt"]), "drafts": drafts, "queue": queue, "handed": handed, "work": work}
    except (TypeError, KeyError, AttributeError):
        return {"prompt": "", "drafts": [], "queue": [], "handed": [], "work": {}}


def identifier_of(message: Entry, session: str, line: bytes, number: int) -> str:
    """The message's own id, or a hash if it has none or if the id is long or looks like a secret."""
    given = message.stable_id
    if not given:
        role = "user" if message.kind == "prompt" else "assistant"
        about = line.decode("utf-8", "replace") if line else f"{role}\0{message.text}\0{message.at}"
        return "ep-" + ids.fingerprint(f"{session}\0{number}\0{about}")
    plain = clean(given).replace("\0", "\ufffd")
    if plain != given or len(plain) > MAX_ID_CHARS or plain.split() != [plain] or redact(plain)[1]:
        return "ep-" + ids.fingerprint(given)
    return plain


def bounded(text: str) -> str:
    """A message without secrets; the middle of a long message is left out."""
    text = text.strip()
    if len(text) > 2 * texts.MARGIN + MAX_BODY_CHARS:
        head = texts.start(text, MAX_BODY_CHARS)
        tail = texts.tail(text, texts.plain, TAIL_CHARS, texts.MARGIN)
    else:
        head = tail = texts.plain(text)
        if len(head) <= MAX_BODY_CHARS:
            return head
    return head[: MAX_BODY_CHARS - TAIL_CHARS].rstrip() + LEFT_OUT + tail[-TAIL_CHARS:].lstrip()


def clean_name(text: str) -> str:
    """A short field on one line, without secrets."""
    return " ".join(redact(" ".join(clean(text).replace("\0", "").split()))[0].split())[:MAX_NAME_CHARS]


def _context(draft: Draft) -> str:
    """The prompt of the turn and both neighbours; it only grows at its end."""
    parts = [draft["prompt"], draft["before"] if draft["before"] != draft["prompt"] else "", draft["after"]]
    return "\n".join(part for part in parts if part)


def _without(carry: str, purged: set[str]) -> str:
    """The carry without the texts that may quote purged episodes."""
    left = read_carry(json_text.loads(carry))
    left["prompt"], left["queue"] = "", []
    kept = (draft for draft in left["drafts"] if draft["id"] not in purged)
    left["drafts"] = [{**draft, "prompt": "", "before": "", "after": ""} for draft in kept]
    return json_text.dumps(left)


def _categorised(document: Document) -> Document:
    document["fingerprint"] = ids.fingerprint(document["text"].lower())
    document["category_id"], document["category_confidence"] = categories.classify(document["text"])
    matched = document["category_confidence"] > categories.FALLBACK_CONFIDENCE
    document["category_source"] = "keyword" if matched else "fallback"
    return document
