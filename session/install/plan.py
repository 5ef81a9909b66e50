"""What an installation or its undoing would change in the files of a client. Nothing is written here."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from clients.settings import Settings
from core.errors import Failure
from core.repository.project_file import is_below, root_of
from session import own_command
from session.install import entries, own_text, settings_text, undo
from session.install.entries import Entries
from session.install.settings_text import Malformed, TomlServer
from session.install.undo import Receipt

CODE = "INSTALL_FAILED"
_LARGEST = 16 * 1024 * 1024
_CHECK = "to check: use the client, then `joelclaw otel search hook`"
_ON_PATH = "`joelclaw` must be on the PATH of everyone who uses this project; where it is not, its hooks do nothing"
_FOREIGN_SERVER = f"a server `{entries.SERVER}` of somebody's is there; it was left as it is"


@dataclass(frozen=True)
class Plan:
    """One file as it is and as it is to be; None: no such file.

    Args:
        path: as the client names it.
        target: the file itself, where `path` is a link.
        receipt: what is noted for the day of the removal; None: to be forgotten.
        untouched: the file is as we left it, so that nothing of anybody's goes with our part.
        what: what a file is that is ours alone; empty for one of the client's.
    """

    client: Settings
    project: bool
    path: str
    target: str
    before: bytes | None
    after: bytes | None
    receipt: Receipt | None
    untouched: bool = False
    notes: list[str] = field(default_factory=list)
    what: str = ""

    @property
    def changed(self) -> bool:
        """Whether the file is to change."""
        return self.before != self.after

    @property
    def is_whole(self) -> bool:
        """Whether a file of ours comes or goes as a whole: its text tells nobody anything."""
        return bool(self.what) and self.changed and None in (self.before, self.after)

    def diff(self, *, whole: bool = True) -> str:
        """The change as a unified diff; empty without one. `whole`: of a file `is_whole`, too; else its two names."""
        old, new = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (self.before, self.after)
        )
        was, now = (self.path if data is not None else os.devnull for data in (self.before, self.after))
        lines = difflib.unified_diff(old, new, was, now)
        if self.is_whole and not whole:
            return "".join(islice(lines, 2))
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def installing(client: Settings, *, project: bool, mcp: bool = False) -> list[Plan]:
    """Put our part into the files of a client, or bring it up to date: its settings first, then what lies beside them.

    Args:
        mcp: our server too; one that is there already stays in any case.
    """
    command = command_for(project=project)
    plans = [_File(client, path, project).entered(command, mcp=mcp) for path in _shared(client, project, mcp=mcp)]
    return plans + _own(client, command, project, gone=False)


def removing(client: Settings, *, project: bool) -> list[Plan]:
    """Take our part out; a file of ours that somebody changed stays."""
    plans = [_File(client, path, project).left() for path in _shared(client, project, mcp=False)]
    return plans + _own(client, command_for(project=project), project, gone=True)


def _own(client: Settings, command: str, project: bool, *, gone: bool) -> list[Plan]:
    own = own_text.own_files(client, command, project=project)
    return [_whole(_File(client, path, project), text, what, gone=gone) for path, text, what in own]


def stay_in_project(plans: Iterable[Plan]) -> None:
    """See that what is written for a project lies in it: a repository may hold links to the user's own files."""
    root = root_of(os.getcwd())
    for one in plans:
        if one.project and not is_below(one.target, root):
            fix = "put a file in its place, or install without --project; nothing was changed"
            raise Failure("INSTALL_REFUSED", f"{one.path} leads out of the project, to {one.target}", fix)


def command_for(*, project: bool) -> str:
    """How our command is called in a file: for a project by its name, since others read the file too."""
    return own_command.NAME if project else own_text.executable()


def read(path: str) -> bytes | None:
    """The file's bytes, or None where there is none."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise Failure(CODE, f"{path} is no file", "move it away and run this again")
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        fix = f"make {path} readable and run this again"
        raise Failure(CODE, f"{path} cannot be read: {error.strerror}", fix) from None
    if len(data) > _LARGEST:
        raise Failure(CODE, f"{path} is larger than 16 MiB", "look whether this is the right file")
    return data


def decoded(path: str, data: bytes | None) -> str:
    """The text of a file."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        fix = "save it as UTF-8 and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path} is not UTF-8 (byte {error.start})", fix) from None


def settings_of(client: Settings, path: str) -> Any:
    """What a JSON file of a client says."""
    with _refusing(client, path):
        return settings_text.parsed(decoded(path, read(path)), comments=client.comments)


class _File:
    def __init__(self, client: Settings, path: str, project: bool) -> None:
        self.client, self.path, self.project = client, path, project
        self.target = os.path.realpath(path)
        self.before = read(self.target)
        self.text = decoded(path, self.before)
        self.receipt = Receipt.load(path)
        self.untouched = self.receipt is not None and self.before is not None and self.receipt.is_of(self.before)
        main = path == client.path(project=project)
        server = client.has_servers and path == client.servers(project=project)
        self.ours = Entries(client, hooks=main, rules=main and bool(client.allowed), server=server)

    def entered(self, command: str, *, mcp: bool) -> Plan:
        """With our entries, or our server."""
        with _refusing(self.client, self.path):
            return self._with_toml(command, mcp=mcp) if _is_toml(self.path) else self._with_json(command, mcp=mcp)

    def left(self) -> Plan:
        """Without them; a server in TOML that somebody changed stays."""
        after, kept, notes = self.before, None, []
        with _refusing(self.client, self.path):
            if _is_toml(self.path):
                server = TomlServer(self.text)
                if server.is_ours:
                    after = self._restored(server.take_out(), settings_text.same_toml)
                elif server.is_there and self.receipt is not None:
                    kept, notes = self.receipt, [self._changed_server()]
            elif self.before is not None:
                value = self._value()
                rest = self.ours.take_out(value, self.receipt.made if self.receipt else None)
                if not settings_text.same(value, rest):
                    text = settings_text.edited(self.text, rest, comments=self.client.comments)
                    after = self._restored(text, self._says_the_same)
        return self.plan(after, kept, notes, untouched=self.untouched)

    def plan(
        self, after: bytes | None, kept: Receipt | None, notes: list[str], *, untouched: bool = False, what: str = ""
    ) -> Plan:
        """The plan of this file."""
        return Plan(self.client, self.project, self.path, self.target, self.before, after, kept, untouched, notes, what)

    def _value(self) -> Any:
        value = settings_text.parsed(self.text, comments=self.client.comments)
        self.ours.check(value)
        return value

    def _with_json(self, command: str, *, mcp: bool) -> Plan:
        ours, value = self.ours, self._value()
        there, made = ours.are_in(value), self.receipt.made if self.receipt else frozenset()
        if not there:
            made = frozenset()
        elif self.receipt is None and ours.are_in(value, keyed=True):  # what an installation would have made
            made = frozenset(entries.paths(value) - entries.paths(ours.take_out(value, None)))
        wanted = ours.put_in(value, command, made, mcp=mcp)
        new = self.text
        if not settings_text.same(value, wanted):
            new = settings_text.edited(self.text, wanted, comments=self.client.comments)
        notes = _of_hooks(self.client, value, self.project) if ours.hooks else []
        if ours.has_foreign_server(wanted) and mcp:
            notes.append(_FOREIGN_SERVER)
        elif ours.server and entries.SERVER in wanted.get("mcpServers", {}):
            notes += self._of_server()
        now = entries.paths(wanted)
        return self._written(new, notes, created=there, made=frozenset(made & now | now - entries.paths(value)))

    def _with_toml(self, command: str, *, mcp: bool) -> Plan:
        server = TomlServer(self.text)
        if server.is_there and not server.is_ours:
            notes = [_FOREIGN_SERVER if self.receipt is None else self._changed_server()]
            return self._written(self.text, notes, created=False)
        wanted = mcp or server.is_ours
        new, notes = (server.put_in(command), self._of_server()) if wanted else (self.text, [])
        return self._written(new, notes, created=server.is_ours)

    def _says_the_same(self, one: str, other: str) -> bool:
        values = (settings_text.parsed(text, comments=self.client.comments) for text in (one, other))
        return settings_text.same(*values)

    def _changed_server(self) -> str:
        return f"{self.path}: [mcp_servers.joelclaw] was changed by somebody; it was left as it is"

    def _of_server(self) -> list[str]:
        """A project's file is read by people who lack our server, and clients say that it failed."""
        lacking = f"where `joelclaw` is not on the PATH, {self.client.name} shows a server `joelclaw`"
        told = f"this is shared with the project: {lacking} that failed to start; without --mcp those who lack it see"
        return [f"{told} nothing"] if self.project else []

    def _restored(self, new: str, same: Callable[[str, str], bool]) -> bytes | None:
        """What is left without ours: nothing of a file that we made, and the white space of before."""
        if new.strip() in ("", "{}") and self.receipt is not None and self.receipt.created:
            return None
        return (undo.as_it_was(self.path, new, same) if self.untouched else new).encode()

    def _written(self, new: str, notes: list[str], *, created: bool, made: frozenset[str] = frozenset()) -> Plan:
        after = None if self.before is None and not new else new.encode()
        created = self.before is None or (created and self.receipt is not None and self.receipt.created)
        kept = Receipt.of(self.path, after, created=created, made=made) if after is not None else None
        return self.plan(after, kept, notes)


def _shared(client: Settings, project: bool, *, mcp: bool) -> list[str]:
    """The client's own files that hold something of ours, or are to: its settings, and where else its servers are."""
    path = client.path(project=project)
    if project and os.path.realpath(path) == os.path.realpath(client.path(project=False)):
        fix = "run this in a project's folder, or without --project"
        raise Failure(CODE, f"{path} is the file of the user, not of a project", fix)
    found = [path] if client.events else []
    servers = client.servers(project=project) if client.has_servers else path
    # A file that has nothing to do with us is not even parsed.
    if servers != path and (mcp or Receipt.load(servers) or entries.SERVER.encode() in (read(servers) or b"")):
        found.append(servers)
    return found


def _whole(file: _File, text: str, what: str, *, gone: bool) -> Plan:
    """A file that is ours alone comes, or goes: an extension of any version, a skill and rules as we wrote them.

    Raises:
        Failure: INSTALL_REFUSED, a file of somebody's is in the place of our extension.
    """
    data = text.encode()
    after, kept = (None, None) if gone else (data, Receipt.of(file.path, data, created=True))
    if what != own_text.EXTENSION:
        if not _is_as_written(file, data):
            changed = f"{file.path} was changed by somebody; it was left as it is"
            return file.plan(file.before, None if gone else file.receipt, [changed])
        return file.plan(after, kept, [], untouched=True, what=what)
    ours = not file.text or own_text.called_by_extension(file.text) is not None
    if gone:
        untouched = file.untouched or own_text.same_extension(file.text, text)
        return file.plan(None if ours else file.before, None, [], untouched=untouched, what=what)
    if not ours:
        fix = "give that file another name and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{file.path} is there and is not of joelclaw", fix)
    notes = [file.client.applies, *([_ON_PATH] if file.project else []), _CHECK]
    return file.plan(after, kept, notes, what=what)


def _is_as_written(file: _File, data: bytes) -> bool:
    """Whether a skill or rules are absent, or what an installation wrote, going by what the client's hooks call."""
    if file.before in (None, data) or file.untouched:
        return True
    if file.receipt is not None:
        return False
    client = file.client
    installed = entries.installed(settings_of(client, client.path(project=file.project)), client)
    commands = {one.executable for one in installed}
    return any(
        (path, text) == (file.path, file.text)
        for command in (*commands, own_command.NAME)
        for path, text, _ in own_text.own_files(client, command, project=file.project)
    )


def _of_hooks(client: Settings, value: Any, project: bool) -> list[str]:
    """What the user still has to do after an installation, or has to know."""
    notes = [client.applies, *client.notes(project=project)]
    notes += [
        f"hooks.{event} also has a command of somebody's that calls joelclaw; it was left as it is"
        for event in entries.foreign_calls(value, client)
    ]
    if project:
        try:
            twice = bool(entries.installed(settings_of(client, client.path(project=False)), client))
        except Failure:
            twice = False
        if twice:
            notes.append(f"it is installed for the user, too, and would run twice: `joelclaw uninstall {client.name}`")
        notes.append(_ON_PATH)
    return [*notes, _CHECK]


@contextmanager
def _refusing(client: Settings, path: str) -> Iterator[None]:
    """Tell of a file that the client itself could not read, or in which there is no place for ours."""
    try:
        yield
    except Malformed as error:
        what = "TOML" if _is_toml(path) else "JSON, comments allowed" if client.comments else "plain JSON"
        fix = f"mend {path} ({client.name} reads {what}) and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path}: {error}", fix) from None


def _is_toml(path: str) -> bool:
    return path.endswith(".toml")
