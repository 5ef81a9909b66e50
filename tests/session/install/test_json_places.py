"""Reading a client's JSON: where each value lies, what is refused and where, which comments count."""

from __future__ import annotations

from typing import Any

import pytest

from session.install import json_nodes, json_splice
from session.install.json_nodes import Dialect, Malformed

PLAIN = Dialect()
COMMENTS = Dialect(comments=True)
COMMAS = Dialect(trailing_commas=True)
FREE = Dialect(comments=True, trailing_commas=True)


def test_a_container_knows_the_places_of_its_keys_its_values_and_its_commas() -> None:
    text = ' {"a": [1, 22,] , "b" :"x"} '
    node = json_nodes.read(text, COMMAS)
    assert (text[node.start : node.end], node.kind, node.keys) == (text.strip(), "object", ["a", "b"])
    assert [text[at] for at in node.begins] == ['"', '"'] and node.begins == [2, 18]
    assert node.commas == [16, -1]
    inner = node.items[0]
    assert (text[inner.start : inner.end], inner.kind, inner.commas) == ("[1, 22,]", "array", [9, 13])
    assert [(text[one.start : one.end], one.value, one.kind) for one in inner.items] == [
        ("1", 1, "plain"), ("22", 22, "plain"),
    ]  # fmt: skip
    assert node.plain() == {"a": [1, 22], "b": "x"}


@pytest.mark.parametrize(
    ("text", "dialect", "told"),
    [
        ("", PLAIN, "no value in line 1, column 1"),
        ("x", PLAIN, "no value in line 1, column 1"),
        ('{\n "a" 1}', PLAIN, "no colon in line 2, column 6"),
        ("{a: 1}", PLAIN, "no key in line 1, column 2"),
        ("[1 2]", PLAIN, "no comma in line 1, column 4"),
        ("[1,\n\n2,]", PLAIN, "a comma too much in line 3, column 3"),
        ("[1,]", COMMENTS, "a comma too much in line 1, column 4"),
        ("[,]", COMMAS, "no value in line 1, column 2"),
        ("[1,,]", COMMAS, "no value in line 1, column 4"),
        ("1 2", PLAIN, "something after the end in line 1, column 3"),
        ("1 // x", PLAIN, "something after the end in line 1, column 3"),
        ("[1, /* x", COMMENTS, "a comment is not closed"),
        ("[1, /*/]", COMMENTS, "a comment is not closed"),
        ('"a\nb"', PLAIN, "no proper string in line 1, column 1"),
        ('["\\x"]', PLAIN, "no proper string in line 1, column 2"),
        ('{"a', PLAIN, "no proper string in line 1, column 2"),
        ("[1", PLAIN, "no comma in line 1, column 3"),
        ("[01]", PLAIN, "no comma in line 1, column 3"),
    ],
)
def test_what_is_refused_is_told_with_its_place(text: str, dialect: Dialect, told: str) -> None:
    with pytest.raises(Malformed) as refused:
        json_nodes.read(text, dialect)
    assert str(refused.value) == told


def test_two_hundred_containers_within_each_other_are_read_and_one_more_is_not() -> None:
    assert json_nodes.read("[" * 201 + "]" * 201, PLAIN).kind == "array"
    with pytest.raises(Malformed, match="too deep a nesting in line 1, column 202"):
        json_nodes.read("[" * 202 + "]" * 202, PLAIN)


@pytest.mark.parametrize(
    ("text", "dialect", "found"),
    [
        ("  x", FREE, (2, 0, False)), ("// a\nx", FREE, (5, 4, True)), ("// a\rx", FREE, (5, 4, True)),
        (" // a", FREE, (5, 5, True)), ("/* a */ x", FREE, (8, 7, False)), ("// a\n/**/x", FREE, (9, 9, False)),
        ("/*a*///b\nx", FREE, (9, 8, True)), ("/ x", FREE, (0, 0, False)), ("// a\nx", PLAIN, (0, 0, False)),
        ("/* a */", COMMAS, (0, 0, False)), ("", FREE, (0, 0, False)), ("\t\r\n x", PLAIN, (4, 0, False)),
    ],
)  # fmt: skip
def test_spaces_and_comments_are_passed_by(text: str, dialect: Dialect, found: tuple[int, int, bool]) -> None:
    assert json_nodes.skipped(text, 0, len(text), dialect) == found


def test_only_what_lies_before_the_end_is_passed_by() -> None:
    assert json_nodes.skipped("    x", 1, 3, FREE) == (3, 1, False)
    assert json_nodes.skipped("// ab", 0, 4, FREE) == (4, 4, True)
    with pytest.raises(Malformed, match="not closed"):
        json_nodes.skipped("/* a */", 0, 6, FREE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), {"a": [1, {"b": 2}], "c": 3}), (("a",), [1, {"b": 2}]), (("a", 0), 1), (("a", 1, "b"), 2),
        (("a", 2), None),
        (("x",), None), (("x", "y"), None), (("a", "b"), None), ((0,), None), (("c", 0), None), (("c", "d"), None),
    ],
)  # fmt: skip
def test_a_value_is_found_by_keys_and_positions(path: Any, value: Any) -> None:
    node = json_nodes.find(json_nodes.read('{"a": [1, {"b": 2}], "c": 3}', PLAIN), path)
    assert (node.plain() if node else None) == value


def test_a_key_that_is_there_twice_is_read_as_clients_do_and_never_edited() -> None:
    node = json_nodes.read('{"a": 1, "b": 2, "a": 3}', PLAIN)
    assert node.plain() == {"a": 3, "b": 2}
    with pytest.raises(Malformed, match="the key 'a' is there twice"):
        node.get("a")
    found = node.get("b")
    assert found is not None and found.value == 2
    assert node.get("c") is None


ADDED: list[tuple[str, tuple[str, ...], str]] = [
    ("{}", (), '{\n  "k": {\n    "v": [\n      1\n    ]\n  }\n}'),
    ("\r\n{}", (), '\r\n{\r\n  "k": {\r\n    "v": [\r\n      1\r\n    ]\r\n  }\r\n}'),
    ('{"a":1}', (), '{"a":1,"k":{"v":[1]}}'),
    ('{"a": 1}', (), '{"a": 1, "k": {"v": [1]}}'),
    ('{\n\t"a" : 1\n}', (), '{\n\t"a" : 1,\n\t"k": {\n\t\t"v": [\n\t\t\t1\n\t\t]\n\t}\n}'),
    ('{\n\t"a": {}\n}', ("a",), '{\n\t"a": {\n\t\t"k": {\n\t\t\t"v": [\n\t\t\t\t1\n\t\t\t]\n\t\t}\n\t}\n}'),
    ('{"a":{}}', ("a",), '{"a":{"k":{"v":[1]}}}'),
    ('{"a": {"b": 1},\n "c": 2}', ("a",), '{"a": {"b": 1, "k": {"v": [1]}},\n "c": 2}'),
    ('{"a":{"b":1 // x\n}}', ("a",), '{"a":{"b":1, // x\n"k":{"v":[1]}\n}}'),
    ('{"a":{ // x\n}}', ("a",), '{"a":{ // x\n  "k":{\n    "v":[\n      1\n    ]\n  }\n}}'),
    ('{"a":{"b":1,/**/}}', ("a",), '{"a":{"b":1,/**/"k":{"v":[1]},}}'),
    ('{\n  "a": {"b": 1}\n}', ("a",), '{\n  "a": {"b": 1, "k": {"v": [1]}}\n}'),
]


@pytest.mark.parametrize(("text", "path", "wanted"), ADDED)
def test_a_member_that_is_added_looks_like_the_rest_and_goes_without_a_trace(
    text: str, path: tuple[str, ...], wanted: str
) -> None:
    new, inner = json_splice.add(text, path, "k", {"v": [1]}, FREE)
    assert new == wanted
    assert json_splice.remove(new, (*path, "k"), inner, FREE) == text


@pytest.mark.parametrize(
    ("text", "path", "wanted"),
    [
        ('{"a":1,"b":2}', ("a",), '{"a":{"v":[1]},"b":2}'),
        ('{"a": 1}', ("a",), '{"a": {"v": [1]}}'),
        ('{\n  "a": {\n    "x": 1\n  }\n}', ("a",), '{\n  "a": {\n    "v": [\n      1\n    ]\n  }\n}'),
        ('{\n  "a": {"x": 1}\n}', ("a",), '{\n  "a": {"v": [1]}\n}'),
        ("[1, 2]", (1,), '[1, {"v": [1]}]'),
    ],
)
def test_a_value_in_another_s_place_is_spread_as_that_one_was(text: str, path: Any, wanted: str) -> None:
    assert json_splice.replace(text, path, {"v": [1]}, PLAIN) == wanted


@pytest.mark.parametrize(
    ("text", "path", "inner", "left"),
    [
        ("[1, 2, 3]", (0,), None, "[ 2, 3]"), ("[1, 2, 3]", (1,), None, "[1, 3]"), ("[1, 2, 3]", (2,), None, "[1, 2]"),
        ("[1, 2,]", (1,), None, "[1,]"), ("[ 1 ]", (0,), None, "[]"), ("[ 1 ]", (0,), " \n ", "[ \n ]"),
        ("[ /* x */ 1 ]", (0,), None, "[ /* x */ ]"), ("[ /* x */ 1 ]", (0,), "/* x */", "[/* x */]"),
        ('{"a": 1, "b": 2}', ("a",), None, '{ "b": 2}'),
        ("[1, ]", (0,), None, "[]"),
    ],
)  # fmt: skip
def test_what_is_taken_out_leaves_the_comments_of_others(text: str, path: Any, inner: str | None, left: str) -> None:
    assert json_splice.remove(text, path, inner, FREE) == left


@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ('{"a": 1, // x\n "b": 2}', ("b",), '{"a": 1 // x\n}'),
        ('{"a": 1, // x\r\n "b": 2}', ("b",), '{"a": 1 // x\r\n}'),
        ('{ // x\n "b": 2}', ("b",), "{ // x\n}"),
        ('{"a": 1, // x\n "b": 2, "c": 3}', ("b",), '{"a": 1, // x\n "c": 3}'),
        ("[1, // x\r2]", (1,), "[1 // x\r]"),
        ('{"a": 1, // x\n "b": 2, \n "c": 3}', ("b",), '{"a": 1, // x \n "c": 3}'),
        ('{"a": 1, // x\n "b": 2\r\n}', ("b",), '{"a": 1 // x\r\n}'),
    ],
)
def test_a_comment_in_front_of_what_is_taken_out_swallows_nothing_behind_it(text: str, path: Any, left: str) -> None:
    assert json_splice.remove(text, path, None, FREE) == left


def test_a_place_that_is_not_there_is_no_place_to_edit() -> None:
    with pytest.raises(KeyError):
        json_splice.add("{}", ("a",), "k", 1, PLAIN)
