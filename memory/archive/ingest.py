"""Reads the new part of a session piece by piece and archives it: the main line of `memory.archive`. Hot path.

Hooks and `transcript_files` call `ingest_file` for a transcript; hooks of clients without transcripts call
`ingest_entries`. Each line becomes entries, which a `session_archive.Piece` collects; `SessionArchive.store` stores the
piece. The caller gets an `Ingested` with the counts.
"""

from __future__ import annotations

import os
import time

import clients
from clients import content
from clients.entries import Entry
from core import TYPE_CHECKING, files, words
from core.errors import FAILED, USAGE, Failure, either
from core.redaction import redact
from core.store import sessions, sources, sqlite
from core.words import clean
from memory.archive import Claim, Origin
from memory.archive.texts import clean_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.store.sources import Source
    from memory.archive.admission import Admission
    from memory.archive.session_archive import Piece, Position, SessionArchive

PIECE_BYTES = 256 * 1024  # of a piece in a hook; a longer line is read, too


def ingest_file(
    db: apsw.Connection, path: str, origin: Origin, *, deadline: float | None = None, is_short: bool = False
) -> Ingested:
    """Archive the new part of a transcript; a file that does not exist has no new part.

    Args:
        db: open for writing, in no transaction.
        deadline: in a hook of the running session, the `time.monotonic()` after which only one more line is read; the
            next call continues. None: the file is read to its end, and the caller settles the claims.
        is_short: only a piece is read.

    Raises Failure: TRANSCRIPT_UNREADABLE, or what the store says; pieces that were stored remain.
    """
    ingested = Ingested(origin.agent)
    try:
        with sources.open_source(path) as source:
            transcript = Transcript(db, source, path, origin, deadline=deadline, is_short=is_short)
            transcript.ingest(ingested)
            if ingested.added and transcript.client.copied_types:
                from memory.archive import copies

                copies.delete_copied_openings(db, clean_name(origin.session))
            if deadline is not None and _settle_live(db, ingested.claims, origin):
                transcript.ingest(again := Ingested())
                ingested.is_rewound |= again.is_rewound
                _settle_live(db, again.claims, origin)  # such as copies of a parent's calls, which it has once more
    except FileNotFoundError:
        return ingested
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    return ingested


def _settle_live(db: apsw.Connection, claims: list[Claim], origin: Origin) -> bool:
    """Settle the claims of a running session; returns whether its transcript must be read again."""
    if not claims:
        return False
    from memory.archive import copies

    return clean_name(origin.session) in copies.settle_claims(db, claims, is_live=True)


class Transcript:
    """A transcript whose new lines are archived in pieces."""

    def __init__(
        self, db: apsw.Connection, source: Source, path: str, origin: Origin, *, deadline: float | None = None,
        is_short: bool = False,
    ) -> None:  # fmt: skip
        self.db = db
        self.source = source
        self.path = path
        self.origin = origin
        self.client = clients.with_transcript(origin.agent)
        self._deadline = deadline
        self._is_short = is_short
        self._is_side = self.client.is_side(path)
        name = os.path.splitext(os.path.basename(sources.plain_path(path)))[0]
        self._is_named_by_session = self.client.named_by_file and name == origin.session
        self._repeats_prompts: bool | None = None  # its lines say again what the user typed
        self._admission = _admission(origin, source)
        self._archive: SessionArchive | None = None

    def ingest(self, ingested: Ingested) -> None:
        """Archive piece by piece, until nothing is left or a limit is reached.

        Each piece is stored together with the position after it, at which the next piece begins: in this call, in the
        next, or after a kill.
        """
        while piece := self._next_piece(ingested):
            if piece.archive.store(piece):  # else another process was faster
                ingested.add(piece)
                if self._is_over():
                    return

    def _next_piece(self, ingested: Ingested) -> Piece | None:
        """The lines after the stored position, about a megabyte of them; None if there are none to archive."""
        name = source_of(self.path)
        position = sessions.transcript_position(self.db, name)
        begin, carry = self.resume(position)
        if not self.source.read(1, begin):
            return None
        from memory.archive.session_archive import Piece, SessionArchive

        self._archive = self._archive or SessionArchive(self.db, self.origin)
        if sessions.is_forgotten(self.db, self._archive.session):
            return None
        piece = Piece(self._archive, carry, name, position)
        if not begin and self.client.copied_types:
            begin = self._begin_rollout(piece, ingested)
            if ingested.bytes and self._is_over():
                return None
        piece.begin = piece.end = begin
        self._fill(piece)
        piece.head = self.head(piece.end)
        return piece if piece.end > begin else None

    def resume(self, position: Position | None) -> tuple[int, str]:
        """The offset and the carry with which reading continues; 0 and "" if the file is new, was cut or replaced."""
        if position is not None:
            offset, head, carry = position
            if offset > 0 and self.source.read(1, offset - 1) == b"\n" and self.head(offset) == head:
                return offset, carry
        return 0, ""

    def head(self, offset: int) -> str:
        """A fingerprint of the first kilobyte before an offset: it identifies the file."""
        return words.fingerprint(self.source.read(min(offset, 1024), 0).decode("latin-1"))

    def _is_over(self) -> bool:
        """Whether no further piece may be read."""
        return self._is_short or self._is_late()

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _fill(self, piece: Piece) -> None:
        """Add the next lines to a piece, and move its end; after the deadline no more than the first."""
        if self._admission is not None:
            self._admission.go_on_in(piece.carry.folder)
        piece.keeps_entries = self._deadline is not None
        lines = content.read_lines(self.source, piece.begin, PIECE_BYTES if piece.keeps_entries else 1024 * 1024)
        for number, (line, end) in enumerate(lines, 1):
            if piece.end > piece.begin and self._is_late():
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
        entries = self.client.side_entries(value) if self._is_side else clients.entries_of(self.client, value)
        if not entries:
            piece.bad_lines += self.client.is_unread_bad
            return
        head = entries[0]
        if head.kind == "prompt" and self.client.typed_marks:
            head.text = self._typed(head, following)
        owner = self._owner_of(head)
        admitted = entries
        if self._admission is not None:
            admitted = self._admission.admitted(entries, owner or (head.parent_session if self._is_side else ""))
        piece = piece.begin_line(head, owner)
        for number, entry in enumerate(entries):
            if not entry.is_meta and (admitted is entries or entry in admitted):
                if entry.kept_in:
                    entry.text = self._kept_output(entry.kept_in) or entry.text
                piece.add(entry, line, number)

    def _owner_of(self, head: Entry) -> str:
        """The session from which a line was copied; "" for a line of this session.

        A fork marks the lines that it copied. In a session that was resumed under a new id, they name the former id.
        """
        owner = head.copied_from
        if not owner and self._is_named_by_session and head.kind != "title":
            owner = head.session
        return "" if owner == self.origin.session else owner

    def _typed(self, prompt: Entry, following: Iterable[bytes]) -> str:
        """What the user typed of a prompt; `following` are the next lines."""
        if self._repeats_prompts is None:
            begin = self.source.read(PIECE_BYTES, 0)
            self._repeats_prompts = any(mark in begin for mark in self.client.typed_marks)
        return self.client.typed_text(prompt, following if self._repeats_prompts else None)

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

    # A transcript of Codex, whose entries have no ids, begins with copies, or goes on with another file

    def _begin_rollout(self, piece: Piece, ingested: Ingested) -> int:
        """Begin the first piece of a transcript of Codex; returns the offset after the lines that it copied."""
        from memory.archive import copies

        line, header_end = next(iter(content.read_lines(self.source, 0, 1)), (b"", 0))
        first = content.parsed(line) or {}
        header = next(iter(clients.entries_of(self.client, first)), Entry("node"))
        if continued := self.client.continued(self.path, first):
            self._go_back(piece, ingested, *continued)
            piece.begin_line(header)
            return header_end
        parent = header.copied_from
        is_other = parent and parent not in os.path.basename(self.path)
        original = next(self.client.files_of(parent, self.path), "") if is_other else ""
        end, forked_at = copies.end_of_copies(self.source, self.client, original, header.at or 0)
        if end:
            piece.begin_line(header)
            piece.forked_at = forked_at
        return end

    def _go_back(self, piece: Piece, ingested: Ingested, session: str, left: str, left_at: int) -> None:
        """Begin a file in which a session goes on since the user went back (Codex 0.171): ingest the earlier files, and
        note a rewind to the first prompt that this file leaves out."""
        from memory.archive.session_archive import Carry

        files = {_end_of_name(file): file for file in self.client.files_of(session, self.path, "*")}
        for name in sorted(name for name in files if name < _end_of_name(self.path)):
            try:
                with sources.open_source(files[name]) as source:
                    earlier = Transcript(
                        self.db, source, files[name], self.origin, deadline=self._deadline, is_short=self._is_short
                    )
                    earlier.ingest(ingested)
            except (OSError, ValueError):
                pass
            if position := sessions.transcript_position(self.db, source_of(files[name])):
                piece.carry.mark = max(piece.carry.mark, Carry.from_json(position[2]).mark)
        piece.carry.leaf = piece.carry.mark
        if prompt := self._first_prompt(files.get(left, ""), left_at):
            piece.begin_line(Entry("rollback", rewound_to=prompt))

    def _first_prompt(self, path: str, offset: int) -> str:
        """The id of the first prompt after an offset of another file of the session; "" if there is none."""
        try:
            with sources.open_source(path) as source:
                for line, end in content.lines_from(source, offset):
                    head = next(iter(clients.entries_of(self.client, content.parsed(line) or {})), None)
                    following = (later for later, _ in content.read_lines(source, end, PIECE_BYTES)[:20])
                    if head and head.kind == "prompt" and self._typed(head, following):
                        return head.id
        except (OSError, ValueError):
            pass
        return ""


def _end_of_name(path: str) -> str:
    """The id at the end of a file's name. Those of the files of a session rise."""
    return os.path.splitext(os.path.basename(sources.plain_path(path)))[0][-36:]


def source_of(path: str) -> str:
    """The name under which a file's offset is stored: its real path, without secrets."""
    return redact(clean(sources.real_path(path)))[0]


class Ingested:
    """What was ingested. If nothing could be, `client` is "", and `reason` says why; "" for an excluded folder."""

    def __init__(self, client: str = "", reason: str = "") -> None:
        self.client = client
        self.reason = reason
        self.added = 0  # new episodes
        self.updated = 0  # episodes that have grown
        self.calls = 0  # new calls
        self.bytes = 0  # read
        self.bad_lines = 0  # that hold no JSON object, or nothing that is known of a form of ours
        self.claims: list[Claim] = []  # for `copies.settle_claims`
        self.is_rewound = False  # the user went back to an earlier entry
        self.entries: list[Entry] = []  # the last 400 in a hook, for the feedback about memories

    def add(self, piece: Piece) -> None:
        """Count a piece that was stored."""
        self.added += piece.added
        self.updated += piece.updated
        self.calls += piece.new_calls
        self.bytes += piece.end - piece.begin
        for part in (*piece.pieces_of_others.values(), piece):
            self.claims += part.claims
        self.bad_lines += piece.bad_lines
        self.is_rewound |= piece.is_rewound
        self.entries = [*self.entries, *piece.entries][-400:]


# What a client without a transcript sends, and what was said in an excluded folder


def ingest_entries(db: apsw.Connection, entries: Sequence[Entry], origin: Origin) -> Ingested:
    """Archive what a client without a transcript sends; what it has sent before changes nothing."""
    from memory.archive.session_archive import Piece, SessionArchive

    ingested = Ingested(origin.agent)
    archive = SessionArchive(db, origin)
    name = "session:" + archive.session
    while not sessions.is_forgotten(db, archive.session):
        position = sessions.transcript_position(db, name)
        piece = Piece(archive, position[2] if position else "", name, position)
        admission = _admission(origin)
        taken_back = [entry for entry in entries if entry.kind == "rollback"]  # before anything else was said
        for entry in [*taken_back, *piece.carry.not_known(entries)]:
            if entry.kind in ("rollback", "prompt", "answer"):
                piece.begin_line(entry)
            if admission is None or admission.admitted([entry]):
                piece.add(entry)
        if archive.store(piece):
            ingested.add(piece)
            break
    _settle_live(db, ingested.claims, origin)
    return ingested


def pass_over(db: apsw.Connection, path: str, entries: Sequence[Entry], origin: Origin) -> None:
    """Note that what a client has sent was said in an excluded folder, and is never archived.

    Without entries, this means what its transcript has so far; for a client that writes no folders.
    """
    from memory.archive.session_archive import Carry

    session = clean_name(origin.session)
    name = "session:" + session if entries else source_of(path)
    position = sessions.transcript_position(db, name)
    offset, head, text = position or (0, "", "")
    carry = Carry.from_json(text)
    carry.session = session
    carry.pass_over(entries)
    if not entries:
        with sources.open_source(path) as source:
            transcript = Transcript(db, source, path, origin)
            begin, _ = transcript.resume(position)
            offset = max((end for _, end in content.lines_from(source, begin)), default=begin)
            head = transcript.head(offset)
    with sqlite.transaction(db):
        sessions.save_transcript_position(db, name, offset, head, carry.to_json(), origin.now)


def _admission(origin: Origin, source: Source | None = None) -> Admission | None:
    """Which entries may be archived; None: all of them, as long as there are no switches."""
    if not files.has_switches():
        return None
    from memory.archive.admission import Admission

    return Admission(origin, source)


def unreadable(path: str, reason: object) -> Failure:
    """That a file cannot be read, or is no transcript."""
    fix = f"name a session's transcript of {either(clients.keeping_files())} that you may read"
    exit_code = USAGE if isinstance(reason, FileNotFoundError) else FAILED
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason_of(reason)}", fix, exit_code)


def reason_of(error: object) -> str:
    """Why a file cannot be read, without its path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
