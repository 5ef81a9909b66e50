"""What `install` and `uninstall` change in a client's files: planned first, then shown, then written.

    file                           install                    uninstall
    settings, servers, plugins     our entries are put in     the backup without them, else the text without them
    ours alone                     written                    deleted
    ours, but edited by the user   stays                      stays

Only `carry_out` writes: under the lock of `locked`, with a backup, by renaming a new file over the old one. An
uninstall needs those backups, which are next to the client's files, and a receipt for each file that was changed.
"""

import difflib
import errno
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from glob import escape, glob
from pathlib import Path
from typing import Any

from clients.content import as_object
from core import VERSION, clock, files, words
from core.errors import Failure
from core.project import is_below, real_root
from session import own_command
from session.install import own_entries, settings_text
from session.install.client_settings import Settings
from session.install.own_entries import Entries, Entry
from session.install.settings_text import Malformed

BACKUP_SUFFIX = ".joelclaw-backup-"


def receipt_of(path: str) -> dict[str, Any]:
    """What the last installation did to a file of a client, so that an uninstall can restore it; {} if it did nothing.

    `fingerprint` is the SHA-256 of what we wrote, `version` ours, `created` says whether we created the file, and
    `folders` are those that we created for it, the outermost first, as seen from the file's folder (`..`). `hooks` are
    the forms of our hooks: the user has changed a hook with another form.
    """
    try:
        value = json.loads(files.read_file(_receipt_path(path)))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


class Plan:
    """One file of a client: its text now (`before`) and as planned (`after`), None if there is no file.

    `target` is the file that `path` links to, if it is a link. `receipt` is from the last installation, `new_receipt`
    will be stored, if it is not empty. `backs_up`: whether the file holds anything that is not ours. `purpose`
    describes a file that is ours alone.
    """

    def __init__(self, settings: Settings, path: str, project: bool) -> None:
        self.settings = settings
        self.path = path
        self.project = project
        self.target = os.path.realpath(path)
        self.before = self.after = _read(self.target)
        self.text = self.before or ""
        self.receipt = receipt_of(path)
        self.new_receipt: dict[str, Any] = {}
        self.notes: list[str] = []
        self.purpose = ""
        self.backs_up = True
        self._is_toml = path.endswith(".toml")
        self._entries = Entries(settings, path, project=project, written=as_object(self.receipt, "hooks"))
        self._is_created = self.receipt.get("created") is True
        self._is_unedited = bool(self.receipt) and self.receipt.get("fingerprint") == _fingerprint(self.before)

    @cached_property
    def missing_folders(self) -> list[str]:
        """The folders that have to be created for the file, the outermost first."""
        return [str(folder) for folder in reversed(Path(self.target).parents) if not folder.is_dir()]

    @property
    def changed(self) -> bool:
        """Whether the file will change."""
        return self.before != self.after

    @property
    def is_whole_file(self) -> bool:
        """Whether a file of ours is created or deleted, so that its text need not be shown."""
        return bool(self.purpose) and self.changed and None in (self.before, self.after)

    def diff(self) -> str:
        """The change as a unified diff; of a file of ours that is created or deleted only the names."""
        both = (self.before, self.after)
        old, new = (words.clean(text or "").splitlines(keepends=True) for text in both)
        old_name, new_name = (self.path if text is not None else os.devnull for text in both)
        lines = list(difflib.unified_diff(old, new, old_name, new_name))
        if self.is_whole_file:
            lines = lines[:2]
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)

    def put_in(self, command: str, *, mcp: bool) -> None:
        """Plan to add our entries; with `mcp` also our server. Without it, a server of ours is only updated."""
        ours = self._entries
        with _refusals(self.settings, self.path):
            value = settings_text.parsed(self.text, is_toml=self._is_toml)
            wanted = ours.replaced_in(value, command, mcp=mcp)
            text = self._edited(value, wanted)
            if self.before is not None or text:
                created = self.before is None or (ours.are_in(value) and self._is_created)
                self._write_receipt(text, created=created)
                self.new_receipt["hooks"] = ours.forms(command)
            self.notes = self._hook_notes() if ours.has_hooks else []
            if mcp and ours.is_other_server_in(wanted):
                self.notes.append(self._other_server())

    def take_out(self) -> None:
        """Plan the file from before the installation, or else the text without our entries; no file if it was ours."""
        self.backs_up = not self._is_unedited
        with _refusals(self.settings, self.path):
            value = settings_text.parsed(self.text, is_toml=self._is_toml)
            rest = self._entries.replaced_in(value, "")
            if self._entries.are_in(value):
                original = self._backup_with(rest)
                if original is None:
                    original = self._edited(value, rest)
                self.after = None if self._is_created and original.strip() in ("", "{}") else original
            if self._entries.has_hooks and own_entries.installed_entries(rest, self.settings):
                about = "were edited, so they stay and still run: delete them by hand"
                self.notes = [f"hooks in {self.path} that call joelclaw {about}"]
            if self._entries.is_other_server_in(value) and self.receipt:
                self.notes.append(self._other_server())

    def own_file(self, text: str, purpose: str, *, remove: bool) -> None:
        """Plan to write or remove a file that is ours alone. Another file, or a file that the user edited, stays."""
        is_extension = purpose == own_entries.EXTENSION
        is_known = self.before in (None, text) or self._is_unedited
        if not is_known and not (is_extension and own_entries.executable_of_extension(self.text)):
            if is_extension and not remove:
                fix = "rename that file and run this again; nothing was changed"
                raise Failure("INSTALL_REFUSED", f"{self.path} exists and was not written by joelclaw", fix)
            self.new_receipt = {} if remove else self.receipt
            self.notes = [f"{self.path} was edited and stays unchanged"] * (not is_extension)
            return
        self.purpose = purpose
        self.backs_up = not is_known
        if not is_known:
            copy = f"the copy is {self.path}{BACKUP_SUFFIX}<ms>"
            self.notes = [f"{self.path} was edited, and is {'deleted' if remove else 'replaced'}: {copy}"]
        if remove:
            self.after = None
        else:
            self._write_receipt(text, created=True)
            self.notes += self._hook_notes() if is_extension else []

    def _write_receipt(self, text: str, *, created: bool) -> None:
        self.after = text
        missing = [os.path.relpath(folder, os.path.dirname(self.target)) for folder in self.missing_folders]
        folders = [*(self.receipt.get("folders") or () if created else ()), *missing]
        fingerprint = _fingerprint(text)
        self.new_receipt = {"fingerprint": fingerprint, "version": VERSION, "created": created, "folders": folders}

    def _hook_notes(self) -> list[str]:
        path = "`joelclaw` must be on the PATH of everyone who uses this project; without it, the hooks do nothing"
        return [self.settings.applies, *self.settings.notes(project=self.project), *[path] * self.project]

    def _other_server(self) -> str:
        return f"the MCP server `joelclaw` in {self.path} was not added by joelclaw, or was edited; it stays unchanged"

    def _edited(self, value: Any, wanted: Any) -> str:
        """The text of the file, edited so that its value is `wanted` instead of `value`."""
        if settings_text.same(value, wanted):
            return self.text
        if self._is_toml:
            return settings_text.edited_toml(self.text, wanted, self.settings.servers_key, own_command.NAME)
        return settings_text.edited(self.text, wanted)

    def _backup_with(self, rest: Any) -> str | None:
        """The newest backup that holds `rest`, the value without our entries, if the file was not edited since."""
        for name in reversed(backups_of(self.path) if self._is_unedited else ()):
            with suppress(Failure, Malformed):
                text = _read(name) or ""
                before = settings_text.parsed(text, is_toml=self._is_toml)
                if not self._entries.are_in(before) and self._entries.replaced_in(before, "") == rest:
                    return text
        return None


def plans_for(settings: Settings, *, project: bool, mcp: bool = False, remove: bool = False) -> list[Plan]:
    """The plans of an installation, which adds our server with `mcp`, or of an uninstall (`remove`).

    They are for the client's own files (settings, unless it loads our extension; servers), then for those of ours, then
    for the settings that switch our extension on. Raises Failure: INSTALL_FAILED, and INSTALL_REFUSED, for example for
    a project's file that is a link out of the project.
    """
    if project and not settings.has_projects:
        about = f"{settings.client.title} reads no settings of a project"
        raise Failure("INSTALL_FAILED", about, "run this without --project; nothing was changed")
    command = own_command.NAME if project else own_entries.executable()  # others use a project's files too
    path, servers = settings.path(project=project), settings.servers(project=project)
    if project and os.path.realpath(path) == os.path.realpath(settings.path(project=False)):
        fix = "run this in a project's folder, or without --project"
        raise Failure("INSTALL_FAILED", f"{path} is the user's file, not a project's", fix)
    plans = [Plan(settings, path, project)] if settings.events else []
    # A file without anything of ours is not even parsed.
    if servers not in ("", path) and (mcp or receipt_of(servers) or own_command.NAME in (_read(servers) or "")):
        plans.append(Plan(settings, servers, project))
    plugins = [Plan(settings, settings.plugins_file, project)] if settings.plugins_file else []
    for plan in (*plans, *plugins):
        if remove:
            plan.take_out()
        else:
            plan.put_in(command, mcp=mcp)
    for file, text, purpose in own_entries.own_files(settings, command, project=project):
        plans.append(Plan(settings, file, project))
        plans[-1].own_file(text, purpose, remove=remove)
    plans += plugins
    for plan in plans:
        if project and not is_below(plan.target, real_root(os.getcwd())):
            fix = "replace it with a file, or install without --project; nothing was changed"
            raise Failure("INSTALL_REFUSED", f"{plan.path} leads out of the project to {plan.target}", fix)
    return plans


def installed_in(settings: Settings, path: str) -> list[Entry]:
    """Our hooks in a file of a client; for an extension of ours a single entry without an event."""
    text = _read(path) or ""
    if settings.events:
        with _refusals(settings, path):
            return own_entries.installed_entries(settings_text.parsed(text), settings)
    executable = own_entries.executable_of_extension(text)
    return [Entry("", executable)] if executable else []


def installation_row(settings: Settings, project: bool) -> dict[str, Any]:
    """A client in a scope for `--list`. `installed` is None if its file cannot be read."""
    path = settings.path(project=project)
    row: dict[str, Any] = {
        "agent": settings.name, "scope": "project" if project else "user", "path": path, "installed": False,
        "current": False, "version": None, "present": settings.present(), "notes": [],
    }  # fmt: skip
    if project and not settings.has_projects:
        return row
    try:
        removal = plans_for(settings, project=project, remove=True)
        row["notes"] = [note for plan in removal for note in plan.notes]
        if any(plan.changed for plan in removal):
            row["installed"], row["version"] = True, receipt_of(path).get("version")
            row["current"] = not any(plan.changed for plan in plans_for(settings, project=project))
            row["notes"] = ["another version or path of joelclaw: install it again"] * (not row["current"])
    except Failure as failure:
        row |= {"installed": None, "notes": [failure.message]}
    return row


def may_be_installed(settings: Settings, project: bool) -> bool:
    """Whether a settings file of the client was changed by an installation, or names joelclaw."""
    paths = {settings.path(project=project), settings.servers(project=project), settings.plugins_file} - {""}
    with suppress(Failure):
        return any(map(receipt_of, paths)) or any(own_command.NAME in (_read(path) or "") for path in paths)
    return False


@contextmanager
def locked() -> Iterator[None]:
    """Exclude other installations. Raises Failure: INSTALL_BUSY."""
    try:
        with files.FileLock(os.path.join(files.home(), "install.lock"), 20.0):
            yield
    except files.LockTimeout:
        raise Failure("INSTALL_BUSY", "another installation is running", "wait for it and run this again") from None
    except OSError as error:
        raise _write_failure(files.home(), error) from None


def carry_out(plans: Sequence[Plan]) -> dict[str, str | None]:
    """Write or delete the files. Returns the path of each that was changed, with the path of its backup, or None."""
    backups = {}
    for plan in plans:
        if plan.changed:
            try:
                backups[plan.path] = _carry_out(plan)
            except OSError as error:
                raise _write_failure(plan.path, error) from None
        if not plan.new_receipt:
            files.remove(_receipt_path(plan.path))
    return backups


def backups_of(path: str) -> list[str]:
    """All backups of a file, the oldest first."""
    stem = path + BACKUP_SUFFIX
    found = [name for name in glob(escape(stem) + "*") if name.removeprefix(stem).isdecimal()]
    regular = [name for name in found if os.path.isfile(name) and not os.path.islink(name)]
    return sorted(regular, key=lambda name: int(name.removeprefix(stem)))


@contextmanager
def _refusals(settings: Settings, path: str) -> Iterator[None]:
    """Turn Malformed into a Failure."""
    try:
        yield
    except Malformed as error:
        fix = f"fix {path} so that {settings.name} can read it, and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path}: {error}", fix) from None


def _read(path: str) -> str | None:
    """The text of a file, with surrogates for bytes that are not UTF-8; None if there is none. Raises Failure."""
    try:
        return files.read_file(path).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        fix = f"make {path} a readable file, or move it, and run this again"
        raise Failure("INSTALL_FAILED", f"{path} cannot be read: {error.strerror or error}", fix) from None


def _carry_out(plan: Plan) -> str | None:
    """Write or delete a file. Returns the path of its backup, if there is a backup."""
    if _read(plan.target) != plan.before:
        raise Failure("INSTALL_CHANGED", f"{plan.path} has changed in the meantime", "run this again")
    mode = None if plan.before is None else os.stat(plan.target).st_mode & 0o7777
    backup = None if plan.before is None or not plan.backs_up else _back_up(plan.path, plan.before, mode)
    if plan.after is None:
        os.unlink(plan.target)
        for folder in reversed(plan.receipt.get("folders") or ()):
            with suppress(OSError):  # a folder that is not empty
                os.rmdir(os.path.normpath(os.path.join(os.path.dirname(plan.target), folder)))
        return backup
    for folder in plan.missing_folders:
        with suppress(FileExistsError):  # created for the file before
            os.mkdir(folder, 0o777 if plan.project else 0o700)
    if plan.new_receipt:  # first, so that an uninstall never knows too little
        files.write_whole(_receipt_path(plan.path), json.dumps(plan.new_receipt).encode())
    temporary = f"{plan.target}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    _create(temporary, plan.after, mode if mode is not None or plan.project else 0o600)
    os.replace(temporary, plan.target)
    if not plan.new_receipt:
        files.remove(*(name for name in backups_of(plan.path) if _read(name) == plan.after))
    return backup


def _back_up(path: str, text: str, mode: int | None) -> str:
    """Keep the text of a file next to it; delete older backups but the first, from before our first change."""
    known = [int(name.rpartition("-")[2]) for name in backups_of(path)]
    backup = f"{path}{BACKUP_SUFFIX}{max(clock.now_ms(), *(at + 1 for at in known), 0)}"
    _create(backup, text, mode)
    files.remove(*backups_of(path)[1:-1])
    return backup


def _create(path: str, text: str, mode: int | None) -> None:
    """Create a file and sync it to the disk. Without a mode, the umask decides."""
    with open(path, "xb") as file:
        try:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        except OSError:  # the disk is full
            os.unlink(path)
            raise


def _write_failure(path: str, error: OSError) -> Failure:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    need = "free some space" if is_full else f"make {os.path.dirname(str(error.filename or path))} writable"
    about = f"{path} cannot be written: {error.strerror or error}"
    return Failure("INSTALL_FAILED", about, f"{need} and run this again")


def _fingerprint(text: str | None) -> str:
    from hashlib import sha256  # loads OpenSSL

    return "" if text is None else sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _receipt_path(path: str) -> str:
    """The file with the receipt of a file. Its name is a hash: a path may contain a secret. Older names contain it."""
    folder = os.path.join(files.home(), "installs")
    old = os.path.join(folder, files.safe_name(path) + ".json")
    return old if os.path.exists(old) else os.path.join(folder, words.fingerprint(path) + ".json")
