"""Our entries among the hooks of a client: put in, brought up to date, taken out. Text in, text out.

All clients share one shape: `{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …}]}]}}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients.own_settings import Place
from session.install import hook_command, json_nodes, json_parts, json_splice
from session.install.json_nodes import Dialect, Malformed, Node
from session.install.json_parts import Traces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.settings import Settings
    from session.install.json_parts import Part

_BOM = "\ufeff"


def put_in(
    text: str, client: Settings, executable: str, before: Traces | None, parts: Sequence[Part] = ()
) -> tuple[str, Traces]:
    """The text with our entries as this version wants them; all else stays.

    Args:
        parts: what is put in beside the hooks.
        before: what an earlier installation left behind, if it is known.

    Raises:
        Malformed: the text is not what the client reads.
    """
    bom, text = _without_bom(text)
    blank = before.blank if before else None
    if not text.strip():
        blank, text = text, "{}\n"
    traces = Traces(before.created if before else frozenset(), dict(before.inner) if before else {}, blank)
    wanted = hook_command.groups(client, executable)
    _check(_root(text, client), client)
    for event in _events(text, client):
        if event not in wanted:
            text = _take_out_of(text, client, event, before)
    for event, group in wanted.items():
        text, traces = _put_in_event(text, client, event, group, traces)
    for part in parts:
        text, traces = json_parts.put_in(text, part, _dialect(client), traces)
    return bom + text, traces


def take_out(text: str, client: Settings, traces: Traces | None, parts: Sequence[Part] = ()) -> tuple[str, bool]:
    """The text without our entries, and whether nothing is left in it.

    Raises:
        Malformed: the text is not what the client reads.
    """
    bom, text = _without_bom(text)
    if not text.strip():
        return bom + text, False
    _check(_root(text, client), client)
    before = text
    for part in reversed(parts):
        text = json_parts.take_out(text, part, _dialect(client), traces)
    for event in _events(text, client):
        text = _take_out_of(text, client, event, traces)
    left = _root(text, client)
    emptied = text != before and not left.items and not text[left.start + 1 : left.end - 1].strip()
    if emptied and traces and traces.blank is not None:
        return bom + traces.blank, True
    return bom + text, emptied


def is_in(text: str, client: Settings, parts: Sequence[Part] = (), *, hooks: bool = True) -> bool:
    """Whether hooks or other entries of ours are there, of whatever version.

    Raises:
        Malformed: the text is not what the client reads.
    """
    plain = _without_bom(text)[1]
    if not plain.strip():
        return False
    root = _root(plain, client)
    _check(root, client)
    return (hooks and bool(_events(plain, client))) or any(json_parts.found(root, part) for part in parts)


def entered(text: str, client: Settings) -> list[tuple[Place, str]]:
    """Where our entries stand, and the shell command of each.

    Raises:
        Malformed: the text is not what the client reads.
    """
    plain = _without_bom(text)[1]
    if not plain.strip():
        return []
    root = _root(plain, client)
    _check(root, client)
    found = []
    for event, groups in _groups(root):
        for at, ours, _ in _places(groups, client):
            entries = _entries(groups.items[at])
            found += [(Place(event, at, i), str(entries[i].plain()["command"])) for i in ours]
    return found


def supposed(text: str, client: Settings, executable: str, parts: Sequence[Part]) -> Traces:
    """What an installation that is there and of which nothing is remembered has made, going by what it looks like.

    Raises:
        Malformed: the text is not what the client reads.
    """
    bare, _ = take_out(text, client, None, parts)
    _, traces = put_in(bare, client, executable, None, parts)
    root = _root(_without_bom(text)[1], client)
    values = (name for part in parts for name in json_parts.names(root, part))
    return traces.with_made(*(f"hooks/{event}" for event in _events(_without_bom(text)[1], client)), *values)


def is_foreign(text: str, client: Settings, part: Part) -> bool:
    """Whether somebody else's value stands where a member of ours is wanted."""
    root = _root(_without_bom(text)[1].strip() or "{}", client)
    return json_nodes.find(root, (*part.path, part.key)) is not None and not json_parts.found(root, part)


def foreign_calls(text: str, client: Settings) -> list[str]:
    """Events in which a command that is not ours calls us, too."""
    found = []
    for event, groups in _groups(_root(_without_bom(text)[1].strip() or "{}", client)):
        entries = [entry.plain() for group in groups.items for entry in _entries(group)]
        if any(
            hook_command.is_call(entry, client.name) and not hook_command.is_ours(entry, client.name)
            for entry in entries
        ):
            found.append(event)
    return found


def others(text: str, client: Settings, parts: Sequence[Part] = ()) -> Any:
    """What the text says without our entries and without the empty lists and objects that they are kept in."""
    value = _root(_without_bom(text)[1].strip() or "{}", client).plain()
    for part in parts:
        value = json_parts.others(value, part)
    if isinstance(value, dict) and isinstance(value.get("hooks"), dict):
        hooks = {event: _others_in(groups, client) for event, groups in value["hooks"].items()}
        value["hooks"] = {event: groups for event, groups in hooks.items() if groups != []}
        if not value["hooks"]:
            del value["hooks"]
    return value


def _others_in(groups: Any, client: Settings) -> Any:
    if not isinstance(groups, list):
        return groups
    kept = []
    for group in groups:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if isinstance(entries, list) and any(hook_command.is_ours(entry, client.name) for entry in entries):
            left = [entry for entry in entries if not hook_command.is_ours(entry, client.name)]
            if left or set(group) - {"hooks", "matcher"}:
                kept.append({**group, "hooks": left})
        else:
            kept.append(group)
    return kept


def _dialect(client: Settings) -> Dialect:
    return Dialect(comments=client.comments)


def _root(text: str, client: Settings) -> Node:
    return json_nodes.read(text, _dialect(client))


def _without_bom(text: str) -> tuple[str, str]:
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _check(root: Node, client: Settings) -> None:
    if root.kind != "object":
        raise Malformed("the file holds no object")
    hooks = root.get("hooks")
    if hooks is None:
        return
    if hooks.kind != "object":
        raise Malformed("`hooks` is no object")
    for event in {*hooks.keys, *(one.name for one in client.events)}:
        groups = hooks.get(event)
        wanted = any(one.name == event for one in client.events)
        if groups is not None and groups.kind != "array" and wanted:
            raise Malformed(f"`hooks.{event}` is no list")
        for group in groups.items if groups is not None and groups.kind == "array" else ():
            if group.kind == "object":
                group.get("hooks")


def _groups(root: Node) -> list[tuple[str, Node]]:
    hooks = root.get("hooks") if root.kind == "object" else None
    if hooks is None or hooks.kind != "object":
        return []
    return [(key, item) for key, item in zip(hooks.keys, hooks.items, strict=True) if item.kind == "array"]


def _entries(group: Node) -> list[Node]:
    entries = group.get("hooks") if group.kind == "object" else None
    return entries.items if entries is not None and entries.kind == "array" else []


def _events(text: str, client: Settings) -> list[str]:
    """The events that hold entries of ours."""
    return [event for event, groups in _groups(_root(text, client)) if _places(groups, client)]


def _places(groups: Node, client: Settings) -> list[tuple[int, list[int], bool]]:
    """Groups with entries of ours: position, positions of the entries, and whether all in the group are ours."""
    found = []
    for at, group in enumerate(groups.items):
        entries = _entries(group)
        ours = [i for i, entry in enumerate(entries) if hook_command.is_ours(entry.plain(), client.name)]
        if ours:
            whole = len(ours) == len(entries) and not set(group.keys) - {"hooks", "matcher"}
            found.append((at, ours, whole))
    return found


def _put_in_event(
    text: str, client: Settings, event: str, wanted: dict[str, Any], traces: Traces
) -> tuple[str, Traces]:
    path = ("hooks", event)
    groups = json_nodes.find(_root(text, client), path)
    places = _places(groups, client) if groups is not None else []
    keep = next((at for at, _, whole in places if whole), None)
    if groups is not None and keep is not None:
        if groups.items[keep].plain() != wanted:
            text = json_splice.replace(text, (*path, keep), wanted, _dialect(client))
        return _drop(text, client, event, [place for place in places if place[0] != keep]), traces
    text = _drop(text, client, event, places)
    for parent, key, value in (((), "hooks", {}), (("hooks",), event, []), (path, None, wanted)):
        if key is None or json_nodes.find(_root(text, client), (*parent, key)) is None:
            text, inner = json_splice.add(text, parent, key, value, _dialect(client))
            name = "/".join(parent)
            if inner is not None and name not in traces.created:
                traces.inner[name] = inner
            if key is not None:
                traces = Traces(traces.created | {"/".join((*parent, key))}, traces.inner, traces.blank)
    return text, traces


def _drop(text: str, client: Settings, event: str, places: list[tuple[int, list[int], bool]]) -> str:
    """Take the entries out, the last first, so that positions hold; groups that were ours alone go as a whole."""
    for at, ours, whole in reversed(places):
        if whole:
            text = json_splice.remove(text, ("hooks", event, at), None, _dialect(client))
        else:
            for i in reversed(ours):
                text = json_splice.remove(text, ("hooks", event, at, "hooks", i), None, _dialect(client))
    return text


def _take_out_of(text: str, client: Settings, event: str, traces: Traces | None) -> str:
    """Our entries out of one event, and what was made for them, going outwards as long as nothing else is in it."""
    groups = dict(_groups(_root(text, client)))[event]
    text = _drop(text, client, event, _places(groups, client))
    return json_parts.tidied(text, (("hooks", event), ("hooks",), ()), _dialect(client), traces)
