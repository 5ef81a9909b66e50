"""What the index holds beside the words of a text: camel humps, and pairs of what has no spaces; and clean text."""

from __future__ import annotations

import pytest

from core import words


@pytest.mark.parametrize(
    ("word", "humps"),
    [
        ("getUserName", ["get", "user", "name"]), ("HTTPServer2", ["http", "server", "2"]), ("word", []), ("", []),
        ("a", []),
        ("WORD", []), ("Word", []), ("a1", ["a", "1"]), ("1a", ["1", "a"]), ("12", []),
        ("ab12cd", ["ab", "12", "cd"]),
        ("AB", []), ("aB", ["a", "b"]), ("ABc", ["a", "bc"]), ("A1B", ["a", "1", "b"]), ("1B", ["1", "b"]),
        ("userID", ["user", "id"]), ("IDs", ["i", "ds"]), ("aBC", ["a", "bc"]), ("éÀb", ["é", "àb"]),
    ],
)  # fmt: skip
def test_the_humps_of_a_word(word: str, humps: list[str]) -> None:
    assert words.humps(word) == humps


@pytest.mark.parametrize(
    ("run", "pairs"), [("数据库", ["数据", "据库"]), ("数据", ["数据"]), ("数", ["数"]), ("", [""])]
)
def test_the_pairs_of_a_run(run: str, pairs: list[str]) -> None:
    assert words.pairs(run) == pairs


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain words Only HERE 12", ""), ("getUser and putUser", "get user put user"), ("v2", "v 2"), ("V2", "v 2"),
        ("Abc2", "abc 2"), ("snake_case", ""), ("a-bC", "b c"), ("数据库 and 库", "数据 据库 库"), ("x数据y", "数据"),
        ("数，据", "数 据"), ("ก\u0e00ข", "ก ข"), ("x1" * 32, "x 1 " * 31 + "x 1"), ("x1" * 32 + "x", ""),
        ("Ab" * 33, " ".join(["ab"] * 33)), ("é", ""), ("數aB數", "數a b數 數 數"),
    ],
)  # fmt: skip
def test_the_parts_that_the_index_holds(text: str, parts: str) -> None:
    assert words.parts(text) == parts


@pytest.mark.parametrize(
    ("code", "unspaced"),
    [
        (first + step, inside)
        for first, last in ((0x0E00, 0x0E7F), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF),
                            (0x20000, 0x3FFFF))
        for step, inside in ((-1, first == 0), (0, True), (last - first, True), (last - first + 1, False))
    ],
)  # fmt: skip
def test_a_script_without_spaces_by_its_range(code: int, unspaced: bool) -> None:
    assert words._unspaced(chr(code)) is unspaced


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"), ("é😀", "é😀"), ("\udcc3\udca9", "é"), ("\udc80", "\ufffd"), ("\udcff", "\ufffd"),
        ("é\udce9", "é\ufffd"),
        ("\udc7f", "\ufffd"), ("\udd00", "\ufffd"), ("\ud800", "\ufffd"), ("\udfff", "\ufffd"),
        ("\ud800\udcc3\udca9", "\ufffd\ufffd\ufffd"),
        ("\ud7ff\ue000\ud800", "\ud7ff\ue000\ufffd"),
    ],
)  # fmt: skip
def test_bytes_that_were_no_text_become_text(text: str, clean: str) -> None:
    assert words.clean(text) == clean


def test_line_ends_that_json_writes_are_spaces() -> None:
    assert words.unescaped("a\\nb\\tc\\rd\\x\ne") == "a  b  c  d\\x\ne"


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("a_b", ["a b", "b"]), ("'quoted'", ["quoted"]), ("it's", ["it", "s"]), ("Anna’s port", ["anna", "port"]),
        ("a,b!", ["a b", "b"]),
        ("-x-", ["x"]), ("a.b.c.d.e.f.g.h.i.j.k.l.m", ["a b c d e f g h i j k l", *"bcefghjkl"]), ("", []),
        ("!!", []),
        ("port Port port", ["port"]), ("数", ["数"]),
    ],
)  # fmt: skip
def test_the_terms_of_joined_words(query: str, terms: list[str]) -> None:
    assert words.query_terms(query) == terms


def test_of_a_long_query_the_first_and_the_last_terms_are_asked_for() -> None:
    said = [f"w{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(65)]
    assert words.query_terms(" ".join(said[:64])) == said[:64]
    assert words.query_terms(" ".join(said)) == said[:32] + said[33:]
