"""Reads the new part of a session piece by piece and archives it: the main line of `memory.archive`. Hot path."""

from __future__ import annotations

import os

import clients
from clients import content
from clients.entries import Entry
from core import TYPE_CHECKING, files, words
from core.errors import FAILED, USAGE, Failure, either
from core.redaction import redact
from core.store import sessions, sources, sqlite
from core.words import clean
from memory.archive import Claim, Limits, Origin, Start
from memory.archive.texts import clean_name, identifier_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.store.sources import Source
    from memory.archive.admission import Admission
    from memory.archive.carry import Carry
    from memory.archive.session_archive import Piece, Position

PIECE_BYTES = 256 * 1024  # of a piece in a hook; a longer line is read, too


class Ingested:
    """The result of ingesting a session. As the result of a file, it has no client if nothing was ingested: for the
    `reason`, or, if there is none, because its folder is excluded.
    """

    def __init__(self, client: str = "", reason: str = "") -> None:
        self.client = client
        self.reason = reason
        self.added = 0  # new episodes
        self.updated = 0  # episodes that have grown
        self.calls = 0  # new calls
        self.bytes = 0  # read
        self.bad_lines = 0  # that hold no JSON object, or nothing that is known of a form of ours
        self.claims: list[Claim] = []  # for `copies.settle`
        self.is_rewound = False  # the user went back to an earlier entry
        self.entries: list[Entry] = []  # the last 400 in a hook, for the feedback about memories

    def add(self, piece: Piece, added: int, updated: int, calls: int) -> None:
        """Count a piece and what `SessionArchive.store` returned for it."""
        self.added += added
        self.updated += updated
        self.calls += calls
        self.bad_lines += piece.bad_lines
        self.is_rewound |= piece.is_rewound
        self.entries = [*self.entries, *piece.entries][-400:]


def ingest_file(db: apsw.Connection, path: str, origin: Origin, limits: Limits | None = None) -> Ingested:
    """Archive the new part of a transcript; a file that does not exist has no new part.

    Args:
        db: open for writing, in no transaction.
        limits: how much is read for a hook of the running session; the next call continues. None: to the end, and the
            caller settles the claims.

    Raises Failure: TRANSCRIPT_UNREADABLE, or what the store says; pieces that were stored remain.
    """
    ingested = Ingested(origin.agent)
    try:
        with sources.open_source(path) as source:
            reader = _Reader(source, path, origin, limits or Limits())
            _ingest_pieces(db, reader, ingested)
            if ingested.added and clients.by_name(origin.agent).ids_of_copies == "none":
                from memory.archive import copies

                copies.settle_opening(db, clean_name(origin.session), vectors=origin.vectors)
            if limits and _settle(db, ingested.claims, origin):
                _ingest_pieces(db, reader, again := Ingested())
                ingested.is_rewound |= again.is_rewound
                _settle(db, again.claims, origin)  # such as copies of a parent's calls, which it has once more
    except FileNotFoundError:
        return ingested
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    return ingested


def _ingest_pieces(db: apsw.Connection, reader: _Reader, ingested: Ingested) -> None:
    """Read and store piece by piece, until nothing is left or a limit is reached."""
    name, archive = source_of(reader.path), None
    while True:
        position = sessions.transcript_position(db, name)
        start = reader.start(position)
        if not reader.has_new(start.offset):
            return
        if archive is None:
            from memory.archive.session_archive import Piece, SessionArchive

            archive = SessionArchive(db, reader.origin, ingested.claims)
        if sessions.is_forgotten(db, archive.session):
            return
        piece = Piece(archive, start.carry)
        if start.earlier_files and not _begin_with_rewind(db, reader, start, piece, ingested):
            return
        reader.fill(piece, start)
        if piece.end == start.offset:
            return
        stored = archive.store(name, position, piece, reader.head(piece.end))
        if stored is None:  # another process was faster: continue from its offset
            continue
        ingested.add(piece, *stored)
        ingested.bytes += piece.end - start.offset
        if reader.limits.is_over(ingested.bytes):
            return


def _settle(db: apsw.Connection, claims: list[Claim], origin: Origin) -> bool:
    """Settle the claims of a running session; returns whether its transcript must be read again."""
    if not claims:
        return False
    from memory.archive import copies

    return clean_name(origin.session) in copies.settle(db, claims, vectors=origin.vectors, is_live=True)


def ingest_entries(db: apsw.Connection, entries: Sequence[Entry], origin: Origin) -> Ingested:
    """Archive what a client without a transcript sends; what it has sent before changes nothing."""
    from memory.archive.session_archive import Piece, SessionArchive

    ingested = Ingested(origin.agent)
    archive = SessionArchive(db, origin, ingested.claims)
    name = "session:" + archive.session
    while not sessions.is_forgotten(db, archive.session):
        position = sessions.transcript_position(db, name)
        piece = Piece(archive, position[2] if position else "")
        admission = _admission(origin)
        taken_back = [entry for entry in entries if entry.kind == "rollback"]  # before anything else was said
        for entry in [*taken_back, *_not_known(entries, piece.carry)]:
            if entry.kind in ("rollback", "prompt", "answer"):
                piece.begin_line(entry)
            if admission is None or admission.follow([entry]):
                piece.add(entry)
        stored = archive.store(name, position, piece, "")
        if stored is not None:
            ingested.add(piece, *stored)
            break
    _settle(db, ingested.claims, origin)
    return ingested


def _not_known(entries: Sequence[Entry], carry: Carry) -> Sequence[Entry]:
    """The entries from the last known message on, which may have grown, or behind the last that was passed over."""
    known = carry.last.id if carry.last else ""
    begin = len(entries)  # of the messages behind those that were looked at, with their calls
    for number, entry in reversed([*enumerate(entries)]):
        if entry.kind in ("prompt", "answer"):
            identifier = identifier_of(entry, carry.session, b"", 0)
            if identifier in (carry.passed, known):
                return entries[begin if identifier == carry.passed else number :]
            begin = number
    return entries


def pass_over(db: apsw.Connection, path: str, entries: Sequence[Entry], origin: Origin) -> None:
    """Note that what a client has sent was said in an excluded folder, and is never archived.

    Without entries, this means what its transcript has so far; for a client that writes no folders.
    """
    from memory.archive.carry import Carry

    session = clean_name(origin.session)
    name = "session:" + session if entries else source_of(path)
    position = sessions.transcript_position(db, name)
    offset, head, text = position or (0, "", "")
    carry = Carry.from_json(text)
    carry.session = session
    for entry in entries:
        if entry.kind in ("prompt", "answer"):
            carry.passed = identifier_of(entry, session, b"", 0)
    if not entries:
        with sources.open_source(path) as source:
            reader = _Reader(source, path, origin, Limits())
            begin = reader.start(position).offset
            offset = max((end for _, end in content.lines_from(source, begin)), default=begin)
            head = reader.head(offset)
    with sqlite.transaction(db):
        sessions.save_transcript_position(db, name, offset, head, carry.to_json(), origin.now)


def source_of(path: str) -> str:
    """The name under which a file's offset is stored: its real path, without secrets."""
    return redact(clean(sources.real_path(path)))[0]


class _Reader:
    """Reads the new lines of a transcript (`path`) of a session (`origin`) in pieces."""

    def __init__(self, source: Source, path: str, origin: Origin, limits: Limits) -> None:
        self.path = path
        self.origin = origin
        self.limits = limits
        self._source = source
        self._client = clients.with_transcript(origin.agent)
        self._is_side = self._client.is_side(path)
        name = os.path.splitext(os.path.basename(sources.plain_path(path)))[0]
        self._is_named_by_session = self._client.named_by_file and name == origin.session
        self._admission = _admission(origin, source)

    def start(self, position: Position | None) -> Start:
        """Where reading continues; at the beginning if nothing was read, or if the file was cut or replaced."""
        if position is not None:
            offset, head, carry = position
            if offset > 0 and self._source.read(1, offset - 1) == b"\n" and self.head(offset) == head:
                return Start(offset, carry)
        if self._client.ids_of_copies == "none":
            from memory.archive import copies

            return copies.start_behind_copies(self._source, self.path, self._client)
        return Start(0)

    def head(self, offset: int) -> str:
        """A fingerprint of the first kilobyte before an offset: it identifies the file."""
        return words.fingerprint(self._source.read(min(offset, 1024), 0).decode("latin-1"))

    def has_new(self, offset: int) -> bool:
        """Whether anything follows `offset`."""
        return bool(self._source.read(1, offset))

    def fill(self, piece: Piece, start: Start) -> None:
        """Add the next lines to a piece, and set its end; after the deadline no more than the first of them."""
        piece.end = start.offset
        if start.header is not None:
            piece.begin_line(start.header)
            piece.forked_at = start.header.at or 0
        if self._admission is not None:
            self._admission.go_on_in(piece.carry.folder)
        piece.keeps_entries = self.limits.deadline is not None
        most = PIECE_BYTES if piece.keeps_entries else 1024 * 1024
        lines = content.read_lines(self._source, start.offset, most)
        for number, (line, end) in enumerate(lines, 1):
            if piece.end > start.offset and self.limits.is_late():
                break
            piece.end = end
            if line.strip():
                self._add_line(piece, line, [later for later, _ in lines[number : number + 20]])

    def _add_line(self, piece: Piece, line: bytes, following: Iterable[bytes]) -> None:
        """Add the entries of a line to the piece of the session that said it; `following` are the next lines."""
        value = content.parsed(line)
        if value is None:
            piece.bad_lines += 1
            return
        entries = self._client.side_entries(value) if self._is_side else clients.entries_of(self._client, value)
        if not entries:
            piece.bad_lines += self._client.is_unread_bad
            return
        head = entries[0]
        if head.kind == "prompt" and self._client.typed_marks:
            head.text = self.typed(head, following)
        is_named = self._is_named_by_session and head.kind != "title"
        owner = head.copied_from or (head.session if is_named else "")
        owner = owner if owner != self.origin.session else ""  # none if it is this session's
        admitted = entries
        if self._admission is not None:
            admitted = self._admission.follow(entries, owner or (head.parent_session if self._is_side else ""))
        own = piece.begin_line(head, owner)
        for number, entry in enumerate(entries):
            if not entry.is_meta and (admitted is entries or entry in admitted):
                if entry.kept_in:
                    entry.text = self._kept_output(entry.kept_in) or entry.text
                own.add(entry, line, number)

    def typed(self, prompt: Entry, following: Iterable[bytes]) -> str:
        """What the user typed of a prompt; `following` are the next lines."""
        begin = self._source.read(PIECE_BYTES, 0)
        is_repeated = any(mark in begin for mark in self._client.typed_marks)
        return self._client.typed_text(prompt, following if is_repeated else None)

    def first_prompt(self, path: str, offset: int) -> str:
        """The id of the first prompt after an offset of another file of the session; "" if there is none."""
        try:
            with sources.open_source(path) as source:
                for line, end in content.lines_from(source, offset):
                    head = next(iter(clients.entries_of(self._client, content.parsed(line) or {})), None)
                    following = (later for later, _ in content.read_lines(source, end, PIECE_BYTES)[:20])
                    if head and head.kind == "prompt" and self.typed(head, following):
                        return head.id
        except (OSError, ValueError):
            pass
        return ""

    def _kept_output(self, name: str) -> str:
        """An output that the client keeps in a file of its own next to the transcript: its head and its tail."""
        folder, _, _ = self.path.partition(f"{os.sep}subagents{os.sep}")
        path = os.path.join(os.path.splitext(folder)[0], "tool-results", os.path.basename(name))
        half = 200_000  # bytes
        try:
            with sources.open_source(path) as output:
                left_out = max(0, output.size() - 2 * half)
                between = f"\n[{left_out} bytes left out]\n".encode() if left_out else b""
                return (output.read(half, 0) + between + output.read(half, half + left_out)).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""


def _admission(origin: Origin, source: Source | None = None) -> Admission | None:
    """Which entries may be archived; None: all of them, as long as there are no switches."""
    if not files.has_switches():
        return None
    from core import switches
    from memory.archive.admission import Admission

    known = switches.load()[0]
    is_needed = known["excluded"] or known["silences"]
    return Admission(known, origin, clients.by_name(origin.agent), source) if is_needed else None


# Codex 0.171: if the user goes back, the session goes on in another file, which names an earlier file.


def _begin_with_rewind(db: apsw.Connection, reader: _Reader, start: Start, piece: Piece, ingested: Ingested) -> bool:
    """Ingest the earlier files of the session, then begin the first piece of this file with the rewind to before the
    first prompt that it leaves out; False if a limit was reached.
    """
    from memory.archive.carry import Carry

    for path in start.earlier_files:
        try:
            with sources.open_source(path) as source:
                _ingest_pieces(db, _Reader(source, path, reader.origin, reader.limits), ingested)
        except (OSError, ValueError):
            pass
        if position := sessions.transcript_position(db, source_of(path)):
            piece.carry.mark = max(piece.carry.mark, Carry.from_json(position[2]).mark)
    piece.carry.leaf = piece.carry.mark
    if prompt := reader.first_prompt(*start.went_back_to):
        piece.begin_line(Entry("rollback", rewound_to=prompt))
    return not reader.limits.is_over(ingested.bytes)


def unreadable(path: str, reason: object) -> Failure:
    """That a file cannot be read, or is no transcript."""
    fix = f"name a session's transcript of {either(clients.keeping_files())} that you may read"
    exit_code = USAGE if isinstance(reason, FileNotFoundError) else FAILED
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason_of(reason)}", fix, exit_code)


def reason_of(error: object) -> str:
    """Why a file cannot be read, without its path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
