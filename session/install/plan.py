"""What an installation or its undoing would change in one client's file. Nothing is written here."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from core.errors import Failure
from core.repository.project_file import is_below, root_of
from session import own_command
from session.install import hook_command, hook_entries, json_parts, notes, own_file
from session.install.json_nodes import Malformed
from session.install.json_parts import Part, Traces
from session.install.receipt import Receipt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.settings import Settings

CODE = "INSTALL_FAILED"
NOTHING = "nothing of joelclaw was there"
EXTENSION = "the extension of joelclaw, which the client loads"
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
        import difflib  # nothing to show where nothing changes

        old, new = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (self.before, self.after)
        )
        lines = difflib.unified_diff(
            old,
            new,
            self.path if self.before is not None else os.devnull,
            self.path if self.after is not None else os.devnull,
        )
        if self.is_whole and not whole:
            return "".join(islice(lines, 2))
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def installing(client: Settings, *, project: bool, mcp: bool = False) -> Plan:
    """Put our hooks or our extension in, and what is kept in the same file; or bring it up to date.

    Args:
        mcp: our server too; one that is there already stays in any case.

    Raises:
        Failure: INSTALL_REFUSED, the file is not what the client reads; INSTALL_FAILED, it cannot be read.
    """
    path = client.path(project=project)
    _not_the_users(client, path, project)
    command = command_for(project=project)
    if client.events:
        return put_in(client, path, parts_of(client, path, command, project=project), project=project, mcp=mcp)
    target, before, receipt = now(path)
    _own(path, before)
    after = extension(client, command).encode()
    created = before is None or (receipt is not None and receipt.created)
    about = notes.of_extension(client, project=project)
    kept = Receipt.of(path, after, created=created, traces=Traces())
    return Plan(client, project, path, target, before, after, kept, notes=about, what=EXTENSION)


def removing(client: Settings, *, project: bool) -> Plan:
    """Take our part out.

    Raises:
        Failure: as for `installing`.
    """
    path = client.path(project=project)
    _not_the_users(client, path, project)
    if client.events:
        return take_out(client, path, parts_of(client, path, "", project=project), project=project)
    target, before, receipt = now(path)
    untouched = receipt is not None and before is not None and receipt.is_of(before)
    after = before
    if before is not None and _CONSTANT.search(decoded(path, before)):
        after = None
        untouched = untouched or _blank_constant(decoded(path, before)) == _blank_constant(extension(client, ""))
    about = [] if after != before else [NOTHING]
    return Plan(client, project, path, target, before, after, None, untouched, about, EXTENSION)


def stay_in_project(plans: Iterable[Plan]) -> None:
    """See that what is written for a project lies in it: a repository may hold links to the user's own files.

    Raises:
        Failure: INSTALL_REFUSED, a file of a plan is reached by a link out of the project.
    """
    root = root_of(os.getcwd())
    for one in plans:
        if one.project and not is_below(one.target, root):
            fix = "put a file in its place, or install without --project; nothing was changed"
            raise Failure("INSTALL_REFUSED", f"{one.path} leads out of the project, to {one.target}", fix)


def command_for(*, project: bool) -> str:
    """How our command is called in a file: for a project by its name, since others read the file too.

    Raises:
        Failure: INSTALL_FAILED, it cannot be found.
    """
    return own_command.NAME if project else hook_command.executable()


def parts_of(client: Settings, path: str, command: str, *, project: bool) -> list[Part]:
    """What is put into one JSON file of a client beside hooks."""
    parts = []
    if client.allowed and path == client.path(project=project):
        rules = tuple(own_file.rules(client, command))
        parts.append(Part(client.allowed, "", rules, json_parts.RULE))
        parts.append(Part(client.allowed, "", own_file.TOOL_RULES, json_parts.TOOL, of_server=True))
    if client.has_servers and path == client.servers(project=project):
        parts.append(Part(("mcpServers",), json_parts.SERVER, (client.server(command),), of_server=True))
    return parts


def put_in(client: Settings, path: str, parts: list[Part], *, project: bool, mcp: bool) -> Plan:
    """The plan of one JSON file: the hooks of `client.events`, and parts.

    Raises:
        Failure: as for `installing`.
    """
    target, before, receipt = now(path)
    text = decoded(path, before)
    command = command_for(project=project)
    try:
        there = hook_entries.is_in(text, client, parts)
        wanted = [
            part for part in parts if not part.of_server or mcp or hook_entries.is_in(text, client, [part], hooks=False)
        ]
        known = receipt.traces if receipt and there else None
        if receipt is None and _is_lost(text, client, wanted):
            known = hook_entries.supposed(text, client, command, wanted)
        new, traces = (
            hook_entries.put_in(text, client, command, known, wanted) if client.events or wanted else (text, Traces())
        )
        about = notes.of_hooks(client, text, project=project) if client.events else []
        if any(part.key and hook_entries.is_foreign(new, client, part) for part in wanted):
            about.append(f"a server `{json_parts.SERVER}` of somebody's is there; it was left as it is")
        elif any(part.key for part in wanted):
            about.extend(notes.of_server(client, project=project))
        if hook_entries.others(new, client, parts) != hook_entries.others(text, client, parts):
            raise Malformed("an edit would change what is not ours")  # a fault of ours: better not at all
    except Malformed as error:
        raise refused(path, client, error) from None
    after = None if before is None and not new else new.encode()
    created = before is None or (there and receipt is not None and receipt.created)
    kept = Receipt.of(path, after, created=created, traces=traces) if after is not None else None
    return Plan(client, project, path, target, before, after, kept, notes=about)


def _is_lost(text: str, client: Settings, parts: list[Part]) -> bool:
    """Whether an installation is there of which no receipt tells; a rule alone may be the user's own."""
    keyed = [part for part in parts if part.key]
    return hook_entries.is_in(text, client, keyed, hooks=bool(client.events))


def take_out(client: Settings, path: str, parts: list[Part], *, project: bool) -> Plan:
    """The plan of one JSON file without our part.

    Raises:
        Failure: as for `installing`.
    """
    target, before, receipt = now(path)
    untouched = receipt is not None and before is not None and receipt.is_of(before)
    after: bytes | None = before
    if before is not None:
        try:
            text = decoded(path, before)
            if hook_entries.is_in(text, client, parts):
                new, empty = hook_entries.take_out(text, client, receipt.traces if receipt else None, parts)
                after = None if empty and receipt is not None and receipt.created else new.encode()
        except Malformed as error:
            raise refused(path, client, error) from None
    about = [] if after != before else [NOTHING]
    return Plan(client, project, path, target, before, after, None, untouched, about)


def extension(client: Settings, command: str) -> str:
    """The file that a client loads, with the path of our executable in it: what all clients share, then its own part.

    Raises:
        Failure: INSTALL_FAILED, it is missing from the package.
    """
    from importlib import resources

    parts = [resources.files("clients") / part for part in ("extension.js", f"{client.name}/extension.js")]
    try:
        text = "".join(part.read_text(encoding="utf-8") for part in parts)
    except OSError as error:
        raise Failure(CODE, f"{error.filename} is missing from this installation", "install joelclaw again") from None
    line = f"const JOELCLAW = {json.dumps(command, ensure_ascii=False)};"
    return _CONSTANT.sub(lambda _: line, text, count=1)


def called_by(text: str) -> str:
    """The path, or the bare name, by which an extension of ours calls joelclaw; "" where it is none of ours."""
    match = _CONSTANT.search(text)
    try:
        return str(json.loads(match[0].partition("=")[2].strip().removesuffix(";"))) if match else ""
    except ValueError:
        return ""


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


def now(path: str) -> tuple[str, bytes | None, Receipt | None]:
    """The file that a path means, what it holds, and what we know of it.

    Raises:
        Failure: INSTALL_FAILED, it cannot be read.
    """
    target = os.path.realpath(path)
    return target, read(target), Receipt.load(path)


def decoded(path: str, data: bytes | None) -> str:
    """The text of a file.

    Raises:
        Failure: INSTALL_REFUSED, it is not UTF-8.
    """
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        fix = "save it as UTF-8 and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path} is not UTF-8 (byte {error.start})", fix) from None


def refused(path: str, client: Settings, error: Malformed, what: str = "") -> Failure:
    """What is wrong with a client's file."""
    what = what or ("JSON, comments allowed" if client.comments else "plain JSON")
    fix = f"mend {path} ({client.name} reads {what}) and run this again; nothing was changed"
    return Failure("INSTALL_REFUSED", f"{path}: {error}", fix)


def _not_the_users(client: Settings, path: str, project: bool) -> None:
    if project and os.path.realpath(path) == os.path.realpath(client.path(project=False)):
        fix = "run this in a project's folder, or without --project"
        raise Failure(CODE, f"{path} is the file of the user, not of a project", fix)


def _own(path: str, before: bytes | None) -> None:
    if before and not _CONSTANT.search(decoded(path, before)):
        fix = "give that file another name and run this again; nothing was changed"
        raise Failure("INSTALL_REFUSED", f"{path} is there and is not of joelclaw", fix)


def _blank_constant(text: str) -> str:
    return _CONSTANT.sub("", text, count=1)
