"""Collects a piece of a session and stores it: the second half of the main line of `memory.archive`. Hot path.

`ingest` hands over the entries of a piece line by line (`Piece.begin_line`, `Piece.add`). `SessionArchive.store` writes
its rows in one transaction, with the position in the transcript after the piece, and with a `Carry`, which holds what
the next piece needs.
"""

from __future__ import annotations

import clients
from clients.entries import Entry
from core import TYPE_CHECKING, json_text, words
from core.project import repository_of
from core.redaction import redact
from core.store import branches, calls, documents, folders, sessions, sqlite
from memory import gate
from memory.archive import Claim, Origin, texts
from memory.archive.call_drafts import PieceCalls, Waiting
from memory.archive.call_rows import store_calls
from memory.archive.texts import clean_name
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Document, Session
    from core.store.branches import Mark

    Position = tuple[int, str, str]
    """How far a transcript is archived: the offset, a fingerprint of the file's beginning, and the carry as JSON."""

COLLECTION = "episodes"
MAX_FOLDERS = 40  # of a session


class Piece:
    """A piece of a session, read and redacted, before it is stored. It continues the piece before it.

    A fork's piece holds one more piece for each session whose lines it copied: `pieces_of_others`, which hold none.
    `carry`: what the piece before it left, as JSON; "" if this is the first piece.
    """

    def __init__(self, archive: SessionArchive, carry: str, source: str = "", before: Position | None = None) -> None:
        self.archive = archive
        self.carry = Carry.from_json(carry)
        self.carry.session = archive.session
        self.is_first = not carry and not archive.copied_by
        self.source = source  # the name under which the position in the transcript is stored
        self.before = before  # that position, before the piece
        self.begin = self.end = 0  # offsets in the transcript
        self.head = ""  # a fingerprint of the beginning of the transcript
        self.bad_lines = 0
        self.calls = PieceCalls(self.carry.waiting, archive.folder, is_copy=bool(archive.copied_by))
        self.pieces_of_others: dict[str, Piece] = {}  # what a fork copied, by the session that said it
        self.keeps_entries = False  # else their texts stay in memory
        self.entries: list[Entry] = []
        self._by_id: dict[str, Message] = {last.id: last} if (last := self.carry.last) else {}
        self.changed: dict[str, Message] = {}  # by id, the messages that are new or say more than before
        self.episodes: list[tuple[Document, bytes]] = []  # the same as documents, with their vectors
        self.nodes: list[branches.Node] = []
        self.folders: dict[str, None] = {}
        self.forked_at = 0  # of the last entry that was copied from the parent
        self._node: branches.Node | None = None  # of the line that is being added
        # what storing it showed:
        self.added = 0  # new episodes
        self.updated = 0  # episodes that have grown
        self.new_calls = 0
        self.is_rewound = False  # the user went back in it
        self.claims: list[Claim] = []

    def begin_line(self, head: Entry, owner: str = "") -> Piece:
        """Begin a line, which a fork may have copied from the session `owner`; returns the piece to which it belongs.

        A copied line still is a node of the fork's tree.
        """
        if owner and owner not in self.pieces_of_others and owner == clean_name(owner):  # else it may be a secret
            self.pieces_of_others[owner] = Piece(SessionArchive(self.archive.db, self.archive.origin, owner), "")
        piece = self.pieces_of_others.get(owner, self)
        self._note_origin(head, "" if piece is self else owner)
        self._begin_node(head)
        if head.folder:
            if head.remote:
                self.archive.note_remote(head.folder, head.remote)
            piece.carry.folder = head.folder
            piece.folders[head.folder] = None
        return piece

    def _note_origin(self, head: Entry, owner: str) -> None:
        """Note the parent of the session, and until when it is a copy of it, as far as a line says so."""
        is_own = head.session in ("", self.archive.session)
        if is_own:
            if head.parent_session not in ("", self.carry.parent):  # to redact it takes time
                self.carry.parent = clean_name(head.parent_session) or self.carry.parent
            self.carry.kind = head.session_kind or self.carry.kind
        elif owner and self.archive.is_tree and not self.carry.parent:
            self.carry.parent, self.carry.kind = owner, "fork"
        if owner and owner == self.carry.parent:
            self.forked_at = max(self.forked_at, head.at or 0)

    def _begin_node(self, head: Entry) -> None:
        """Begin the node of a line in the session's tree; without a tree, the order of the lines counts."""
        self._node = node = branches.Node(head.id, head.parent if self.archive.is_tree else None)
        node.is_content = head.kind in ("prompt", "answer", "call", "result", "shell", "compaction", "summary")
        node.is_root = self.archive.is_tree and bool(head.id) and not head.parent and self.carry.parents
        node.turns, node.rewound_to = head.turns, head.rewound_to
        self.carry.parents |= bool(head.parent)
        if not head.is_side:
            self.nodes.append(node)

    def add(self, entry: Entry, line: bytes = b"", number: int = 0) -> None:
        """Add the `number`th entry of a line."""
        if self.carry.kind == "subagent" and sessions.is_forgotten(self.archive.db, self.carry.parent):
            return
        if self.keeps_entries:
            self.entries.append(entry)
        self.calls.project = self.archive.project_of(self.carry.folder)
        self.calls.add(entry)
        if entry.kind == "call" and self._node:
            self._node.calls.append(self.carry.waiting.last_call)
        if entry.kind == "title":
            self._add_title(entry)
        elif entry.kind in ("prompt", "answer") or entry.origin:
            self._add_said(entry, line, number)
        elif entry.kind == "queue" and (text := self.carry.follow_queue(entry.operation, entry.text)):
            typed = Entry("prompt", entry.at, text=text)
            # identified by its text and time, since lines that give several to the model at once are all alike
            self._add_message(typed, identifier_of(typed, self.archive.session), texts.bounded(text))

    def _add_title(self, entry: Entry) -> None:
        """Add the title of the session; some clients also write down the titles of others."""
        text = texts.one_line(entry.text, 200)
        is_own = not entry.parent or branches.has_node(self.archive.db, self.archive.session, entry.parent, self.nodes)
        if text and is_own and entry.session in ("", self.archive.session):
            at = entry.at or (self.carry.last.at if self.carry.last else None)
            identifier = sessions.title_id(self.archive.session, by_user=entry.origin == "user")
            self.changed[identifier] = Message(identifier, sessions.TITLE, at, self.calls.project, text)

    def _add_said(self, entry: Entry, line: bytes, number: int) -> None:
        """Add a prompt, an answer or a note, unless it is a prompt that was typed ahead and is archived already."""
        body = texts.bounded(entry.text)
        if not body:
            return
        identifier = identifier_of(entry, self.archive.session, line, number)
        if self._node and entry.kind == "prompt" and not entry.call:
            self._node.is_prompt = True
        is_new_prompt = entry.kind == "prompt" and identifier not in self._by_id
        if not (is_new_prompt and self.carry.take_typed_prompt(body)):
            self._add_message(entry, identifier, body)

    def _add_message(self, entry: Entry, identifier: str, body: str) -> None:
        is_prompt = entry.kind == "prompt"
        if self._node:
            self._node.episodes.append(identifier)
        message = self._by_id.get(identifier)
        if message is None:
            asker = "teammate" if self.carry.kind in ("subagent", "review") else "user"
            role = entry.origin or (asker if is_prompt else "assistant")
            message = Message(identifier, role, entry.at, self.calls.project)
            message.prompt = "" if is_prompt else self.carry.prompt
            if last := self.carry.last:
                message.before = last.body[:300]  # enough to find a message by its neighbours
                last.after = body[:300]
                self.changed[last.id] = last
            self.carry.last = self._by_id[identifier] = message
            self.calls.prompts += is_prompt
        elif message.body == body:  # else the client wrote a message again that has grown
            return
        message.body = body
        self.changed[identifier] = message
        if is_prompt:
            self.carry.prompt = body[:500]


class SessionArchive:
    """Stores the messages and calls of a session: that of `origin`, or another `session`, whose lines it copied."""

    def __init__(self, db: apsw.Connection, origin: Origin, session: str = "") -> None:
        self.db = db
        self.origin = origin
        self.copied_by = clean_name(origin.session) if session else ""
        self.session = clean_name(session or origin.session)
        known = folders.note(db, origin.cwd)
        self.project, self.folder = clean_name(known.project), clean_name(known.folder)
        self._projects: dict[str, str] = {}  # by folder
        self._client = clean_name(origin.agent)
        client = clients.by_name(origin.agent)
        self.is_tree = client.is_tree  # entries name their parent; else the order of the lines counts
        self._renames_copies = client.renames_copies

    def store(self, piece: Piece) -> bool:
        """Store a piece and the position after it, unless another process was faster or the session was forgotten.

        Returns whether it was stored.
        """
        copied = [*piece.pieces_of_others.values()]
        for part in (*copied, piece):  # redacted and embedded before anything is locked
            part.episodes = [*map(part.archive.document, part.changed.values())]
        with sqlite.transaction(self.db):
            is_moved = sessions.transcript_position(self.db, piece.source) != piece.before
            if is_moved or sessions.is_forgotten(self.db, self.session):
                return False
            if piece.is_first and sessions.is_due_again(self.db, self.session):
                from core.store import kinds  # few sessions are read again

                kinds.start_over(self.db, self.session)
            sessions.drop_reversed_fork(self.db, piece.carry.parent, self.session)
            for part in copied:
                part.archive.store_copied(part)
            self._store_piece(piece)
            piece.carry.mark, piece.carry.leaf, piece.is_rewound = branches.store_nodes(
                self.db, self.session, piece.nodes, (piece.carry.mark, piece.carry.leaf)
            )
            after = (piece.end, piece.head, piece.carry.to_json())
            if after != piece.before:
                sessions.save_transcript_position(self.db, piece.source, *after, self.origin.now)
        return True

    def store_copied(self, piece: Piece) -> None:
        """Store what a fork copied from this session, as far as the session lacks it, inside a transaction."""
        if sessions.is_forgotten(self.db, self.session):
            return
        self._store_piece(piece)
        if piece.added:
            sessions.read_again(self.db, self.session)
        calls.drop_copies(self.db, self.copied_by, self.session)
        for first in sessions.ancestors(self.db, self.session)[1:]:  # a fork's fork names only the last
            calls.drop_copies(self.db, self.session, first)

    def _store_piece(self, piece: Piece) -> None:
        """Store the episodes and calls of a piece, inside a transaction."""
        self._store_episodes(piece)
        documents.renew_segments(self.db, self.session)
        record = self._record(piece)
        piece.new_calls = store_calls(self.db, record, piece.calls, is_first=piece.is_first, now=self.origin.now)

    def _store_episodes(self, piece: Piece) -> None:
        """Store each episode: it is new, or known here and may have grown, or another session's, which is a claim."""
        known = [documents.by_id(self.db, document["id"]) or self._copy_of(document) for document, _ in piece.episodes]
        if any(older and documents.is_purged(older) for older in known):
            known = self._without_purged(piece, known)
        for (document, vector), older in zip(piece.episodes, known, strict=True):
            if older is None:
                documents.insert(self.db, document, vector)
                piece.added += 1
            elif older["session_id"] in ("", self.session):
                piece.updated += self._extend(older, document, vector)
            else:
                self._claim(piece, older, document)

    def _without_purged(self, piece: Piece, known: list[Document | None]) -> list[Document | None]:
        """The known episodes after purged ones are deleted, if they may return; else no other episode quotes them."""
        purged = {older["id"]: older["rowid"] for older in known if older and documents.is_purged(older)}
        if self.origin.again:
            for row in purged.values():
                documents.remove(self.db, row)
            return [None if older and older["id"] in purged else older for older in known]
        bare: list[Document] = [{**document, "context": ""} for document, _ in piece.episodes]
        piece.episodes = [(document, document_vector(document["text"], "")) for document in bare]
        piece.carry.leave_out_quotes({*purged})
        return known

    def _copy_of(self, message: Document) -> Document | None:
        """The same message under another id: a fork gives new ids to notes, and in some clients to all messages."""
        with_own_id = (sessions.TITLE, *(() if self._renames_copies else ("user: ", "assistant: ")))
        at, text = message["created_at"], message["text"]
        return None if text.startswith(with_own_id) else documents.by_time(self.db, at, text, COLLECTION)

    def _claim(self, piece: Piece, older: Document, newer: Document) -> None:
        """Claim an episode that another session has.

        What a fork copied from this session (`copied_by`) is claimed only from its forks: a copy alone does not prove
        who said it.
        """
        holder, first = older["session_id"], ""
        is_own_fork = holder == self.copied_by or self.session in sessions.ancestors(self.db, holder)
        if self.copied_by and not is_own_fork:
            return
        if self._renames_copies:  # ids rise with the time
            first = holder if older["id"] < newer["id"] else self.session
        piece.claims.append(Claim(older["id"], holder, self.session, first))

    def _extend(self, older: Document, newer: Document, vector: bytes) -> bool:
        """Replace a stored episode by its newer form, unless that is only its beginning; returns whether it changed."""
        keeps = older["text"].startswith(newer["text"]) and not newer["text"].startswith(sessions.TITLE)
        text = older["text"] if keeps else newer["text"]
        context = newer["context"] if newer["context"].startswith(older["context"]) else older["context"]
        grown: Document = {**older, "text": text, "context": context}
        if older["forgotten_at"] is not None or grown == older:
            return False
        if (text, context) != (newer["text"], newer["context"]):
            vector = document_vector(text, context)
        documents.replace(self.db, _categorised(grown), vector)
        return True

    def project_of(self, folder: str) -> str:
        """The project of an entry that names its folder: that of its repository, else that of the session."""
        if folder not in self._projects:
            former = folders.known(self.db, folder).former  # of a folder that is gone
            self._projects[folder] = clean_name(repository_of(folder) or former) or self.project
        return self._projects[folder]

    def note_remote(self, folder: str, url: str) -> None:
        """Note the remote of the repository in which the session works, if its folder is gone."""
        if (at := folders.note_removed(self.db, folder, url)) is not None:
            self._projects.clear()
            self.project = clean_name(at.project) if at.folder == self.folder else self.project

    def _record(self, piece: Piece) -> Session:
        """The record of the session with what a piece says about it."""
        carry = piece.carry
        session: Session = sessions.by_id(self.db, self.session) or {
            "id": self.session, "client": self._client, "project": "", "folder": "", "updated_at": 0, "prompts": 0,
            "calls": 0, "plan": [], "parent": "", "kind": "main", "forked_at": 0, "folders": [],
        }  # fmt: skip
        session["project"] = self.project or session["project"]
        session["folder"] = self.folder or session["folder"]
        session["parent"] = carry.parent or session["parent"]
        session["kind"] = carry.kind if carry.kind != "main" else session["kind"]
        session["forked_at"] = max(piece.forked_at, session["forked_at"])
        named = list(piece.folders) or ([] if carry.folder else [self.origin.cwd])
        together = dict.fromkeys([*session["folders"], *filter(None, map(clean_name, named))])
        session["folders"] = list(together)[:MAX_FOLDERS]
        return session

    def name(self, title: str) -> None:
        """Store the title that the user gave the session, if it is archived, inside a transaction."""
        known = sessions.by_id(self.db, self.session)
        if known and title not in ("", sessions.title(self.db, self.session)):
            piece, identifier = Piece(self, ""), sessions.title_id(self.session, by_user=True)
            message = Message(identifier, sessions.TITLE, known["updated_at"], known["project"], title)
            piece.episodes = [self.document(message)]
            self._store_episodes(piece)

    def document(self, message: Message) -> tuple[Document, bytes]:
        """A message as a document, with its vector."""
        when = self.origin.now if message.at is None else message.at
        document = documents.blank(COLLECTION, message.id, f"{message.role}: {message.body}", when)
        # a context only grows at its end
        around = [message.prompt, message.before if message.before != message.prompt else "", message.after]
        document |= {
            "context": "\n".join(filter(None, around)), "observation_type": "episode", "source": self._client,
            "session_id": self.session, "project": message.project, "write_confidence": 1.0, "write_reason": "archived",
        }  # fmt: skip
        return _categorised(document), document_vector(document["text"], document["context"])


def _categorised(document: Document) -> Document:
    document["fingerprint"] = words.fingerprint(document["text"].lower())
    category = gate.classify(document["text"])
    document["category_id"], document["category_confidence"], document["category_source"] = category
    return document


def identifier_of(entry: Entry, session: str, line: bytes = b"", number: int = 0) -> str:
    """The id of a message: its own, or a hash if it is a note, has none, or if that is long or looks like a secret."""
    given = entry.stable_id
    if entry.origin:  # clients may write it twice
        if entry.origin == "subagent" and len(entry.text) > 200:  # a report, which a fork may have copied
            session = ""
        return "ep-" + words.fingerprint(f"{session}\0{entry.origin}\0{entry.text}")
    if not given:
        role = "user" if entry.kind == "prompt" else "assistant"
        about = line.decode("utf-8", "replace") if line else f"{role}\0{entry.text}\0{entry.at}"
        return "ep-" + words.fingerprint(f"{session}\0{number}\0{about}")
    plain = words.clean(given).replace("\0", "\ufffd")
    judged = plain.replace(":", " ")  # `claude:ID` would be looked at as a login
    if plain != given or len(plain) > 200 or plain.split() != [plain] or redact(judged)[1]:
        return "ep-" + words.fingerprint(given)
    return plain


class Message:
    """A message before it is stored. Its texts are redacted and bounded."""

    def __init__(self, identifier: str, role: str, at: int | None, project: str, body: str = "") -> None:
        self.id = identifier
        self.project = project
        self.role = role  # user, assistant, the origin of a note, or title
        self.at = at  # ms since the epoch
        self.prompt = ""  # of the turn, if it is an answer
        self.before = ""  # the beginning of the message before it
        self.after = ""  # the beginning of the message after it
        self.body = body


class Carry:
    """What a piece leaves to the next piece of its session. Stored by name; `last` as a list under `drafts`."""

    def __init__(self) -> None:
        self.session = ""  # to which the transcript belongs
        self.prompt = ""  # the beginning of the turn's prompt
        self.parent = ""  # the parent session
        self.kind = "main"
        self.folder = ""  # the last folder that a line names
        self.mark: Mark = branches.START  # of the last entry
        self.leaf: Mark = branches.START  # of the last entry in the tree
        self.parents = False  # entries name their parent
        self.queue: list[str] = []  # what the user typed ahead: the last twenty texts, the oldest first
        self.handed: list[str] = []  # fingerprints of such texts that the model has; the last twenty
        self.waiting = Waiting({})  # what calls wait for; stored as `work`
        self.passed = ""  # id of the last message that was said in an excluded folder and is never archived
        self.last: Message | None = None  # the last message

    @classmethod
    def from_json(cls, text: str) -> Carry:
        """The carry as it was stored; an empty carry if the text is empty or damaged.

        With an empty carry, the next message lacks the message before it as context, a prompt that was typed ahead may
        be archived twice, the end of a background process may not reach its call, and what a client has sent from an
        excluded folder may be archived if it is sent again.
        """
        carry = cls()
        try:
            stored = json_text.loads(text)
            for name, default in vars(carry).items():
                if name not in ("last", "waiting"):
                    setattr(carry, name, type(default)(stored.get(name, default)))
            carry.waiting = Waiting(stored.get("work", {}))
            for row in stored["drafts"]:
                carry.last = Message(row["id"], row["role"], row["at"], "")
                vars(carry.last).update(row)
        except (TypeError, ValueError, KeyError, AttributeError, json_text.InvalidJSON):
            return cls()
        return carry

    def to_json(self) -> str:
        """The text to store."""
        stored = {**vars(self), "work": self.waiting.to_dict(), "folder": redact(self.folder)[0]}
        del stored["last"], stored["waiting"]
        return json_text.dumps({**stored, "drafts": [vars(self.last)] if self.last else []})

    def follow_queue(self, operation: str, text: str) -> str:
        """Note what the user types while a turn runs; returns the text that becomes a message by it, or "".

        | the client writes | what becomes of the text |
        |---|---|
        | enqueue | it waits in `queue` |
        | remove: the model gets it within the turn | it is a message now |
        | the same, and then an ordinary prompt (newer versions) | `handed` remembers it: both are the same message |
        | dequeue: the ordinary prompt follows | that is the message |
        | the ordinary prompt, and then remove | that is the message; the text in `queue` becomes "" |
        | popAll: the user took everything back | nothing |

        A client also queues its own notices; their text is "".
        """
        if operation == "enqueue":
            self.queue.append(texts.bounded(text))
            del self.queue[:-20]
        elif operation == "popAll":
            self.queue.clear()
        elif self.queue and (first := self.queue.pop(0)) and operation == "remove":
            is_repeated = self.take_typed_prompt(first)  # typed twice, it is archived once
            self.handed.append(words.fingerprint(first))
            del self.handed[:-20]
            return "" if is_repeated else first
        return ""

    def take_typed_prompt(self, text: str) -> bool:
        """Take a prompt off the queue; returns whether it has left it before, and is archived."""
        fingerprint = words.fingerprint(text)
        if fingerprint in self.handed:
            self.handed.remove(fingerprint)
            return True
        if text in self.queue:
            self.queue[self.queue.index(text)] = ""
        return False

    def leave_out_quotes(self, purged: set[str]) -> None:
        """Remove the texts that may quote purged episodes, which are given by their ids."""
        self.prompt = ""
        self.queue.clear()
        if self.last and self.last.id in purged:
            self.last = None
        elif self.last:
            self.last.prompt = self.last.before = self.last.after = ""

    def not_known(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries from the last known message on, which may have grown, or after the last that was passed over."""
        known = self.last.id if self.last else ""
        begin = len(entries)  # of the messages after those that were looked at, with their calls
        for number, entry in reversed([*enumerate(entries)]):
            if entry.kind in ("prompt", "answer"):
                identifier = identifier_of(entry, self.session)
                if identifier in (self.passed, known):
                    return entries[begin if identifier == self.passed else number :]
                begin = number
        return entries

    def pass_over(self, entries: Sequence[Entry]) -> None:
        """Note that these were said in an excluded folder, and are never archived."""
        if said := [entry for entry in entries if entry.kind in ("prompt", "answer")]:
            self.passed = identifier_of(said[-1], self.session)
