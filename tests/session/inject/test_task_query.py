"""The task of a session and its recall query, made of what the user said last (`session.record`)."""

from __future__ import annotations

from typing import Any

from session import record


def kept(*texts: str) -> list[Any]:
    return [{"text": text, "hash": text} for text in texts]


def test_texts_that_are_not_messages() -> None:
    for text in ["", " \n", "\u202e", "## Session Recovery\n**Task:** something old"]:
        assert record.message(text) is None


def test_a_message_is_one_line_of_two_hundred_characters() -> None:
    assert [record.message(text)["text"] for text in ("  two\n lines ", "x" * 200, "x" * 201)] == [
        "two lines", "x" * 200, "x" * 199 + "…",
    ]  # fmt: skip


def test_messages_differ_by_their_first_4000_characters_or_their_length() -> None:
    same, other = "x" * 3_999 + "a" + "b" * 9, "x" * 3_999 + "a" + "c" * 9
    assert record.message(same)["hash"] == record.message(other)["hash"]
    for unlike in (same + "b", "x" * 3_999 + "d" + "b" * 9):
        assert record.message(same)["hash"] != record.message(unlike)["hash"]
    assert record.message("two  words")["hash"] != record.message("two words ")["hash"]


def test_what_of_a_conversation_is_new() -> None:
    for known, given, fresh in [
        ("", "ab", "ab"),
        ("ab", "", ""),
        ("abc", "abcd", "d"),
        ("abc", "bcd", "d"),
        ("abc", "cd", "d"),
        ("abc", "de", "de"),
        ("abc", "c", ""),
        ("abc", "ccd", "d"),
        ("", "aab", "ab"),
        ("abc", "xabcd", "d"),
        ("abc", "abcabcd", "abcd"),
        ("ab", "abx", "x"),
        ("abc", "xcd", "xcd"),  # its end is elsewhere in the conversation, and does not say where it goes on
        ("a", "ba", ""),
        ("ab", "ba", "a"),
        ("bab", "ab", ""),
    ]:
        assert record.new_messages(kept(*known), kept(*given)) == kept(*fresh)


def test_the_task_is_the_last_three_messages_within_500_characters() -> None:
    assert record.task_text(kept("a", "b", "c", "d")) == "b | c | d"
    assert record.task_text([]) == ""
    assert record.task_text(kept("x" * 497, "")) == "x" * 497 + " | "
    assert record.task_text(kept("x" * 497, "yy")) == "x" * 497 + " |…"


def test_the_query_is_the_last_two_messages_within_120_characters() -> None:
    for texts, query in [
        (("older", "first", "second"), "first second"),
        (("abcd",), ""),
        (("abcde",), "abcde"),
        (("a", "bc"), ""),
        (("a", "bcd"), "a bcd"),
        (("--verbose flag",), "verbose flag"),
        (('say "now" for $5 and `x` \\ or !!',), "say now for 5 and 'x' or"),
        (("the key [redacted:token] of it",), "the key of it"),
        (("cut off he…",), "cut off he"),
        (("--", "second"), "second"),
        (("x" * 120,), "x" * 120),
        (("x" * 121,), "x" * 120),
        (("a" * 59, "b" * 60), "a" * 59 + " " + "b" * 60),
        (("a" * 60, "b" * 60), "a" * 59 + " " + "b" * 60),
        (("a" * 60, "b" * 59), "a" * 60 + " " + "b" * 59),
        (("a" * 200, "b" * 200), "a" * 59 + " " + "b" * 60),
        (("a" * 200, "b" * 20), "a" * 99 + " " + "b" * 20),
        (("a" * 20, "b" * 200), "a" * 20 + " " + "b" * 99),
        # between words, where more than half is left
        (("w" * 60 + " " + "x" * 70,), "w" * 60),
        (("w" * 59 + " " + "x" * 70,), "w" * 59 + " " + "x" * 60),
        (("w" * 110 + " " + "x" * 9 + " z",), "w" * 110 + " " + "x" * 9),
        (("w" * 110 + " " + "x" * 10 + " z",), "w" * 110),
    ]:
        assert record.task_query(kept(*texts)) == query
