"""Single values of ours in a client's JSON: found, put in beside others', brought up to date, and taken out again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from session.install import json_nodes, json_parts
from session.install.json_nodes import Dialect, Malformed
from session.install.json_parts import Part, Traces

PLAIN = Dialect()
SERVER = {"command": "/o/joelclaw", "args": ["mcp"]}
KEYED = Part(("mcpServers",), "joelclaw", (SERVER,), of_server=True)
RULES = Part(("permissions", "allow"), "", ("Bash(joelclaw recall:*)", "Bash(/o/joelclaw recall:*)"), json_parts.RULE)


def put(value: Any, part: Part, traces: Traces | None = None) -> tuple[Any, Traces]:
    text, made = json_parts.put_in(json.dumps(value), part, PLAIN, traces or Traces())
    return json.loads(text), made


def taken(value: Any, part: Part, traces: Traces | None) -> Any:
    return json.loads(json_parts.take_out(json.dumps(value), part, PLAIN, traces))


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        (SERVER, True), ({"command": "joelclaw", "args": ["mcp"], "env": {}}, True), ({"command": "/o/other"}, False),
        ({"command": "/o/joelclaw", "args": ["mcp", "x"]}, False), ({"command": "/o/joelclaw"}, False),
        ({"command": 7, "args": ["mcp"]}, False), ("joelclaw", False), ({"command": "/o/a", "args": ["mcp"]}, False),
    ],
)  # fmt: skip
def test_a_server_of_ours_is_known_by_its_command_and_its_argument(value: Any, ours: bool) -> None:
    assert KEYED.is_ours(value) is ours


@pytest.mark.parametrize(
    ("rule", "ours"),
    [
        ("Bash(joelclaw recall:*)", True), ("Bash(/o/joelclaw recall)", True), ("Bash('/a b/joelclaw' recall:*)", True),
        ("Bash(joelclaw memory:*)", False), ("Bash(other recall:*)", False), ("Bash(a; joelclaw recall:*)", False),
        (7, False),
        ("xBash(joelclaw recall:*) ", False),
    ],
)  # fmt: skip
def test_a_rule_of_ours_is_known_by_its_whole_text(rule: Any, ours: bool) -> None:
    assert RULES.is_ours(rule) is ours


def test_what_is_ours_is_found_with_its_place() -> None:
    told = {"permissions": {"allow": ["x", *RULES.values]}, "mcpServers": {"joelclaw": SERVER}}
    root = json_nodes.read(json.dumps(told), PLAIN)
    assert json_parts.found(root, RULES) == [(1, RULES.values[0]), (2, RULES.values[1])]
    assert json_parts.found(root, KEYED) == [("joelclaw", SERVER)]
    assert json_parts.names(root, KEYED) == ["mcpServers/joelclaw"]
    assert json_parts.names(root, RULES) == [f"permissions/allow/{rule}" for rule in RULES.values]
    for value in (
        {},
        {"mcpServers": {}},
        {"mcpServers": {"joelclaw": {"command": "x"}}},
        {"permissions": {"allow": []}},
    ):
        node = json_nodes.read(json.dumps(value), PLAIN)
        assert json_parts.found(node, KEYED) == json_parts.found(node, RULES) == []


@pytest.mark.parametrize(
    ("value", "part", "told"),
    [
        ({"mcpServers": []}, KEYED, "`mcpServers` is no object"),
        ({"permissions": []}, RULES, "`permissions` is no object"),
        ({"permissions": {"allow": {}}}, RULES, "`permissions.allow` is no list"),
    ],
)  # fmt: skip
def test_a_container_of_another_kind_is_refused(value: Any, part: Part, told: str) -> None:
    with pytest.raises(Malformed) as refused:
        put(value, part)
    assert str(refused.value) == told


def test_what_was_made_is_noted_and_goes_with_its_containers() -> None:
    made = ["permissions", "permissions/allow", *(f"permissions/allow/{rule}" for rule in RULES.values)]
    value, traces = put({"a": 1}, RULES)
    assert value == {"a": 1, "permissions": {"allow": list(RULES.values)}}
    assert traces == Traces(frozenset(made))
    assert taken(value, RULES, traces) == taken(value, RULES, None) == {"a": 1}
    value, traces = put({"permissions": {"allow": ["x"]}}, RULES)
    assert traces.created == frozenset(made[2:])
    assert taken(value, RULES, traces) == taken(value, RULES, None) == {"permissions": {"allow": ["x"]}}
    assert put(value, RULES, traces) == (value, traces), "a second time changes nothing"


def test_a_container_that_was_there_before_stays_with_what_stood_in_it() -> None:
    text = '{"permissions": { "allow": [ ] }}'
    new, traces = json_parts.put_in(text, RULES, PLAIN, Traces())
    assert traces.inner == {"permissions/allow": " "}
    assert json_parts.take_out(new, RULES, PLAIN, traces) == text
    assert json_parts.take_out(new, RULES, PLAIN, None) == "{}"


def test_without_the_note_that_we_made_it_a_value_of_the_user_stays() -> None:
    value = {"permissions": {"allow": [RULES.values[0], "x"]}}
    new, traces = put(value, RULES)
    assert new == {"permissions": {"allow": [RULES.values[0], "x", RULES.values[1]]}}
    assert taken(new, RULES, traces) == value
    assert taken(new, RULES, None) == {"permissions": {"allow": ["x"]}}


def test_an_older_value_of_ours_is_replaced_and_one_of_somebody_s_left() -> None:
    older = Part(RULES.path, "", ("Bash(/old/joelclaw recall:*)",), json_parts.RULE)
    value, traces = put({"permissions": {"allow": ["x"]}}, older)
    new, after = put(value, RULES, traces)
    assert new == {"permissions": {"allow": ["x", *RULES.values]}}
    assert after.created == frozenset(f"permissions/allow/{rule}" for rule in RULES.values)
    assert put(value, RULES)[0]["permissions"]["allow"] == ["x", *older.values, *RULES.values], "it may be the user's"
    theirs = {"mcpServers": {"joelclaw": {"command": "x"}}}
    assert put(theirs, KEYED) == (theirs, Traces())
    server = {**SERVER, "command": "/old/joelclaw"}
    value, traces = put({}, Part(KEYED.path, KEYED.key, (server,)))
    new, after = put(value, KEYED, traces)
    assert new == {"mcpServers": {"joelclaw": SERVER}}
    assert after.created == frozenset({"mcpServers", "mcpServers/joelclaw"})


@pytest.mark.parametrize(
    ("value", "part", "others"),
    [
        ({"a": 1, "mcpServers": {"joelclaw": SERVER}}, KEYED, {"a": 1}),
        ({"mcpServers": {"joelclaw": SERVER, "b": 2}}, KEYED, {"mcpServers": {"b": 2}}),
        ({"mcpServers": {"joelclaw": {"command": "x"}}}, KEYED, {"mcpServers": {"joelclaw": {"command": "x"}}}),
        ({"mcpServers": {}}, KEYED, {}), ({"a": 1}, KEYED, {"a": 1}), ([1], KEYED, [1]),
        ({"permissions": {"allow": ["x", *RULES.values], "b": 1}}, RULES, {"permissions": {"allow": ["x"], "b": 1}}),
        ({"permissions": {"allow": [*RULES.values]}}, RULES, {}),
        ({"permissions": {"b": 1}}, RULES, {"permissions": {"b": 1}}),
        ({"permissions": {"allow": "x"}}, RULES, {"permissions": {"allow": "x"}}),
    ],
)  # fmt: skip
def test_what_a_file_says_without_ours(value: Any, part: Part, others: Any) -> None:
    assert json_parts.others(value, part) == others


@pytest.mark.parametrize(
    ("text", "created", "inner", "left"),
    [
        ('{"a": {"b": [ ]}}', ("a", "a/b"), {}, "{}"),
        ('{"a": {"b": [ ]}}', ("a/b",), {}, '{"a": {}}'),
        ('{"a": {"b": [ ]}}', ("a",), {}, '{"a": {"b": [ ]}}'),
        ('{"a": {"b": [\n]}}', (), {"a/b": " "}, '{"a": {"b": [ ]}}'),
        ('{"a": {"b": [1]}}', ("a", "a/b"), {}, '{"a": {"b": [1]}}'),
        ('{"a": {"b": [], "c": 1}}', ("a", "a/b"), {}, '{"a": { "c": 1}}'),
        ('{"a": {"b": []}}', ("a/b",), {"a": "\n"}, '{"a": {\n}}'),
        ('{"a": {}}', ("a", "a/b"), {}, '{"a": {}}'),
    ],
)
def test_containers_that_were_made_for_us_go_outwards_as_long_as_nothing_else_is_in_them(
    text: str, created: tuple[str, ...], inner: dict[str, str], left: str
) -> None:
    traces = Traces(frozenset(created), inner)
    assert json_parts.tidied(text, [("a", "b"), ("a",), ()], PLAIN, traces) == left


def test_a_comment_in_a_container_of_ours_keeps_it() -> None:
    text = '{"a": [ /* mine */ ]}'
    free = Dialect(comments=True)
    assert json_parts.tidied(text, [("a",)], free, None) == text
    assert json_parts.tidied('{"a": [ ]}', [("a",)], free, None) == "{}"
    before = Traces(frozenset(), {"a": "/* its own */"})
    assert json_parts.tidied(text, [("a",)], free, before) == text, "what was there before was changed since"
    assert json_parts.tidied('{"a": [/*its own*/ ]}', [("a",)], free, before) == '{"a": [/* its own */]}'
