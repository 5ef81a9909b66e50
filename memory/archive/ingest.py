"""Reads the new part of a session piece by piece and archives it (see `memory.archive`). Hot path.

A piece is parsed, redacted and embedded while nothing is locked. Its episodes and the offset after it are stored in one
transaction, unless another process has advanced the offset meanwhile: then reading begins again at the new offset. So a
kill at any time loses nothing and stores nothing twice.
"""

from __future__ import annotations

import os
import time

import clients
from clients import content
from clients.entries import Entry
from core import TYPE_CHECKING, files, words
from core.errors import FAILED, USAGE, Failure
from core.redaction import redact
from core.store import sessions, sources, sqlite
from core.words import clean
from memory.archive import Limits, Origin
from memory.archive.texts import clean_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.store.sources import Source
    from memory.archive.admission import Admission
    from memory.archive.session_archive import Claim, Piece, Position, SessionArchive

PIECE_BYTES = 256 * 1024  # of a piece in a hook; a longer line is read, too


class Ingested:
    """The result of ingesting a session. Without a client nothing was ingested, because its folder is excluded or for
    the `reason`.
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
        self.entries: list[Entry] = []  # the last 400, for the feedback about memories

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
    session = clean_name(origin.session)
    try:
        with sources.open_source(path) as source:
            reader = _Reader(source, path, origin, limits or Limits())
            _ingest_pieces(db, reader, ingested)
            if ingested.added and clients.by_name(origin.agent).copied_types:
                from memory.archive import copies

                copies.settle_opening(db, session, vectors=origin.vectors)
            if limits and ingested.claims:
                from memory.archive import copies

                if session in copies.settle(db, ingested.claims, vectors=origin.vectors, is_live=True):
                    _ingest_pieces(db, reader, again := Ingested())
                    ingested.is_rewound |= again.is_rewound
    except FileNotFoundError:
        return ingested
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    return ingested


def _ingest_pieces(db: apsw.Connection, reader: _Reader, ingested: Ingested) -> None:
    """Read and store piece by piece, until nothing is left or a limit is reached."""
    name = source_of(reader.path)
    archive: SessionArchive | None = None
    while True:
        position = sessions.transcript_position(db, name)
        offset, carry = reader.continued_from(position)
        if not reader.has_new(offset):
            return
        if archive is None:
            from memory.archive.session_archive import Piece, SessionArchive

            archive = SessionArchive(db, reader.origin)
            archive.claims = ingested.claims
        if sessions.is_forgotten(db, archive.session):
            return
        piece = Piece(archive, carry)
        if piece.is_first and reader.earlier_files:
            _ingest_earlier_files(db, reader, ingested)
            if reader.is_over(ingested.bytes):
                return
            reader.begin_with_rewind(db, piece)
        if not reader.fill(piece, offset):
            return
        stored = archive.store(name, position, piece, reader.head(piece.end))
        if stored is None:  # another process was faster: continue from its offset
            continue
        ingested.add(piece, *stored)
        ingested.bytes += piece.end - offset
        if reader.is_over(ingested.bytes):
            return


def _ingest_earlier_files(db: apsw.Connection, reader: _Reader, ingested: Ingested) -> None:
    """Ingest the earlier files of a transcript, up to the same limits."""
    limits = Limits(deadline=reader.limits.deadline, is_short=reader.limits.is_short)
    for path in reader.earlier_files:
        try:
            with sources.open_source(path) as source:
                _ingest_pieces(db, _Reader(source, path, reader.origin, limits), ingested)
        except (OSError, ValueError):
            continue


def ingest_entries(db: apsw.Connection, entries: Sequence[Entry], origin: Origin) -> Ingested:
    """Archive what a client without a transcript sends; what it has sent before changes nothing."""
    from memory.archive.session_archive import Piece, SessionArchive

    ingested = Ingested(origin.agent)
    archive = SessionArchive(db, origin)
    name = "session:" + archive.session
    while not sessions.is_forgotten(db, archive.session):
        position = sessions.transcript_position(db, name)
        piece = Piece(archive, position[2] if position else "")
        admission = _admission(origin)
        taken_back = [entry for entry in entries if entry.kind == "rollback"]  # before anything else was said
        for entry in [*taken_back, *piece.new_of(entries)]:
            if entry.kind in ("rollback", "prompt", "answer"):
                piece.begin_line(entry)
            if admission is None or admission.follow([entry]):
                piece.add(entry)
        stored = archive.store(name, position, piece, "")
        if stored is not None:
            ingested.add(piece, *stored)
            break
    if archive.claims:
        from memory.archive import copies

        copies.settle(db, archive.claims, vectors=origin.vectors, is_live=True)
    return ingested


def pass_over(db: apsw.Connection, path: str, entries: Sequence[Entry], origin: Origin) -> None:
    """Note that what a client has sent was said in an excluded folder, and is never archived.

    Without entries, this means what its transcript has so far; for a client that writes no folders.
    """
    from memory.archive.carry import Carry
    from memory.archive.session_archive import SessionArchive
    from memory.archive.texts import identifier_of

    session = SessionArchive(db, origin).session
    name = "session:" + session if entries else source_of(path)
    position = sessions.transcript_position(db, name)
    offset, head, text = position or (0, "", "")
    carry = Carry.from_json(text)
    carry.session = session
    for entry in entries:
        if entry.kind in ("prompt", "answer"):
            carry.passed = identifier_of(entry, session, b"", 0)
    if not entries:
        with sources.open_source(path) as read:
            reader = _Reader(read, path, origin, Limits())
            offset, _ = reader.continued_from(position)
            for _, end in content.lines_from(read, offset):
                offset = end
            head = reader.head(offset)
    with sqlite.transaction(db):
        sessions.save_transcript_position(db, name, offset, head, carry.to_json(), origin.now)


def source_of(path: str) -> str:
    """The name under which a file's offset is stored: its real path, without secrets."""
    return redact(clean(sources.real_path(path)))[0]


class _Reader:
    """Reads the new lines of a transcript (`path`) of a session (`origin`) in pieces."""

    def __init__(self, read: Source, path: str, origin: Origin, limits: Limits) -> None:
        self.path = path
        self.origin = origin
        self._read = read
        self.limits = limits
        self._client = clients.with_transcript(origin.agent)
        name = os.path.splitext(os.path.basename(sources.plain_path(path)))[0]
        self._is_named_by_session = self._client.named_by_file and name == origin.session
        self._admission = _admission(origin, read)
        self._header: Entry | None = None  # the first entry, if reading begins behind it; its time is that of the fork
        # Codex 0.171: if the user goes back, the session goes on in another file
        self.earlier_files: list[str] = []  # the oldest first
        self._went_back_to = ("", 0)  # one of them, and the offset up to which it counts

    def continued_from(self, position: Position | None) -> tuple[int, str]:
        """The offset and the carry (JSON) of a stored position.

        If there is none, or the file was cut or replaced, reading begins behind what the file repeats of others.
        """
        if position is not None:
            offset, head, carry = position
            if offset > 0 and self._read.read(1, offset - 1) == b"\n" and self.head(offset) == head:
                return offset, carry
        if not self._client.copied_types:
            return 0, ""
        from memory.archive import copies

        if continued := self._client.continued(self.path, self._read.read(PIECE_BYTES, 0)):
            session, name, end = continued
            files = {_end_of_name(path): path for path in self._client.files_of(session, self.path, "*")}
            self.earlier_files = [files[other] for other in sorted(files) if other < _end_of_name(self.path)]
            self._went_back_to = (files.get(name, ""), end)
            offset, self._header = copies.first_entry(self._read, self._client)
            self._header.at = 0
        else:
            offset, self._header = copies.end_of_copies(self._read, self.path, self._client)
        return offset, ""

    def begin_with_rewind(self, db: apsw.Connection, piece: Piece) -> None:
        """Begin the first piece of a file with the rewind for which the client began the file.

        It goes back to before the first prompt that this file leaves out, if that is known.
        """
        from memory.archive.carry import Carry

        positions = [sessions.transcript_position(db, source_of(path)) for path in self.earlier_files]
        marks = [Carry.from_json(position[2]).mark for position in positions if position]
        piece.carry.mark = piece.carry.leaf = max(marks, default=piece.carry.mark)
        path, offset = self._went_back_to
        try:
            with sources.open_source(path) as earlier:
                for line, end in content.lines_from(earlier, offset):
                    head = next(iter(clients.entries_of(self._client, content.parsed(line) or {})), None)
                    following = (later for later, _ in content.read_lines(earlier, end, PIECE_BYTES)[:20])
                    if head and head.kind == "prompt" and self._typed(head, following):
                        piece.begin_line(Entry("rollback", rewound_to=head.id))
                        return
        except (OSError, ValueError):
            return

    def head(self, offset: int) -> str:
        """A fingerprint of the first kilobyte before an offset: it identifies the file."""
        return words.fingerprint(self._read.read(min(offset, 1024), 0).decode("latin-1"))

    def has_new(self, offset: int) -> bool:
        """Whether anything follows `offset`."""
        return bool(self._read.read(1, offset))

    def is_over(self, size: int) -> bool:
        """Whether a limit is reached after `size` bytes."""
        return self._is_late() or (self.limits.is_short and size > 0)

    def _is_late(self) -> bool:
        return self.limits.deadline is not None and time.monotonic() >= self.limits.deadline

    def fill(self, piece: Piece, offset: int) -> bool:
        """Add the lines after `offset` to a piece, until the deadline, and set its end; False if there is none."""
        piece.end = offset
        if self._header is not None and piece.is_first:
            piece.begin_line(self._header)
            piece.forked_at = self._header.at or 0
        if self._admission is not None:
            self._admission.go_on_in(piece.carry.folder)
        most = 1024 * 1024 if self.limits.deadline is None else PIECE_BYTES
        lines = content.read_lines(self._read, offset, most)
        for number, (line, end) in enumerate(lines, 1):
            if piece.end > offset and self._is_late():
                break
            piece.end = end
            if line.strip():
                self._add(piece, line, [later for later, _ in lines[number : number + 20]])
        return piece.end > offset

    def _add(self, piece: Piece, line: bytes, following: Iterable[bytes]) -> None:
        """Add a line to the piece of its session; `following` are the next lines."""
        client = self._client
        value = content.parsed(line)
        if value is None:
            piece.bad_lines += 1
            return
        is_side = client.is_side(self.path)
        entries = client.side_entries(value) if is_side else clients.entries_of(client, value)
        if not entries:
            piece.bad_lines += client.is_unread_bad
            return
        head = entries[0]
        if head.kind == "prompt" and client.typed_marks:
            head.text = self._typed(head, following)
        is_named = self._is_named_by_session and head.kind != "title"
        owner = head.copied_from or (head.session if is_named else "")
        if owner == self.origin.session:
            owner = ""
        admitted = [entry for entry in entries if not entry.is_meta]
        if self._admission is not None:
            allowed = self._admission.follow(entries, owner or (head.parent_session if is_side else ""))
            admitted = [entry for entry in admitted if entry in allowed]
        own = piece.begin_line(head, owner)
        for entry in admitted:
            if entry.kept_in:
                entry.text = self._kept_output(entry.kept_in) or entry.text
            own.add(entry, line, entries.index(entry))

    def _typed(self, prompt: Entry, following: Iterable[bytes]) -> str:
        """What the user typed of a prompt; `following` are the next lines."""
        begin = self._read.read(PIECE_BYTES, 0)
        is_repeated = any(mark in begin for mark in self._client.typed_marks)
        return self._client.typed_text(prompt, following if is_repeated else None)

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


def _admission(origin: Origin, read: Source | None = None) -> Admission | None:
    """Which entries may be archived; None: all of them, as long as there are no switches."""
    if not files.has_switches():
        return None
    from core import switches
    from memory.archive.admission import Admission

    known = switches.load()[0]
    is_needed = known["excluded"] or known["silences"]
    return Admission(known, origin, clients.by_name(origin.agent), read) if is_needed else None


def _end_of_name(path: str) -> str:
    """The id at the end of a file's name. Those of the files of a session rise."""
    return os.path.splitext(os.path.basename(sources.plain_path(path)))[0][-36:]


def unreadable(path: str, reason: object) -> Failure:
    """That a file cannot be read, or is no transcript."""
    fix = f"name a session's transcript of {', '.join(clients.keeping_files())} that you may read"
    exit_code = USAGE if isinstance(reason, FileNotFoundError) else FAILED
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason_of(reason)}", fix, exit_code)


def reason_of(error: object) -> str:
    """Why a file cannot be read, without its path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
