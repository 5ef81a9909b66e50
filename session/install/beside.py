"""What lies beside a client's hooks: its list of MCP servers, a skill, rules for commands; each file a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.install import json_parts, notes, own_file, plan, toml_block
from session.install.json_nodes import Malformed
from session.install.json_parts import Traces
from session.install.plan import NOTHING, Plan
from session.install.receipt import Receipt

if TYPE_CHECKING:
    from clients.settings import Settings

_TOML = ".toml"


def installing(client: Settings, *, project: bool, mcp: bool) -> list[Plan]:
    """Put our server in where that is asked for, or is there; write our own files, and leave those that were changed.

    Raises:
        Failure: as `plan.installing`.
    """
    plans = []
    path = _servers(client, project)
    if not mcp and not _may_hold(path):
        path = ""
    if path.endswith(_TOML):
        plans.append(_toml(client, path, project=project, mcp=mcp))
    elif path:
        bare = client.without_hooks()  # its hooks are in another file
        parts = plan.parts_of(client, path, plan.command_for(project=project), project=project)
        plans.append(plan.put_in(bare, path, parts, project=project, mcp=mcp))
    for own, text in own_file.files(client, plan.command_for(project=project), project=project):
        plans.append(_written(client, own, text, project=project))
    return plans


def removing(client: Settings, *, project: bool) -> list[Plan]:
    """Take it out; a file of ours that somebody changed stays.

    Raises:
        Failure: as `plan.removing`.
    """
    plans = []
    path = _servers(client, project)
    if not _may_hold(path):
        path = ""
    if path.endswith(_TOML):
        plans.append(_without_block(client, path, project=project))
    elif path:
        bare = client.without_hooks()
        plans.append(plan.take_out(bare, path, plan.parts_of(client, path, "", project=project), project=project))
    for own, text in own_file.files(client, plan.command_for(project=project), project=project):
        plans.append(_gone(client, own, text, project=project))
    return plans


def _servers(client: Settings, project: bool) -> str:
    """The file with the client's servers, where that is not the one with the hooks."""
    path = client.servers(project=project) if client.has_servers else ""
    return "" if path == client.path(project=project) else path


def _may_hold(path: str) -> bool:
    """Whether something of ours may be there: else a file that has nothing to do with us is not even parsed."""
    return bool(path) and (Receipt.load(path) is not None or json_parts.SERVER.encode() in (plan.read(path) or b""))


def _toml(client: Settings, path: str, *, project: bool, mcp: bool) -> Plan:
    target, before, receipt = plan.now(path)
    text = plan.decoded(path, before)
    try:
        there = toml_block.is_in(text)
        new, note = toml_block.put_in(text, plan.command_for(project=project)) if mcp or there else (text, "")
    except Malformed as error:
        raise plan.refused(path, client, error, "TOML") from None
    after = None if before is None and not new else new.encode()
    created = before is None or (there and receipt is not None and receipt.created)
    kept = Receipt.of(path, after, created=created, traces=Traces()) if after is not None else None
    about = notes.of_server(client, project=project) if mcp or there else []
    return Plan(client, project, path, target, before, after, kept, notes=[f"{path}: {note}"] if note else about)


def _without_block(client: Settings, path: str, *, project: bool) -> Plan:
    target, before, receipt = plan.now(path)
    untouched = receipt is not None and before is not None and receipt.is_of(before)
    after, note = before, ""
    if before is not None and toml_block.is_in(plan.decoded(path, before)):
        try:
            new, note = toml_block.take_out(plan.decoded(path, before))
        except Malformed as error:
            raise plan.refused(path, client, error, "TOML") from None
        after = None if not new and receipt is not None and receipt.created else new.encode()
    about = [f"{path}: {note}"] if note else [] if after != before else [NOTHING]
    kept = receipt if note else None
    return Plan(client, project, path, target, before, after, kept, untouched, about)


def _written(client: Settings, path: str, text: str, *, project: bool) -> Plan:
    target, before, receipt = plan.now(path)
    after: bytes | None = text.encode()
    ours = _is_ours(client, path, before, receipt, project=project)
    if before is not None and before != after and not ours:
        about = [f"{path} was changed by somebody; it was left as it is"]
        return Plan(client, project, path, target, before, before, receipt, notes=about)
    kept = Receipt.of(path, text.encode(), created=before is None or ours, traces=Traces())
    return Plan(client, project, path, target, before, after, kept, ours, what=own_file.what(client, path))


def _gone(client: Settings, path: str, text: str, *, project: bool) -> Plan:
    target, before, receipt = plan.now(path)
    ours = before == text.encode() or _is_ours(client, path, before, receipt, project=project)
    about = [] if before is None or ours else [f"{path} was changed by somebody; it was left as it is"]
    after, what = (None if ours else before), own_file.what(client, path)
    return Plan(client, project, path, target, before, after, None, untouched=True, notes=about, what=what)


def _is_ours(client: Settings, path: str, data: bytes | None, receipt: Receipt | None, *, project: bool) -> bool:
    """Whether a file holds what we wrote, going by its receipt; without one, what we write."""
    if data is None:
        return False
    if receipt is not None and receipt.is_of(data):
        return True
    return own_file.is_written(client, path, data.decode("utf-8", "replace"), project=project)
