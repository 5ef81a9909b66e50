"""What an installation or its undoing changes in the files of a client: planned, shown, then written by rename.

Only what stands below `locked` writes, under a lock and with a backup.
"""

import difflib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from core import files, home_files
from core.errors import Failure
from core.project import is_below, real_root
from session import own_command
from session.install import entries, own_text, settings_text, undo
from session.install.client_settings import Settings
from session.install.entries import Entries
from session.install.settings_text import Malformed, TomlServer
from session.install.undo import Receipt

CODE = "INSTALL_FAILED"
_CHECK = "to check: use the client, then run `joelclaw doctor`"
_ON_PATH = "`joelclaw` must be on the PATH of everyone who uses this project; where it is missing, the hooks do nothing"
_SHARED_SERVER = "anyone who uses this project without `joelclaw` is told by the client that its server failed to start"
_CHANGED = "{} was changed by hand; it was left as it is"
_FOREIGN_SERVER = f"a server `{entries.SERVER}` already exists; it was left as it is"
_LOCK_WAIT_S = 20.0


class Plan:
    """One file of a client as it is (`before`) and as it is to be (`after`); None: no such file.

    `target` is the file itself, where `path` is a link. `receipt` is what an installation noted of it, `kept` what is
    noted now for the day of the removal (None: nothing). `backs_up` is false where nothing of anybody's goes with our
    part. `what` says what a file is that is ours alone.
    """

    def __init__(self, client: Settings, path: str, project: bool) -> None:
        self.client, self.path, self.project = client, path, project
        self.target = os.path.realpath(path)
        self.before = self.after = read(self.target)
        self.text = decoded(path, self.before)
        self.receipt = Receipt.load(path)
        self.kept: Receipt | None = None
        self.notes: list[str] = []
        self.what, self.backs_up = "", True
        main = path == client.path(project=project)
        server = client.has_servers and path == client.servers(project=project)
        rules = main and bool(client.allowed)
        self._ours = Entries(client, hooks=main, rules=rules, server=server, project=project)
        known = self.receipt or (None if main else Receipt.load(client.path(project=project)))
        self._made = self.receipt.made if self.receipt else frozenset[str]() if known else None
        """What installations made of this file; None where nothing is known of any."""
        self._is_toml = path.endswith(".toml")
        self._untouched = bool(self.receipt and self.before is not None and self.receipt.is_of(self.before))

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
        both = (self.before, self.after)
        old, new = ((data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in both)
        was, now = (self.path if data is not None else os.devnull for data in both)
        lines = list(difflib.unified_diff(old, new, was, now))[: None if whole or not self.is_whole else 2]
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)

    def enter(self, command: str, *, mcp: bool) -> "Plan":
        """Put our entries in, or our server."""
        with _refusing(self.client, self.path):
            (self._enter_toml if self._is_toml else self._enter_json)(command, mcp=mcp)
        return self

    def leave(self) -> "Plan":
        """Take them out; a server in TOML that somebody changed stays."""
        self.backs_up = not self._untouched
        with _refusing(self.client, self.path):
            if self._is_toml:
                server = TomlServer(self.text)
                if server.is_ours:
                    self._restore(server.take_out(), settings_text.same_toml)
                elif server.is_there and self.receipt is not None:
                    self.kept, self.notes = self.receipt, [_CHANGED.format(f"{self.path}: [mcp_servers.joelclaw]")]
            elif self.before is not None:
                value = self._value(self.text)
                rest = self._ours.take_out(value, self._made)
                if not settings_text.same(value, rest):
                    text = settings_text.edited(self.text, rest, comments=self.client.comments)
                    self._restore(text, lambda one, other: settings_text.same(self._value(one), self._value(other)))
        return self

    def whole(self, text: str, what: str, *, gone: bool) -> "Plan":
        """A file that is ours alone comes, or goes: an extension of any version, a skill and rules as we wrote them."""
        data = text.encode()
        if what != own_text.EXTENSION:
            self.backs_up = False
            if not self._is_as_written(data):
                self.kept, self.notes = None if gone else self.receipt, [_CHANGED.format(self.path)]
                return self
        elif self.text and own_text.called_by_extension(self.text) is None:
            if gone:
                return self
            fix = "rename that file and run this again; nothing was changed"
            raise Failure("INSTALL_REFUSED", f"{self.path} exists and was not written by joelclaw", fix)
        elif gone:
            self.backs_up = not (self._untouched or own_text.same_extension(self.text, text))
        else:
            self.notes = [self.client.applies, *([_ON_PATH] if self.project else []), _CHECK]
        self.what, self.after = what, None if gone else data
        self.kept = None if gone else Receipt.of(self.path, data, created=True)
        return self

    def _value(self, text: str) -> Any:
        value = settings_text.parsed(text, comments=self.client.comments)
        self._ours.check(value)
        return value

    def _enter_json(self, command: str, *, mcp: bool) -> None:
        ours, value, made, new = self._ours, self._value(self.text), frozenset[str](), self.text
        there = ours.are_in(value)
        if there and self._made is not None:
            made = self._made
        elif ours.are_in(value, keyed=True):  # what an installation would have made
            made = frozenset(entries.paths(value) - entries.paths(ours.take_out(value, None)))
        wanted = ours.put_in(value, command, made, mcp=mcp)
        if not settings_text.same(value, wanted):
            new = settings_text.edited(self.text, wanted, comments=self.client.comments)
        self.notes = self._of_hooks(value) if ours.hooks else []
        if ours.has_foreign_server(wanted) and mcp:
            self.notes.append(_FOREIGN_SERVER)
        elif ours.server and entries.SERVER in wanted.get("mcpServers", {}):
            self.notes += [_SHARED_SERVER] * self.project
        now = entries.paths(wanted)
        self._write(new, created=there, made=frozenset(made & now | now - entries.paths(value)))

    def _enter_toml(self, command: str, *, mcp: bool) -> None:
        server, new = TomlServer(self.text), self.text
        if server.is_there and not server.is_ours:
            changed = _CHANGED.format(f"{self.path}: [mcp_servers.joelclaw]")
            self.notes = [_FOREIGN_SERVER if self.receipt is None else changed]
        elif mcp or server.is_ours:
            new, self.notes = server.put_in(command), [_SHARED_SERVER] * self.project
        self._write(new, created=server.is_ours)

    def _write(self, new: str, *, created: bool, made: frozenset[str] = frozenset()) -> None:
        created = self.before is None or (created and self.receipt is not None and self.receipt.created)
        if self.before is not None or new:
            self.after = new.encode()
            self.kept = Receipt.of(self.path, self.after, created=created, made=made)

    def _restore(self, new: str, same: Callable[[str, str], bool]) -> None:
        """What is left without ours: nothing of a file that we made, and the white space of before."""
        if new.strip() in ("", "{}") and self.receipt is not None and self.receipt.created:
            self.after = None
        else:
            self.after = (undo.as_it_was(self.path, new, same) if self._untouched else new).encode()

    def _is_as_written(self, data: bytes) -> bool:
        """Whether a skill or rules are absent, or what an installation wrote, going by what the client's hooks call."""
        if self.before in (None, data) or self._untouched or self.receipt is not None:
            return self.before in (None, data) or self._untouched
        settings = settings_of(self.client, self.client.path(project=self.project))
        commands = {one.executable for one in entries.installed(settings, self.client)} | {own_command.NAME}
        every = [own_text.own_files(self.client, command, project=self.project) for command in commands]
        return any((path, text) == (self.path, self.text) for files in every for path, text, _ in files)

    def _of_hooks(self, value: Any) -> list[str]:
        """What the user still has to do after an installation, or has to know."""
        client = self.client
        notes = [client.applies, *client.notes(project=self.project)]
        notes += [
            f"hooks.{event} also has another command that calls joelclaw; it was left as it is"
            for event in entries.foreign_calls(value, client)
        ]
        if self.project:
            with suppress(Failure):
                if entries.installed(settings_of(client, client.path(project=False)), client):
                    undone = f"`joelclaw uninstall {client.name}`"
                    notes.append(f"it is also installed for the user and would run twice: {undone}")
            notes.append(_ON_PATH)
        return [*notes, _CHECK]


def installing(client: Settings, *, project: bool, mcp: bool = False) -> list[Plan]:
    """Put our part into a client's files, its settings first; with `mcp` also our server, which else stays as it is."""
    command = command_for(project=project)
    plans = [Plan(client, path, project).enter(command, mcp=mcp) for path in _shared(client, project, mcp=mcp)]
    own = own_text.own_files(client, command, project=project)
    return plans + [Plan(client, path, project).whole(text, what, gone=False) for path, text, what in own]


def removing(client: Settings, *, project: bool) -> list[Plan]:
    """Take our part out; a file of ours that somebody changed stays."""
    plans = [Plan(client, path, project).leave() for path in _shared(client, project, mcp=False)]
    own = own_text.own_files(client, command_for(project=project), project=project)
    return plans + [Plan(client, path, project).whole(text, what, gone=True) for path, text, what in own]


def stay_in_project(plans: Iterable[Plan]) -> None:
    """See that what is written for a project lies in it: a repository may hold links to the user's own files."""
    root = real_root(os.getcwd())
    for one in plans:
        if one.project and not is_below(one.target, root):
            fix = "replace it with a file, or install without --project; nothing was changed"
            raise Failure("INSTALL_REFUSED", f"{one.path} leads out of the project to {one.target}", fix)


def command_for(*, project: bool) -> str:
    """How our command is called in a file: for a project by its name, since others read the file too."""
    return own_command.NAME if project else own_text.executable()


def read(path: str) -> bytes | None:
    """The file's bytes, or None where there is none."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise Failure(CODE, f"{path} is not a file", "move it and run this again")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        fix = f"make {path} readable and run this again"
        raise Failure(CODE, f"{path} cannot be read: {error.strerror}", fix) from None


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


def _shared(client: Settings, project: bool, *, mcp: bool) -> list[str]:
    """The client's own files that hold something of ours, or are to: its settings, and where else its servers are."""
    path = client.path(project=project)
    if project and os.path.realpath(path) == os.path.realpath(client.path(project=False)):
        fix = "run this in a project's folder, or without --project"
        raise Failure(CODE, f"{path} is the user's file, not a project's", fix)
    found = [path] if client.events else []
    servers = client.servers(project=project) if client.has_servers else path
    # A file that has nothing to do with us is not even parsed.
    if servers != path and (mcp or Receipt.load(servers) or entries.SERVER.encode() in (read(servers) or b"")):
        found.append(servers)
    return found


@contextmanager
def _refusing(client: Settings, path: str) -> Iterator[None]:
    """Tell of a file that the client itself could not read, or in which there is no place for ours."""
    try:
        yield
    except Malformed as error:
        what = "TOML" if path.endswith(".toml") else "JSON, comments allowed" if client.comments else "plain JSON"
        fix = f"fix {path} ({client.name} reads {what}) and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path}: {error}", fix) from None


@contextmanager
def locked() -> Iterator[None]:
    """One installation at a time."""
    try:
        with files.FileLock(os.path.join(files.home(), "install.lock"), _LOCK_WAIT_S):
            yield
    except files.LockTimeout:
        raise Failure("INSTALL_BUSY", "another installation is running", "wait for it and run this again") from None
    except OSError as error:
        raise _failure(files.home(), error) from None


def carry_out(plans: Sequence[Plan], changed: list[str]) -> dict[str, str | None]:
    """Write, or delete, the files of plans, and add them to `changed`; returns by path the backup, None without one."""
    made = {}
    for plan in plans:
        try:
            made[plan.path] = _carry_out(plan)
        except Failure as failure:
            if not changed:
                raise
            fix = failure.fix.replace("; nothing was changed", "")
            about = f"{failure.message}; changed before it: {', '.join(changed)}"
            raise Failure(failure.code, about, fix) from None
        if plan.changed:
            changed.append(plan.path)
    return made


def _carry_out(plan: Plan) -> str | None:
    backup, made = None, list[str]()
    if plan.changed:
        if read(plan.target) != plan.before:
            raise Failure("INSTALL_CHANGED", f"{plan.path} has changed in the meantime", "run this again")
        try:
            if plan.before is not None and plan.backs_up:
                backup = undo.back_up(plan.path, plan.target, plan.before)
            if plan.after is not None:
                _write(plan, plan.after, made)
            else:
                os.unlink(plan.target)
                around = os.path.dirname(plan.target)
                named = (around,) if os.path.basename(around) == own_command.NAME else ()  # ours, whether noted or not
                with suppress(OSError):  # only empty ones go
                    for folder in reversed((plan.receipt.folders if plan.receipt else ()) or named):
                        os.rmdir(folder)
        except OSError as error:
            if backup:
                os.unlink(backup)
            for folder in reversed(made):
                os.rmdir(folder)
            raise _failure(plan.path, error) from None
        undo.thin(plan.path)
    if plan.kept is None:
        undo.forget(plan.path)
    return backup


def _write(plan: Plan, data: bytes, made: list[str]) -> None:
    """Another file in the place of the old one, of its mode and owner; folders that it needs are added to `made`."""
    folder, missing = os.path.dirname(plan.target), list[str]()
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        os.mkdir(folder, 0o777 if plan.project else 0o700)
        made.append(folder)
    if plan.kept is not None:  # first: without it a removal would know less
        before = plan.receipt.folders if plan.receipt and plan.kept.created else ()
        replace(plan.kept, folders=(*before, *made)).save()
    old = None if plan.before is None else os.stat(plan.target)
    home_files.sweep_beside(plan.target)
    temporary = f"{plan.target}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    undo.create(temporary, data, old.st_mode & 0o7777 if old else None if plan.project else 0o600)
    try:
        if old and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.chown(temporary, old.st_uid, old.st_gid)
        os.replace(temporary, plan.target)
    except OSError:
        os.unlink(temporary)
        raise


def _failure(path: str, error: OSError) -> Failure:
    where = error.filename or path
    fix = f"make {os.path.dirname(str(where)) or where} writable and run this again; nothing was changed"
    return Failure(CODE, f"{path} cannot be written: {error.strerror or error}", fix)
