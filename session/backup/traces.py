"""What a purge finds outside of the store: states, daily logs, the spool, caches and what was set aside, in our files.

A file of a session that goes is deleted, a text that quotes is taken out of its file, and a file that cannot be read
otherwise is deleted where it quotes. What a person wrote by hand (settings, trusted folders) is named, not touched.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from core import clock, files, home_files, json_text
from core.config import Config
from core.errors import Failure
from core.store import sqlite
from core.store.upkeep.purge import Criteria, Selection, readable, words_of
from otel import spool
from session import daily_log
from session.backup import archive
from session.state import schema, session_list, state_file
from session.state.schema import Damaged

_BY_HAND = ("config.toml", "trusted.json", "switches.json", "knowledge.json", "installs/")
"""What a purge only names: without it something would be switched on, run or synced that was not."""
_TRIES = 5
"""How often a log is read again that others replace meanwhile."""
_HEADING = "## "
_SESSION_MARK = " · session "


@dataclass
class Traces:
    """What was found, by its path in the home: and taken out, unless it was only looked for."""

    states: list[str] = field(default_factory=list)
    changed_states: list[str] = field(default_factory=list)
    log_sections: int = 0
    spooled: int = 0
    deleted: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    """Files to which links in the home lead, by their whole path: only named."""

    def add(self, other: Traces) -> None:
        """Take in what a second look found."""
        for one in fields(self):
            mine, new = getattr(self, one.name), getattr(other, one.name)
            if isinstance(mine, list):
                new = [name for name in new if name not in mine]
            setattr(self, one.name, mine + new)

    def __bool__(self) -> bool:
        """Whether anything goes."""
        return any((self.states, self.changed_states, self.log_sections, self.spooled, self.deleted))


class Sweeper:
    """Goes through the files of the home.

    Args:
        selection: what goes from the store.
        dry: only look.
    """

    def __init__(self, criteria: Criteria, selection: Selection, config: Config, *, dry: bool) -> None:
        self._criteria = criteria
        self._sessions = set(selection.sessions)
        self._words = selection.words
        self._config = config
        self._dry = dry
        self._home = files.home()
        self._done: set[str] = set()
        """Paths that `_others` need not look at."""
        self.found = Traces()

    def run(self) -> Traces:
        """Look everywhere; each file is written as a whole or not at all.

        Raises:
            Failure: STATE_BUSY and its like, PURGE_UNWRITABLE; the files before are done.
        """
        try:
            self._states()
            self._daily_logs()
            self._spool()
            self._others()
        except OSError as error:
            what = f"{error.filename or self._home}: {error.strerror or error}"
            raise Failure("PURGE_UNWRITABLE", what, "check its permissions, then run it again") from None
        return self.found

    def _quotes(self, text: str) -> bool:
        if self._criteria.match and self._criteria.match.casefold() in readable(text):
            return True
        return bool(self._words) and not self._words.isdisjoint(words_of(text))

    def _states(self) -> None:
        folder = state_file.folder()
        for name in _names(folder):
            path = os.path.join(folder, name)
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            self._done.add(os.path.normpath(path))
            value = _json(path)
            identifier = value.get("sessionId") if isinstance(value, dict) else None
            if not name.endswith(".json") or not isinstance(identifier, str):
                is_of_gone = any(name.startswith(files.safe_name(one) + ".json") for one in self._sessions)
                if is_of_gone or self._quotes(_text(path)):
                    self._delete(path)
            elif self._goes(identifier, value):
                self.found.states.append(identifier)
                if not self._dry:
                    session_list.remove(identifier)
            elif self._quotes(_text(path)):
                self.found.changed_states.append(identifier)
                if not self._dry:
                    self._scrub_state(identifier, path)

    def _goes(self, session: str, state: dict[str, Any]) -> bool:
        if session in self._sessions:
            return True
        asked = self._criteria
        if asked.by_id or asked.match or asked.before is None or (asked.session and asked.session != session):
            return False
        updated = state.get("updatedAt")
        of_project = not asked.project or session in asked.live
        return of_project and isinstance(updated, int) and updated < asked.before

    def _scrub_state(self, session: str, path: str) -> None:
        with state_file.locked(session):
            value = _json(path)
            if not isinstance(value, dict):
                return
            data = json_text.dumps({**self._without(value), "sessionId": session})
            try:
                schema.read(json_text.loads(data), session)
            except (Damaged, schema.TooNew):
                os.unlink(path)  # what is left of it would not be read
            else:
                files.write_whole(path, data.encode())

    def _without(self, value: Any) -> Any:
        """A value without the texts that quote: in a list the whole element goes."""
        if isinstance(value, str):
            return "" if self._quotes(value) else value
        if isinstance(value, list):
            return [one for one in value if not self._quotes(json_text.dumps(one))]
        if isinstance(value, dict):
            return {key: self._without(one) for key, one in value.items() if not self._quotes(key)}
        return value

    def _daily_logs(self) -> None:
        """The daily logs and, in the home, what else people keep beside them; elsewhere a folder is not only ours."""
        folder = os.path.dirname(daily_log.path_of(clock.now_ms(), self._config))
        is_ours = os.path.realpath(folder).startswith(os.path.realpath(self._home) + os.sep)
        for path in _below(folder) if is_ours else (os.path.join(folder, name) for name in _names(folder)):
            if not is_ours and not path.endswith(".md"):
                continue
            if os.path.islink(path):
                self._name_link(path)
            elif os.path.isfile(path) and not path.endswith(".tmp") and (path.endswith(".md") or _is_utf8(path)):
                self._scrub_log(path)
            else:
                continue
            self._done.add(os.path.normpath(path))

    def _name_link(self, path: str) -> None:
        """Name the file that a link leads to: it is not ours, and a rename would put a plain file in its place."""
        target = os.path.realpath(path)
        if os.path.isfile(target) and target not in self.found.linked and self._quotes(_text(target)):
            self.found.linked.append(target)

    def _scrub_log(self, path: str) -> None:
        for _ in range(_TRIES):
            with open(path, "rb") as file:
                kept, gone = self._without_sections(file.read().decode("utf-8", "replace"), os.path.basename(path))
                if gone and not self._dry:
                    if not _is_at(path, file.fileno()):
                        continue  # an editor put another file in its place meanwhile
                    if kept.strip():
                        files.write_whole(path, kept.encode())
                    else:
                        os.unlink(path)
                    _append(path, file.read())  # what was appended while we wrote
            self.found.log_sections += gone
            return
        raise OSError(errno.EBUSY, "another program keeps writing it", path)

    def _without_sections(self, text: str, name: str) -> tuple[str, int]:
        """The log without the sections and lines that go, and in how many sections something goes."""
        kept: list[str] = []
        gone = 0
        for section in _sections(text):
            is_ours = section[0].startswith(_HEADING) and _SESSION_MARK in section[0]
            if is_ours and (self._section_goes(section[0], name) or self._quotes("".join(section))):
                gone += 1
            else:
                left = [line for line in section if not self._quotes(line)]
                gone += len(left) != len(section)
                kept += left
        return "".join(kept), gone

    def _section_goes(self, heading: str, name: str) -> bool:
        """Whether a section of ours is of a session that goes, or of a day that does."""
        if any(daily_log.is_of_session(heading, session) for session in self._sessions):
            return True
        asked = self._criteria
        if asked.by_id or asked.match or asked.session or asked.project or asked.before is None:
            return False
        return name[:10] < clock.iso(asked.before)[:10]

    def _spool(self) -> None:
        folder = os.path.join(self._home, "spool")
        for name in _names(folder):
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    gone = sum(map(self._line_goes, file.read().splitlines()))
            except OSError:  # taken in meanwhile
                continue
            self.found.spooled += gone
            if gone and not self._dry:
                self._scrub_spool(path)

    def _scrub_spool(self, path: str) -> None:
        """Append what stays to the spool that hooks append to: a rename over it would lose what they do meanwhile."""
        aside = spool.aside(path)
        try:
            os.rename(path, aside)
            file = open(aside, "rb")
        except FileNotFoundError:  # taken in meanwhile
            return
        with file:
            for _ in range(2):
                kept = [line + b"\n" for line in file.read().splitlines() if not self._line_goes(line)]
                _append(spool.path(), b"".join(kept))
                _unlink(aside)  # and what a hook wrote that had opened it before

    def _line_goes(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace")
        try:
            event = json_text.loads(text)
        except json_text.InvalidJSON:
            event = None
        of_gone = isinstance(event, dict) and event.get("sessionId") in self._sessions
        return of_gone or self._quotes(text)

    def _others(self) -> None:
        """Caches, what was set aside, what killed writers left; and what a person wrote, which is named only."""
        for path in self._files():
            name = os.path.relpath(path, self._home)
            if os.path.normpath(path) in self._done or (name.startswith("spool/") and not name.endswith(".tmp")):
                continue
            if not self._quotes(_text(path)):
                continue
            if name.startswith(_BY_HAND) and ".damaged-" not in name and not name.endswith(".tmp"):
                self.found.by_hand.append(name)
            elif os.path.islink(path):
                self._name_link(path)
            else:
                self._delete(path)

    def _files(self) -> Iterator[str]:
        for top in _names(self._home):
            path = os.path.join(self._home, top)
            is_store = top == sqlite.FILE_NAME or top.startswith(sqlite.FILE_NAME + "-")
            if is_store or top == archive.BACKUPS or not home_files.is_in_homes(top):
                continue
            if os.path.isfile(path):
                yield path
            elif not os.path.islink(path):
                yield from _below(path)

    def _delete(self, path: str) -> None:
        self.found.deleted.append(os.path.relpath(path, self._home))
        if not self._dry:
            _unlink(path)


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _below(folder: str) -> Iterator[str]:
    for at, _, names in os.walk(folder):
        yield from (os.path.join(at, name) for name in sorted(names))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _is_at(path: str, descriptor: int) -> bool:
    """Whether a path still leads to the file that is open."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _append(path: str, data: bytes) -> None:
    if not data:
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, "the disk is full", path)
    finally:
        os.close(descriptor)


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _is_utf8(path: str) -> bool:
    with open(path, "rb") as file:
        try:
            file.read().decode()
        except UnicodeDecodeError:
            return False
    return True


def _json(path: str) -> Any:
    try:
        return json_text.loads(_text(path))
    except json_text.InvalidJSON:
        return None


def _sections(text: str) -> list[list[str]]:
    """The lines of each section with their ends, its heading first."""
    sections: list[list[str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("#") or not sections:
            sections.append([])
        sections[-1].append(line)
    return sections
