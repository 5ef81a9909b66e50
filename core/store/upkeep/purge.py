"""What a purge finds in the store, and its deletion: rows are emptied, so that they are known and do not come back.

Of a memory stays its row, with its id and without any text: an archive that reads the transcript again, an import or a
pull from a cluster finds it forgotten. Of a tool call stays its number. Besides what was chosen, whatever has a word
goes that nothing else in the memory has: so an event or a plan that quotes it is found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core import json_text
from core.project import names_of
from core.store import documents, sqlite
from core.store.sessions import call_rows, forgotten, name_rows, segments, session_rows, transcripts
from core.store.upkeep import store_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import apsw

PURGED = "purged"
"""The `write_reason` of an emptied row."""
_WORD = re.compile(r"\w{3,}")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_TEXTS = "text, title, path, tags, history"
_CALL_TEXTS = "tool, file, command, error, passage"
_HAS_TEXT = "(text <> '' OR write_reason <> 'purged')"


@dataclass(frozen=True)
class Criteria:
    """What is to go: all that fits each of these, or the ids alone. `before` in ms since the epoch.

    Memories go by their ids: the number of a row is given to another memory once the archive took the first one out.
    """

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

    def holds(self, text: str | None) -> bool:
        """Whether a text has the phrase, in upper or lower case, or none is asked for."""
        return not self.match or (text is not None and self.match.casefold() in readable(text))


@dataclass
class Selection:
    """What fits: rows of documents, calls, compactions, numbers of events, injected texts, hooks, sessions.

    And the words that only they have.
    """

    documents: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)
    compactions: list[tuple[str, int]] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    injections: list[str] = field(default_factory=list)
    hook_calls: list[tuple[str, str]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    """That go as a whole."""
    touched: set[str] = field(default_factory=set)
    """That the documents, calls and compactions are of."""
    plans: list[str] = field(default_factory=list)
    """Sessions whose plan goes."""
    names: list[tuple[str, str]] = field(default_factory=list)
    carries: list[str] = field(default_factory=list)
    """Transcripts whose unfinished turn goes."""
    refusals: list[str] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)
    """Rows of documents that stay, and whose context quotes: what was said around them."""
    words: frozenset[str] = frozenset()


def readable(text: str) -> str:
    """A text in lower case, also with JSON's escapes taken back, so that a word is found in either form."""
    folded = text.casefold()
    if "\\" not in folded:
        return folded
    return folded + "\n" + _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", folded).casefold()


def words_of(*texts: str | None) -> set[str]:
    """The words of three characters and more, as `readable` has them."""
    return {word for text in texts if text for word in _WORD.findall(readable(text))}


def select(db: apsw.Connection, criteria: Criteria) -> Selection:
    """Find what fits, and what quotes it."""
    found = Selection()
    db.create_scalar_function("purge_holds", lambda *texts: any(criteria.holds(text) for text in texts), -1)
    own = _select_documents(db, criteria, found)
    _select_sessions(db, criteria, found)
    own |= _select_calls(db, criteria, found)
    own |= _select_compactions(db, criteria, found)
    found.words = frozenset(own - _others(db, found, own))
    _select_events(db, criteria, found)
    _select_history(db, criteria, found)
    _select_quotes(db, criteria, found)
    return found


def _of_project(db: apsw.Connection, criteria: Criteria) -> tuple[list[str], list[str]]:
    """All names that mean the project, as lists of memories take them, and its sessions."""
    sessions = [(str(one), str(named)) for one, named in db.execute("SELECT id, project FROM session")]
    names = names_of(criteria.project, [*documents.projects(db), *{named for _, named in sessions if named}])
    return names, sorted(criteria.live.union(one for one, named in sessions if named in names))


def _fits(
    db: apsw.Connection, criteria: Criteria, session: str, at: str, texts: str, *, project: str = "''"
) -> tuple[str, list[object]]:
    """A condition of SQL; `session` to `project` are expressions.

    What names no project itself is of the project of its session.
    """
    conditions: list[str] = []
    values: list[object] = []
    for expression, operator, wanted in ((session, "=", criteria.session), (at, "<", criteria.before)):
        if wanted not in ("", None):
            conditions.append(f"{expression} {operator} ?")
            values.append(wanted)
    if criteria.project:
        listed = "(SELECT value FROM json_each(?))"
        conditions.append(f"({project} IN {listed} OR ({project} = '' AND {session} IN {listed}))")
        values += map(json_text.dumps, _of_project(db, criteria))
    if criteria.match:
        conditions.append(f"purge_holds({texts})")
    return " AND ".join(conditions) or "false", values


def _select_documents(db: apsw.Connection, criteria: Criteria, found: Selection) -> set[str]:
    where, values = _fits(db, criteria, "session_id", "created_at", _TEXTS, project="project")
    if criteria.by_id:
        where, values = "id IN (SELECT value FROM json_each(?))", [json_text.dumps(sorted(criteria.documents))]
    own: set[str] = set()
    for rowid, identifier, session, *texts in db.execute(
        f"SELECT rowid, id, session_id, context, {_TEXTS} FROM document WHERE ({where}) AND {_HAS_TEXT}", values
    ):
        found.documents.append(rowid)
        found.ids.append(identifier)
        found.touched.update([session] if session else [])
        own |= words_of(*texts)
    return own


def _select_sessions(db: apsw.Connection, criteria: Criteria, found: Selection) -> None:
    if criteria.by_id:
        return
    where, values = _fits(db, criteria, "id", "updated_at", "plan", project="project")
    rows = db.execute(
        f"SELECT id, plan FROM session WHERE ({where}) AND updated_at <> {session_rows.FORGOTTEN}", values
    )
    known = {str(identifier): plan for identifier, plan in rows}
    if not criteria.is_whole:
        found.plans = [identifier for identifier, plan in known.items() if plan not in ("[]", session_rows.PURGED_PLAN)]
        return
    also = criteria.live if criteria.project else {criteria.session} - {""}
    found.sessions = list(dict.fromkeys([*known, *sorted(also)]))
    if criteria.session and criteria.project:
        found.sessions = [one for one in found.sessions if one == criteria.session]


def _select_calls(db: apsw.Connection, criteria: Criteria, found: Selection) -> set[str]:
    when = "coalesce(at, session.updated_at)"
    where, values = _fits(db, criteria, "session_id", when, _CALL_TEXTS)
    if criteria.by_id:
        where = " OR ".join("(session_id = ? AND number = ?)" for _ in criteria.calls) or "false"
        values = [part for call in criteria.calls for part in call]
    own: set[str] = set()
    for session, number, *texts in db.execute(
        f"SELECT session_id, number, {_CALL_TEXTS} FROM call LEFT JOIN session ON session.id = session_id"
        f" WHERE ({where}) AND outcome <> ?",
        (*values, call_rows.FORGOTTEN_CALL),
    ):
        found.calls.append((session, number))
        found.touched.add(session)
        own |= words_of(*texts)
    return own


def _select_compactions(db: apsw.Connection, criteria: Criteria, found: Selection) -> set[str]:
    if criteria.by_id:
        return set()
    where, values = _fits(db, criteria, "session_id", "at", "summary")
    own: set[str] = set()
    for session, call, summary in db.execute(
        "SELECT session_id, call, summary FROM compaction LEFT JOIN session ON session.id = session_id"
        f" WHERE ({where}) AND summary NOT IN ('', ?)",
        (*values, name_rows.PURGED_SUMMARY),
    ):
        found.compactions.append((session, call))
        found.touched.add(session)
        own |= words_of(summary)
    return own


def _others(db: apsw.Connection, found: Selection, own: set[str]) -> set[str]:
    """Those of these words that stand in something else, too."""
    if not own:
        return set()
    gone = set(found.documents)
    others: set[str] = set()
    for rowid, *texts in db.execute(f"SELECT rowid, {_TEXTS} FROM document WHERE text <> ''"):
        if rowid not in gone:
            others |= words_of(*texts) & own
    gone_calls = set(found.calls)
    for session, number, *texts in db.execute(f"SELECT session_id, number, {_CALL_TEXTS} FROM call"):
        if (session, number) not in gone_calls:
            others |= words_of(*texts) & own
    gone_summaries = set(found.compactions)
    for session, call, summary in db.execute("SELECT session_id, call, summary FROM compaction"):
        if (session, call) not in gone_summaries:
            others |= words_of(summary) & own
    return others


def _select_events(db: apsw.Connection, criteria: Criteria, found: Selection) -> None:
    chosen: set[int] = set()
    if not criteria.by_id:
        where, values = _fits(db, criteria, "session_id", "timestamp", "error, metadata, search_text")
        chosen = {int(seq) for (seq,) in db.execute(f"SELECT seq FROM event WHERE {where}", values)}
    if found.words:
        for seq, *texts in db.execute("SELECT seq, error, metadata, search_text FROM event"):
            if not found.words.isdisjoint(words_of(*texts)):
                chosen.add(int(seq))
    found.events = sorted(chosen)


def _select_history(db: apsw.Connection, criteria: Criteria, found: Selection) -> None:
    """Texts that sessions were given, and their hooks: of what was chosen, and those in which a word stands.

    A text that was made of a memory that goes, goes by its list of memories: it may have no word of its own.
    """
    injections: set[str] = set()
    hooks: set[tuple[str, str]] = set()
    if not criteria.by_id:
        where, values = _fits(db, criteria, "session_id", "at", "text")
        injections = {str(one) for (one,) in db.execute(f"SELECT id FROM injection WHERE {where}", values)}
        where, values = _fits(db, criteria, "session_id", "at", "error")
        rows = db.execute(f"SELECT session_id, id FROM hook_call WHERE {where}", values)
        hooks = {(str(session), str(one)) for session, one in rows}
    made_of = (
        "SELECT id FROM injection WHERE json_valid(memories) AND EXISTS"
        " (SELECT 1 FROM json_each(memories) WHERE value IN (SELECT value FROM json_each(?)))"
    )
    injections.update(str(one) for (one,) in db.execute(made_of, (json_text.dumps(found.ids),)))
    if found.words:
        for one, text in db.execute("SELECT id, text FROM injection"):
            if not found.words.isdisjoint(words_of(text)):
                injections.add(str(one))
        for session, one, error in db.execute("SELECT session_id, id, error FROM hook_call WHERE error <> ''"):
            if not found.words.isdisjoint(words_of(error)):
                hooks.add((str(session), str(one)))
    found.injections, found.hook_calls = sorted(injections), sorted(hooks)


def _select_quotes(db: apsw.Connection, criteria: Criteria, found: Selection) -> None:
    """Names, plans, unfinished turns and refusals in which one of the words stands, or the phrase."""

    def quotes(*texts: str | None) -> bool:
        phrase = bool(criteria.match) and any(criteria.holds(text) for text in texts)
        return phrase or not found.words.isdisjoint(words_of(*texts))

    gone = set(found.documents)
    around: Iterator[tuple[int, str]] = db.execute("SELECT rowid, context FROM document WHERE context <> ''")
    found.contexts = [rowid for rowid, context in around if rowid not in gone and quotes(context)]
    rows: Iterator[tuple[str, ...]] = db.execute("SELECT session_id, name, place FROM name")
    found.names = [(session, name) for session, name, place in rows if quotes(name, place)]
    rows = db.execute("SELECT id, plan FROM session WHERE plan NOT IN ('[]', ?)", (session_rows.PURGED_PLAN,))
    found.plans = sorted({*found.plans, *(identifier for identifier, plan in rows if quotes(plan))})
    own = {source for session in found.sessions for source in transcripts.sources_naming(db, session)}
    rows = db.execute("SELECT source, carry FROM transcript WHERE carry <> ''")
    found.carries = [source for source, carry in rows if source in own or quotes(carry)]
    found.refusals = [one for one, said in db.execute("SELECT id, refusal FROM outbox") if quotes(said)]


def erase(
    db: apsw.Connection, criteria: Criteria, *, at: int, vectors: bool, vector_of: Callable[[str, str, str], bytes]
) -> Selection:
    """Empty the rows that fit, all in one transaction, which notes that the file is to be cleaned (`store_file.wipe`).

    They are looked up in that transaction: between an earlier look and this one others write, and a row's number may
    have become that of another memory. Returns what was emptied.

    Args:
        at: now, in ms since the epoch.
        vectors: whether sqlite-vec is loaded.
        vector_of: the vector of a text, its context and title.

    Raises:
        Failure: the store cannot be written; nothing was changed.
    """
    db.execute("PRAGMA secure_delete = ON").fetchall()
    with sqlite.transaction(db):
        found = select(db, criteria)
        signatures = vectors and documents.has_signatures(db)
        for rowid in found.documents:
            documents.forget(db, rowid, at, signatures=signatures)
        for session in sorted(found.touched):
            segments.renew(db, session)  # before the rows lose their session
        db.executemany(
            "UPDATE document SET text = '', context = '', title = '', path = '', tags = '[]', history = '[]',"
            " fingerprint = '', session_id = '', project = '', source = '', write_reason = ? WHERE rowid = ?",
            [(PURGED, rowid) for rowid in found.documents],
        )
        for rowid in found.contexts:
            for one in documents.by_rowids(db, [rowid]):
                one["context"] = ""
                vector = vector_of(one["text"], "", one["title"])
                documents.replace(db, one, vector, signatures=signatures)
        db.executemany("DELETE FROM evidence WHERE document = ?", _each(found.ids))
        for session in found.sessions:
            forgotten.forget(db, session)
        whole = set(found.sessions)
        for session, number in found.calls:
            if session not in whole:
                forgotten.forget_call(db, session, number)
        db.executemany(
            "UPDATE compaction SET summary = ? WHERE session_id = ? AND call = ?",
            [(name_rows.PURGED_SUMMARY, *key) for key in found.compactions],
        )
        db.executemany("DELETE FROM event WHERE seq = ?", _each(found.events))
        db.executemany("DELETE FROM injection WHERE id = ?", _each(found.injections))
        db.executemany("DELETE FROM hook_call WHERE session_id = ? AND id = ?", found.hook_calls)
        db.executemany("DELETE FROM name WHERE session_id = ? AND name = ?", found.names)
        db.executemany(
            "UPDATE session SET plan = ? WHERE id = ?", [(session_rows.PURGED_PLAN, one) for one in found.plans]
        )
        db.executemany("UPDATE transcript SET carry = '' WHERE source = ?", _each(found.carries))
        db.executemany("UPDATE outbox SET refusal = '' WHERE id = ?", _each(found.refusals))
        store_file.owe(db)
    return found


def _each(values: Iterable[object]) -> list[tuple[object]]:
    return [(value,) for value in values]
