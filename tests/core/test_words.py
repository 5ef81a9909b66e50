"""Text taken apart: words of the index and of a query, names, ids; and what is quoted within its bounds."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from conftest import NOW_MS
from hypothesis import given
from hypothesis import strategies as st

from core import files, ids, words
from core.names import is_file, names_in, names_in_order
from core.quoting import as_code, clip, clip_evenly, clip_path, cost, enclose, one_line

PARTS = [
    ("plain words Only HERE 12", ""), ("getUser and putUser", "get user put user"), ("v2", "v 2"), ("snake_case", ""),
    ("数据库 and 库", "数据 据库 库"), ("ก\u0e00ข", "ก ข"), ("x1" * 32 + "x", ""), ("數aB數", "數a b數 數 數"),
    ("HTTPServer2", "http server 2"), ("userID", "user id"),
]  # fmt: skip
CLEAN = [("é😀", "é😀"), ("\udcc3\udca9", "é"), ("\udc80", "\ufffd"), ("\ud800\udcc3", "\ufffd\ufffd")]
TERMS = [
    ("what was decided about the port", ["decided", "port"]), ("who was it", ["who", "was", "it"]),
    ("ADR-0203", ["adr 0203", "adr", "0203"]),
    ("src/retry/policy_7.py", ["src retry policy 7 py", "retry", "policy", "7"]),
    ("don't retry", ["don", "retry"]), ("getUserName", ["getusername", "get", "user", "name"]),
    ("数据库", ["数据", "据库", "数据库"]), ("port Port port", ["port"]), ("!!", []),
]  # fmt: skip
NAMES = [
    ("core/leaseTable.py", ["core/leaseTable.py", "leaseTable.py"]), ("main.go-12-func", ["main.go"]),
    ("LeaseTable.findAll()", ["LeaseTable.findAll", "LeaseTable", "findAll"]), ("./src/lease/", ["src/lease"]),
    ('{"line": "one\\nLeaseTable\\tretryQueue"}', ["LeaseTable", "retryQueue"]), ("8108 8108 abCd", ["8108", "abCd"]),
    ("lease Lease 123 a1b2c3 i.e. retry-2 12.go a/b", []), ("retry-queue at v1.2.3", ["retry-queue", "v1.2.3"]),
    ("from v1.2 to 3.14", []),
]  # fmt: skip
CUT = [
    ("one two", 7, None, "one two"), ("one two", 6, None, "one t…"), ("one two six", 9, None, "one two…"),
    ("ab", 1, None, ""), ("abcdefghi", 20, 2, "abcd…"), ("éééé", 9, 3, "éé…"), ("abcd- defgh", 8, None, "abcd…"),
]  # fmt: skip
LINES = [
    ("# # one", "one"), ("one - two", "one - two"), ("a ### b", "a # b"), ("a\tb\nc", "a b c"),
    ("a\x1b]0;t\x07b", "ab"),
    ("x JoelClaw-Memory y", "x JoelClaw Memory y"), ("a\u180bb\u180eb", "abb"),
]  # fmt: skip
FILE_NAMES = [
    ("s-1_a.json", "s-1_a.json"), ("", "%00"), (".hidden", "%2Ehidden"), ("a/b", "a%2Fb"), ("é", "%C3%A9"),
    ("x" * 121, "x" * 80 + "~" + ids.fingerprint("x" * 121)),
]  # fmt: skip


def test_the_words_that_the_index_holds() -> None:
    for text, parts in PARTS:
        assert words.parts(text) == parts
    for text, clean in CLEAN:
        assert words.clean(text) == clean


def test_the_terms_of_a_query() -> None:
    for query, terms in TERMS:
        assert words.query_terms(query) == terms
    said = [f"w{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(65)]
    assert words.query_terms(" ".join(said)) == said[:32] + said[33:]


@given(st.text(max_size=5_000))
def test_any_query_has_a_bounded_number_of_terms(query: str) -> None:
    slow = "".join(c if c.isalnum() else " " for c in query.lower()).split()
    assert words.split(query) == slow
    terms = words.query_terms(query)
    assert len(terms) <= words.MAX_QUERY_WORDS and bool(terms) == bool(slow)


def test_the_names_of_a_text_in_their_order() -> None:
    for text, names in NAMES:
        assert [name for name, _ in names_in_order(text)] == names
    assert names_in("push it to GitHub, then call toGitHubUrl") == ({"toGitHubUrl"}, {"GitHub"})
    assert [is_file(path) for path in ("a/main.go", "main.unknown", "a/12.go", "a/.go")] == [True, False, False, False]
    listed = [f"nameNumber{number}x" for number in range(6000)]
    assert [name for name, _ in names_in_order(" ".join(listed))] == listed[:5000]


def test_a_text_is_cut_between_words_within_its_bounds() -> None:
    for text, characters, tokens, cut in CUT:
        assert clip(text, characters, tokens) == cut
    assert [cost(text) for text in ("", "abcd", "abcde", "é", "abcd é")] == [0, 1, 2, 1, 3]
    assert clip_evenly(["a" * 30, "short"], "; ", 36, 99) == "a" * 27 + "…; short"
    assert [clip_path("a/bc.py", characters) for characters in (7, 6)] == ["a/bc.py", "…bc.py"]


def test_a_quoted_line_can_be_no_mark_of_ours() -> None:
    for text, line in LINES:
        assert one_line(text) == line
    for text, code in (("make test", "`make test`"), ("a < b", "`a < b`"), ("a `b`", ""), ("cat <b", ""), ("a\nb", "")):
        assert as_code(text) == code
    assert enclose("startup", ["1. a"]).startswith('<joelclaw-memory source="startup" note="recalled data')


def test_ids_are_made_in_the_order_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    made = uuid.UUID(ids.uuid7())
    assert (made.version, made.variant, made.int >> 80) == (7, uuid.RFC_4122, NOW_MS)
    assert ids.shown(str(made)) == str(made)[:8] and ids.shown("s") == "s"


def test_the_file_name_of_an_id(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for identifier, name in FILE_NAMES:
        assert files.safe_name(identifier) == name
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    for more in ("", "-2"):
        (tmp_path / "s.json").touch()
        assert files.set_aside(str(tmp_path / "s.json")) == f"{tmp_path}/s.json.damaged-{NOW_MS}{more}"
