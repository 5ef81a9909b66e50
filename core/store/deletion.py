"""Deletion for good: by age and size (retention, daily and by `store prune`), and of chosen texts (purge).

Retention deletes whatever exceeds the settings `retention.*`. A purge empties or deletes the rows that match, so that
no byte of their text stays in the store's file. The id of a purged memory and the number of a tool call stay, so that
reading the transcript again does not bring them back.
"""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from unicodedata import normalize

import apsw

from core import clock, files, json_text
from core.config import Config
from core.project import names_of
from core.store import calls, cluster_sync, documents, events, forgotten, sessions, sqlite, store_file
from core.store.sqlite import LISTED, marks, row_range
from core.store.store_file import PAUSE_S

AT_ONCE = 1_000  # events per transaction
PURGED = "purged"  # the `write_reason` of an emptied document


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
    bytes: int = 0
    """Of the texts in these rows."""
    times: list[int] = field(default_factory=list)
    """Of these rows, ms since the epoch, unordered."""
    projects: list[str] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)
    """The number of rows of forgotten sessions and calls by kind."""


class _Kind(NamedTuple):
    """Rows of a table: their keys, the expressions that conditions are about, and how they are purged."""

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
    if "\\" in text:
        escape = r"\\+(?:u([0-9a-fA-F]{4})|([nrt]))"
        text = re.sub(escape, lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
    text = text if text.isascii() else normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(text.lower().split())


def quotable(texts: Iterable[str], shortest: int = 24) -> tuple[str, ...]:
    """The lines of texts that are long enough to be looked for elsewhere: shorter ones occur there by chance."""
    lines = {" ".join(line.split()) for text in texts for line in text.splitlines()}
    return tuple(sorted(line for line in lines if len(line) >= shortest))


def select(db: apsw.Connection, criteria: Criteria) -> Selection:
    """Find the rows to purge."""
    db.create_scalar_function("holds", criteria.holds, -1)
    db.create_scalar_function("bytes", lambda *texts: sum(len(str(text).encode()) for text in texts if text), -1)
    found: dict[str, list[tuple[Any, ...]]] = {}
    times: list[int] = []
    size = 0
    for name, kind in KINDS.items():
        rows = _rows(db, kind, name, criteria)
        found[name] = [row[:-2] for row in rows]
        size += sum(row[-1] for row in rows)
        times += [row[-2] for row in rows if row[-2] and row[-2] > 0]
    listed = json_text.dumps([key[0] for key in found["memories"]])
    about = list(db.execute(f"SELECT id, session_id FROM document WHERE rowid IN {LISTED}", (listed,)))
    selection = Selection(found, [str(identifier) for identifier, _ in about], [], bytes=size, times=times)
    selection.touched = {str(session) for _, session in about if session}
    selection.touched.update(str(session) for session, _ in found["toolCalls"])
    handed_out = f"EXISTS (SELECT 1 FROM json_each(memories) WHERE value IN {LISTED})"
    given = db.execute(f"SELECT id FROM injection WHERE {handed_out}", (json_text.dumps(selection.ids),))
    found["injectedTexts"] = sorted({*found["injectedTexts"], *given})
    if criteria.whole_sessions:
        found["plans"] = []
        where, values = _condition(db, KINDS["plans"], "plans", criteria)
        known = db.execute(f"SELECT id FROM session WHERE ({where}) AND updated_at <> {sessions.FORGOTTEN}", values)
        named = {criteria.session, *sessions.subagents(db, criteria.session)}
        also = criteria.live if criteria.project else named
        selection.sessions = list(dict.fromkeys([*(str(row[0]) for row in known), *sorted(also - {""})]))
        if criteria.session:
            selection.sessions = [session for session in selection.sessions if session in named]
    ids = json_text.dumps([key[0] for key in found["forgotten"]])
    selection.hidden = dict(db.execute(f"SELECT kind, count(*) FROM forgotten WHERE id IN {LISTED} GROUP BY 1", (ids,)))
    of_sessions = json_text.dumps([*selection.touched, *selection.sessions, *sorted({criteria.session} - {""})])
    names = db.execute(
        f"SELECT project FROM document WHERE rowid IN {LISTED} UNION SELECT project FROM session WHERE id IN {LISTED}"
        f" UNION SELECT project FROM forgotten WHERE id IN {LISTED}",
        (listed, of_sessions, ids),
    )
    selection.projects = sorted(name for (name,) in names if name)
    for name, (keys, table, texts, _) in QUOTING.items():
        found[name] = list(db.execute(f"SELECT {keys} FROM {table} WHERE holds({texts})")) if criteria.phrases else []
    if criteria.has_ids or criteria.before is not None:  # turns around them repeat their beginnings
        around = f"SELECT rowid FROM document WHERE context <> '' AND session_id IN {LISTED}"
        found["contexts"] += db.execute(around, (json_text.dumps(sorted(selection.touched)),))
    return selection


def erase(db: apsw.Connection, criteria: Criteria, *, at: int, embed: Callable[[str, str, str], bytes]) -> Selection:
    """Purge the rows in a transaction, which notes that the file must be wiped (`store_file.wipe`)."""
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
            documents.renew_segments(db, session)  # while the rows still name their session
        for session in selection.sessions:
            sessions.forget(db, session)
            db.execute("DELETE FROM node WHERE session_id = ?", (session,))
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
        gone = (
            "true" if criteria.whole_sessions else "number > 0 OR value = '{}'"
        )  # the call's number stays in its session
        db.executemany(f"DELETE FROM forgotten WHERE id = ? AND ({gone})", found["forgotten"])
        db.execute("DELETE FROM tally WHERE documents = 0")  # it names their projects
        if criteria.project and criteria.whole_sessions:
            in_folders = [str(name) for (name,) in db.execute("SELECT DISTINCT project FROM folder")]
            purged = names_of(criteria.project, in_folders)
            db.execute(f"DELETE FROM folder WHERE project IN {LISTED}", (json_text.dumps(purged),))
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


def prune_events(db: apsw.Connection, before: int) -> tuple[int, int]:
    """Delete events, hook calls and injected texts older than `before` (ms); the numbers of deleted and left events."""
    deleted = 0
    while True:
        with sqlite.transaction(db):
            forgotten.expire(db, before, only_hooks=True)
            gone = events.delete_older(db, before, AT_ONCE)
            most = max(gone, events.delete_hook_calls(db, before, AT_ONCE))
            left = events.count(db) if most < AT_ONCE else 0
        deleted += gone
        if most < AT_ONCE:
            return deleted, left
        time.sleep(PAUSE_S)


def expiry(db: apsw.Connection, config: Config, name: str, *, background: bool) -> int:
    """The time (ms) before which data expires by a setting in days; 0 for none, and if the clock may be wrong."""
    days = config.get_int(name)
    if not days or (background and not _is_clock_plausible(db)):
        return 0
    return max(0, clock.now_ms() - days * clock.DAY_MS)


def prune(db: apsw.Connection, config: Config, *, background: bool, dry_run: bool) -> dict[str, Any]:
    """Delete whatever exceeds the settings, and return free pages to the disk; `dry_run`: only count it.

    In the background, no hook may have to wait for it.
    """
    before = store_file.sizes(db)[0]
    most_bytes = config.get_int("retention.events_mb") * 1_000_000
    events_before = expiry(db, config, "retention.events_days", background=background)
    episodes_before = expiry(db, config, "retention.episodes_days", background=background)
    episodes = tool_calls = 0
    wiped = False
    if dry_run:
        by_age = int(db.execute("SELECT count(*) FROM event WHERE timestamp < ?", (events_before,)).get)
        by_size = len(_surplus_events(db, most_bytes, since=events_before))
        if episodes_before:
            episodes = int(db.execute(f"SELECT count(*) {_OLD_EPISODES}", (episodes_before,)).get)
            of_old = f"outcome <> '{calls.FORGOTTEN}' AND session_id IN (SELECT id FROM {_OLD_SESSIONS})"
            tool_calls = int(db.execute(f"SELECT count(*) FROM call WHERE {of_old}", (episodes_before,)).get)
            hidden = "SELECT count(*) FROM forgotten WHERE kind = 'call' AND at < ?"
            tool_calls += int(db.execute(hidden, (episodes_before,)).get)
    else:
        files.sweep_temporary(files.home())
        by_age = prune_events(db, events_before)[0] if events_before else 0
        by_size = _delete_events(db, _surplus_events(db, most_bytes))
        if episodes_before:
            episodes = _delete_episodes(db, episodes_before)
            tool_calls = _delete_sessions(db, episodes_before)
            with sqlite.transaction(db):
                tool_calls += forgotten.expire(db, episodes_before)
        wiped = store_file.is_owed(db)
        if wiped:
            store_file.wipe(db)
        elif not store_file.give_back(db) and store_file.sizes(db)[1] >= 4_000_000 and not background:
            store_file.rewrite(db)  # the file cannot return single pages
    size, free = store_file.sizes(db)
    names = ("retention.events_days", "retention.events_mb", "retention.sessions_days", "retention.episodes_days")
    return {
        "dryRun": dry_run,
        "events": {"byAge": by_age, "bySize": by_size, "all": events.count(db)},
        "episodes": episodes,
        "toolCalls": tool_calls,
        "bytes": {"before": before, "after": size, "free": free},
        "purgeFinished": wiped,
        "settings": {name: config.get_int(name) for name in names},
    }


def _is_clock_plausible(db: apsw.Connection) -> bool:
    """If anything was stored in the last 30 days but not in the last hour.

    Otherwise the clock may have jumped, and ages are not believed; a day later they are.
    """
    now = clock.now_ms()
    query = (
        "SELECT EXISTS (SELECT 1 FROM event WHERE timestamp BETWEEN ?1 AND ?2)"
        " OR EXISTS (SELECT 1 FROM document WHERE created_at BETWEEN ?1 AND ?2)"
    )
    return bool(db.execute(query, (now - 30 * clock.DAY_MS, now - clock.HOUR_MS)).get)


def _surplus_events(db: apsw.Connection, most_bytes: int, since: int = 0) -> list[int]:
    """The numbers of the events that exceed a size (0: none do): debug events first, then the oldest."""
    # 400: the other columns, and the entries in three indexes
    size = "length(metadata) + length(search_text) + coalesce(length(error), 0) + 400"
    query = (
        f"SELECT seq FROM (SELECT seq, sum({size}) OVER (ORDER BY level = 'debug', timestamp DESC, seq DESC"
        " ROWS UNBOUNDED PRECEDING) AS bytes FROM event WHERE timestamp >= ?) WHERE bytes > ?"
    )
    return [int(seq) for (seq,) in db.execute(query, (since, most_bytes))] if most_bytes else []


def _delete_events(db: apsw.Connection, numbers: list[int]) -> int:
    for start in range(0, len(numbers), AT_ONCE):
        with sqlite.transaction(db):
            db.executemany("DELETE FROM event WHERE seq = ?", [(seq,) for seq in numbers[start : start + AT_ONCE]])
        time.sleep(PAUSE_S)
    return len(numbers)


def _delete_episodes(db: apsw.Connection, before: int) -> int:
    """Delete old episodes from this file and return how many; a cluster, and its other machines, keep theirs."""
    # by time: `memory archive --all` reads the newest sessions first, so rows are in another order
    query = f"SELECT rowid, session_id {_OLD_EPISODES} ORDER BY created_at, rowid LIMIT 100"
    has_vectors = sqlite.load_vectors(db)
    deleted = 0
    while True:
        with sqlite.transaction(db):
            signatures = has_vectors and documents.has_signatures(db)
            rows: list[Any] = db.execute(query, (before,)).fetchall()
            with cluster_sync.without_outbox(db):
                for rowid, _ in rows:
                    documents.remove(db, rowid, signatures=signatures)
            for session in {session for _, session in rows if session}:
                documents.renew_segments(db, session)
        if not rows:
            break
        deleted += len(rows)
        time.sleep(PAUSE_S)
    if deleted >= documents.MERGE_AFTER:
        store_file.merge(db, "lexicon")
    return deleted


def _delete_sessions(db: apsw.Connection, before: int) -> int:
    """Delete the work of sessions without activity since `before`; returns the number of their calls."""
    deleted = 0
    for (session,) in db.execute(f"SELECT id FROM {_OLD_SESSIONS}", (before,)).fetchall():
        with sqlite.transaction(db):
            deleted += sessions.drop(db, str(session))
            db.execute("DELETE FROM node WHERE session_id = ?", (session,))
        time.sleep(PAUSE_S)
    return deleted


# `+rowid` makes SQLite use the index of times, not walk the collection. What waits for a cluster stays, because other
# machines would never get it.
_OLD_EPISODES = (
    "FROM document WHERE +rowid BETWEEN {} AND {} AND forgotten_at IS NULL AND created_at < ?"
    " AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = document.id)"
).format(*row_range("episodes"))
_OLD_SESSIONS = f"session WHERE updated_at < ? AND updated_at <> {sessions.FORGOTTEN}"
_WITH_SESSION = "LEFT JOIN session ON session.id = session_id"
KINDS = {
    "memories": _Kind(
        "rowid", "document", "session_id", "created_at", "text, title, path, tags, history",
        f"text = '' AND write_reason = '{PURGED}'",
        "UPDATE document SET text = '', context = '', title = '', path = '', fingerprint = '', session_id = '',"
        f" project = '', source = '', tags = '[]', history = '[]', write_reason = '{PURGED}' WHERE rowid = ?",
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
    "forgotten": _Kind("id", "forgotten", "session_id", "at", "value", forgotten.IS_EMPTY, forgotten.EMPTY),
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


def _rows(db: apsw.Connection, kind: _Kind, name: str, criteria: Criteria) -> list[tuple[Any, ...]]:
    """The rows of a kind that meet the criteria: their keys, their time (ms) and the bytes of their texts."""
    where, values = _condition(db, kind, name, criteria)
    columns = f"{kind.keys}, {kind.at}, bytes({kind.texts})"
    return list(db.execute(f"SELECT {columns} FROM {kind.table} WHERE ({where}) AND NOT ({kind.kept})", values))


def _condition(db: apsw.Connection, kind: _Kind, name: str, criteria: Criteria) -> tuple[str, list[Any]]:
    """SQL and its parameters for the rows of a kind that meet the criteria."""
    if criteria.has_ids:
        if name == "memories":
            return f"id IN {LISTED}", [json_text.dumps(sorted(criteria.documents))]
        pairs = [f"{session}\n{number}" for session, number in criteria.calls]
        if name == "toolCalls":
            return f"session_id || char(10) || number IN ({marks(pairs)})", pairs
        if name == "forgotten":
            return f"holds(value) OR session_id || char(10) || number IN ({marks(pairs)})", pairs
        return f"holds({kind.texts})", []
    conditions: list[str] = []
    values: list[Any] = []
    if criteria.session:
        conditions.append(f"({kind.session} = ? OR {kind.session} IN ({sessions.SUBAGENTS}))")
        values += [criteria.session, criteria.session]
    if criteria.before is not None:
        conditions.append(f"{kind.at} < ?")
        values.append(criteria.before)
    if criteria.project:
        archived = list(db.execute("SELECT id, project FROM session"))
        names = names_of(criteria.project, [*documents.projects(db), *{of for _, of in archived if of}])
        own = json_text.dumps(sorted(criteria.live.union(session for session, of in archived if of in names)))
        # a memory without a project belongs to its session's
        project = "project" if name in ("memories", "forgotten") else "''"
        conditions.append(f"({project} IN {LISTED} OR ({project} = '' AND {kind.session} IN {LISTED}))")
        values += [json_text.dumps(names), own]
    if criteria.phrases:
        conditions.append(f"holds({kind.texts})")
    return " AND ".join(conditions) or "false", values
