"""The lines of a session file: where each stands, what of a damaged or an endless one is kept, which files it names."""

from __future__ import annotations

import io
from typing import Any

from clients.entry import Entry, Line, Problems, lines, parsed, path_to


def read(data: bytes) -> tuple[list[tuple[Line, Any]], tuple[str, ...]]:
    problems = Problems()
    return list(lines(io.BytesIO(data), problems)), problems.told()


def test_every_line_has_its_number_its_place_and_its_size() -> None:
    assert read(b'{"a":1}\n\n \n{"b":2}\r\n{"c":3}') == (
        [(Line(1, 0, 8), {"a": 1}), (Line(4, 11, 9), {"b": 2}), (Line(5, 20, 7), {"c": 3})], (),
    )  # fmt: skip
    assert read(b"") == ([], ())
    assert read(b'\xef\xbb\xbf{"a":1}\n{"b":2}\n')[0] == [(Line(1, 3, 8), {"a": 1}), (Line(2, 11, 8), {"b": 2})]
    assert read(b'{"a":1}\n\xef\xbb\xbf{"b":2}\n')[0][1] == (Line(2, 8, 11), None), "a mark within a file is none"


def test_a_line_without_an_object_is_told_and_one_that_was_cut_off() -> None:
    assert read(b'[1]\nhm\n{"a":') == (
        [(Line(1, 0, 4), None), (Line(2, 4, 3), None), (Line(3, 7, 5), None)],
        ("line 1 is not a JSON object", "line 2 is not a JSON object", "line 3 is cut off"),
    )


def test_half_a_pair_and_what_is_no_utf_8_are_mended() -> None:
    rows: list[Any] = [
        (b'{"a":"\\ud800x"}', {"a": "?x"}),
        (b'{"a":["\xff"],"\\udfff":{"b":1}}', {"a": ["\ufffd"], "?": {"b": 1}}),
        (b'{"a":NaN}', None),
        (b"[NaN]", None),
        (b"7", 7),
        (b' {"a":\xff}', None),
        (b"\xff", None),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, None),
    ]
    for data, value in rows:
        assert parsed(data) == value


def entry(name: str, parent: str = "", kind: Any = "message") -> Entry:
    return Entry(name, parent, kind, 1, 0, 0)


def test_a_branch_ends_where_its_parents_do_or_go_round() -> None:
    problems = Problems()
    tree = {"a": entry("a"), "b": entry("b", "a"), "c": entry("c", "gone"), "d": entry("d", "e"), "e": entry("e", "d")}
    assert [one.id for one in path_to("b", tree, problems)] == ["a", "b"]
    assert (path_to("x", tree, problems), problems.told()) == ([], ())
    assert [one.id for one in path_to("c", tree, problems)] == ["c"]
    assert [one.id for one in path_to("d", tree, problems)] == ["e", "d"]
    assert problems.told() == (
        "gone, the parent of c, is not in the file; the branch begins there",
        "the parents of d form a circle; the branch begins at e",
    )
