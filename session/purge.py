"""`memory purge`: delete permanently all that matches, in every file of the home.

Files are cleaned before the store, because the store still knows the ids and sessions if the purge is killed in
between: the same command then does the rest. Text that a person wrote by hand (settings, names of files) is reported
and stays.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import escape, glob
from typing import Any

from core import clock, files, project
from core.config import Config
from core.errors import Failure, reported
from core.store import cluster_sync, deletion, kinds, sessions, sources, sqlite, store_file
from core.store.deletion import Criteria, Selection
from core.store.sqlite import COLLECTION_SHIFT, NAME_OF, apsw
from memory import curate
from otel import log
from recall.vectors import document_vector
from session import known_sessions
from session.known_states import hide_state, list_states, remove_state, session_of
from session.reactions import daily_log
from session.state import state_lock

NOT_SEARCHED = {
    "ids": "backups; other memories, prompts and events that repeat parts of it: purge them with --match TEXT",
    "sessions": "backups; other sessions and events that repeat what they said: purge it with --match TEXT",
    "match": "backups; names of folders; other spellings, encoded text, words that are joined by other characters",
}


Bar = tuple[Callable[[int], None], Callable[[int], None]]
"""Functions that set the number of steps of a progress bar, and that advance it."""


class Purge:
    """One purge. The rows are looked up when it is created, to ask, and again when they are deleted.

    Args:
        filters: the values of `--session`, `--project`, `--before` and `--match`, "" if not given.
    """

    def __init__(self, config: Config, ids: Sequence[str], filters: Mapping[str, str], bar: Bar) -> None:
        log.store_spooled()
        if sqlite.open_reading() is None:
            raise Failure("PURGE_NOTHING", "nothing is stored yet", "see joelclaw status")
        self._config = config
        self._db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=True)
        self._criteria = _by_ids(self._db, ids) if ids else _by_filters(self._db, filters)
        self._selection = deletion.select(self._db, self._criteria)
        self._sweep = _Sweep(self._criteria, self._selection, config, bar, dry=True)
        if not store_file.is_owed(self._db) and not any(self._counts().values()):
            raise Failure("PURGE_NOTHING", "nothing matches", "look with joelclaw recall or joelclaw memory stats")

    def run(self, bar: Bar) -> dict[str, Any]:
        """Delete it. Raises Failure PURGE_UNFINISHED, PURGE_UNWRITABLE or STORE_…; run it again then."""
        log.store_spooled(busy_ms=self._config.get_int("store.busy_ms"))
        self._selection = deletion.select(self._db, self._criteria)  # the question may have waited for an hour
        self._sweep = _Sweep(self._criteria, self._selection, self._config, bar, dry=False)
        for session in self._selection.sessions:
            with state_lock(session):
                hide_state(session)  # the state itself was deleted
        self._selection = deletion.erase(self._db, self._criteria, at=clock.now_ms(), embed=document_vector)
        if self._criteria.phrases and not self._criteria.has_ids:
            holds = self._criteria.holds
            self._sweep.named_only.update(name for path, name in _home_files() if holds(name, files.start_of(path)))
        store_file.wipe(self._db)
        return self.result(done=True)

    def result(self, *, done: bool) -> dict[str, Any]:
        """The numbers, the files that stay, and a note on text that was not searched."""
        most = 50  # ids, sessions, projects and transcripts in the answer
        old_homes = sorted(glob(escape(os.path.realpath(files.home())) + ".*"))  # also what a killed restore left
        touched = {*self._selection.touched, *self._selection.sessions}
        transcripts = sorted(filter(None, map(sources.existing, sessions.transcripts_of(self._db, *touched))))
        cluster = None
        if cluster_sync.has_outbox(self._db):
            waiting = cluster_sync.outbox_status(self._db)
            cluster = {"pending": waiting["documents"], "refused": waiting["refused"], "error": waiting["error"]}
        kind = "ids" if self._criteria.has_ids else "match" if self._criteria.phrases else "sessions"
        return {
            "purged": done,
            "ids": self._selection.ids[:most],
            "sessions": self._selection.sessions[:most],
            **self._counts(),
            "turns": sum(NAME_OF[row >> COLLECTION_SHIFT] == "episodes" for (row,) in self._selection.rows["memories"]),
            "from": clock.iso(min(self._selection.times, default=None)),
            "to": clock.iso(max(self._selection.times, default=None)),
            "projects": self._selection.projects[:most],
            "namedOnly": sorted(self._sweep.named_only),
            "bytes": self._selection.bytes + self._sweep.bytes,
            "cluster": cluster,
            "notTouched": [*old_homes, *transcripts[:most]],
            "notSearched": NOT_SEARCHED[kind],
        }

    def _counts(self) -> dict[str, Any]:
        found, sweep = self._selection.rows, self._sweep
        counted = ("memories", "toolCalls", "summaries", "events", "injectedTexts", "hookCalls", "forgotten")
        return {
            **{name: len(found[name]) for name in counted},
            "namesAndPlans": len(found["plans"]) + len(found["names"]) + len(found["carries"]),
            "logSections": sweep.log_sections,
            "states": sorted(sweep.states),
            "filesDeleted": sorted(sweep.files_deleted),
        }


def _by_ids(db: apsw.Connection, ids: Sequence[str]) -> Criteria:
    memories = [curate.find(db, given) for given in ids if not given.startswith("call:")]
    calls = [curate.known_call(db, given) for given in ids if given.startswith("call:")]
    return Criteria(
        documents=frozenset(memory["id"] for memory in memories),
        calls=frozenset((session, number) for _, session, number, _ in calls),
        phrases=deletion.quotable(memory["text"] for memory in memories),
    )


def _by_filters(db: apsw.Connection, filters: Mapping[str, str]) -> Criteria:
    session, name = filters["session"], filters["project"]
    try:
        session = session and (kinds.forgotten_session(db, session, 8) or known_sessions.resolve(db, session, 8))
    except Failure as failure:  # files may still name a session that the store no longer knows
        if failure.code != known_sessions.NOT_FOUND:
            raise
    live = [known.id for known in known_sessions.known_sessions(db) if name and project.same(name, known.project)]
    phrases = (deletion.folded(filters["match"]),) if filters["match"] else ()
    day = clock.local_period(filters["before"]) if filters["before"] else None
    before = day[0] if day else None
    return Criteria(session=session, project=name, live=frozenset(live), before=before, phrases=phrases)


class _Sweep:
    """Goes through the files of the home; notes those that were changed or deleted, or would be (`dry`)."""

    def __init__(self, criteria: Criteria, selection: Selection, config: Config, bar: Bar, *, dry: bool) -> None:
        self._criteria = criteria
        self._sessions = frozenset(selection.sessions)
        self._ids = frozenset(selection.ids)
        self._dry = dry
        self.states: set[str] = set()  # sessions whose state is deleted
        self.files_deleted: set[str] = set()
        self.named_only: set[str] = set()
        self.log_sections = 0
        self.bytes = 0  # of the deleted files and sections
        logs = set(glob(os.path.join(escape(os.path.dirname(daily_log.log_path(clock.now_ms(), config))), "*.md")))
        with reported("PURGE", files.home()):
            for path in logs:
                if os.path.isfile(path) and not os.path.islink(path):
                    self._clean_log(path)
            every = [(path, name) for path, name in _home_files() if path not in logs]
            bar[0](len(every))
            for path, name in every:
                with suppress(FileNotFoundError):
                    self._clean(path, name)
                bar[1](1)

    def _clean(self, path: str, name: str) -> None:
        folder, base = os.path.split(name)
        is_link = os.path.islink(path)
        if path == log.spool_path() or not os.lstat(path).st_size:  # new events; locks, the mark of a forgotten session
            return
        if folder == "sessions" and base.endswith(".json") and not is_link and self._clean_state(path):
            return
        if folder == "cache" and not is_link:  # whatever it holds, commands write it again
            if not self._dry:
                files.remove(path)
            return
        own = tuple(files.safe_name(session) + ".json" for session in self._sessions)
        if not (folder == "sessions" and base.startswith(own)) and not self._criteria.holds(files.start_of(path)):
            return
        by_hand = name.startswith(("config.toml", "switches.json", "knowledge.json", "installs/", "workspace/"))
        if is_link or (by_hand and ".damaged-" not in name and not base.endswith(".tmp")):
            self.named_only.add(name)
        else:  # a file that was set aside, a leftover of a killed writer
            self.files_deleted.add(name)
            self.bytes += os.lstat(path).st_size
            if not self._dry:
                files.remove(path)

    def _clean_state(self, path: str) -> bool:
        """Delete the state of a session that is purged, or that quotes purged text; False if it is damaged."""
        session, text, criteria = session_of(path), files.start_of(path), self._criteria
        by_age = criteria.before is not None and not (criteria.has_ids or criteria.phrases)
        is_meant = criteria.session in ("", session) and (not criteria.project or session in criteria.live)
        is_old = by_age and is_meant and 0 < list_states([path])[0]["updatedAt"] < (criteria.before or 0)
        quotes = criteria.holds(text) or not self._ids.isdisjoint(text.split('"'))
        if not text.startswith("{"):
            return False
        if session in self._sessions or is_old or quotes:
            self.states.add(session)
            self.bytes += len(text.encode())
            if not self._dry:
                remove_state(session)
        return True

    def _clean_log(self, path: str) -> None:
        with open(files.open_file(path), "rb") as file:
            text = file.read().decode("utf-8", "replace")
            kept, removed = self._without_sections(text, os.path.basename(path))
            self.log_sections += removed
            self.bytes += len(text.encode()) - len(kept.encode())
            if not removed or self._dry:
                return
            if kept.strip():
                files.write_whole(path, kept.encode())
            else:
                os.unlink(path)
            daily_log.append(path, file.read())  # hooks may have appended meanwhile

    def _without_sections(self, text: str, name: str) -> tuple[str, int]:
        """A daily log without the sections of sessions that go, and without lines of others that hold a phrase; how
        many sections changed."""
        criteria = self._criteria
        by_age = criteria.before is not None and not (criteria.phrases or criteria.session or criteria.project)
        is_old = by_age and name[:10] < clock.iso(criteria.before or 0)[:10]
        sections = re.split(r"^(?=#)", text, flags=re.MULTILINE)
        kept = []
        for section in sections:
            heading = section.partition("\n")[0]
            if daily_log.is_section(heading):
                is_of_session = any(daily_log.is_of_session(heading, session) for session in self._sessions)
                kept.append("" if is_old or is_of_session or criteria.holds(section) else section)
            else:
                kept.append("".join(line for line in section.splitlines(keepends=True) if not criteria.holds(line)))
        return "".join(kept), sum(before != after for before, after in zip(sections, kept, strict=True))


def _home_files() -> Iterator[tuple[str, str]]:
    """Path, and path in the home, of each file of ours except the store."""
    for path in files.entries(files.home()):
        name = os.path.relpath(path, files.home())
        if os.path.isfile(path) and name != files.STORE and not name.startswith(files.STORE + "-"):
            yield path, name
