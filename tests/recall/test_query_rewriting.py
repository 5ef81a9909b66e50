"""Which queries are expanded by developers' abbreviations, which are left alone and why; and the category of a text."""

from __future__ import annotations

import pytest

from recall import categories
from recall import query as asked


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "empty_query"), ("  ", "empty_query"), ("'the auth config of it'", "literal_query"),
        ('"x"', "literal_query"),
        ("'the auth config of the repo", ""), ("'", "short_query"), ("src/auth", "direct_identifier"),
        ("a\\b", "direct_identifier"), ("auth.config", "direct_identifier"), ("...", "short_query"),
        ("a::b", "direct_identifier"), ("auth_config", "direct_identifier"),
        ("git push the auth config now", "command_like"),
        ("git -p the auth config now, please", "command_like"), ("git Push the auth config now", ""),
        ("git öffne the auth config now", ""), ("git", "short_query"), ("push git the auth config now", ""),
        ("the auth config", "short_query"), ("the auth config of it", ""), ("authorization of deploys", "short_query"),
        ("authorization of deploys!", ""), ("two wordsandmorewordsandmore", ""),
    ],
)  # fmt: skip
def test_why_a_query_is_left_as_it_is(query: str, reason: str) -> None:
    text, about = asked.expand(query, enabled=True)
    assert (about["strategy"] == "skipped") is bool(reason)
    if reason:
        assert (text, about["reason"], about["rewritten"]) == (query, f"skip.{reason}", False)


def test_abbreviations_are_written_out_and_the_other_way_round() -> None:
    def expanded(query: str) -> tuple[str, bool, str, str]:
        text, about = asked.expand(query, enabled=True)
        return text, about["rewritten"], about["strategy"], about["reason"]

    assert expanded("where does the db config live?") == (
        "where does the db config live? database configuration", True, "abbreviations", "expanded",
    )  # fmt: skip
    assert (
        expanded("which Database holds the db and the env?")[0]
        == "which Database holds the db and the env? environment"
    )
    assert expanded("the repository of the gateway, again")[0].endswith("again repo")
    nothing = "what did we agree about tabs"
    assert expanded(nothing) == (nothing, False, "abbreviations", "nothing_to_expand")
    text, about = asked.expand("where does the db config live?", enabled=False)
    assert (text, about) == (
        "where does the db config live?", {"rewritten": False, "strategy": "disabled", "reason": "budget.no_rewrite"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "category", "confidence"),
    [
        ("nothing of it", "jc:operations", 0.35), ("deploy", "jc:operations", 0.67),
        ("deploy deploy", "jc:operations", 0.67),
        ("deploy the server", "jc:operations", 0.79), ("deploy the server by cron", "jc:operations", 0.91),
        ("deploy the server by cron and systemd", "jc:operations", 0.95), ("prefer to deploy", "jc:preferences", 0.67),
        ("always prefer", "jc:preferences", 0.67), ("a memory of the project", "jc:memory-system", 0.67),
        ("x" * 19_994 + " deploy", "jc:operations", 0.35), ("x" * 19_993 + " deploy", "jc:operations", 0.67),
    ],
)  # fmt: skip
def test_the_category_that_the_words_of_a_text_speak_for(text: str, category: str, confidence: float) -> None:
    assert categories.classify(text) == (category, confidence)
