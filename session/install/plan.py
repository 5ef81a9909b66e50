"""What an installation or its undoing would change in one client's file. Nothing is written here."""

from __future__ import annotations

import difflib
import json
import os
import re
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

from core.errors import Failure
from session.install import hook_command, hook_entries, notes
from session.install.hook_entries import Traces
from session.install.json_nodes import Malformed
from session.install.receipt import Receipt

if TYPE_CHECKING:
    from clients.settings import Settings

CODE = "INSTALL_FAILED"
_CONSTANT = re.compile(r"^const JOELCLAW = .*$", re.MULTILINE)
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True)
class Plan:
    """One file as it is and as it is to be; None: no such file.

    Args:
        path: as the client names it.
        target: the file itself, where `path` is a link.
        receipt: what is noted for the day of the removal; None: to be forgotten.
        untouched: the file is as we left it, so that nothing of anybody's goes with our part.
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

    @property
    def changed(self) -> bool:
        """Whether the file is to change."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff; empty without one."""
        old, new = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (self.before, self.after)
        )
        lines = difflib.unified_diff(
            old,
            new,
            self.path if self.before is not None else os.devnull,
            self.path if self.after is not None else os.devnull,
        )
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def installing(client: Settings, *, project: bool) -> Plan:
    """Put our part in, or bring it up to date.

    Raises:
        Failure: INSTALL_REFUSED, the file is not what the client reads; INSTALL_FAILED, it cannot be read.
    """
    path, target, before, receipt = _now(client, project)
    command = "joelclaw" if project else hook_command.executable()
    if client.events:
        text = _text(path, before)
        try:
            there = hook_entries.is_in(text, client)
            new, traces = hook_entries.put_in(text, client, command, receipt.traces if receipt and there else None)
            about = notes.of_hooks(client, text, project=project)
            if hook_entries.others(new, client) != hook_entries.others(text, client):
                raise Malformed("an edit would change what is not ours")  # a fault of ours: better not at all
        except Malformed as error:
            raise _refused(path, client, error) from None
        after = new.encode()
    else:
        _own(path, before)
        there, traces, about = before is not None, Traces(), notes.of_extension(client, project=project)
        after = extension(client, command).encode()
    created = before is None or (there and receipt is not None and receipt.created)
    return Plan(
        client,
        project,
        path,
        target,
        before,
        after,
        Receipt.of(path, after, created=created, traces=traces),
        notes=about,
    )


def removing(client: Settings, *, project: bool) -> Plan:
    """Take our part out.

    Raises:
        Failure: as for `installing`.
    """
    path, target, before, receipt = _now(client, project)
    untouched = receipt is not None and before is not None and receipt.is_of(before)
    after: bytes | None = before
    if before is not None and client.events:
        try:
            there = hook_entries.is_in(_text(path, before), client)
            if there:
                text, empty = hook_entries.take_out(_text(path, before), client, receipt.traces if receipt else None)
                after = None if empty and receipt is not None and receipt.created else text.encode()
        except Malformed as error:
            raise _refused(path, client, error) from None
    elif before is not None and _CONSTANT.search(_text(path, before)):
        after = None
        untouched = untouched or _blank_constant(_text(path, before)) == _blank_constant(extension(client, ""))
    about = [] if after != before else ["nothing of joelclaw was there"]
    return Plan(client, project, path, target, before, after, None, untouched, about)


def extension(client: Settings, command: str) -> str:
    """The file that a client loads, with the path of our executable in it: what all clients share, then its own part.

    Raises:
        Failure: INSTALL_FAILED, it is missing from the package.
    """
    parts = [resources.files("clients") / part for part in ("extension.js", f"{client.name}/extension.js")]
    try:
        text = "".join(part.read_text(encoding="utf-8") for part in parts)
    except OSError as error:
        raise Failure(CODE, f"{error.filename} is missing from this installation", "install joelclaw again") from None
    line = f"const JOELCLAW = {json.dumps(command, ensure_ascii=False)};"
    return _CONSTANT.sub(lambda _: line, text, count=1)


def read(path: str) -> bytes | None:
    """The file's bytes, or None where there is none.

    Raises:
        Failure: INSTALL_FAILED, it cannot be read.
    """
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


def _now(client: Settings, project: bool) -> tuple[str, str, bytes | None, Receipt | None]:
    path = client.path(project=project)
    target = os.path.realpath(path)
    if project and target == os.path.realpath(client.path(project=False)):
        fix = "run this in a project's folder, or without --project"
        raise Failure(CODE, f"{path} is the file of the user, not of a project", fix)
    return path, target, read(target), Receipt.load(path)


def _text(path: str, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        fix = "save it as UTF-8 and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path} is not UTF-8 (byte {error.start})", fix) from None


def _own(path: str, before: bytes | None) -> None:
    if before and not _CONSTANT.search(_text(path, before)):
        fix = "give that file another name and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path} is there and is not of joelclaw", fix)


def _blank_constant(text: str) -> str:
    return _CONSTANT.sub("", text, count=1)


def _refused(path: str, client: Settings, error: Malformed) -> Failure:
    what = "JSON, comments allowed" if client.comments else "plain JSON"
    fix = f"mend {path} ({client.name} reads {what}) and run this again; nothing was changed"
    return Failure("INSTALL_REFUSED", f"{path}: {error}", fix)
