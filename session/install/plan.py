"""What an installation or its undoing would change in the files of a client. Nothing is written here."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from clients.settings import Settings
from core.errors import Failure
from core.repository.project_file import is_below, root_of
from session import own_command
from session.install import backups, companion_files, entries, hook_command, json_edit, toml_server
from session.install.entries import Entries
from session.install.json_edit import Malformed
from session.install.receipt import Receipt

CODE = "INSTALL_FAILED"
NOTHING = "nothing of joelclaw was there"
_LARGEST = 16 * 1024 * 1024
_CHECK = "to check: use the client, then `joelclaw otel search hook`"
_ON_PATH = "`joelclaw` must be on the PATH of everyone who uses this project; where it is not, its hooks do nothing"


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
    path, command = _settings(client, project), command_for(project=project)
    plans = []
    if client.events:
        plans.append(_File(client, path, project).entered(_entries(client, path, command, project), mcp=mcp))
    servers = _servers(client, project)
    if servers and (mcp or _may_hold(servers)):
        file = _File(client, servers, project)
        if servers.endswith(".toml"):
            plans.append(file.with_server(command, mcp=mcp))
        else:
            plans.append(file.entered(_entries(client, servers, command, project), mcp=mcp))
    return [*plans, *_own_files(client, command, project, gone=False)]


def removing(client: Settings, *, project: bool) -> list[Plan]:
    """Take our part out; a file of ours that somebody changed stays."""
    path = _settings(client, project)
    plans = []
    if client.events:
        plans.append(_File(client, path, project).left(_entries(client, path, "", project)))
    servers = _servers(client, project)
    if servers and _may_hold(servers):
        file = _File(client, servers, project)
        toml = servers.endswith(".toml")
        plans.append(file.without_server() if toml else file.left(_entries(client, servers, "", project)))
    return [*plans, *_own_files(client, command_for(project=project), project, gone=True)]


def stay_in_project(plans: Iterable[Plan]) -> None:
    """See that what is written for a project lies in it: a repository may hold links to the user's own files."""
    root = root_of(os.getcwd())
    for one in plans:
        if one.project and not is_below(one.target, root):
            fix = "put a file in its place, or install without --project; nothing was changed"
            raise Failure("INSTALL_REFUSED", f"{one.path} leads out of the project, to {one.target}", fix)


def command_for(*, project: bool) -> str:
    """How our command is called in a file: for a project by its name, since others read the file too."""
    return own_command.NAME if project else hook_command.executable()


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
    try:
        return json_edit.parsed(decoded(path, read(path)), comments=client.comments)
    except Malformed as error:
        raise _refused(client, path, error) from None


class _File:
    """A file of a client with our part in it."""

    def __init__(self, client: Settings, path: str, project: bool) -> None:
        self.client, self.path, self.project = client, path, project
        self.target = os.path.realpath(path)
        self.before = read(self.target)
        self.text = decoded(path, self.before)
        self.receipt = Receipt.load(path)
        self.untouched = self.receipt is not None and self.before is not None and self.receipt.is_of(self.before)

    def entered(self, ours: Entries, *, mcp: bool) -> Plan:
        """With our entries."""
        try:
            value = json_edit.parsed(self.text, comments=self.client.comments)
            ours.check(value)
            there, made = ours.are_in(value), self.receipt.made if self.receipt else frozenset()
            if not there:
                made = frozenset()
            elif self.receipt is None and ours.are_in(value, keyed=True):  # what an installation would have made
                made = frozenset(entries.paths(value) - entries.paths(ours.take_out(value, None)))
            wanted = ours.put_in(value, made, mcp=mcp)
            new = self.text
            if not json_edit.same(value, wanted):
                new = json_edit.edited(self.text, wanted, comments=self.client.comments)
        except Malformed as error:
            raise _refused(self.client, self.path, error) from None
        now = entries.paths(wanted)
        notes = _of_hooks(self.client, value, self.project) if ours.hooks else []
        if ours.has_foreign_server(wanted) and mcp:
            notes.append(_foreign_server())
        elif ours.server and entries.SERVER in wanted.get("mcpServers", {}):
            notes += _of_server(self.client, self.project)
        return self._written(new, notes, created=there, made=frozenset(made & now | now - entries.paths(value)))

    def left(self, ours: Entries) -> Plan:
        """Without our entries."""
        after = self.before
        if self.before is not None:
            try:
                value = json_edit.parsed(self.text, comments=self.client.comments)
                ours.check(value)
                left = ours.take_out(value, self.receipt.made if self.receipt else None)
                if not json_edit.same(value, left):
                    after = self._restored(json_edit.edited(self.text, left, comments=self.client.comments), self._same)
            except Malformed as error:
                raise _refused(self.client, self.path, error) from None
        return self._plan(after, None, [] if after != self.before else [NOTHING])

    def with_server(self, command: str, *, mcp: bool) -> Plan:
        """With our server, in TOML."""
        try:
            server = toml_server.Server(self.text)
            new, notes = self.text, _of_server(self.client, self.project) if mcp or server.is_ours else []
            if server.is_there and not server.is_ours:
                notes = [_foreign_server() if self.receipt is None else self._changed_server()]
            elif mcp or server.is_ours:
                new = server.put_in(command)
        except Malformed as error:
            raise _refused(self.client, self.path, error, "TOML") from None
        return self._written(new, notes, created=server.is_ours)

    def without_server(self) -> Plan:
        """Without our server, in TOML; one that somebody changed stays."""
        after, kept, notes = self.before, None, []
        try:
            server = toml_server.Server(self.text)
            if server.is_ours:
                after = self._restored(server.take_out(), toml_server.same)
            elif server.is_there and self.receipt is not None:
                kept, notes = self.receipt, [self._changed_server()]
        except Malformed as error:
            raise _refused(self.client, self.path, error, "TOML") from None
        return self._plan(after, kept, notes if notes or after != self.before else [NOTHING])

    def _same(self, one: str, other: str) -> bool:
        values = (json_edit.parsed(text, comments=self.client.comments) for text in (one, other))
        return json_edit.same(*values)

    def _changed_server(self) -> str:
        return f"{self.path}: [mcp_servers.joelclaw] was changed by somebody; it was left as it is"

    def _restored(self, new: str, same: Callable[[str, str], bool]) -> bytes | None:
        """What is left without ours: nothing of a file that we made, and the white space of before."""
        if new.strip() in ("", "{}") and self.receipt is not None and self.receipt.created:
            return None
        return (backups.as_it_was(self.path, new, same) if self.untouched else new).encode()

    def _written(self, new: str, notes: list[str], *, created: bool, made: frozenset[str] = frozenset()) -> Plan:
        after = None if self.before is None and not new else new.encode()
        created = self.before is None or (created and self.receipt is not None and self.receipt.created)
        kept = Receipt.of(self.path, after, created=created, made=made) if after is not None else None
        return self._plan(after, kept, notes, untouched=False)

    def _plan(self, after: bytes | None, kept: Receipt | None, notes: list[str], *, untouched: bool = True) -> Plan:
        untouched = untouched and self.untouched
        return Plan(self.client, self.project, self.path, self.target, self.before, after, kept, untouched, notes)


def _settings(client: Settings, project: bool) -> str:
    path = client.path(project=project)
    if project and os.path.realpath(path) == os.path.realpath(client.path(project=False)):
        fix = "run this in a project's folder, or without --project"
        raise Failure(CODE, f"{path} is the file of the user, not of a project", fix)
    return path


def _servers(client: Settings, project: bool) -> str:
    """The file with the client's servers, where that is not the one with the hooks."""
    path = client.servers(project=project) if client.has_servers else ""
    return "" if path == client.path(project=project) else path


def _may_hold(path: str) -> bool:
    """Whether something of ours may be there: else a file that has nothing to do with us is not even parsed."""
    return Receipt.load(path) is not None or entries.SERVER.encode() in (read(path) or b"")


def _entries(client: Settings, path: str, command: str, project: bool) -> Entries:
    main = path == client.path(project=project)
    server = client.has_servers and path == client.servers(project=project)
    return Entries(client, command, hooks=main, rules=main and bool(client.allowed), server=server)


def _own_files(client: Settings, command: str, project: bool, *, gone: bool) -> list[Plan]:
    """Plans of the files that are ours alone: an extension of any version, others as we wrote them."""
    plans = []
    for path, text, what in companion_files.every(client, command, project=project):
        file, data, notes = _File(client, path, project), text.encode(), []
        ours, untouched = file.before is None or file.before == data or file.untouched, True
        if what == companion_files.EXTENSION:
            notes = [] if gone else [client.applies, *([_ON_PATH] if project else []), _CHECK]
            ours = companion_files.is_extension(file.text) or (file.before or b"") == b""
            untouched = gone and (file.untouched or companion_files.same_extension(file.text, text))
            if not ours and not gone:
                fix = "give that file another name and run this again; nothing was changed"
                raise Failure("INSTALL_REFUSED", f"{path} is there and is not of joelclaw", fix)
        elif not ours and file.receipt is None:
            ours = file.text in _written_elsewhere(client, path, project)
        after, kept = (None, None) if gone else (data, Receipt.of(path, data, created=True))
        if not ours:
            after, kept = file.before, None if gone else file.receipt
            if what != companion_files.EXTENSION:
                what, notes = "", [f"{path} was changed by somebody; it was left as it is"]
        if gone and after == file.before and not notes:
            notes = [NOTHING]
        plans.append(Plan(client, project, path, file.target, file.before, after, kept, untouched, notes, what))
    return plans


def _written_elsewhere(client: Settings, path: str, project: bool) -> set[str]:
    """What an installation wrote to a file of ours, going by what the client's hooks call."""
    value = settings_of(client, client.path(project=project))
    commands = {hook_command.called(command, client.name) for _, command, _ in entries.installed(value, client)}
    return {
        text
        for command in (*commands, own_command.NAME)
        for at, text, _ in companion_files.every(client, command, project=project)
        if at == path
    }


def _of_hooks(client: Settings, value: Any, project: bool) -> list[str]:
    """What the user still has to do after an installation, or has to know."""
    notes = [client.applies, *client.notes(project=project)]
    notes += [
        f"hooks.{event} also has a command of somebody's that calls joelclaw; it was left as it is"
        for event in entries.foreign_calls(value, client)
    ]
    if project:
        try:
            twice = any(entries.installed(settings_of(client, client.path(project=False)), client))
        except Failure:
            twice = False
        if twice:
            notes.append(f"it is installed for the user, too, and would run twice: `joelclaw uninstall {client.name}`")
        notes.append(_ON_PATH)
    return [*notes, _CHECK]


def _of_server(client: Settings, project: bool) -> list[str]:
    """A project's file is read by people who lack our server, and clients say that it failed."""
    if not project:
        return []
    lacking = f"where `joelclaw` is not on the PATH, {client.name} shows a server `joelclaw` that failed to start"
    return [f"this is shared with the project: {lacking}; without --mcp those who lack it see nothing"]


def _foreign_server() -> str:
    return f"a server `{entries.SERVER}` of somebody's is there; it was left as it is"


def _refused(client: Settings, path: str, error: Malformed, what: str = "") -> Failure:
    what = what or ("JSON, comments allowed" if client.comments else "plain JSON")
    fix = f"mend {path} ({client.name} reads {what}) and run this again; nothing was changed"
    return Failure("INSTALL_REFUSED", f"{path}: {error}", fix)
