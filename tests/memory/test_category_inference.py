"""Without `-c` the words of a text tell its category, and the answer says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

from recall import categories

SENTENCES = Path(__file__).with_name("category_sentences.txt")


def told(half: str) -> list[tuple[str, str]]:
    """Category and text of each sentence of a half."""
    rows = [line.partition(" | ") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    return [(head.split()[1], text) for head, _, text in rows if head.split()[0] == half]


@pytest.mark.parametrize(("half", "right"), [("tuned", 57), ("held", 51)])
def test_most_sentences_are_put_where_they_belong(half: str, right: int) -> None:
    """The words were chosen with one half (35 before); the other was written with it and not looked at (38 before)."""
    rows = told(half)
    assert len(rows) >= 60
    assert sum(categories.classify(text)[0] == f"jc:{category}" for category, text in rows) >= right


@pytest.mark.parametrize(
    ("text", "category", "identifier", "source"),
    [
        ("prefers tabs", "preferences", "jc:preferences", "keyword"),
        ("Maria leads the design team", "people-relationships", "jc:people-relationships", "keyword"),
        ("restart the worker after each deploy", "ops", "jc:operations", "keyword"),
        ("the harbour gauge reads four metres", "ops", "jc:operations", "fallback"),
        ("[gate=allow category=jc:projects] the harbour gauge reads four", "projects", "jc:projects", "annotation"),
    ],
)
def test_the_answer_says_what_told_it(run: Run, text: str, category: str, identifier: str, source: str) -> None:
    result = run("memory", "write", text).result
    assert (result["category"], result["categoryId"], result["categorySource"]) == (category, identifier, source)


def test_a_given_category_holds(run: Run) -> None:
    result = run("memory", "write", "prefers tabs", "--category", "ops").result
    assert (result["category"], result["categoryId"], result["categorySource"]) == ("ops", "jc:operations", "flag")
