"""What a query asks the lexical index for: its telling words, and an identifier whole and in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import words


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("what was decided about the port", ["decided", "port"]),
        ("who was it", ["who", "was", "it"]),
        ("ADR-0203", ["adr 0203", "adr", "0203"]),
        ("--no-verify", ["no verify", "no", "verify"]),
        ("src/retry/policy_7.py", ["src retry policy 7 py", "retry", "policy", "7"]),
        ("README.md", ["readme md", "readme"]),
        ("src/lib.rs", ["src lib rs", "src", "lib", "rs"]),
        ("the py launcher", ["py", "launcher"]),
        ("don't retry", ["don", "retry"]),
        ("getUserName", ["getusername", "get", "user", "name"]),
        ("retry — twice…", ["retry", "twice"]),
        ("数据库", ["数据", "据库", "数据库"]),
    ],
)
def test_terms(query: str, terms: list[str]) -> None:
    assert words.query_terms(query) == terms


def test_of_a_very_long_query_the_end_is_not_read() -> None:
    letters = "abcdefghijklmnop"
    said = [f"{a}{b}{c}{d}x" for a in letters for b in letters for c in letters for d in letters]
    assert words.query_terms(" ".join(said[:4097]))[-1] == said[4096]
    assert words.query_terms(" ".join(said[:5000]))[-1] == said[4096]
    assert words.query_terms(" ".join(said[:4096]))[-1] == said[4095]


@given(st.text(max_size=300))
def test_words_are_those_of_a_loop_over_the_characters(text: str) -> None:
    slow = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    assert words.split(text) == slow


@given(st.text(max_size=5_000))
def test_any_query_has_a_bounded_number_of_terms(query: str) -> None:
    terms = words.query_terms(query)
    assert len(terms) <= words.MAX_QUERY_WORDS
    assert bool(terms) == bool(words.split(query))
