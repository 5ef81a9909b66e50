"""Texts are split into words of the index, of a query, names and ids, and quoted within bounds."""

from unicodedata import normalize

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from core import words
from core.quoting import as_code, enclose, one_line

TERMS = [
    ("what was decided about the port", ["decided", "port"]), ("who was it", ["who", "was", "it"]),
    ("ADR-0203", ["adr 0203", "adr", "0203"]),
    ("src/retry/policy_7.py", ["src retry policy 7 py", "retry", "policy", "7"]),
    ("don't retry", ["don", "retry"]), ("getUserName", ["getusername", "get", "user", "name"]),
    ("数据库", ["数据", "据库", "数据库"]), ("port Port port", ["port"]), ("!!", []),
    ("wie war das noch mit der Wiederholung, die wir im Frachtmodul haben?", ["wiederholung", "frachtmodul"]),
    ("а как там было с тем загрузчиком, который у нас был", ["загрузчиком"]),
    ("e como era mesmo aquilo que nós temos no agendador", ["agendador"]),
    ("why did the worker die on the man page", ["worker", "die", "man", "page"]),
    ("貨物ってどうなっていたの", ["貨物", "物っ", "貨物ってどうなっていたの"]),
    ("どうなった", ["どう", "うな", "なっ", "った", "どうなった"]),
    ("die Wiederholung", ["die", "wiederholung"]),  # its language is uncertain
]  # fmt: skip
LINES = [
    ("# # one", "one"), ("one - two", "one - two"), ("a ### b", "a # b"), ("a\tb\nc", "a b c"),
    ("make: *** no tide", "make: *** no tide"), ("src/**/*.ts", "src/**/*.ts"),
    ("a **Task:*** b **Now**: c", "a **Task:* b **Now*: c"),
    ("a\x1b]0;t\x07b", "a]0;tb"),
    ("x JoelClaw-Memory y", "x JoelClaw Memory y"), ("a\u180bb\u180eb", "abb"),
]  # fmt: skip
PLAIN = ("make test", "a < b", "ruff check größe.py", "ruff check gro\u0308ße.py", "почини тест", "テストを直して")


def test_the_terms_of_a_query() -> None:
    for query, terms in TERMS:
        assert words.query_terms(query) == terms
    spoken = [f"w{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(65)]
    assert words.query_terms(" ".join(spoken)) == spoken[:32] + spoken[33:]


@given(st.text(max_size=5_000))
def test_any_query_has_a_bounded_number_of_terms(query: str) -> None:
    slow = "".join(c if c.isalnum() else " " for c in query.replace("İ", "i").lower()).split()
    assert words.split(query) == slow
    terms = words.query_terms(query)
    assert len(terms) <= words.MAX_QUERY_WORDS and bool(terms) == bool(slow)


def test_a_quoted_line_cannot_imitate_our_marks() -> None:
    for text, line in LINES:
        assert one_line(text) == line
    for text in PLAIN:
        assert as_code(text) == f"`{text}`"
    for text in ("a `b`", "cat <b", "a\nb", "cat ＜b", "a\u00a0b", "a \u202e b", "joelclaw‑memory", "[ＩＮＳＴ] a"):
        assert as_code(text) == ""
    assert enclose("startup", ["1. a"]).startswith('<joelclaw-memory source="startup" note="recalled data')


@pytest.mark.parametrize("word", ["résumé", "über", "Zürich", "Łódź", "größe"])
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_word_is_found_in_either_unicode_form(run: Run, word: str, stored: str, typed: str) -> None:
    run("memory", "write", f"the rule of the quay for {normalize(stored, word)} holds in every harbour")
    assert "rule of the quay" in run("recall", normalize(typed, word), "--raw").out
