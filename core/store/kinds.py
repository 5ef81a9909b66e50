"""The stored kinds: a table that says how the rows of each are forgotten, purged and renamed.

| kind | purge | forget a session | read it again | project |
|---|---|---|---|---|
| memories | empties, keeps the id | `memory.curate` hides them | removes the episodes | renamed |
| toolCalls | empties, keeps the number | hidden | deleted, except forgotten and purged calls | renamed |
| summaries | empties | hidden | deleted, except purged summaries | |
| plans | empties | hidden with the session's row | begin anew | renamed |
| names, places, edits, files | deletes | hidden | deleted | |
| injectedTexts, hookCalls | deletes | hidden | stay | |
| events | deletes | stay | stay | |
| forgotten: what is hidden | empties or deletes | | stays | renamed |
| contexts | empties | go with their memory | go with it | |
| carries, refusals | empties | stay | stay | |

Hidden: the rows are deleted, and the table `forgotten` keeps them as JSON, so no other query has to leave them out.
Only this module and a purge (`core.store.deletion`) read it; `bring_back` restores the rows. What a purge has emptied
stays empty.

A new kind with texts gets a row of `KINDS`: copy `summaries` if a purge empties it, `injectedTexts` if it deletes it.
tests/core/store/test_kept_sessions.py fails until the row is complete; `session.purge` counts what the user is shown.
`forgotten_with` needs a column `session_id`, which places and edits lack: `calls.drop_places` deletes them with their
files, and `bring_back` gives them new files.

Functions that write belong inside the caller's transaction.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import apsw

from core import json_text
from core.store import calls, documents, sessions
from core.store.sqlite import fetch_dicts, marks

DELETE = "delete"  # as the `purge` of a kind: its rows are deleted


class Kind(NamedTuple):
    """Rows of a table. Rows without a `session` are looked for by text only."""

    table: str
    keys: str
    """The columns that name a row."""
    texts: str
    """The columns with its texts."""
    purge: str = ""
    """`DELETE`, or what a purge sets the columns to; "" if `deletion.erase` does that."""
    session: str = ""
    at: str = "0"
    """Its time (ms), to compare with `memory purge --before`."""
    is_purged: str = "false"
    """SQL: whether there is nothing left to purge."""
    joined: str = ""
    """The other tables that these expressions need."""
    forgotten_with: Literal["", "session", "hooks"] = ""
    """"session": its rows go when their session is forgotten or read again; "hooks": when it is forgotten."""
    stays: str = "false"
    """SQL: whether a row stays when its session is read again, so that its text does not come back."""
    has_project: bool = False
    """It has a column `project`."""

    @property
    def purge_statement(self) -> str:
        """The SQL that purges the row with the given keys."""
        change = f"DELETE FROM {self.table}" if self.purge == DELETE else f"UPDATE {self.table} SET {self.purge}"
        return f"{change} WHERE " + " AND ".join(f"{key} = ?" for key in self.keys.split(", "))


_WITH_SESSION = "LEFT JOIN session ON session.id = session_id"
_WITH_FILE = "JOIN place_file ON id = file_id"
_FORGOTTEN_CALL = f"outcome = '{calls.FORGOTTEN}'"
KINDS = {
    "memories": Kind(
        table="document", keys="rowid", texts="text, title, path, tags, history",
        purge="text = '', context = '', title = '', path = '', fingerprint = '', session_id = '', project = '',"
        f" source = '', tags = '[]', history = '[]', write_reason = '{documents.PURGED}'",
        is_purged=f"text = '' AND write_reason = '{documents.PURGED}'",
        session="session_id", at="created_at", has_project=True,
    ),
    "toolCalls": Kind(
        table="call", keys="session_id, number", texts="tool, file, command, error, passage",
        session="session_id", at="coalesce(at, session.updated_at)", joined=_WITH_SESSION, has_project=True,
        is_purged=_FORGOTTEN_CALL, forgotten_with="session", stays=_FORGOTTEN_CALL,
    ),
    "summaries": Kind(
        table="compaction", keys="session_id, call", texts="summary",
        purge=f"summary = '{sessions.PURGED_SUMMARY}'", is_purged=f"summary IN ('', '{sessions.PURGED_SUMMARY}')",
        session="session_id", at="at", joined=_WITH_SESSION, forgotten_with="session",
        stays=f"summary = '{sessions.PURGED_SUMMARY}'",
    ),
    "plans": Kind(
        table="session", keys="id", texts="plan",
        purge=f"plan = '{sessions.PURGED_PLAN}'", is_purged=f"plan IN ('[]', '{sessions.PURGED_PLAN}')",
        session="id", at="updated_at", has_project=True,
    ),
    "events": Kind(
        table="event", keys="seq", texts="error, metadata, search_text",
        purge=DELETE, session="session_id", at="timestamp",
    ),
    "injectedTexts": Kind(
        table="injection", keys="id", texts="text", purge=DELETE, session="session_id", at="at", forgotten_with="hooks",
    ),
    "hookCalls": Kind(
        table="hook_call", keys="session_id, id", texts="error", purge=DELETE,
        session="session_id", at="at", forgotten_with="hooks",
    ),
    "forgotten": Kind(
        table="forgotten", keys="id", texts="value",
        purge="value = CASE kind WHEN 'call' THEN json_patch(value, json_object('tool', '', 'file', '',"
        f" 'command', '', 'error', '', 'passage', '', 'outcome', '{calls.FORGOTTEN}'))"
        f" WHEN 'compaction' THEN json_set(value, '$.summary', '{sessions.PURGED_SUMMARY}')"
        f" WHEN 'session' THEN json_set(value, '$.plan', '{sessions.PURGED_PLAN}') ELSE '{{}}' END",
        is_purged=f"value = '{{}}' OR json_extract(value, '$.outcome') IS '{calls.FORGOTTEN}'"
        f" OR json_extract(value, '$.summary') IS '{sessions.PURGED_SUMMARY}'"
        f" OR json_extract(value, '$.plan') IS '{sessions.PURGED_PLAN}'",
        session="session_id", at="at", has_project=True,
    ),
    "contexts": Kind(table="document", keys="rowid", texts="context"),
    "names": Kind(
        table="name", keys="session_id, name", texts="name, place", purge=DELETE, forgotten_with="session",
    ),
    "places": Kind(table="place", keys="file_id, name", texts="name, path", purge=DELETE, joined=_WITH_FILE),
    "edits": Kind(table="edit", keys="file_id", texts="path", purge=DELETE, joined=_WITH_FILE),
    "files": Kind(table="place_file", keys="id", texts="path", purge=DELETE),
    "carries": Kind(table="transcript", keys="source", texts="carry", purge="carry = ''"),
    "refusals": Kind(table="outbox", keys="id", texts="refusal", purge="refusal = ''"),
}  # fmt: skip
"""By the names that the result of a purge has."""


def _tables(*forgotten_with: str) -> list[str]:
    """The tables whose rows go with their session ("session") or its hooks ("hooks")."""
    return [kind.table for kind in KINDS.values() if kind.forgotten_with in forgotten_with]


def rename_project(db: apsw.Connection, former: str, name: str) -> None:
    """Give the rows of a project another project's name."""
    for table in {kind.table for kind in KINDS.values() if kind.has_project}:
        db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (name, former))
    db.execute(
        "UPDATE forgotten SET value = json_set(value, '$.project', ?)"
        " WHERE json_valid(value) AND value ->> '$.project' = ?",
        (name, former),
    )


def start_over(db: apsw.Connection, session: str) -> None:
    """Delete what is known of a session that is read again (`sessions.read_again`), before its first line is stored.

    What the user has forgotten or purged, and the titles, stay.
    """
    time = "SELECT created_at FROM document WHERE rowid = reached"  # rows get new numbers
    db.execute(f"UPDATE observed SET reached = -coalesce(({time}), 0) WHERE session_id = ? AND reached > 0", (session,))
    for row in sessions.episode_rows(db, session):
        documents.remove(db, row)
    _delete_work(db, session, keep_purged=True)
    db.execute("DELETE FROM node WHERE session_id = ?", (session,))
    last = "(SELECT coalesce(max(number), 0) FROM call WHERE session_id = ?1)"
    db.execute(f"UPDATE session SET branches = '[]', calls = {last} WHERE id = ?1", (session,))


def forget_session(db: apsw.Connection, session: str) -> None:
    """Delete a session's work; what it does from now on is not kept either."""
    began = db.execute("SELECT parent, kind FROM session WHERE id = ?", (session,)).fetchone() or ("", "main")
    _delete_work(db, session)
    db.execute("DELETE FROM session WHERE id = ?", (session,))
    db.execute(
        "INSERT INTO session (id, client, project, folder, updated_at, prompts, calls, plan, parent, kind)"
        " VALUES (?, '', '', '', ?, 0, 0, '[]', ?, ?)",
        (session, sessions.FORGOTTEN, *began),
    )
    db.execute("DELETE FROM seen_file")  # so that an archive of its transcripts says that it was forgotten


def _delete_work(db: apsw.Connection, session: str, *, keep_purged: bool = False) -> None:
    """Delete a session's calls and compactions, with all names and places."""
    calls_of = f"SELECT rowid FROM call WHERE session_id = ?{f' AND NOT {_FORGOTTEN_CALL}' * keep_purged}"
    db.execute(f"DELETE FROM call_lexicon WHERE rowid IN ({calls_of})", (session,))
    calls.drop_places(db, session)
    for kind in KINDS.values():
        if kind.forgotten_with == "session":
            unless = kind.stays if keep_purged else "false"
            db.execute(f"DELETE FROM {kind.table} WHERE session_id = ? AND NOT ({unless})", (session,))


def hide_session(db: apsw.Connection, session: str, memories: Iterable[str], *, now: int) -> None:
    """Hide a session's work and hooks. `memories`: the ids of documents that are hidden with it."""
    about = (*_about(db, session, now), 0)
    own = f"SELECT * FROM session WHERE id = ? AND updated_at <> {sessions.FORGOTTEN}"
    _keep(db, about, "session", fetch_dicts(db, own, (session,)))
    for table in _tables("session", "hooks"):
        _keep(db, about, table, fetch_dicts(db, f"SELECT * FROM {table} WHERE session_id = ?", (session,)))
    _keep(db, about, "place", calls.places(db, session))
    _keep(db, about, "edit", calls.edits(db, session))
    _keep(db, about, "document", [{"id": identifier} for identifier in memories])
    forget_session(db, session)
    for table in _tables("hooks"):
        db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session,))


def hide_call(db: apsw.Connection, session: str, number: int, *, now: int) -> None:
    """Hide a call, and the names and places that only it has."""
    about = (*_about(db, session, now), number)
    for table, where in {"call": "number = ?2", **calls.ONLY_OF_CALL}.items():
        query = f"SELECT * FROM {table} WHERE session_id = ?1 AND {where}"
        _keep(db, about, table, fetch_dicts(db, query, (session, number)))
    for table, rows in (("place", calls.places(db, session)), ("edit", calls.edits(db, session))):
        _keep(db, about, table, [row for row in rows if row["number"] == number])
    calls.forget(db, session, number)


def bring_back(db: apsw.Connection, session: str, number: int = 0) -> list[str] | None:
    """Put back a session, or one of its calls; returns the ids of the documents that were hidden with it.

    None: nothing of it was kept.
    """
    query = "SELECT kind, value FROM forgotten WHERE session_id = ? AND number = ? AND value <> '{}' ORDER BY id"
    rows: dict[str, list[dict[str, Any]]] = {}
    for table, value in db.execute(query, (session, number)).fetchall():
        rows.setdefault(str(table), []).append(json_text.loads(str(value)))
    if not number:
        db.execute("DELETE FROM session WHERE id = ? AND updated_at = ?", (session, sessions.FORGOTTEN))
        db.execute("DELETE FROM seen_file")  # its transcripts are read again
    elif rows:
        db.execute(f"DELETE FROM call WHERE session_id = ? AND number = ? AND {_FORGOTTEN_CALL}", (session, number))
    for table in ("session", *_tables("session", "hooks")):
        for row in rows.get(table, ()):
            if table == "call":
                del row["rowid"]
            values = f"({', '.join(row)}) VALUES ({marks(row)})"
            db.execute(f"INSERT OR IGNORE INTO {table} {values}", tuple(row.values()))
            if table == "call" and db.changes() and row["outcome"] != calls.FORGOTTEN:
                calls.index(db, row, db.last_insert_rowid())
    seen = {(place["file"], place["name"]) for place in calls.places(db, session)}
    places: list[Any] = [row for row in rows.get("place", ()) if (row["file"], row["name"]) not in seen]
    edits: list[Any] = rows.get("edit", [])
    calls.save_places(db, session, places, edits)
    db.execute("DELETE FROM forgotten WHERE session_id = ? AND number = ?", (session, number))
    return [str(row["id"]) for row in rows.get("document", ())] if rows else None


def forgotten_session(db: apsw.Connection, given: str, least: int = 4) -> str:
    """The forgotten session with this id, or the only session whose id begins with it, "" for none."""
    found = sessions.forgotten_ids(db)
    return given if given in found else sessions.only_one(given, found, least)


def has_kept(db: apsw.Connection, session: str) -> bool:
    """Whether anything of a forgotten session was kept, which `bring_back` puts back."""
    query = "SELECT count(*) FROM forgotten WHERE session_id = ? AND number = 0 AND value <> '{}'"
    return bool(db.execute(query, (session,)).get)


def hidden_calls(db: apsw.Connection, session: str) -> list[int]:
    """The numbers of a session's calls that were forgotten by themselves."""
    query = "SELECT DISTINCT number FROM forgotten WHERE session_id = ? AND number > 0"
    return [int(number) for (number,) in db.execute(query, (session,))]


def admit_again(db: apsw.Connection, session: str, source: str) -> None:
    """Let the transcript `source` bring back what was purged from a session: it is read again from its beginning."""
    for kind in (KINDS["toolCalls"], KINDS["summaries"]):
        db.execute(f"DELETE FROM {kind.table} WHERE session_id = ? AND {kind.stays}", (session,))
    db.execute("UPDATE session SET plan = '[]' WHERE id = ? AND plan = ?", (session, sessions.PURGED_PLAN))
    db.execute("UPDATE transcript SET head = '' WHERE source = ?", (source,))


def expire_hooks(db: apsw.Connection, before: int) -> None:
    """Delete the hook calls and injected texts from before a time (ms), and those kept of sessions that ended then."""
    tables = _tables("hooks")
    for table in tables:
        db.execute(f"DELETE FROM {table} WHERE at < ?", (before,))
    db.execute(f"DELETE FROM forgotten WHERE at < ? AND kind IN ({marks(tables)})", (before, *tables))


def _about(db: apsw.Connection, session: str, now: int) -> tuple[str, str, int]:
    """The session's id, project and time."""
    known = sessions.by_id(db, session)
    return (session, known["project"], known["updated_at"]) if known else (session, "", now)


def _keep(db: apsw.Connection, about: tuple[str, str, int, int], kind: str, rows: Iterable[Any]) -> None:
    statement = "INSERT INTO forgotten (session_id, project, at, number, kind, value) VALUES (?, ?, ?, ?, ?, ?)"
    db.executemany(statement, [(*about, kind, json_text.dumps(row)) for row in rows])
