"""Archived sessions: their records, episodes and compactions, and how far they were read and observed.

Times are in ms since the epoch. Functions that write belong inside the caller's transaction. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.errors import Failure
from core.project import own_names
from core.store.sqlite import ALL, LIVE_CALL, fetch, fetch_dicts, fetch_one, marks, row_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Episode, Session

TITLE = "title"  # the speaker of an episode that names its session
SUBAGENTS = "SELECT id FROM session WHERE parent = ? AND parent <> '' AND kind IN ('subagent', 'review')"
LIVE_EPISODE = """instr(tags, '"abandoned"') = 0"""  # as `LIVE_CALL`: not abandoned
FORGOTTEN = -1  # instead of `updated_at`: the session stays known, so that its transcript is not archived again
STARTED = ("subagent", "review")  # kinds of sessions that another session began
PURGED_PLAN = '[["purged"]]'  # so that reading the transcript again does not bring the plan back
PURGED_SUMMARY = "[purged]"  # likewise
SUMMARY_CHARS = 100_000  # of a compaction's summary that are kept


def by_id(db: apsw.Connection, identifier: str) -> Session | None:
    """The session with this id, unless it was forgotten."""
    return fetch_one(db, f"{_KNOWN} AND id = ?", (identifier,), _session)


def prompts(db: apsw.Connection, session: str) -> list[tuple[int, int]]:
    """For each prompt of a session, in order: the number of the last call and the row of the last episode up to it."""
    query = "SELECT calls, episode FROM node WHERE session_id = ? AND is_prompt ORDER BY episode"
    return list(db.execute(query, (session,)))


def save(db: apsw.Connection, session: Session) -> None:
    """Insert or replace a session; a purged plan stays purged."""
    plan: list[Any] = list(session["plan"])
    if plan and "plan_at" in session:
        plan.append(session["plan_at"])
    db.execute(
        "INSERT OR REPLACE INTO session (id, client, project, folder, updated_at, prompts, calls, plan, ended_at,"
        " worktree, parent, kind, forked_at, folders, branches)"
        " VALUES (:id, :client, :project, :folder, :updated_at, :prompts, :calls,"
        " coalesce((SELECT plan FROM session WHERE id = :id AND plan = :purged), :plan), :ended_at, :worktree, :parent,"
        " :kind, :forked_at, :folders, coalesce((SELECT branches FROM session WHERE id = :id), '[]'))",
        {
            "ended_at": 0, "worktree": "", "parent": "", "kind": "main", "forked_at": 0, **session,
            "plan": json_text.dumps(plan), "purged": PURGED_PLAN,
            "folders": json_text.dumps(session.get("folders", [])),
        },
    )  # fmt: skip


def is_forgotten(db: apsw.Connection, identifier: str) -> bool:
    """Whether nothing of a session may be kept."""
    return bool(db.execute("SELECT 1 FROM session WHERE id = ? AND updated_at = ?", (identifier, FORGOTTEN)).get)


def forgotten_ids(db: apsw.Connection) -> list[str]:
    """The sessions that must leave nothing in the store."""
    return [str(name) for (name,) in db.execute("SELECT id FROM session WHERE updated_at = ?", (FORGOTTEN,))]


def of_agents(db: apsw.Connection) -> set[str]:
    """The sessions that other sessions began: subagents and reviews."""
    return {str(name) for (name,) in db.execute(f"SELECT id FROM session WHERE NOT {_OF_USER}")}


def subagents(db: apsw.Connection, identifier: str, *, forgotten: bool | None = None) -> list[str]:
    """The sessions that a session began; only those that were forgotten or were not, if that is asked."""
    names = [str(name) for (name,) in db.execute(SUBAGENTS, (identifier,))]
    return [name for name in names if forgotten is None or is_forgotten(db, name) == forgotten]


def totals(db: apsw.Connection) -> tuple[int, int]:
    """The number of sessions and of tool calls."""
    count = db.execute("SELECT count(*) FROM session WHERE updated_at <> ?", (FORGOTTEN,)).get
    return int(count), int(db.execute("SELECT count(*) FROM call").get)


def latest(db: apsw.Connection, most: int) -> list[Session]:
    """The sessions of all projects that no other session began, the most recently active first."""
    return fetch(db, f"{_KNOWN} AND {_OF_USER} ORDER BY updated_at DESC, id LIMIT ?", (most,), _session)


def latest_first(db: apsw.Connection) -> list[tuple[str, str]]:
    """Id and project of every session that was not forgotten, the most recently active first, from an index only."""
    return list(db.execute(f"SELECT id, project FROM session WHERE updated_at <> {FORGOTTEN} ORDER BY updated_at DESC"))


def last_of_project(db: apsw.Connection, project: str, folder: str, *, without: str = "") -> list[Session]:
    """The last five sessions of a project with tool calls, and the last three in the folder without any.

    Those of the folder go first, then the latest. Of no project none.
    """
    own = own_names(project, projects(db)) if project else []
    query = f"{_KNOWN} AND {_OF_USER} AND id <> ? AND project IN ({marks(own)}) AND"
    worked = fetch(db, f"{query} calls > 0 ORDER BY updated_at DESC LIMIT 5", (without, *own), _session)
    in_folder = "calls = 0 AND folder = ? ORDER BY updated_at DESC LIMIT 3"
    talked = fetch(db, f"{query} {in_folder}", (without, *own, folder), _session)
    return sorted([*worked, *talked], key=lambda session: (session["folder"] != folder, -session["updated_at"]))


def last_compacted(db: apsw.Connection, projects: Sequence[str] | None = None) -> Session | None:
    """The last session with a live compaction, of these projects or of all; by our time if the client gave none."""
    abandoned = f"SELECT number FROM call WHERE call.session_id = compaction.session_id AND NOT {LIVE_CALL}"
    given = tuple(projects or ())
    where = "" if projects is None else f" AND project IN ({marks(given)})"
    return fetch_one(
        db,
        "SELECT session.* FROM session JOIN (SELECT session_id, max(at) AS compacted FROM compaction"
        f" WHERE call NOT IN ({abandoned}) GROUP BY session_id) ON session_id = id WHERE updated_at <> ?{where}"
        " ORDER BY CASE WHEN compacted > 0 THEN compacted ELSE updated_at END DESC, id",
        (FORGOTTEN, *given),
        _session,
    )


def below(db: apsw.Connection, folders: Iterable[str]) -> list[str]:
    """The ids of sessions whose folder is among these or below, the most recently active first."""
    found: dict[str, None] = {}
    query = "SELECT id FROM session WHERE (folder = ? OR (folder >= ? AND folder < ?)) AND updated_at <> ?"
    for folder in folders:
        inside = folder.rstrip("/") + "/"
        values = (folder, inside, inside[:-1] + "0", FORGOTTEN)
        rows = db.execute(f"{query} ORDER BY updated_at DESC", values)
        found |= dict.fromkeys(str(identifier) for (identifier,) in rows)
    return list(found)


def projects(db: apsw.Connection) -> list[str]:
    """The names of projects with archived sessions."""
    return [str(name) for (name,) in db.execute("SELECT DISTINCT project FROM session WHERE project <> ''")]


def folders(db: apsw.Connection) -> list[str]:
    """The folders of archived sessions."""
    return [str(folder) for (folder,) in db.execute("SELECT DISTINCT folder FROM session WHERE folder <> ''")]


def has_others(db: apsw.Connection, names: Sequence[str]) -> bool:
    """Whether a session belongs to a project other than these, or to none."""
    others = f"SELECT EXISTS (SELECT 1 FROM session WHERE project NOT IN ({marks(names)}))"
    return bool(db.execute(others, (*names,)).get)


def is_archived(db: apsw.Connection, session: str) -> bool:
    """Whether a session with exactly this id is archived, and was not forgotten."""
    query = (
        "SELECT 1 FROM session WHERE id = ?1 AND updated_at <> ?2 UNION ALL"
        " SELECT 1 FROM document WHERE session_id = ?1 AND session_id <> '' AND forgotten_at IS NULL LIMIT 1"
    )
    return bool(db.execute(query, (session, FORGOTTEN)).get)


def whole_id(db: apsw.Connection, given: str, least: int = 4) -> str:
    """The archived session with this id, or the only session whose id begins with it, "" for none. See `only_one`."""
    if is_archived(db, given):
        return given
    end = given + "\U0010ffff"
    rows = db.execute(
        "SELECT DISTINCT session_id FROM document WHERE session_id >= ? AND session_id < ? AND session_id <> ''"
        " AND +rowid BETWEEN ? AND ? UNION SELECT id FROM session WHERE id >= ? AND id < ?"
        " EXCEPT SELECT id FROM session WHERE updated_at = ? ORDER BY 1 LIMIT 11",
        (given, end, *row_range("episodes"), given, end, FORGOTTEN),
    )
    return only_one(given, [str(row[0]) for row in rows], least)


def only_one(given: str, ids: Iterable[str], least: int = 4) -> str:
    """The only id that begins with these `least` characters or more, "" for none. Raises Failure SESSION_AMBIGUOUS."""
    found = [name for name in dict.fromkeys(ids) if name.startswith(given)] if len(given) >= least else []
    if len(found) > 1:
        shown = ", ".join(found[:10]) + (" and more" if len(found) > 10 else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give a longer id")
    return found[0] if found else ""


def with_recovery_note(db: apsw.Connection, text: str, most: int) -> list[str]:
    """The sessions whose recovery note, among the newest `most`, holds a text, the newest first."""
    rows = db.execute(
        "SELECT session_id FROM (SELECT session_id, text FROM injection WHERE kind IN ('compaction-recovery',"
        " 'gateway-recovery') ORDER BY at DESC, id DESC LIMIT ?) WHERE instr(text, ?)",
        (most, text),
    )
    return [session for (session,) in rows]


def subject_and_notes(db: apsw.Connection, session: str, most: int) -> tuple[str, list[str]]:
    """A session's subject (a narrative of it, else its first prompt), and its newest observations, in order."""
    own = "FROM document WHERE session_id = ?1 AND session_id <> '' AND forgotten_at IS NULL AND +rowid BETWEEN"
    first, last = row_range("observations")
    written = f"{own} {first} AND {last} AND write_verdict <> 'discard' ORDER BY rowid DESC LIMIT ?2"
    rows = db.execute(f"SELECT text, observation_type {written}", (session, most))
    notes = [(str(text), kind) for text, kind in rows][::-1]
    narratives = [text for text, kind in notes if kind == "segment_narrative"]
    prompt = f"SELECT substr(text, 7) {_EPISODES} AND text LIKE 'user: %' ORDER BY rowid LIMIT 1"
    subject = narratives[0] if narratives else str(db.execute(prompt, (session,)).get or "")
    return subject, [text for text, _ in notes]


def title_id(session: str, *, by_user: bool) -> str:
    """The id of the episode with the title that the user or the client gave a session."""
    return f"title:{session}" if by_user else f"auto-title:{session}"


def title(db: apsw.Connection, session: str) -> str:
    """The title of a session, rather the user's than the client's; "" if it has none."""
    ids = title_id(session, by_user=False), title_id(session, by_user=True)
    query = f"SELECT substr(text, {len(TITLE) + 3}) FROM document WHERE id IN (?, ?) AND forgotten_at IS NULL"
    return str(db.execute(f"{query} ORDER BY id DESC LIMIT 1", ids).get or "")


def last_episodes(
    db: apsw.Connection, session: str, most: int, *, until: int = ALL, live: str = LIVE_EPISODE
) -> list[tuple[str, str, int]]:
    """Id, text and time of a session's last episodes up to a time, oldest first, of those that `live` admits."""
    query = f"SELECT id, text, created_at {_ALL_EPISODES} AND {live} AND created_at <= ? ORDER BY rowid DESC LIMIT ?"
    return list(db.execute(query, (session, until, most)))[::-1]


def timed_prompts(db: apsw.Connection, session: str, last: int = ALL) -> list[dict[str, Any]]:
    """A session's last prompts (`text`) with their times (`at`), by time."""
    query = f"SELECT created_at AS at, substr(text, 7) AS text {_EPISODES} AND text LIKE 'user: %'"
    prompts: list[dict[str, Any]] = fetch_dicts(db, f"{query} ORDER BY rowid DESC LIMIT ?", (session, last))
    prompts.reverse()  # those of the same time stay as they were stored
    return sorted(prompts, key=lambda prompt: prompt["at"])


def episode_times(db: apsw.Connection, session: str) -> tuple[int, int, int]:
    """The number of episodes of a session, and the times of the first and the last (or 0)."""
    query = f"SELECT count(*), coalesce(min(created_at), 0), coalesce(max(created_at), 0) {_EPISODES}"
    ((count, first, last),) = db.execute(query, (session,))
    return count, first, last


def compactions(db: apsw.Connection, session: str, live: str = LIVE_CALL) -> list[dict[str, Any]]:
    """The compactions of a session (`call`, `at`, `summary`), oldest first."""
    # by time first: calls are numbered in the order of storing, and a hook may store the newest before the others
    abandoned = f"SELECT number FROM call WHERE session_id = ?1 AND NOT {live}"
    query = f"SELECT call, at, summary FROM compaction WHERE session_id = ?1 AND call NOT IN ({abandoned})"
    return fetch_dicts(db, f"{query} ORDER BY at, call", (session,))


def save_compaction(db: apsw.Connection, session: str, call: int, at: int, summary: str) -> None:
    """Insert or complete a compaction; two with no call between them are the same."""
    db.execute(
        "INSERT INTO compaction VALUES (?, ?, ?, ?) ON CONFLICT (session_id, call) DO UPDATE SET"
        " at = max(at, excluded.at), summary ="
        " CASE WHEN excluded.summary = '' OR summary = ? THEN summary ELSE excluded.summary END",
        (session, call, at, summary, PURGED_SUMMARY),
    )


def observed_position(db: apsw.Connection, session: str) -> int:
    """The row of the last observed episode; 0 if none was observed."""
    reached = int(db.execute("SELECT coalesce(max(reached), 0) FROM observed WHERE session_id = ?", (session,)).get)
    return reached if reached >= 0 else last_row(db, session, -reached)  # see `kinds.start_over`


def save_observed_position(db: apsw.Connection, session: str, reached: int, at: int) -> None:
    """Store `observed_position`, and forget failed replies."""
    db.execute("INSERT OR REPLACE INTO observed VALUES (?, ?, '', ?)", (session, reached, at))
    db.execute("DELETE FROM observed_failure WHERE session_id = ?", (session,))


def count_failed_reply(db: apsw.Connection, session: str) -> int:
    """Count an unreadable reply of the model; returns how many came in a row."""
    count = "INSERT INTO observed_failure VALUES (?, 1) ON CONFLICT DO UPDATE SET failures = failures + 1"
    return int(db.execute(f"{count} RETURNING failures", (session,)).get)


def episodes(db: apsw.Connection, session: str, after: int, most: int) -> list[Episode]:
    """The first `most` episodes of a session after a row, oldest first, without forgotten ones."""
    sql = f"SELECT rowid, id, text, project, created_at {_EPISODES} AND +rowid > ? ORDER BY rowid LIMIT ?"
    return fetch_dicts(db, sql, (session, after, most))


def unobserved(db: apsw.Connection, session: str, after: int) -> tuple[int, int]:
    """The number of a session's episodes after a row, and of their characters."""
    query = f"SELECT count(*), coalesce(sum(length(text)), 0) {_EPISODES} AND +rowid > ?"
    ((count, characters),) = db.execute(query, (session, after))
    return count, characters


def last_row(db: apsw.Connection, session: str, until: int) -> int:
    """The row of a session's last episode up to a time; 0 if there is none."""
    return int(db.execute(f"SELECT max(rowid) {_ALL_EPISODES} AND created_at <= ?", (session, until)).get or 0)


# Forks, and who said something first


def ancestors(db: apsw.Connection, identifier: str, kinds: Sequence[str] = ("fork", *STARTED)) -> list[str]:
    """A session and its ancestors, up through sessions of these kinds, the nearest first."""
    found = [identifier]
    query = f"SELECT parent FROM session WHERE id = ? AND parent <> '' AND kind IN ({marks(kinds)})"
    while (parent := db.execute(query, (found[-1], *kinds)).get) and parent not in found:  # there may be a circle
        found.append(str(parent))
    return found


def fork_of(db: apsw.Connection, identifier: str) -> tuple[str, int] | None:
    """The parent of a fork, and the time (ms) up to which the fork shares its history; None if it is no fork.

    If no line says when that was, it is just before the first episode of the fork's own.
    """
    query = "SELECT parent, forked_at, updated_at FROM session WHERE id = ? AND kind = 'fork' AND parent <> ''"
    row = db.execute(query, (identifier,)).fetchone()
    if row is None:
        return None
    own = None if row[1] else first_episode_at(db, identifier, ())
    return str(row[0]), int(row[1] or row[2]) if own is None else own - 1


def note_fork(db: apsw.Connection, identifier: str, parent: str) -> None:
    """Note that a session was forked from another, unless a parent is known that is not that of the other, too."""
    if identifier in ancestors(db, parent):
        return
    common = "SELECT parent FROM session WHERE id = ?1 AND parent IN (SELECT id FROM session)"  # else both named it
    above = f"parent = '' OR (kind = 'fork' AND parent = ({common}))"
    db.execute(f"UPDATE session SET parent = ?1, kind = 'fork' WHERE id = ?2 AND ({above})", (parent, identifier))


def drop_reversed_fork(db: apsw.Connection, identifier: str, fork: str) -> None:
    """If a session was taken for a fork of its own fork, whose transcript now names it, have it read again as none."""
    if fork != identifier and fork in ancestors(db, identifier, ("fork",)):
        db.execute("UPDATE session SET parent = '', kind = 'main' WHERE id = ?", (identifier,))
        read_again(db, identifier)


def forks(db: apsw.Connection, identifier: str) -> list[str]:
    """The sessions that were forked from a session."""
    query = "SELECT id FROM session WHERE parent = ? AND parent <> '' AND kind = 'fork'"
    return [str(name) for (name,) in db.execute(query, (identifier,))]


def by_time(db: apsw.Connection, session: str, most: int = ALL) -> list[Episode]:
    """The first `most` episodes of a session by their time, without titles."""
    where = f"{_EPISODES} AND text NOT LIKE '{TITLE}: %' ORDER BY created_at, rowid LIMIT ?"
    return fetch_dicts(db, f"SELECT rowid, id, text, project, created_at {where}", (session, most))


def with_episode(db: apsw.Connection, fingerprint: str, other: str) -> list[str]:
    """The first sessions with an episode of this fingerprint, without a certain other."""
    episodes = "fingerprint = ? AND session_id NOT IN ('', ?) AND forgotten_at IS NULL AND +rowid BETWEEN ? AND ?"
    query = f"SELECT DISTINCT session_id FROM document WHERE {episodes} LIMIT 20"
    return [str(session) for (session,) in db.execute(query, (fingerprint, other, *row_range("episodes")))]


def first_episode_at(db: apsw.Connection, session: str, without: Iterable[str]) -> int | None:
    """The time of a session's first episode other than titles and those with these ids; None if it has no other."""
    query = f"SELECT min(created_at) {_ALL_EPISODES} AND id NOT IN (SELECT value FROM json_each(?))"
    query += f" AND text NOT LIKE '{TITLE}: %'"
    at = db.execute(query, (session, json_text.dumps(list(without)))).get
    return None if at is None else int(at)


def leave_prompts(db: apsw.Connection, session: str, count: int) -> None:
    """Note that some prompts of a session are another's."""
    db.execute("UPDATE session SET prompts = max(0, prompts - ?) WHERE id = ?", (count, session))


# Transcripts: how far they were read, and reading them again


def transcript_position(db: apsw.Connection, source: str) -> tuple[int, str, str] | None:
    """The bytes read of a transcript, a fingerprint of the first of them, and JSON that the next lines need."""
    row = db.execute("SELECT offset, head, carry FROM transcript WHERE source = ?", (source,)).fetchone()
    return (int(row[0]), str(row[1]), str(row[2])) if row else None


def save_transcript_position(db: apsw.Connection, source: str, offset: int, head: str, carry: str, at: int) -> None:
    """Store `transcript_position`."""
    db.execute("INSERT OR REPLACE INTO transcript VALUES (?, ?, ?, ?, ?)", (source, offset, head, carry, at))


def transcripts_of(db: apsw.Connection, *named: str) -> list[str]:
    """The transcripts of these sessions, the newest first. An older version did not note the session: see the path."""
    noted = "CASE WHEN json_valid(carry) THEN json_extract(carry, '$.session') END IN (SELECT value FROM json_each(?1))"
    in_path = "instr(source, value) AND NOT instr(source, value || '/subagents/')"  # those are its subagents'
    where = f"coalesce({noted}, EXISTS (SELECT 1 FROM json_each(?1) WHERE {in_path})) ORDER BY updated_at DESC"
    rows = db.execute(f"SELECT source FROM transcript WHERE {where}", (json_text.dumps(named),))
    return [str(row[0]) for row in rows]


def transcripts(db: apsw.Connection) -> set[str]:
    """The transcripts that were read."""
    return {source for (source,) in db.execute("SELECT source FROM transcript")}


def read_again(db: apsw.Connection, session: str) -> None:
    """Have the transcripts of a session read again from their beginning, in place of what a fork had of it.

    The fork may have it in another order. Without the fingerprint of its head, a transcript counts as replaced, and
    without its `seen_file` as changed, so that the next archiving begins it anew. The row of `upkeep` says that the
    session's rows are then deleted first (`is_due_again`, `kinds.start_over`); they stay if a transcript is gone.
    """
    from core.store import sources  # an archive loads it; a start does not

    read = transcripts_of(db, session)
    found = [source for source in read if sources.existing(source)]
    for source in found:
        db.execute("UPDATE transcript SET head = '' WHERE source = ?", (source,))
        db.execute("DELETE FROM seen_file WHERE path = ?", (words.fingerprint(source),))
    if len(found) == len(read):  # else the rest of the session would be lost
        db.execute("INSERT OR IGNORE INTO upkeep VALUES (?, 0)", (f"read again: {session}",))


def transcripts_due_again(db: apsw.Connection) -> list[str]:
    """The transcripts that exist of sessions to be read again."""
    from core.store import sources

    names = [str(row[0]) for row in db.execute("SELECT substr(name, 13) FROM upkeep WHERE name GLOB 'read again: *'")]
    return [path for path in map(sources.existing, transcripts_of(db, *names)) if path]


def is_due_again(db: apsw.Connection, session: str) -> bool:
    """Whether a session is to be read again; from now on it is not."""
    db.execute("DELETE FROM upkeep WHERE name = ?", (f"read again: {session}",))
    return bool(db.changes())


def episode_rows(db: apsw.Connection, session: str) -> list[int]:
    """The rows of a session's episodes, without titles."""
    rows = db.execute(f"SELECT rowid {_ALL_EPISODES} AND text NOT LIKE '{TITLE}: %'", (session,))
    return [int(row) for (row,) in rows]


def has_unchecked(db: apsw.Connection) -> bool:
    """Whether the sessions of an older version may have lost episodes to their forks."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM unchecked_session)").get)


def read_emptied_again(db: apsw.Connection) -> None:
    """Have the sessions of an older version read again that may have lost prompts to their forks."""
    query = f"SELECT count(*) < (SELECT prompts FROM session WHERE id = ?) {_ALL_EPISODES} AND text LIKE 'user: %'"
    for (session,) in db.execute("SELECT id FROM unchecked_session").fetchall():
        if db.execute(query, (session, session)).get:
            read_again(db, str(session))
    db.execute("DELETE FROM unchecked_session")


def seen_files(db: apsw.Connection) -> dict[str, dict[str, Any]]:
    """The files that the archive has seen, by the fingerprint of their path."""
    seen: list[dict[str, Any]] = fetch_dicts(db, "SELECT * FROM seen_file", ())
    return {file["path"]: file for file in seen}


def note_seen(db: apsw.Connection, seen: Iterable[dict[str, Any]], gone: Iterable[str]) -> None:
    """Record the state of files, and delete the records of others."""
    db.executemany(
        "INSERT OR REPLACE INTO seen_file (path, stamp, asked, client, reason, seen_at)"
        " VALUES (:path, :stamp, :asked, :client, :reason, :seen_at)",
        list(seen),
    )
    db.executemany("DELETE FROM seen_file WHERE path = ?", [(path,) for path in gone])


_KNOWN = f"SELECT * FROM session WHERE updated_at <> {FORGOTTEN}"
_OF_USER = "kind NOT IN ('subagent', 'review')"
# The partial index on the session needs the second condition; +rowid keeps the planner from walking all episodes.
_ALL_EPISODES = (
    "FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL"
    " AND +rowid BETWEEN {} AND {}".format(*row_range("episodes"))
)
_EPISODES = f"{_ALL_EPISODES} AND {LIVE_EPISODE}"


def _session(**columns: Any) -> Session:
    plan = columns["plan"]
    steps = json_text.loads(plan) if plan != PURGED_PLAN else []
    if steps and len(steps[-1]) == 2 and all(isinstance(number, int) for number in steps[-1]):
        columns["plan_at"] = steps.pop()  # stored in the same column, after the steps
    columns["plan"] = steps
    columns["folders"] = json_text.loads(columns["folders"])
    return columns  # type: ignore[return-value]  # the columns are the keys of the TypedDict
