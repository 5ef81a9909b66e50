"""A transcript's messages become drafts of episodes: neighbours, what was typed ahead, what grows, what is carried."""

from __future__ import annotations

from typing import Any

import pytest

from memory.archive.session_archive import Piece, bounded, identifier_of, read_carry


def said(role: str, text: str, identifier: str = "", *, at: int | None = 1, tools: int = 0) -> Any:
    return {"kind": "said", "id": identifier, "role": role, "text": text, "tools": [{}] * tools, "at": at}


def queued(operation: str, text: str = "", at: int = 5) -> Any:
    return {"kind": "queue", "operation": operation, "text": text, "at": at}


def piece(carried: Any = None) -> tuple[Piece, Any]:
    made = Piece("s", "", carried or {})
    return made, made.carry


def test_a_message_knows_its_prompt_and_its_neighbours() -> None:
    made, carry = piece()
    for number, (role, text) in enumerate([("user", "ask"), ("assistant", "one"), ("other", "two"), ("user", "more")]):
        made.add(said(role, text, f"m{number}"))
    assert carry["drafts"] == list(made.changed.values()) == [
        {"id": "m0", "role": "user", "body": "ask", "prompt": "", "before": "", "after": "one", "at": 1},
        {"id": "m1", "role": "assistant", "body": "one", "prompt": "ask", "before": "ask", "after": "two", "at": 1},
        {"id": "m2", "role": "assistant", "body": "two", "prompt": "ask", "before": "one", "after": "more", "at": 1},
        {"id": "m3", "role": "user", "body": "more", "prompt": "", "before": "two", "after": "", "at": 1},
    ]  # fmt: skip
    assert (carry["prompt"], made.prompts) == ("more", 2)


def test_what_is_carried_is_the_last_message_and_it_may_still_grow() -> None:
    made, carry = piece()
    for name in ("a", "b"):
        made.add(said("user", f"text {name}", name))
    made, carry = piece(made.carried())
    assert ([one["id"] for one in carry["drafts"]], made.changed) == (["b"], {})
    made.add(said("user", "text b", "b"))
    assert made.changed == {}
    made.add(said("user", "text b and more", "b"))
    assert [one["body"] for one in made.changed.values()] == ["text b and more"]
    assert (carry["prompt"], made.prompts) == ("text b and more", 0)
    made.add(said("assistant", "an answer", "c"))
    made.add(said("assistant", "an answer in full", "c"))
    assert carry["prompt"] == "text b and more"
    again, _ = piece(carry)
    again.add(said("assistant", "an answer in full", "c"))
    assert again.changed == {} and len(carry["drafts"]) == 2


def test_what_was_typed_ahead_is_said_when_the_model_gets_it_and_once() -> None:
    made, carry = piece()
    for text in ("first", "second", "third"):
        made.add(queued("enqueue", f" {text} "))
    assert carry["queue"] == ["first", "second", "third"]
    made.add(queued("remove", at=8))
    assert [(one["body"], one["role"], one["at"]) for one in carry["drafts"]] == [("first", "user", 8)]
    assert len(carry["handed"]) == 1
    made.add(said("user", "first", "x"))  # the client says it once more
    assert (len(carry["drafts"]), carry["handed"]) == (1, [])
    made.add(said("user", "third", "y"))  # it still waits there
    assert (len(carry["drafts"]), carry["queue"]) == (1 + 1, ["second", ""])
    made.add(said("assistant", "second", "z"))  # another said it
    assert len(carry["drafts"]) == 3
    made.add(queued("dequeue"))
    made.add(queued("remove"))
    made.add(queued("remove"))
    assert (len(carry["drafts"]), carry["queue"], carry["handed"]) == (3, [], [])
    made.add(queued("enqueue", "fourth"))
    made.add(queued("popAll"))
    assert carry["queue"] == []


@pytest.mark.parametrize(("given", "kept"), [
    ("m1", True), ("i" * 200, True), ("i" * 201, False), ("a b", False), (" a", False), ("a\0b", False),
    ("a\ud800", False), ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", False),
])  # fmt: skip
def test_which_ids_of_a_client_are_kept(given: str, kept: bool) -> None:
    made = identifier_of(said("user", "x", given), "s", b"line", 0)
    assert (made == given) is kept
    assert kept or (made.startswith("ep-") and made == identifier_of(said("user", "y", given), "t", b"", 1))


def test_a_message_without_an_id_is_known_by_its_session_line_and_number() -> None:
    one = said("user", "x")
    made = [
        identifier_of(one, "s", b"line", 0), identifier_of(one, "t", b"line", 0), identifier_of(one, "s", b"other", 0),
        identifier_of(one, "s", b"line", 1), identifier_of(one, "s", b"", 0),
        identifier_of(said("user", "y"), "s", b"", 0), identifier_of(said("assistant", "x"), "s", b"", 0),
        identifier_of(said("user", "x", at=2), "s", b"", 0),
    ]  # fmt: skip
    assert len(set(made)) == len(made)
    assert made[0] == identifier_of(said("assistant", "other", at=9), "s", b"line", 0)


@pytest.mark.parametrize("length", [4_000, 4_001, 52_001])
def test_of_a_long_message_the_middle_is_left_out(length: int) -> None:
    text = "a" * 2_500 + "b" * (length - 4_000) + "c" * 1_500
    whole = length == 4_000
    assert bounded(f"  {text}\n") == (text if whole else "a" * 2_500 + "\n[…]\n" + "c" * 1_500)


WHOLE: dict[str, Any] = {
    "prompt": "p",
    "drafts": [{"id": "d", "role": "user", "body": "b", "prompt": "", "before": "", "after": "", "at": None}],
    "queue": ["q"], "handed": ["h"], "work": {"last": "k"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, WHOLE), ({"drafts": [{}, WHOLE["drafts"][0]], "again": 1}, WHOLE), ({"drafts": [{}]}, read_carry({})),
        ({"drafts": None}, read_carry({})), ({"work": 1}, read_carry({})), ({"queue": None}, read_carry({})),
    ],
)  # fmt: skip
def test_a_carry_is_read_as_it_was_stored_and_a_damaged_one_is_a_new_one(change: Any, expected: Any) -> None:
    assert read_carry({**WHOLE, **change}) == expected
