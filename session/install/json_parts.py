"""Single values of ours in a client's JSON beside its hooks: a server, rules. Put in, brought up to date, taken out."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from session.install import json_nodes, json_splice
from session.install.json_nodes import Dialect, Malformed, Node, Path

if TYPE_CHECKING:
    from collections.abc import Sequence

RULE = r"""\w+\((?:joelclaw|(?:'(?:[^']|'"'"')*?|[^\s'"();|&]*)/joelclaw'?) recall(?::\*)?\)"""
TOOL = r"mcp__joelclaw__\w+"
SERVER = "joelclaw"


@dataclass(frozen=True)
class Traces:
    """What our entries changed around themselves, so that it can be undone.

    Args:
        created: paths (`hooks`, `hooks/EVENT`, `permissions/allow/RULE`) of what we made.
        inner: of a container that was empty before: what stood between its brackets.
        blank: the whole text, where there was none but space.
    """

    created: frozenset[str] = frozenset()
    inner: dict[str, str] = field(default_factory=dict)
    blank: str | None = None

    def with_made(self, *names: str) -> Traces:
        """The same, and these were made."""
        return Traces(self.created | set(names), self.inner, self.blank)


@dataclass(frozen=True)
class Part:
    """Values of ours in one container.

    Args:
        path: of the container.
        key: the member; "" for items of a list.
        values: one for a member; of a list several.
        pattern: what all such items look like, of whatever version.
        of_server: it goes with the MCP server.
    """

    path: tuple[str, ...]
    key: str
    values: tuple[Any, ...]
    pattern: str = ""
    of_server: bool = False

    def is_ours(self, value: Any) -> bool:
        """Whether a value says what we write, in this or another version."""
        if not self.key:
            return isinstance(value, str) and re.fullmatch(self.pattern, value) is not None
        command = value.get("command") if isinstance(value, dict) else None
        return isinstance(command, str) and os.path.basename(command) == SERVER and value.get("args") == ["mcp"]


def found(root: Node, part: Part) -> list[tuple[str | int, Any]]:
    """Values of ours, with the key or the position of each.

    Raises:
        Malformed: a container on the way is of another kind.
    """
    node: Node | None = root
    for depth, step in enumerate(part.path, 1):
        node = node.get(step) if node is not None else None
        if node is None:
            return []
        wanted = "object" if part.key or depth < len(part.path) else "array"
        if node.kind != wanted:
            raise Malformed(f"`{'.'.join(part.path[:depth])}` is no {'object' if wanted == 'object' else 'list'}")
    if node is None:
        return []
    if part.key:
        member = node.get(part.key)
        return [(part.key, member.plain())] if member is not None and part.is_ours(member.plain()) else []
    return [(at, item.plain()) for at, item in enumerate(node.items) if part.is_ours(item.plain())]


def names(root: Node, part: Part) -> list[str]:
    """Values of ours that are there, as `Traces.created` names them.

    Raises:
        Malformed: as `found`.
    """
    return [_name(part, value) for _, value in found(root, part)]


def put_in(text: str, part: Part, dialect: Dialect, traces: Traces) -> tuple[str, Traces]:
    """The text with the values of a part; a member that somebody else wrote under our key is left.

    Raises:
        Malformed: the text is not what the client reads.
    """
    for step, value in reversed(found(json_nodes.read(text, dialect), part)):
        if value not in part.values and _is_made(part, value, traces):
            text = _taken(text, part, step, dialect, traces)
            traces = Traces(traces.created - {_name(part, value)}, traces.inner, traces.blank)
    for value in part.values:
        root = json_nodes.read(text, dialect)
        if value in [one for _, one in found(root, part)]:
            continue
        if part.key and json_nodes.find(root, (*part.path, part.key)) is not None:
            return text, traces
        text, traces = _added(text, part, value, dialect, traces)
    return text, traces


def take_out(text: str, part: Part, dialect: Dialect, traces: Traces | None) -> str:
    """The text without what we put in; without traces, without all that says what we write.

    Raises:
        Malformed: the text is not what the client reads.
    """
    for step, value in reversed(found(json_nodes.read(text, dialect), part)):
        if traces is None or _is_made(part, value, traces):
            text = _taken(text, part, step, dialect, traces)
    return text


def tidied(text: str, paths: Sequence[tuple[str, ...]], dialect: Dialect, traces: Traces | None) -> str:
    """Containers that were made for us taken out, going outwards as long as nothing else is in them."""
    inner = traces.inner if traces else {}
    for path in paths:
        node = json_nodes.find(json_nodes.read(text, dialect), path)
        if node is None or node.items:
            break
        name = "/".join(path)
        between = text[node.start + 1 : node.end - 1]
        if path and (traces is None or name in traces.created) and not between.strip():
            text = json_splice.remove(text, path, inner.get("/".join(path[:-1])), dialect)
            continue
        if name in inner and "".join(between.split()) == "".join(inner[name].split()):
            text = text[: node.start + 1] + inner[name] + text[node.end - 1 :]
        break
    return text


def others(value: Any, part: Part) -> Any:
    """What a value says without a part, and without the containers of it that are then empty."""
    if not isinstance(value, dict):
        return value
    if not part.path:
        return {key: one for key, one in value.items() if key != part.key or not part.is_ours(one)}
    head, rest = part.path[0], replace(part, path=part.path[1:])
    if head not in value:
        return value
    inside = value[head]
    if isinstance(inside, list) and not rest.path and not part.key:
        inside = [one for one in inside if not part.is_ours(one)]
    else:
        inside = others(inside, rest)
    kept = {key: one for key, one in value.items() if key != head}
    return {**kept, head: inside} if inside not in ({}, []) else kept


def _added(text: str, part: Part, value: Any, dialect: Dialect, traces: Traces) -> tuple[str, Traces]:
    steps: list[tuple[Path, str | None, Any]] = []
    for depth, step in enumerate(part.path, 1):
        steps.append((part.path[: depth - 1], step, {} if part.key or depth < len(part.path) else []))
    for parent, key, container in steps:
        if json_nodes.find(json_nodes.read(text, dialect), (*parent, str(key))) is None:
            text, traces = _put(text, parent, key, container, dialect, traces)
            traces = traces.with_made("/".join(map(str, (*parent, key))))
    text, traces = _put(text, part.path, part.key or None, value, dialect, traces)
    return text, traces.with_made(_name(part, value))


def _put(text: str, parent: Path, key: str | None, value: Any, dialect: Dialect, traces: Traces) -> tuple[str, Traces]:
    text, inner = json_splice.add(text, parent, key, value, dialect)
    name = "/".join(map(str, parent))
    if inner is not None and name not in traces.created:
        traces = Traces(traces.created, {**traces.inner, name: inner}, traces.blank)
    return text, traces


def _taken(text: str, part: Part, step: str | int, dialect: Dialect, traces: Traces | None) -> str:
    text = json_splice.remove(text, (*part.path, step), None, dialect)
    return tidied(text, [part.path[:end] for end in range(len(part.path), -1, -1)], dialect, traces)


def _is_made(part: Part, value: Any, traces: Traces) -> bool:
    return _name(part, value) in traces.created


def _name(part: Part, value: Any) -> str:
    return "/".join((*part.path, part.key or str(value)))
