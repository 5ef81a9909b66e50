"""Edits of a client's settings as text: what is not ours keeps every byte, and taking out undoes putting in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients import registry
from clients.settings import Settings
from session.install import hook_command, hook_entries, json_nodes, json_splice
from session.install.json_nodes import Dialect, Malformed

PLAIN = Dialect()
FREE = Dialect(comments=True, trailing_commas=True)
GEMINI = registry.row("gemini").settings()
CLAUDE = registry.row("claude").settings()
EXECUTABLE = "/opt/tools/joelclaw"

scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=6), st.just('// no /* "comment"'))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
foreign_entries = st.sampled_from(
    [
        {"type": "command", "command": "notify-send done"},
        {"type": "command", "command": "/opt/log-joelclaw hook claude"},
        {"type": "command", "command": "joelclaw hook claude; rm -f /tmp/x", "timeout": 9},
    ]
)
groups = st.fixed_dictionaries({"hooks": st.lists(foreign_entries, max_size=2)}, optional={"matcher": st.just("Bash")})
events = st.sampled_from(["SessionStart", "Stop", "PreCompact", "BeforeAgent", "Notification"])
hooks = st.dictionaries(events, st.lists(groups, max_size=2), max_size=3)


@st.composite
def documents(draw: st.DrawFn, *, comments: bool = True) -> str:
    """Settings in many layouts: each container on one line or over several, spaces and comments anywhere."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    unit = draw(st.sampled_from(["  ", "    ", "\t", ""]))
    colon = draw(st.sampled_from([": ", ":", " : "]))
    inline_all = draw(st.booleans())
    remarks = ["", "", "", " ", " /* x */"] if comments else ["", " "]

    def remark(depth: int, multi: bool) -> str:
        text: str = draw(st.sampled_from(remarks))
        if comments and multi and draw(st.integers(0, 5)) == 0:
            text += " // don't, ever [" + newline + unit * depth
        return text

    def write(value: Any, depth: int) -> str:
        if not isinstance(value, (dict, list)):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        left, right = "{}" if isinstance(value, dict) else "[]"
        multi = not inline_all and draw(st.integers(0, 3)) > 0
        inner = newline + unit * (depth + 1) if multi else ""
        if not value:
            return (
                left + remark(depth, multi) + (newline + unit * depth if multi and draw(st.booleans()) else "") + right
            )
        parts = []
        for item in value:
            key = json.dumps(item) + colon if isinstance(value, dict) else ""
            text = write(value[item] if isinstance(value, dict) else item, depth + 1)
            parts.append(inner + remark(depth + 1, multi) + key + text + remark(depth + 1, multi))
        return left + ",".join(parts) + (newline + unit * depth if multi else "") + right

    content = draw(st.dictionaries(st.text(max_size=5).filter(lambda key: key != "hooks"), values, max_size=3))
    if draw(st.booleans()):
        content = (
            {**content, "hooks": draw(hooks), "z": 1} if draw(st.booleans()) else {**content, "hooks": draw(hooks)}
        )
    body = write(content, 0)
    return draw(st.sampled_from(["", "\ufeff"])) + body + draw(st.sampled_from(["", newline, newline * 2]))


def check_there_and_back(text: str, client: Settings) -> None:
    there, traces = hook_entries.put_in(text, client, EXECUTABLE, None)
    assert hook_entries.others(there, client) == hook_entries.others(text, client)
    assert hook_entries.is_in(there, client)
    assert hook_entries.put_in(there, client, EXECUTABLE, None)[0] == there
    read = json_nodes.read(there.removeprefix("\ufeff"), Dialect(comments=client.comments)).plain()
    for event, group in hook_command.groups(client, EXECUTABLE).items():
        assert read["hooks"][event][-1] == group
    assert hook_entries.put_in(there, client, EXECUTABLE, traces) == (there, traces)
    upgraded, traces = hook_entries.put_in(there, client, "/elsewhere/bin/joelclaw", traces)
    assert EXECUTABLE not in upgraded
    assert hook_entries.take_out(upgraded, client, traces)[0] == text


@settings(deadline=None, max_examples=30)
@given(documents())
def test_taking_out_undoes_putting_in_to_the_byte(text: str) -> None:
    check_there_and_back(text, GEMINI)


@settings(deadline=None, max_examples=30)
@given(documents(comments=False))
def test_so_it_does_in_plain_json(text: str) -> None:
    json.loads(text.removeprefix("\ufeff"))  # or the test would test another dialect
    check_there_and_back(text, CLAUDE)


@settings(deadline=None, max_examples=30)
@given(documents())
def test_without_a_record_all_that_is_not_ours_stays(text: str) -> None:
    there, _ = hook_entries.put_in(text, GEMINI, EXECUTABLE, None)
    back, _ = hook_entries.take_out(there, GEMINI, None)
    assert hook_entries.others(back, GEMINI) == hook_entries.others(text, GEMINI)
    assert not hook_entries.is_in(back, GEMINI)


@settings(deadline=None, max_examples=30)
@given(documents(), st.sampled_from(["SessionStart", "AfterTool"]), st.booleans())
def test_what_others_put_in_afterwards_stays(text: str, event: str, first: bool) -> None:
    there, traces = hook_entries.put_in(text, GEMINI, EXECUTABLE, None)
    bom = there[: there.startswith("\ufeff")]
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    plain = there.removeprefix("\ufeff")
    if first:  # before ours
        list_of = json_nodes.find(json_nodes.read(plain, Dialect(comments=True)), ("hooks", event))
        assert list_of is not None
        changed = plain[: list_of.start + 1] + json.dumps(theirs) + "," + plain[list_of.start + 1 :]
    else:
        changed, _ = json_splice.add(plain, ("hooks", event), None, theirs, Dialect(comments=True))
    back, empty = hook_entries.take_out(bom + changed, GEMINI, traces)
    assert not empty
    value = json_nodes.read(back.removeprefix("\ufeff"), Dialect(comments=True)).plain()
    assert theirs in value["hooks"][event]
    assert hook_entries.others(back, GEMINI) == hook_entries.others(bom + changed, GEMINI)
    assert "/opt/tools" not in back


@given(values)
def test_it_reads_what_json_reads(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, ensure_ascii=False)):
        assert json_nodes.read(text, PLAIN).plain() == value


@given(st.text(alphabet='{}[]",:\\u0dn1-.e truefalsn/*\n\t\x01', max_size=20))
def test_it_refuses_what_json_refuses(text: str) -> None:
    try:
        wanted = json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        with pytest.raises(Malformed):
            json_nodes.read(text, PLAIN)
    else:
        assert json_nodes.read(text, PLAIN).plain() == wanted


@given(st.text(alphabet="{}[],1/* \n", max_size=20))
def test_a_free_dialect_raises_nothing_else(text: str) -> None:
    try:
        json_nodes.read(text, FREE)
    except Malformed as error:
        assert str(error)


LAYOUTS = [
    ("[1, 2]", "[1, 2, 3]"),
    ("[1,2]", "[1,2, 3]"),
    ("[\n\t1 // one\n]", "[\n\t1, // one\n\t3\n]"),
    ("[1, // one\n]", "[1, // one\n3,\n]"),
    ("[\n  1,\n  2,\n]", "[\n  1,\n  2,\n  3,\n]"),
    ("[]", "[\n  3\n]"),
    ("[ /* none */ ]", "[ /* none */\n  3\n]"),
    ("[\r\n    1\r\n]", "[\r\n    1,\r\n    3\r\n]"),
]


@pytest.mark.parametrize(("text", "wanted"), LAYOUTS)
def test_what_is_added_looks_like_the_rest(text: str, wanted: str) -> None:
    added, inner = json_splice.add(text, (), None, 3, FREE)
    assert added == wanted
    where = len(json_nodes.read(added, FREE).items) - 1
    assert json_splice.remove(added, (where,), inner, FREE) == text


def test_a_deep_nesting_is_refused() -> None:
    with pytest.raises(Malformed, match="deep"):
        json_nodes.read("[" * 5000, PLAIN)


def test_ours_are_told_from_others() -> None:
    ours = [entry["hooks"][0]["command"] for entry in hook_command.groups(CLAUDE, "/a b/it's/x=y/joelclaw").values()]
    ours += [entry["hooks"][0]["command"] for entry in hook_command.groups(CLAUDE, "/x=y/joelclaw").values()]
    ours += ["joelclaw hook claude", "~/bin/joelclaw hook claude 2>/dev/null || true"]
    for command in ours:
        assert hook_command.is_ours({"type": "command", "command": command}, "claude"), command
        assert not hook_command.is_ours({"type": "command", "command": command}, "codex"), command
    for command in (
        "notify; joelclaw hook claude",
        "joelclaw hook claude | tee /tmp/log",
        "my-joelclaw hook claude",
        "/opt/log.joelclaw hook claude",
        "joelclaw hook claude-x",
        "joelclaw checkpoint flush",
        "echo joelclaw hook claude",
        "",
    ):
        assert not hook_command.is_ours({"type": "command", "command": command}, "claude"), command
    for entry in ({}, {"command": 3}, "joelclaw hook claude", None):
        assert not hook_command.is_ours(entry, "claude")
