"""`memory forget --purge`: deletes for good what fits, and everything that quotes it, in every file of the home.

Files come before the store and once more after it: where this is killed between, the words by which a quote is known
are still in the store, and the same command does the rest. What a person wrote by hand is named, not touched.
"""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape, glob
from typing import Any

from core import clock, files, home_files, json_text
from core import project as projects
from core.config import Config
from core.errors import Failure
from core.store import progress, purge, sqlite, store_file
from core.store.cluster import outbox
from core.store.purge import Criteria, Selection
from core.store.sqlite import apsw
from memory import curation
from otel import log
from recall.vectors import document_vector
from session import known_sessions
from session.backup import archive
from session.reactions import daily_log
from session.state import Damaged, SessionState, TooNew
from session.state_file import remove_state, state_lock

_SESSION_MARK = " · session "
_MOST_LISTED = 50
_BY_HAND = ("config.toml", "trusted.json", "switches.json", "knowledge.json", "installs/")
"""What a purge only names: without it something would be switched on, run or synced that was not."""
_FOUND = ("states", "statesChanged", "filesDeleted", "namedOnly", "notTouched")
"""Of these only the first three go; `notTouched` are files to which links in the home lead, by their whole path."""
_TRIES = 5
"""How often a log is read again that others replace meanwhile."""


class Purge:
    """One purge: what fits is looked up when it is made, and once more when it is deleted."""

    def __init__(
        self, config: Config, ids: Sequence[str], *, session: str, project: str, before: int | None, match: str
    ) -> None:
        log.store_spooled()
        if sqlite.open_reading() is None:
            raise Failure("PURGE_NOTHING", "nothing is stored yet", "see joelclaw status")
        self._config = config
        self._db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=True)
        self._vectors = sqlite.load_vectors(self._db)
        if ids:
            self._criteria = _named(self._db, ids)
        else:
            known = known_sessions.known_sessions(self._db) if project else []
            live = frozenset(one.id for one in known if projects.same(project, one.read().project))
            try:
                session = known_sessions.resolve(self._db, session) if session else ""
            except Failure as failure:  # files may still name one that is not known any more
                if failure.code != known_sessions.NOT_FOUND:
                    raise
            self._criteria = Criteria(session=session, project=project, live=live, before=before, match=match)
        self._selection = purge.select(self._db, self._criteria)
        self._sweep = Sweep(self._criteria, config)
        self._sweep.run(self._selection, dry=True)
        self._left = archive.leftovers()
        numbers = self._numbers()
        if not store_file.is_owed(self._db) and not any(numbers.values()):
            fix = "look with joelclaw recall or joelclaw memory stats"
            raise Failure("PURGE_NOTHING", "nothing matches", fix)

    def _numbers(self) -> dict[str, Any]:
        found, swept = self._selection, self._sweep
        return {
            "memories": len(found.documents),
            "toolCalls": len(found.calls),
            "summaries": len(found.compactions),
            "events": len(found.events),
            "injectedTexts": len(found.injections),
            "hookCalls": len(found.hook_calls),
            "namesAndPlans": len(found.plans) + len(found.names) + len(found.carries),
            "logSections": swept.log_sections,
            "waitingEvents": swept.unstored,
            **{name: sorted(swept.found[name]) for name in _FOUND[:2]},
            "filesDeleted": [*sorted(swept.found["filesDeleted"]), *self._left],
        }

    def result(self, *, done: bool) -> dict[str, Any]:
        """What goes, or has gone, in numbers; `cluster` is what one has not got yet, None where there is none."""
        # where the text may still stand: copies of the home, and what belongs to others
        copies = [one["file"] for one in archive.known() if os.path.exists(one["file"])]
        copies += sorted(glob(escape(os.path.realpath(files.home())) + ".before-restore-*"))
        copies += archive.leftovers(over=False) + (archive.leftovers() if done else [])
        named = {one for session in self._selection.touched for one in progress.sources_naming(self._db, session)}
        theirs = [*sorted(filter(os.path.exists, named))[:_MOST_LISTED], *sorted(self._sweep.found["notTouched"])]
        cluster = None
        if outbox.enabled(self._db):
            waiting = outbox.waiting(self._db)
            cluster = {"pending": waiting["documents"], "refused": waiting["refused"], "error": waiting["error"]}
        return {
            "purged": done,
            "ids": self._selection.ids[:_MOST_LISTED],
            "sessions": self._selection.sessions[:_MOST_LISTED],
            **self._numbers(),
            "namedOnly": sorted(self._sweep.found["namedOnly"]),
            "bytes": os.stat(sqlite.path()).st_size,
            "cluster": cluster,
            "notTouched": [*copies, *theirs],
        }

    def run(self) -> dict[str, Any]:
        """Delete it. Raises Failure: PURGE_UNFINISHED, PURGE_UNWRITABLE, or what the store says; run it again then."""
        self._selection = purge.select(self._db, self._criteria)  # the question may have stood for an hour
        self._sweep = Sweep(self._criteria, self._config)
        self._sweep.run(self._selection)
        now = clock.now_ms()
        self._selection = purge.erase(
            self._db, self._criteria, at=now, vectors=self._vectors, vector_of=document_vector
        )
        self._sweep.run(self._selection)  # what was written meanwhile
        self._sweep.found["namedOnly"].update(self._standing() if self._criteria.match else ())
        store_file.wipe(self._db)
        archive.sweep()
        return self.result(done=True)

    def _standing(self) -> Iterator[str]:
        """Where the phrase stands after all: in names, and in what was written a moment ago."""
        yield from (f"{files.STORE}: {column}" for column in purge.standing(self._db))
        for path, name in _ours(files.home()):
            if self._criteria.holds(name) or self._criteria.holds(_text(path)):
                yield name


def _named(db: apsw.Connection, ids: Sequence[str]) -> Criteria:
    found, numbered = set(), set()
    for identifier in ids:
        if identifier.startswith("call:"):
            call = curation.find_call(db, identifier)
            numbered.add((call["session"], call["number"]))
        else:
            found.add(curation.find(db, identifier)["id"])
    return Criteria(documents=frozenset(found), calls=frozenset(numbered))


class Sweep:
    """Goes through the files of the home, and notes by their paths in it what was taken out, or would be."""

    def __init__(self, criteria: Criteria, config: Config) -> None:
        self._criteria = criteria
        self._config = config
        self._home = files.home()
        self._before = None if criteria.by_id or criteria.match else criteria.before
        self._sessions: set[str] = set()
        self._words: frozenset[str] = frozenset()
        self._dry = False
        self.found: dict[str, set[str]] = {name: set() for name in _FOUND}
        self.log_sections = self.unstored = 0

    def run(self, selection: Selection, *, dry: bool = False) -> None:
        """Look everywhere for what goes from the store, too; each file is written as a whole or not at all."""
        self._sessions, self._words, self._dry = set(selection.sessions), selection.words, dry
        logs = os.path.dirname(daily_log.log_path(clock.now_ms(), self._config))
        is_ours = home_files.is_in_home(os.path.dirname(logs), files.home())  # elsewhere a folder is not only ours
        try:
            others = sorted(glob(os.path.join(escape(logs), "*.md")))
            for path in _below(logs) if is_ours else filter(os.path.isfile, others):
                self._daily_log(path)
            for path, name in _ours(self._home):
                if name != archive.BACKUPS and not (is_ours and path.startswith(logs + os.sep)):
                    self._file(path, name)
        except OSError as error:
            what = f"{error.filename or self._home}: {error.strerror or error}"
            raise Failure("PURGE_UNWRITABLE", what, "check its permissions, then run it again") from None

    def _file(self, path: str, name: str) -> None:
        folder, base = os.path.split(name)
        is_temporary, is_state = base.endswith(".tmp"), folder == "sessions" and base.endswith(".json")
        if folder == "spool" and not is_temporary:
            self._waiting_events(path)
            return
        gone = tuple(files.safe_name(one) + ".json" for one in self._sessions) if folder == "sessions" else ()
        if (is_state and not os.path.islink(path) and self._state(path)) or not (
            base.startswith(gone) or self._quotes(_text(path))
        ):
            return
        if name.startswith(_BY_HAND) and ".damaged-" not in name and not is_temporary:
            self.found["namedOnly"].add(name)
        elif os.path.islink(path):  # it is not ours, and a rename would put a plain file in its place
            self.found["notTouched"].add(os.path.realpath(path))
        else:  # a cache, what was set aside, what a killed writer left
            self.found["filesDeleted"].add(name)
            if not self._dry:
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def _quotes(self, text: str) -> bool:
        return self._criteria.holds(text) or (bool(self._words) and not self._words.isdisjoint(purge.words_of(text)))

    def _state(self, path: str) -> bool:
        text, asked = _text(path), self._criteria
        state = _json(text)
        session, updated = (
            (state.get(name) for name in ("sessionId", "updatedAt")) if isinstance(state, dict) else (0, 0)
        )
        if not isinstance(session, str):
            return False
        is_old = self._before is not None and isinstance(updated, int) and updated < self._before
        is_meant = asked.session in ("", session) and (not asked.project or session in asked.live)
        if session in self._sessions or (is_old and is_meant):
            self.found["states"].add(session)
            if not self._dry:
                remove_state(session)
        elif self._quotes(text):
            self.found["statesChanged"].add(session)
            if not self._dry:
                self._scrub_state(session, path)
        return True

    def _scrub_state(self, session: str, path: str) -> None:
        with state_lock(session):
            state = _json(_text(path))
            if not isinstance(state, dict):
                return
            data = json_text.dumps({**self._without(state), "sessionId": session})
            try:
                SessionState.from_json(json_text.loads(data), session)
            except (Damaged, TooNew):
                os.unlink(path)  # what is left of it would not be read
            else:
                files.write_whole(path, data.encode())

    def _without(self, value: Any) -> Any:
        if isinstance(value, str):
            return "" if self._quotes(value) else value
        if isinstance(value, list):
            return [one for one in value if not self._quotes(json_text.dumps(one))]
        if isinstance(value, dict):
            return {key: self._without(one) for key, one in value.items() if not self._quotes(key)}
        return value

    def _daily_log(self, path: str) -> None:
        is_text = path.endswith(".md") or "\ufffd" not in _text(path)
        if os.path.islink(path) or path.endswith(".tmp") or not is_text:
            self._file(path, os.path.relpath(path, self._home))
            return
        for _ in range(_TRIES):
            with open(path, "rb") as file:
                kept, gone = self._without_sections(file.read().decode("utf-8", "replace"), os.path.basename(path))
                if gone and not self._dry:
                    if os.stat(path).st_ino != os.fstat(file.fileno()).st_ino:
                        continue  # an editor put another file in its place meanwhile
                    if kept.strip():
                        files.write_whole(path, kept.encode())
                    else:
                        os.unlink(path)
                    daily_log.append(path, file.read())  # what was appended while we wrote
            self.log_sections += gone
            return
        raise OSError(errno.EBUSY, "another program keeps writing to it", path)

    def _without_sections(self, text: str, name: str) -> tuple[str, int]:
        kept, gone = "", 0
        asked = self._criteria
        most = 2 * max(1, len(asked.match.split()))  # lines that a phrase is broken over, and empty ones between
        of_all = self._before is not None and not (asked.session or asked.project)
        is_old = of_all and name[:10] < clock.iso(self._before)[:10]
        for section in re.split(r"^(?=#)", text, flags=re.MULTILINE):
            heading = section.partition("\n")[0]
            is_ours = heading.startswith("## ") and _SESSION_MARK in heading
            is_gone = is_old or any(daily_log.is_of_session(heading, session) for session in self._sessions)
            if is_ours and (is_gone or self._quotes(section)):
                gone += 1
            else:
                lines: list[str] = []
                for line in section.splitlines(keepends=True):
                    lines.append(line)
                    quoting = (back for back in range(1, most) if self._quotes("".join(lines[-back:])))
                    del lines[len(lines) - next(quoting, 0) :]
                left = "".join(lines)
                gone += left != section
                kept += left
        return kept, gone

    def _waiting_events(self, path: str) -> None:
        """Append what stays to the spool that hooks append to: a rename over it would lose what they do meanwhile."""
        try:
            with open(path, "rb") as file:
                gone = sum(map(self._line_goes, file.read().splitlines()))
            self.unstored += gone
            if not gone or self._dry:
                return
            aside = log.rewritten_spool_path(path)
            os.rename(path, aside)
            file = open(aside, "rb")
        except FileNotFoundError:  # taken in meanwhile
            return
        with file:
            for _ in range(2):
                kept = [line + b"\n" for line in file.read().splitlines() if not self._line_goes(line)]
                daily_log.append(log.spool_path(), b"".join(kept))
                with suppress(FileNotFoundError):
                    os.unlink(aside)  # and what a hook wrote that had opened it before

    def _line_goes(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace")
        event = _json(text)
        of_gone = isinstance(event, dict) and event.get("sessionId") in self._sessions
        return of_gone or self._quotes(text)


def _ours(home: str) -> Iterator[tuple[str, str]]:
    """Path, and path in the home, of each file of ours but the store."""
    for path in filter(os.path.isfile, home_files.entries(home)):
        name = os.path.relpath(path, home)
        if name != files.STORE and not name.startswith(files.STORE + "-"):
            yield path, name


def _below(folder: str) -> Iterator[str]:
    for at, _, names in os.walk(folder):
        yield from (os.path.join(at, name) for name in sorted(names))


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _json(text: str) -> Any:
    try:
        return json_text.loads(text)
    except json_text.InvalidJSON:
        return None
