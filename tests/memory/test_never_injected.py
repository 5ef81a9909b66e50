"""Which texts no agent is ever handed, and which messages are our own injections come back."""

from __future__ import annotations

import pytest

from memory import noise


@pytest.mark.parametrize(
    ("text", "is_noise"),
    [
        ("", True), (" \n", True), ("The gateway listens on port 8089", False),
        # our own injections, and plans for approval, wherever they stand
        ("so: ## Session Recovery", True), ("then <joelclaw-memory>", True), ("I ask: should I: rename it", True),
        ("x" * 3_983 + "## plan summary", True), ("x" * 3_990 + "## plan summary", False),
        # how agents open a turn: whole words at the beginning
        ("  Let me check it", True), ("let medicine be", False), ("and let me check it", False),
        ("I\u2019ve updated it", True), ("<invoke name", True), ("<invoked> is a word", False),
        # an acknowledgement with a pause, or nothing, behind it
        ("Done", True), ("done!", True), ("Done - all", False), ("Ok , then", True), ("okay: it runs", True),
        ("Perfect forward secrecy", False), ("sure thing\nit runs", True),
    ],
)  # fmt: skip
def test_what_is_noise(text: str, is_noise: bool) -> None:
    assert noise.is_noise(text) is is_noise


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("## Session Recovery\nwhere it stands", True), (" \n## context refresh", True),
        ("see ## session recovery", False), (" " * 181 + "## session recovery", True),
        (" " * 182 + "## session recovery", False), ("", False),
    ],
)  # fmt: skip
def test_what_is_our_own(text: str, own: bool) -> None:
    assert noise.is_own(text) is own


@pytest.mark.parametrize(
    ("text", "begins"), [("let me", True), ("let me.", True), ("let me1", False), ("let men", False), ("le", False)]
)
def test_a_phrase_ends_where_a_word_does(text: str, begins: bool) -> None:
    assert noise.begins_with(text, ["no phrase", "let me"]) is begins
