"""What a purge finds in the store, and its deletion: rows are emptied, so that they are known and do not come back.

Of a memory stays its id, of a tool call its number. Besides what was chosen, whatever has a word goes that nothing else
in the memory has: so an event or a plan that quotes it is found.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from unicodedata import normalize

import apsw

from core import json_text
from core.project import names_of
from core.store import calls as stored_calls
from core.store import documents as stored_documents
from core.store import progress, sqlite, store_file
from core.store import sessions as stored_sessions
from core.store.sessions import PURGED_PLAN, PURGED_SUMMARY

PURGED = "purged"
"""The `write_reason` of an emptied row."""
_WORD = re.compile(r"\w{3,}")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_QUOTING = r"(?<=\s)(?:[>›#*]+|//+)(?=\s)"
_UNSEEN = re.compile(rf"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]|\x1b\[[\d;]*m|{_QUOTING}")
_JOINED = re.compile(r"[\s_*-]+")
_DEEPEST = 4
"""How often JSON may stand in JSON."""
_TEXTS = "text, title, path, tags, history"
_CALL_TEXTS = "tool, file, command, error, passage"
_OF_SESSION = "LEFT JOIN session ON session.id = session_id"
_LISTED = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class Criteria:
    """What is to go: all that fits each of these, or the ids alone (a row may be another memory's by then)."""

    documents: frozenset[str] = frozenset()
    calls: frozenset[tuple[str, int]] = frozenset()
    session: str = ""
    project: str = ""
    live: frozenset[str] = frozenset()
    """Sessions of the project that may not be archived yet."""
    before: int | None = None
    match: str = ""

    @property
    def by_id(self) -> bool:
        """Whether single memories and calls are named."""
        return bool(self.documents or self.calls)

    @property
    def is_whole(self) -> bool:
        """Whether sessions go as a whole, whatever they say and when."""
        return not self.by_id and self.before is None and not self.match

    def holds(self, text: object) -> bool:
        """Whether a text has the phrase that is asked for, in any of its forms."""
        phrase, whole = folded(self.match), readable(text) if self.match and isinstance(text, str) else ""
        is_plain = phrase.replace(" ", "").isalnum()  # a sign that is asked for joins nothing
        fits = bool(whole) and (phrase in whole or (is_plain and phrase in _JOINED.sub(" ", whole)))
        asked, said = (" ".join(str(one).lower().split()) for one in (self.match, text if fits else ""))
        return fits and (asked in said or not re.search(_QUOTING, self.match))  # a sign that is asked for is there


@dataclass
class Selection:
    """What fits, by rowids, ids, or session and number. `sessions` go as a whole, in `touched` is something that goes;
    of `plans` sessions the plan goes, of `carries` transcripts the unfinished turn, of `contexts` documents what was
    said around them. `words` are those that nothing else has."""

    documents: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)
    compactions: list[tuple[str, int]] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    injections: list[str] = field(default_factory=list)
    hook_calls: list[tuple[str, str]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    plans: list[str] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    places: list[tuple[int, str]] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    carries: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)
    words: frozenset[str] = frozenset()


def folded(text: str) -> str:
    """A text in lower case, with one form of each letter, one space between words, and no mark of quotes or unseen."""
    text = _UNSEEN.sub("", text)
    text = text if text.isascii() else normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(text.lower().split())


def readable(text: str) -> str:
    """A text as `folded` has it, also with JSON's escapes taken back, so that a word is found in either form."""
    forms = [text]
    while "\\" in forms[-1] and len(forms) <= _DEEPEST:
        forms.append(_ESCAPED.sub(_taken_back, forms[-1]))
    return "\n".join(map(folded, forms))


def _taken_back(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else " " if found[2].isalnum() else found[2]


def words_of(*texts: str | None) -> set[str]:
    """The words of three characters and more, as `readable` has them."""
    return {word for text in texts if text for word in _WORD.findall(readable(text))}


def select(db: apsw.Connection, criteria: Criteria) -> Selection:
    """Find what fits, and what quotes it."""
    return _Search(db, criteria).found


class _Search:
    def __init__(self, db: apsw.Connection, criteria: Criteria) -> None:
        self._db = db
        self._asked = criteria
        self.found = Selection()
        self._own: set[str] = set()
        """Words of what goes."""
        db.create_scalar_function("purge_holds", lambda *texts: any(map(criteria.holds, texts)), -1)
        db.create_scalar_function("purge_quotes", self._quotes, -1)
        self._documents()
        self._calls()
        if not criteria.by_id:
            self._sessions()
        self.found.words = frozenset(self._own - self._others())
        self._history()
        self._beside()

    def _rows(self, query: str, values: Iterable[Any] = ()) -> list[Any]:
        return self._db.execute(query, tuple(values)).fetchall()

    def _quotes(self, *texts: Any) -> bool:
        return not self.found.words.isdisjoint(words_of(*texts))

    def _fits(self, session: str, at: str, texts: str, project: str = "''") -> tuple[str, list[Any]]:
        """A condition of SQL, its arguments are expressions; what names no project is of that of its session."""
        asked = self._asked
        conditions: list[str] = []
        values: list[Any] = []
        if asked.session:
            conditions.append(f"{session} = ?")
            values.append(asked.session)
        if asked.before is not None:
            conditions.append(f"{at} < ?")
            values.append(asked.before)
        if asked.project:
            kept = self._rows("SELECT id, project FROM session")
            names = names_of(
                asked.project, [*stored_documents.projects(self._db), *{named for _, named in kept if named}]
            )
            conditions.append(f"({project} IN {_LISTED} OR ({project} = '' AND {session} IN {_LISTED}))")
            sessions = sorted(asked.live.union(one for one, named in kept if named in names))
            values += [json_text.dumps(names), json_text.dumps(sessions)]
        if asked.match:
            conditions.append(f"purge_holds({texts})")
        return " AND ".join(conditions) or "false", values

    def _documents(self) -> None:
        where, values = self._fits("session_id", "created_at", _TEXTS, "project")
        if self._asked.by_id:
            where, values = f"id IN {_LISTED}", [json_text.dumps(sorted(self._asked.documents))]
        where = f"({where}) AND (text <> '' OR write_reason <> '{PURGED}')"
        query = f"SELECT rowid, id, session_id, context, {_TEXTS} FROM document WHERE {where}"
        for rowid, identifier, session, *texts in self._rows(query, values):
            self.found.documents.append(rowid)
            self.found.ids.append(identifier)
            self.found.touched.update([session] if session else [])
            self._own |= words_of(*texts)

    def _calls(self) -> None:
        where, values = self._fits("session_id", "coalesce(at, session.updated_at)", _CALL_TEXTS)
        if self._asked.by_id:
            where = " OR ".join("(session_id = ? AND number = ?)" for _ in self._asked.calls) or "false"
            values = [part for call in self._asked.calls for part in call]
        query = f"SELECT session_id, number, {_CALL_TEXTS} FROM call {_OF_SESSION} WHERE ({where}) AND outcome <> ?"
        self.found.calls = self._taken(query, (*values, stored_calls.FORGOTTEN))

    def _taken(self, query: str, values: Iterable[Any]) -> list[tuple[str, int]]:
        rows = self._rows(query, values)
        self.found.touched.update(row[0] for row in rows)
        self._own.update(*(words_of(*row[2:]) for row in rows))
        return [row[:2] for row in rows]

    def _sessions(self) -> None:
        asked, found = self._asked, self.found
        where, values = self._fits("id", "updated_at", "plan", "project")
        known = dict(
            self._rows(
                f"SELECT id, plan FROM session WHERE ({where}) AND updated_at <> {stored_sessions.FORGOTTEN}", values
            )
        )
        if asked.is_whole:
            also = asked.live if asked.project else {asked.session} - {""}
            found.sessions = list(dict.fromkeys([*known, *sorted(also)]))
            if asked.session and asked.project:
                found.sessions = [one for one in found.sessions if one == asked.session]
        else:
            found.plans = [identifier for identifier, plan in known.items() if plan not in ("[]", PURGED_PLAN)]
        where, values = self._fits("session_id", "at", "summary")
        query = f"SELECT session_id, call, summary FROM compaction {_OF_SESSION} WHERE ({where})"
        found.compactions = self._taken(f"{query} AND summary NOT IN ('', ?)", (*values, PURGED_SUMMARY))

    def _others(self) -> set[str]:
        found = self.found
        others: set[str] = set()
        kinds: tuple[tuple[str, int, set[tuple[Any, ...]]], ...] = (
            (f"SELECT rowid, {_TEXTS} FROM document WHERE text <> ''", 1, {(one,) for one in found.documents}),
            (f"SELECT session_id, number, {_CALL_TEXTS} FROM call", 2, set(found.calls)),
            ("SELECT session_id, call, summary FROM compaction", 2, set(found.compactions)),
        )
        for query, columns, gone in kinds if self._own else ():
            for row in self._rows(query):
                if row[:columns] not in gone:
                    others |= words_of(*row[columns:]) & self._own
        return others

    def _history(self) -> None:
        found = self.found

        def either(session: str, at: str, texts: str) -> tuple[str, list[Any]]:
            where, values = ("false", []) if self._asked.by_id else self._fits(session, at, texts)
            return f"({where}) OR purge_quotes({texts})", values

        where, values = either("session_id", "timestamp", "error, metadata, search_text")
        found.events = [seq for (seq,) in self._rows(f"SELECT seq FROM event WHERE {where} ORDER BY seq", values)]
        where, values = either("session_id", "at", "text")
        made_of = f"json_valid(memories) AND EXISTS (SELECT 1 FROM json_each(memories) WHERE value IN {_LISTED})"
        query = f"SELECT id FROM injection WHERE {where} OR {made_of} ORDER BY id"
        found.injections = [one for (one,) in self._rows(query, (*values, json_text.dumps(found.ids)))]
        where, values = either("session_id", "at", "error")
        found.hook_calls = self._rows(f"SELECT session_id, id FROM hook_call WHERE {where} ORDER BY 1, 2", values)

    def _beside(self) -> None:
        found = self.found

        def saying(query: str, texts: str) -> list[Any]:
            return self._rows(f"{query} AND (purge_holds({texts}) OR purge_quotes({texts}))")

        gone = set(found.documents)
        around = saying("SELECT rowid FROM document WHERE context <> ''", "context")
        found.contexts = [rowid for (rowid,) in around if rowid not in gone]
        found.names = saying("SELECT session_id, name FROM name WHERE true", "name, place")
        found.places = saying(
            "SELECT file_id, name FROM place JOIN place_file ON id = file_id WHERE true", "name, path"
        )
        found.files = [one for (one,) in saying("SELECT id FROM place_file WHERE true", "path")]
        plans = saying(f"SELECT id FROM session WHERE plan NOT IN ('[]', '{PURGED_PLAN}')", "plan")
        found.plans = sorted({*found.plans, *(one for (one,) in plans)})
        own = {source for session in found.sessions for source in progress.sources_naming(self._db, session)}
        goes = f"carry <> '' AND (source IN {_LISTED} OR purge_holds(carry) OR purge_quotes(carry))"
        carries = self._rows(f"SELECT source FROM transcript WHERE {goes}", [json_text.dumps(sorted(own))])
        found.carries = [source for (source,) in carries]
        found.refusals = [one for (one,) in saying("SELECT id FROM outbox WHERE true", "refusal")]


def erase(
    db: apsw.Connection, criteria: Criteria, *, at: int, vectors: bool, vector_of: Callable[[str, str, str], bytes]
) -> Selection:
    """Empty the matching rows in one transaction, which notes that the file is to be cleaned (`store_file.wipe`)."""
    db.execute("PRAGMA secure_delete = ON").fetchall()
    with sqlite.transaction(db):
        found = select(db, criteria)
        signatures = vectors and stored_documents.has_signatures(db)
        for rowid in found.documents:
            stored_documents.forget(db, rowid, at, signatures=signatures)
        for session in sorted(found.touched):
            progress.renew_segments(db, session)  # before the rows lose their session
        for one in stored_documents.by_rowids(db, found.contexts):
            one["context"] = ""
            stored_documents.replace(db, one, vector_of(one["text"], "", one["title"]), signatures=signatures)
        for session in found.sessions:
            stored_sessions.forget(db, session)
        for session, number in found.calls:
            if session not in found.sessions:
                stored_calls.forget(db, session, number)
        emptied = (
            "UPDATE document SET text = '', context = '', title = '', path = '', tags = '[]', history = '[]',"
            f" fingerprint = '', session_id = '', project = '', source = '', write_reason = '{PURGED}' WHERE rowid = ?"
        )
        summary = f"UPDATE compaction SET summary = '{PURGED_SUMMARY}' WHERE session_id = ? AND call = ?"
        changes: tuple[tuple[str, Iterable[Any]], ...] = (
            (emptied, found.documents),
            ("DELETE FROM evidence WHERE document = ?", found.ids),
            (summary, found.compactions),
            ("DELETE FROM event WHERE seq = ?", found.events),
            ("DELETE FROM injection WHERE id = ?", found.injections),
            ("DELETE FROM hook_call WHERE session_id = ? AND id = ?", found.hook_calls),
            ("DELETE FROM name WHERE session_id = ? AND name = ?", found.names),
            ("DELETE FROM place WHERE file_id = ? AND name = ?", found.places),
            ("DELETE FROM edit WHERE file_id = ?", found.files),
            ("DELETE FROM place_file WHERE id = ?", found.files),
            (f"UPDATE session SET plan = '{PURGED_PLAN}' WHERE id = ?", found.plans),
            ("UPDATE transcript SET carry = '' WHERE source = ?", found.carries),
            ("UPDATE outbox SET refusal = '' WHERE id = ?", found.refusals),
        )
        for query, keys in changes:
            db.executemany(query, [key if isinstance(key, tuple) else (key,) for key in keys])
        db.execute("DELETE FROM tally WHERE documents = 0")  # it names their projects
        store_file.owe(db)
    return found


def standing(db: apsw.Connection) -> list[str]:
    """The columns, as `table.column`, in which the phrase of the last `select` still stands: names of what there is."""
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY name"
    found = []
    for (table,) in db.execute(tables).fetchall():
        columns = [str(name) for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        holding = ", ".join(f'max(purge_holds("{name}"))' for name in columns)
        row = db.execute(f'SELECT {holding} FROM "{table}"').fetchone()
        found += [f"{table}.{name}" for name, holds in zip(columns, row or (), strict=True) if holds]
    return found
