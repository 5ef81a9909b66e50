"""Purge: rows that match are emptied or deleted, so that no byte of their text stays in the store's file.

The id of a memory and the number of a tool call stay, so that reading the transcript again does not bring them back.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from unicodedata import normalize

import apsw

from core import json_text
from core.project import names_of
from core.store import calls, documents, progress, sessions, sqlite, store_file
from core.store.rows import marks

PURGED = "purged"  # the `write_reason` of an emptied document
ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|([nrt]))")


@dataclass(frozen=True)
class Criteria:
    """What to purge: the documents and calls with these ids, or else all rows that meet every other condition."""

    documents: frozenset[str] = frozenset()
    calls: frozenset[tuple[str, int]] = frozenset()
    """Session and number."""
    session: str = ""
    project: str = ""
    live: frozenset[str] = frozenset()
    """Sessions of the project that may not be archived yet."""
    before: int | None = None
    """ms since the epoch, exclusive."""
    phrases: tuple[str, ...] = ()
    """A row must hold any of these texts. With ids: the lines of the documents, which are also purged if quoted."""

    @property
    def has_ids(self) -> bool:
        """If single documents and calls are named."""
        return bool(self.documents or self.calls)

    @property
    def whole_sessions(self) -> bool:
        """If sessions are purged whatever they say and when."""
        return not self.has_ids and self.before is None and not self.phrases

    def holds(self, *texts: object) -> bool:
        """If one of the texts contains one of the phrases, in any case, Unicode form or JSON escape."""
        readable = [folded(text) for text in texts if isinstance(text, str) and text] if self.phrases else []
        return any(phrase in text for phrase in self._folded_phrases for text in readable)

    @cached_property
    def _folded_phrases(self) -> list[str]:
        return [folded(phrase) for phrase in self.phrases]


@dataclass
class Selection:
    """The rows to purge: by kind (`KINDS`, `QUOTING`) their keys."""

    rows: dict[str, list[tuple[Any, ...]]]
    ids: list[str]
    """Of the documents."""
    sessions: list[str]
    """Sessions that are purged as a whole."""
    touched: set[str] = field(default_factory=set)
    """Sessions of the documents and calls."""


class _Kind(NamedTuple):
    """Rows of one table: their keys, the expressions that conditions are about, and how they are purged."""

    keys: str
    table: str
    session: str
    at: str
    texts: str
    kept: str = "false"
    """Rows that were purged before."""
    purge: str = ""


def folded(text: str) -> str:
    """A text without JSON escapes, in NFKC, lower case, with single spaces."""
    text = ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text) if "\\" in text else text
    text = text if text.isascii() else normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(text.lower().split())


def quotable(texts: Iterable[str], shortest: int = 24) -> tuple[str, ...]:
    """The lines of texts that are long enough to be looked for elsewhere: shorter ones occur there by chance."""
    lines = {" ".join(line.split()) for text in texts for line in text.splitlines()}
    return tuple(sorted(line for line in lines if len(line) >= shortest))


def select(db: apsw.Connection, criteria: Criteria) -> Selection:
    """Find the rows to purge."""
    db.create_scalar_function("holds", criteria.holds, -1)
    found = {name: _keys(db, kind, name, criteria) for name, kind in KINDS.items()}
    listed = json_text.dumps([key[0] for key in found["memories"]])
    about = list(db.execute(f"SELECT id, session_id FROM document WHERE rowid IN ({_LISTED})", (listed,)))
    selection = Selection(found, [str(identifier) for identifier, _ in about], [])
    selection.touched = {str(session) for _, session in about if session}
    selection.touched.update(str(session) for session, _ in found["toolCalls"])
    handed_out = f"EXISTS (SELECT 1 FROM json_each(memories) WHERE value IN ({_LISTED}))"
    given = db.execute(f"SELECT id FROM injection WHERE {handed_out}", (json_text.dumps(selection.ids),))
    found["injectedTexts"] = sorted({*found["injectedTexts"], *given})
    if criteria.whole_sessions:
        found["plans"] = []
        where, values = _condition(db, KINDS["plans"], "plans", criteria)
        known = db.execute(f"SELECT id FROM session WHERE ({where}) AND updated_at <> {sessions.FORGOTTEN}", values)
        also = criteria.live if criteria.project else {criteria.session}
        selection.sessions = list(dict.fromkeys([*(str(row[0]) for row in known), *sorted(also - {""})]))
        if criteria.session:
            selection.sessions = [session for session in selection.sessions if session == criteria.session]
    for name, (keys, table, texts, _) in QUOTING.items():
        found[name] = list(db.execute(f"SELECT {keys} FROM {table} WHERE holds({texts})")) if criteria.phrases else []
    if criteria.has_ids or criteria.before is not None:  # turns around them repeat their beginnings
        around = f"SELECT rowid FROM document WHERE context <> '' AND session_id IN ({_LISTED})"
        found["contexts"] += db.execute(around, (json_text.dumps(sorted(selection.touched)),))
    return selection


def erase(db: apsw.Connection, criteria: Criteria, *, at: int, embed: Callable[[str, str, str], bytes]) -> Selection:
    """Purge the rows in one transaction, which notes that the file must be wiped (`store_file.wipe`)."""
    db.execute("PRAGMA secure_delete = ON").fetchall()
    signatures = sqlite.load_vectors(db) and documents.has_signatures(db)
    with sqlite.transaction(db):
        selection = select(db, criteria)
        found = selection.rows
        rowids = [key[0] for key in found["memories"]]
        for rowid in rowids:
            documents.forget(db, rowid, at, signatures=signatures)
        contexts = {key[0] for key in found["contexts"]}.difference(rowids)
        for document in documents.by_rowids(db, sorted(contexts)):
            document["context"] = ""
            vector = embed(document["text"], "", document["title"])
            documents.replace(db, document, vector, signatures=signatures)
        for session in sorted(selection.touched):
            progress.renew_segments(db, session)  # while the rows still name their session
        for session in selection.sessions:
            sessions.forget(db, session)
            db.execute("UPDATE transcript SET carry = '' WHERE instr(source, ?)", (session,))
        for session, number in found["toolCalls"]:
            calls.forget(db, session, number)
        db.executemany("DELETE FROM evidence WHERE document = ?", [(identifier,) for identifier in selection.ids])
        statements = {name: kind.purge for name, kind in KINDS.items()} | {
            name: row[3] for name, row in QUOTING.items()
        }
        for name, statement in statements.items():
            if statement:
                db.executemany(statement, found[name])
        db.execute("DELETE FROM tally WHERE documents = 0")  # it names their projects
        store_file.owe(db)
    return selection


def columns_holding(db: apsw.Connection) -> list[str]:
    """The columns, as `table.column`, that still hold a phrase of the last `select`: names of folders and files."""
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY name"
    holding: list[str] = []
    for (table,) in db.execute(tables).fetchall():
        columns = [str(name) for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        flags = ", ".join(f'max(holds("{name}"))' for name in columns)
        row = db.execute(f'SELECT {flags} FROM "{table}"').fetchone() or ()
        holding += [f"{table}.{name}" for name, holds in zip(columns, row, strict=True) if holds]
    return holding


_LISTED = "SELECT value FROM json_each(?)"
_WITH_SESSION = "LEFT JOIN session ON session.id = session_id"
_EMPTIED = ", ".join(f"{name} = ''" for name in "text context title path fingerprint session_id project source".split())
KINDS = {
    "memories": _Kind(
        "rowid", "document", "session_id", "created_at", "text, title, path, tags, history",
        f"text = '' AND write_reason = '{PURGED}'",
        f"UPDATE document SET {_EMPTIED}, tags = '[]', history = '[]', write_reason = '{PURGED}' WHERE rowid = ?",
    ),
    "toolCalls": _Kind(
        "session_id, number", f"call {_WITH_SESSION}", "session_id", "coalesce(at, session.updated_at)",
        "tool, file, command, error, passage", f"outcome = '{calls.FORGOTTEN}'",
    ),
    "summaries": _Kind(
        "session_id, call", f"compaction {_WITH_SESSION}", "session_id", "at", "summary",
        f"summary IN ('', '{sessions.PURGED_SUMMARY}')",
        f"UPDATE compaction SET summary = '{sessions.PURGED_SUMMARY}' WHERE session_id = ? AND call = ?",
    ),
    "plans": _Kind(
        "id", "session", "id", "updated_at", "plan", f"plan IN ('[]', '{sessions.PURGED_PLAN}')",
        f"UPDATE session SET plan = '{sessions.PURGED_PLAN}' WHERE id = ?",
    ),
    "events": _Kind(
        "seq", "event", "session_id", "timestamp", "error, metadata, search_text",
        purge="DELETE FROM event WHERE seq = ?",
    ),
    "injectedTexts": _Kind(
        "id", "injection", "session_id", "at", "text", purge="DELETE FROM injection WHERE id = ?",
    ),
    "hookCalls": _Kind(
        "session_id, id", "hook_call", "session_id", "at", "error",
        purge="DELETE FROM hook_call WHERE session_id = ? AND id = ?",
    ),
}  # fmt: skip
QUOTING = {
    "contexts": ("rowid", "document", "context", ""),
    "names": ("session_id, name", "name", "name, place", "DELETE FROM name WHERE session_id = ? AND name = ?"),
    "places": (
        "file_id, name", "place JOIN place_file ON id = file_id", "name, path",
        "DELETE FROM place WHERE file_id = ? AND name = ?",
    ),
    "edits": ("id", "place_file", "path", "DELETE FROM edit WHERE file_id = ?"),
    "files": ("id", "place_file", "path", "DELETE FROM place_file WHERE id = ?"),
    "carries": ("source", "transcript", "carry", "UPDATE transcript SET carry = '' WHERE source = ?"),
    "refusals": ("id", "outbox", "refusal", "UPDATE outbox SET refusal = '' WHERE id = ?"),
}  # fmt: skip
"""Kind → keys, table, texts, and how it is purged. Rows that are looked for by text only."""


def _keys(db: apsw.Connection, kind: _Kind, name: str, criteria: Criteria) -> list[tuple[Any, ...]]:
    where, values = _condition(db, kind, name, criteria)
    return list(db.execute(f"SELECT {kind.keys} FROM {kind.table} WHERE ({where}) AND NOT ({kind.kept})", values))


def _condition(db: apsw.Connection, kind: _Kind, name: str, criteria: Criteria) -> tuple[str, list[Any]]:
    """SQL and its parameters for the rows of a kind that meet the criteria."""
    if criteria.has_ids:
        if name == "memories":
            return f"id IN ({_LISTED})", [json_text.dumps(sorted(criteria.documents))]
        if name == "toolCalls":
            pairs = [f"{session}\n{number}" for session, number in criteria.calls]
            return f"session_id || char(10) || number IN ({marks(pairs)})", pairs
        return f"holds({kind.texts})", []
    conditions: list[str] = []
    values: list[Any] = []
    if criteria.session:
        conditions.append(f"{kind.session} = ?")
        values.append(criteria.session)
    if criteria.before is not None:
        conditions.append(f"{kind.at} < ?")
        values.append(criteria.before)
    if criteria.project:
        archived = list(db.execute("SELECT id, project FROM session"))
        names = names_of(criteria.project, [*documents.projects(db), *{of for _, of in archived if of}])
        own = json_text.dumps(sorted(criteria.live.union(session for session, of in archived if of in names)))
        project = "project" if name == "memories" else "''"  # a memory without a project belongs to its session's
        conditions.append(f"({project} IN ({_LISTED}) OR ({project} = '' AND {kind.session} IN ({_LISTED})))")
        values += [json_text.dumps(names), own]
    if criteria.phrases:
        conditions.append(f"holds({kind.texts})")
    return " AND ".join(conditions) or "false", values
