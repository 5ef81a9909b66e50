"""Which entries of a session may be archived, if the user has excluded folders or switched something off. Hot path.

`ingest` hands over the entries of each line and gets those that may be archived. The folder of each entry decides, not
that of the session, which may move: the folder that the entry's line names, or the last line before it that names
one. A shell call may name another. `transcript_files` asks for the folder of a whole transcript.
"""

from __future__ import annotations

import os

import clients
from clients import content
from core import TYPE_CHECKING, files, switches
from core.store import sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clients.base import Client
    from clients.entries import Entry
    from core.store.sources import Source
    from core.switches import Switches
    from memory.archive import Origin

BLOCK_BYTES = 256 * 1024  # of a transcript that are searched at once


class Admission:
    """What of a session may be archived.

    `read`: the session's transcript, None if its client sends its entries.
    """

    def __init__(self, origin: Origin, read: Source | None) -> None:
        self._switches = switches.load()[0]
        of_projects = any(period["scope"] == "project" for period in self._switches["silences"])
        self._needs_folder = bool(self._switches["excluded"]) or of_projects
        self._session = origin.session
        self._default = origin.cwd or files.current_folder()
        self._folder = self._default
        self._client = clients.by_name(origin.agent)
        self._read = read
        self._at: int | None = None  # of the last entry with a time

    def go_on_in(self, folder: str) -> None:
        """Note the folder of the line before; if it is unknown, take the first folder that a line names."""
        if self._read is not None and self._needs_folder:
            self._folder = folder or next(folders_in(self._read, self._client), self._default)

    def admitted(self, entries: list[Entry], owner: str = "") -> list[Entry]:
        """The admitted entries of a line, which may be copied from the session `owner`."""
        self._at = next((entry.at for entry in entries if entry.at is not None), self._at)
        self._folder = entries[0].folder or self._folder
        if not self._admits(self._folder, owner):
            return []
        return [entry for entry in entries if self._admits_entry(entry, owner)]

    def _admits_entry(self, entry: Entry, owner: str) -> bool:
        """Whether a call works in an admitted folder; a summary must not quote entries that were left out."""
        if entry.kind == "call":
            given = content.as_object(entry.given)
            names = (content.as_text(given.get(key)) for key in ("workdir", "directory", "dir_path", "cwd"))
            folder = next(filter(None, names), "")
            return not folder or self._admits(os.path.join(self._folder, folder), owner)
        if entry.kind in ("summary", "branch_summary") and self._switches["excluded"] and self._read is not None:
            folders = folders_in(self._read, self._client)
            return not any(switches.is_excluded(self._switches, folder) for folder in folders)
        return True

    def _admits(self, folder: str, owner: str) -> bool:
        periods = switches.off_periods(self._switches, self._session, folder)
        periods += switches.off_periods(self._switches, owner, folder) if owner else []
        is_off = bool(periods) and switches.is_in_period(periods, self._at)
        return not is_off and not switches.is_excluded(self._switches, folder)


def folder_to_archive(path: str, agent: str, cwd: str, changed: int) -> str | None:
    """The first folder of a transcript that is not excluded; None if all are, or if one may be and `cwd` is unknown.

    `changed`: when the transcript last changed, in ms.
    """
    known = switches.load()[0]
    were_off = (row["scope"] == "project" and row["since"] <= changed for row in known["silences"])
    if not cwd and (known["excluded"] or any(were_off)):
        return None
    if not known["excluded"]:
        return cwd
    with sources.open_source(path) as read:
        named = [cwd, *folders_in(read, clients.by_name(agent))]
    return next((folder for folder in named if not switches.is_excluded(known, folder)), None)


def has_excluded_folder(path: str, agent: str, known: Switches) -> bool:
    """Whether a transcript names an excluded folder; False if it cannot be read."""
    try:
        with sources.open_source(path) as read:
            return any(switches.is_excluded(known, folder) for folder in folders_in(read, clients.by_name(agent)))
    except (OSError, ValueError):
        return False


def folders_in(read: Source, client: Client) -> Iterator[str]:
    """The folders that a transcript names, each once, in order, without parsing its lines."""
    found: set[bytes] = set()
    mark = client.folder_mark
    at, left = 0, b""
    while mark and (block := read.read(BLOCK_BYTES, at)):
        at += len(block)
        block = left + block
        left = block[-8_192:]  # a name may go on in the next block
        place = block.find(mark)
        while place >= 0:
            after = place + len(mark)
            in_text = block.startswith(b">", after)  # `<cwd>/path</cwd>`
            begin = block.find(b">" if in_text else b'"', after + block.startswith(b'"', after), after + 8)
            end = block.find(b"<" if in_text else b'"', begin + 1) if begin >= 0 else -1
            name = b'"' + block[begin + 1 : end] + b'"' if end >= 0 else b""
            if name and name not in found:
                found.add(name)
                if folder := content.as_text((content.parsed(b'{"":' + name + b"}") or {}).get("")):
                    yield folder
            place = block.find(mark, place + len(mark))
