"""Deletion for good: of old events (daily, and by `store prune`), and of chosen texts (purge).

A purge empties or deletes the rows that match, so that no byte of their text stays in the store's file. The id of a
purged memory and the number of a tool call stay, so that reading the transcript again does not bring them back.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import apsw

from core import clock, files, json_text
from core.config import Config
from core.project import names_of
from core.store import calls, documents, events, kinds, sessions, sqlite, store_file
from core.store.kinds import KINDS, Kind
from core.store.sqlite import LISTED, marks


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
    """`folded`: a row must hold any of them. With ids: the lines of the documents, which are also purged if quoted."""

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
        return any(phrase in text for phrase in self.phrases for text in readable)


@dataclass
class Selection:
    """The rows to purge: by kind (`KINDS`) their keys."""

    rows: dict[str, list[tuple[Any, ...]]]
    ids: list[str]
    """Of the documents."""
    sessions: list[str]
    """Sessions that are purged as a whole."""
    touched: set[str]
    """Sessions of the documents and calls."""
    times: list[int]
    """Of all rows, in ms since the epoch."""
    bytes: int
    """Of the texts in all rows."""
    projects: list[str]
    """Of all rows."""


def folded(text: str) -> str:
    """A text without JSON escapes, in NFKC, lower case, with single spaces."""
    if "\\" in text:
        escape = r"\\+(?:u([0-9a-fA-F]{4})|([nrt]))"
        text = re.sub(escape, lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
    text = text if text.isascii() else normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(text.lower().split())


def quotable(texts: Iterable[str]) -> tuple[str, ...]:
    """The lines of texts that are long enough to be looked for elsewhere: shorter ones occur there by chance."""
    lines = {folded(line) for text in texts for line in text.splitlines()}
    return tuple(sorted(line for line in lines if len(line) >= 24))


def select(db: apsw.Connection, criteria: Criteria) -> Selection:
    """Find the rows to purge."""
    db.create_scalar_function("holds", criteria.holds, -1)
    db.create_scalar_function("bytes", lambda *texts: sum(len(str(text).encode()) for text in texts if text), -1)
    rows: dict[str, list[tuple[Any, ...]]] = {}
    times: list[int] = []
    size = 0
    for name, kind in KINDS.items():
        where, values = _condition(db, kind, name, criteria)
        query = f"SELECT {kind.at}, bytes({kind.texts}), {kind.keys} FROM {kind.table} {kind.joined} WHERE ({where})"
        found = list(db.execute(f"{query} AND NOT ({kind.is_purged})", values))
        rows[name] = [row[2:] for row in found]
        size += sum(row[1] for row in found) if kind.session else 0  # other rows repeat the texts
        times += [row[0] for row in found if row[0] and row[0] > 0]
    memories = json_text.dumps([key[0] for key in rows["memories"]])
    about = list(db.execute(f"SELECT id, session_id FROM document WHERE rowid IN {LISTED}", (memories,)))
    ids = [str(identifier) for identifier, _ in about]
    touched = {session for _, session in about if session} | {session for session, _ in rows["toolCalls"]}
    handed_out = f"EXISTS (SELECT 1 FROM json_each(memories) WHERE value IN {LISTED})"
    injected = db.execute(f"SELECT id FROM injection WHERE {handed_out}", (json_text.dumps(ids),))
    rows["injectedTexts"] = sorted({*rows["injectedTexts"], *injected})
    whole = _whole_sessions(db, criteria) if criteria.whole_sessions else []
    if criteria.whole_sessions:
        rows["plans"] = []  # they go with their sessions
    if criteria.has_ids or criteria.before is not None:  # episodes around them repeat their beginnings
        around = f"SELECT rowid FROM document WHERE context <> '' AND session_id IN {LISTED}"
        rows["contexts"] += db.execute(around, (json_text.dumps(sorted(touched)),))
    kept = [key[0] for key in rows["forgotten"]]
    projects = db.execute(
        f"SELECT project FROM document WHERE rowid IN {LISTED} UNION SELECT project FROM session WHERE id IN {LISTED}"
        f" UNION SELECT project FROM forgotten WHERE id IN {LISTED} ORDER BY 1",
        (memories, json_text.dumps([*touched, *whole]), json_text.dumps(kept)),
    )
    return Selection(rows, ids, whole, touched, times, size, [name for (name,) in projects if name])


def _whole_sessions(db: apsw.Connection, criteria: Criteria) -> list[str]:
    """The sessions that are purged as a whole; a session named by itself, also if nothing of it is archived."""
    where, values = _condition(db, KINDS["plans"], "plans", criteria)
    known = db.execute(f"SELECT id FROM session WHERE ({where}) AND updated_at <> {sessions.FORGOTTEN}", values)
    selected = {str(row[0]) for row in known} | (criteria.live if criteria.project else set())
    if criteria.session:
        named = {criteria.session, *sessions.subagents(db, criteria.session)}
        selected = selected & named if criteria.project else named
    return sorted(selected)


def erase(db: apsw.Connection, criteria: Criteria, *, at: int, embed: Callable[[str, str, str], bytes]) -> Selection:
    """Purge the rows in a transaction, which notes that the file must be wiped (`store_file.wipe`)."""
    db.execute("PRAGMA secure_delete = ON").fetchall()
    documents.renew_due_segments(db)  # else the index may still hold what a hook has moved to another session
    with sqlite.transaction(db):
        selection = select(db, criteria)
        found = selection.rows
        rowids = [key[0] for key in found["memories"]]
        for rowid in rowids:
            documents.forget(db, rowid, at)
        contexts = {key[0] for key in found["contexts"]}.difference(rowids)
        for document in documents.by_rowids(db, sorted(contexts)):
            document["context"] = ""
            vector = embed(document["text"], "", document["title"])
            documents.replace(db, document, vector)
        for session in sorted(selection.touched):
            documents.renew_segments(db, session)  # while the rows still name their session
        for session in selection.sessions:
            kinds.forget_session(db, session)
            db.execute("DELETE FROM node WHERE session_id = ?", (session,))
            db.execute("UPDATE transcript SET carry = '' WHERE instr(source, ?)", (session,))
        for session, number in found["toolCalls"]:
            calls.forget(db, session, number)
        db.executemany("DELETE FROM evidence WHERE document = ?", [(identifier,) for identifier in selection.ids])
        for name, kind in KINDS.items():
            if kind.purge:
                db.executemany(kind.purge_statement, found[name])
        # a call's number stays in its session
        gone = "true" if criteria.whole_sessions else "number > 0 OR value = '{}'"
        db.executemany(f"DELETE FROM forgotten WHERE id = ? AND ({gone})", found["forgotten"])
        db.execute("DELETE FROM tally WHERE documents = 0")  # it names their projects
        if criteria.project and criteria.whole_sessions:
            in_folders = [str(name) for (name,) in db.execute("SELECT DISTINCT project FROM folder")]
            purged = names_of(criteria.project, in_folders)
            db.execute(f"DELETE FROM folder WHERE project IN {LISTED}", (json_text.dumps(purged),))
        db.execute("INSERT OR REPLACE INTO upkeep VALUES ('wipe', 1)")  # the deleted text is still in the file
    return selection


def expiry(config: Config, name: str) -> int:
    """The time (ms) before which data expires by a setting in days; 0 for none."""
    days = config.get_int(name)
    return max(0, clock.now_ms() - days * clock.DAY_MS) if days else 0


def prune(db: apsw.Connection, config: Config, *, background: bool, dry_run: bool) -> dict[str, Any]:
    """Delete the events that have expired; `dry_run`: only count them.

    Finishes a purge that was killed. Not in the background, where hooks would have to wait for it: returns free pages
    to the disk.
    """
    before = store_file.sizes(db)[0]
    expired = expiry(config, "retention.events_days")
    is_owed = store_file.is_owed(db)
    if dry_run:
        by_age = int(db.execute("SELECT count(*) FROM event WHERE timestamp < ?", (expired,)).get)
    else:
        files.sweep_temporary(files.home())
        with sqlite.transaction(db):
            kinds.expire_hooks(db, expired)
            by_age = events.delete_older(db, expired)
        if is_owed or (not background and store_file.sizes(db)[1] >= 4_000_000):
            store_file.wipe(db)
    size, free = store_file.sizes(db)
    return {
        "dryRun": dry_run,
        "events": {"byAge": by_age, "all": events.count_after(db, 0)},
        "bytes": {"before": before, "after": size, "free": free},
        "purgeFinished": is_owed and not dry_run,
    }


def _condition(db: apsw.Connection, kind: Kind, name: str, criteria: Criteria) -> tuple[str, list[Any]]:
    """SQL and its parameters for the rows of a kind that meet the criteria."""
    if not kind.session:
        return (f"holds({kind.texts})" if criteria.phrases else "false"), []
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
