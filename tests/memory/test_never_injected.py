"""Which texts no agent is ever handed, and which messages are our own injections come back."""

from __future__ import annotations

import pytest

from memory import noise


@pytest.mark.parametrize(
    ("text", "is_noise"),
    [
        ("", True), ("The gateway listens on port 8089", False), ("so: ## Session Recovery", True),
        ("I ask: should I: rename it", True), ("x" * 3_990 + "## plan summary", False),
        ("and let me check it", False), ("<invoke name", True), ("<invoked> is a word", False), ("done!", True),
        ("Done - all", False), ("sure thing\nit runs", True),
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
