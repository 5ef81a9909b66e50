"""What `install` and `uninstall` change in a client's files: planned first, then shown, then written.

Only the functions from `locked` on write: under a lock, with a backup, by renaming a new file over the old one.
"""

import difflib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from core import files
from core.errors import Failure
from core.project import is_below, real_root
from session import own_command
from session.install import entries, settings_text, undo
from session.install.client_settings import Place, Settings
from session.install.entries import Entries, Entry
from session.install.settings_text import Malformed
from session.install.undo import Receipt

FAILED = "INSTALL_FAILED"
REFUSED = "INSTALL_REFUSED"

# Notes for the user.
CHECK = "to check: use the client, then run `joelclaw doctor`"
ON_PATH = "`joelclaw` must be on the PATH of everyone who uses this project; without it, the hooks do nothing"
SHARED_SERVER = (
    "for anyone who uses this project without `joelclaw`, the client reports that its server failed to start"
)
OTHER_SERVER = "the MCP server `joelclaw` in {} was not added by joelclaw, or was edited; it stays unchanged"
EDITED = "{} was edited and stays unchanged"


class Plan:
    """One file of a client: its bytes now (`before`) and as planned (`after`); None stands for no file.

    `target` is the file that `path` links to, if it is a link. `receipt` is from the last installation, `new_receipt`
    will be stored. `backs_up`: whether the file holds anything that is not ours. `purpose` describes a file that is
    ours alone.
    """

    def __init__(self, client: Settings, path: str, project: bool) -> None:
        self.client = client
        self.path = path
        self.project = project
        self.target = os.path.realpath(path)
        self.before = self.after = read(self.target)
        self.text = decoded(path, self.before)
        self.missing_folders = undo.missing_folders(self.target)
        self.receipt = Receipt.load(path)
        self.new_receipt: Receipt | None = None
        self.notes: list[str] = []
        self.purpose = ""
        self.backs_up = True
        has_hooks, has_server = path == client.path(project=project), path == client.servers(project=project)
        self._entries = Entries(client, project, has_hooks, has_server)
        self._is_unedited = bool(self.receipt and self.before is not None and self.receipt.is_of(self.before))

    @property
    def changed(self) -> bool:
        """Whether the file will change."""
        return self.before != self.after

    @property
    def is_whole_file(self) -> bool:
        """Whether a file of ours is created or deleted, so that its text need not be shown."""
        return bool(self.purpose) and self.changed and None in (self.before, self.after)

    def diff(self, *, whole: bool = True) -> str:
        """The change as a unified diff. Without `whole`, only the names of a file that is created or deleted."""
        both = (self.before, self.after)
        old, new = ((data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in both)
        old_name, new_name = (self.path if data is not None else os.devnull for data in both)
        lines = list(difflib.unified_diff(old, new, old_name, new_name))
        if self.is_whole_file and not whole:
            lines = lines[:2]
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)

    def put_in(self, command: str, *, mcp: bool) -> "Plan":
        """Plan to add our entries; with `mcp` also our server. Without it, a server of ours is only updated."""
        ours, receipt = self._entries, self.receipt
        with _refusals(self.client, self.path):
            value = self._value(self.text)
            wanted = ours.put_in(value, command, mcp=mcp)
            text = self._edited(value, wanted)
            if self.before is not None or text:
                was_ours = ours.are_in(value) and receipt is not None and receipt.created
                self.after = text.encode()
                self.new_receipt = self._receipt_for(self.after, created=self.before is None or was_ours)
            if ours.has_hooks:
                self.notes = [self.client.applies, *self.client.notes(project=self.project)]
                self.notes += [*[ON_PATH] * self.project, CHECK]
            if ours.is_other_server_in(wanted):
                self.notes += [OTHER_SERVER.format(self.path)] * mcp
            elif self.project and ours.is_server_in(wanted):
                self.notes.append(SHARED_SERVER)
        return self

    def take_out(self) -> "Plan":
        """Plan the file from before the installation, or else the text without our entries; no file if it was ours."""
        self.backs_up = not self._is_unedited
        with _refusals(self.client, self.path):
            value = self._value(self.text)
            if self._entries.are_in(value):
                rest = self._entries.take_out(value)

                def is_original(text: str) -> bool:
                    old = self._value(text)
                    return not self._entries.are_in(old) and bool(self._entries.take_out(old) == rest)

                original = undo.original(self.path, is_original) if self._is_unedited else None
                if original is None:
                    original = self._edited(value, rest).encode()
                is_blank = original.strip() in (b"", b"{}")
                self.after = None if is_blank and self.receipt is not None and self.receipt.created else original
            if self._entries.is_other_server_in(value) and self.receipt is not None:
                self.notes = [OTHER_SERVER.format(self.path)]
        return self

    def own_file(self, text: str, purpose: str, *, remove: bool) -> "Plan":
        """Plan to write or remove a file that is ours alone. An edited skill or rules file stays."""
        data = text.encode()
        if purpose != entries.EXTENSION:
            self.backs_up = False
            if not self._is_own_text(data):
                self.new_receipt = None if remove else self.receipt
                self.notes = [EDITED.format(self.path)]
                return self
        elif self.text and entries.executable_of_extension(self.text) is None:
            if remove:
                return self
            fix = "rename that file and run this again; nothing was changed"
            raise Failure(REFUSED, f"{self.path} exists and was not written by joelclaw", fix)
        elif remove:
            self.backs_up = not (self._is_unedited or entries.same_extension(self.text, text))
        else:
            self.notes = [self.client.applies, *([ON_PATH] if self.project else []), CHECK]
        self.purpose = purpose
        self.after = None if remove else data
        self.new_receipt = None if remove else self._receipt_for(data, created=True)
        return self

    def _value(self, text: str) -> Any:
        is_toml = self.path.endswith(".toml")
        value = (
            settings_text.parsed_toml(text) if is_toml else settings_text.parsed(text, comments=self.client.comments)
        )
        self._entries.check(value)
        return value

    def _edited(self, value: Any, wanted: Any) -> str:
        """The text of the file, edited so that its value is `wanted` instead of `value`."""
        if settings_text.same(value, wanted):
            return self.text
        if self.path.endswith(".toml"):
            return settings_text.edited_toml(self.text, wanted, self.client.servers_key, entries.SERVER)
        return settings_text.edited(self.text, wanted, comments=self.client.comments)

    def _receipt_for(self, data: bytes, *, created: bool) -> Receipt:
        before = self.receipt.folders if self.receipt and created else ()
        return Receipt.of(self.path, data, created=created, folders=(*before, *self.missing_folders))

    def _is_own_text(self, data: bytes) -> bool:
        """Whether a skill or rules file does not exist, or holds what this or an installed joelclaw writes."""
        if self.before in (None, data) or self._is_unedited or self.receipt is not None:
            return self.before in (None, data) or self._is_unedited
        settings = json_settings(self.client, self.client.path(project=self.project))
        installed = entries.installed_entries(settings, self.client)
        commands = {entry.executable for entry in installed} | {own_command.NAME}
        written = [entries.own_files(self.client, command, project=self.project) for command in commands]
        return any((path, text) == (self.path, self.text) for each in written for path, text, _ in each)


def installing(client: Settings, *, project: bool, mcp: bool = False) -> list[Plan]:
    """The plans of an installation, the settings first; with `mcp` it adds our server."""
    command = command_for(project=project)
    plans = [plan.put_in(command, mcp=mcp) for plan in _settings_plans(client, project, mcp=mcp)]
    own = entries.own_files(client, command, project=project)
    return plans + [Plan(client, path, project).own_file(text, what, remove=False) for path, text, what in own]


def removing(client: Settings, *, project: bool) -> list[Plan]:
    """The plans of an uninstall. Files of ours that were edited stay."""
    plans = [plan.take_out() for plan in _settings_plans(client, project, mcp=False)]
    own = entries.own_files(client, command_for(project=project), project=project)
    return plans + [Plan(client, path, project).own_file(text, what, remove=True) for path, text, what in own]


def require_inside_project(plans: Iterable[Plan]) -> None:
    """Refuse a project's file that is a link out of the project. Raises Failure: INSTALL_REFUSED."""
    root = real_root(os.getcwd())
    for plan in plans:
        if plan.project and not is_below(plan.target, root):
            fix = "replace it with a file, or install without --project; nothing was changed"
            raise Failure(REFUSED, f"{plan.path} leads out of the project to {plan.target}", fix)


def command_for(*, project: bool) -> str:
    """How a file calls joelclaw: in a project, which others use too, by its name."""
    return own_command.NAME if project else entries.executable()


def installed_in(client: Settings, path: str) -> list[Entry]:
    """Our hooks in a file of a client; for an extension of ours a single entry without an event."""
    if client.events:
        return entries.installed_entries(json_settings(client, path), client)
    executable = entries.executable_of_extension(decoded(path, read(path)))
    return [Entry(Place("", 0, 0), "", executable)] if executable else []


def installation_row(client: Settings, project: bool) -> dict[str, Any]:
    """A client in one scope for `--list`. `installed` is None if its file cannot be read."""
    path = client.path(project=project)
    row: dict[str, Any] = {
        "agent": client.name,
        "scope": "project" if project else "user",
        "path": path,
        "installed": False,
        "current": False,
        "version": None,
        "present": client.present(),
        "notes": [],
    }
    try:
        if any(plan.changed for plan in removing(client, project=project)):
            receipt = Receipt.load(path)
            row["installed"], row["version"] = True, receipt.version if receipt else None
            row["current"] = not any(plan.changed for plan in installing(client, project=project))
            if not row["current"]:
                row["notes"].append("another version or path of joelclaw: install it again")
    except Failure as failure:
        row["installed"] = None
        row["notes"].append(failure.message)
    return row


def read(path: str) -> bytes | None:
    """The bytes of a file; None if there is none. Raises Failure: INSTALL_FAILED."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise Failure(FAILED, f"{path} is not a file", "move it and run this again")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        fix = f"make {path} readable and run this again"
        raise Failure(FAILED, f"{path} cannot be read: {error.strerror}", fix) from None


def decoded(path: str, data: bytes | None) -> str:
    """The text of a file. Raises Failure: INSTALL_REFUSED."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        fix = "save it as UTF-8 and run this again; nothing was changed"
        raise Failure(REFUSED, f"{path} is not UTF-8 (byte {error.start})", fix) from None


def json_settings(client: Settings, path: str) -> Any:
    """The value of a JSON file of a client. Raises Failure: INSTALL_REFUSED."""
    with _refusals(client, path):
        return settings_text.parsed(decoded(path, read(path)), comments=client.comments)


def _settings_plans(client: Settings, project: bool, *, mcp: bool) -> list[Plan]:
    """The plans for the client's own files: its settings, unless it loads our extension, and its file with servers."""
    path, servers = client.path(project=project), client.servers(project=project)
    if project and os.path.realpath(path) == os.path.realpath(client.path(project=False)):
        fix = "run this in a project's folder, or without --project"
        raise Failure(FAILED, f"{path} is the user's file, not a project's", fix)
    paths = [path] if client.events else []
    # A file without anything of ours is not even parsed.
    if servers not in ("", path) and (
        mcp or Receipt.load(servers) or entries.SERVER.encode() in (read(servers) or b"")
    ):
        paths.append(servers)
    return [Plan(client, each, project) for each in paths]


@contextmanager
def _refusals(client: Settings, path: str) -> Iterator[None]:
    """Turn Malformed into a Failure that says what the client reads."""
    try:
        yield
    except Malformed as error:
        what = "TOML" if path.endswith(".toml") else "JSON, comments allowed" if client.comments else "plain JSON"
        fix = f"fix {path} ({client.name} reads {what}) and run this again; nothing was changed"
        raise Failure(REFUSED, f"{path}: {error}", fix) from None


@contextmanager
def locked() -> Iterator[None]:
    """Allow only one installation at a time. Raises Failure: INSTALL_BUSY."""
    try:
        with files.FileLock(os.path.join(files.home(), "install.lock"), 20.0):
            yield
    except files.LockTimeout:
        raise Failure("INSTALL_BUSY", "another installation is running", "wait for it and run this again") from None
    except OSError as error:
        raise _write_failure(files.home(), error) from None


def carry_out(plans: Sequence[Plan], changed: list[str]) -> dict[str, str | None]:
    """Write or delete the files, and append their paths to `changed`. Returns the path of each backup, or None."""
    backups = {}
    for plan in plans:
        try:
            backups[plan.path] = _carry_out(plan)
        except Failure as failure:
            if not changed:
                raise
            fix = failure.fix.replace("; nothing was changed", "")
            message = f"{failure.message}; changed before it: {', '.join(changed)}"
            raise Failure(failure.code, message, fix) from None
        if plan.changed:
            changed.append(plan.path)
    return backups


def _carry_out(plan: Plan) -> str | None:
    backup = None
    if plan.changed:
        if read(plan.target) != plan.before:
            raise Failure("INSTALL_CHANGED", f"{plan.path} has changed in the meantime", "run this again")
        try:
            if plan.before is not None and plan.backs_up:
                backup = undo.back_up(plan.path, plan.target, plan.before)
            if plan.after is not None:
                _write(plan, plan.after)
            else:
                os.unlink(plan.target)
                folder = os.path.dirname(plan.target)
                ours = (folder,) if os.path.basename(folder) == own_command.NAME else ()
                undo.remove_empty_folders((plan.receipt.folders if plan.receipt else ()) or ours)
        except OSError as error:
            if backup:
                os.unlink(backup)
            undo.remove_empty_folders(plan.missing_folders)
            raise _write_failure(plan.path, error) from None
        undo.delete_middle_backups(plan.path)
    if plan.new_receipt is None:
        undo.delete_receipt(plan.path)
    return backup


def _write(plan: Plan, data: bytes) -> None:
    """Replace the file, keeping its mode and owner."""
    for folder in undo.missing_folders(plan.target):
        os.mkdir(folder, 0o777 if plan.project else 0o700)
    if plan.new_receipt is not None:  # first, so that an uninstall never knows too little
        plan.new_receipt.save()
    old = None if plan.before is None else os.stat(plan.target)
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


def _write_failure(path: str, error: OSError) -> Failure:
    where = error.filename or path
    fix = f"make {os.path.dirname(str(where)) or where} writable and run this again; nothing was changed"
    return Failure(FAILED, f"{path} cannot be written: {error.strerror or error}", fix)
