"""Which sentences of what was said are told again: those that decide, give a reason, warn or ask for something."""

from __future__ import annotations

import pytest

from core.speech.decisive import lines_of, sentences, weight


def test_the_sentences_of_a_turn_without_its_speaker() -> None:
    text = "We decided it today. Short. This one is long enough\nAnother line here"
    found = ["We decided it today", "This one is long enough", "Another line here"]
    for speaker in ("", "user: ", "User: ", "assistant: ", "toolResult: ", "tool: "):
        assert sentences(speaker + text) == found
    assert sentences("note: user: we decided")[0].startswith("note: ")
    assert sentences("eleven char") == []
    assert sentences("twelve chars") == ["twelve chars"]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("a plain sentence of talk", 0.15),
        ("we decided it", 0.45),
        ("we decided because it failed", 0.75),  # two words that decide are all that counts
        ("decided because failed, must never", 0.75),
        ("see core/x", 0.4),
        ("with `code`", 0.4),
        ("snake_case", 0.4),
        ("12 of them", 0.4),
        ("we decided 3 things", 0.7),
        ("we decided 3 things because", 1.0),
    ],
)
def test_what_is_lost_with_a_sentence(sentence: str, expected: float) -> None:
    assert weight(sentence) == pytest.approx(expected)


MOST, CAP, SPAN = (
    "user: We must never retry more than 3 times",
    "assistant: I decided to use `cap` because it failed 7 times",
    "user: please keep it under 200 ms",
)
TURNS = [f"{MOST}. Hello there my friend", f"{CAP}. Then something plain here", SPAN]


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (len(MOST), [SPAN]),
        (len(MOST) + 1, [MOST]),
        (len(MOST) + len(SPAN) + 1, [MOST]),
        (len(MOST) + len(SPAN) + 2, [MOST, SPAN]),
        (len(MOST) + len(SPAN) + len(CAP) + 3, [MOST, CAP, SPAN]),
        (len(SPAN), []),
        (1000, [MOST, CAP, SPAN]),
    ],
)
def test_the_weightiest_within_their_room_in_their_order(room: int, told: list[str]) -> None:
    assert lines_of(TURNS, "", room) == told


def test_what_the_user_asks_for_needs_less_to_be_told() -> None:
    said = "the gateway keeps 7 leases"
    assert lines_of([f"assistant: {said}"], "", 1000) == []
    assert lines_of([f"user: {said}"], "", 1000) == [f"user: {said}"]
    assert lines_of(["user: the gateway keeps its leases"], "", 1000) == []


def test_of_equals_the_latest_has_the_room() -> None:
    turns = [f"user: retry {number} times because it failed" for number in range(3)]
    assert lines_of(turns, "", len(turns[0]) + 1) == [turns[2]]


def test_a_sentence_is_told_once_without_its_marks() -> None:
    must = "We must never drop a lease, 7 times"
    assert lines_of([f"user: {must}", f"assistant: - **{must}**"], "", 1000) == [f"user: {must}"]
    assert lines_of([f"user: {must}"], "so " + must.lower() + " it is", 1000) == []
    assert lines_of(["assistant: # **Insight:**   it  failed 3 times"], "", 1000) == [
        "assistant: Insight: it failed 3 times"
    ]


@pytest.mark.parametrize(("characters", "told"), [(280, True), (281, False)])
def test_a_long_sentence_is_left_out_and_what_follows_is_told(characters: int, told: bool) -> None:
    long = "we must never " + "x" * (characters - 14)
    follows = "it failed 3 times because of it"
    found = lines_of([f"user: {long}", f"user: {follows}"], "", 2000)
    assert found == [*([f"user: {long}"] if told else []), f"user: {follows}"]
