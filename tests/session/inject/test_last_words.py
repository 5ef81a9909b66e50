"""What a session is told to be doing: the last request, and the last words that are more than "go on"."""

from __future__ import annotations

import pytest

from session.inject import task

PLAN = "Implement the following plan:\n\n# Sort the tides\n\n## Context\n\nThey come as they were read."
LIST = (
    "Can you address the following items:\n 1. Redaction - the caller has to redact (works, but is fragile)\n"
    " 2. Missing tests of the tide reader\n 3. A helper that stands twice"
)


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        ([], ""),
        (["go on", "ok"], ""),
        (["commit this"], '"commit this"'),
        (["commit this", "go on"], '"commit this"'),
        ([PLAN], '"Sort the tides"'),
        ([PLAN, "commit this"], '"Sort the tides" · then: "commit this"'),
        ([PLAN, "commit this", "yes, please go on"], '"Sort the tides" · then: "commit this"'),
        ([PLAN, "1+2"], '"Sort the tides" · then: "1+2"'),
        ([PLAN, "fix the tide reader", "ok"], '"fix the tide reader"'),
        # a short question goes on from what was asked
        ([PLAN, "any other such paths possibly?"], '"Sort the tides" · then: "any other such paths possibly?"'),
        (
            [PLAN, "any other way than to sort twice?", "try 2"],
            '"Sort the tides" · then: "any other way than to sort twice?" · then: "try 2"',
        ),
        (["could we use the typed TideId here?"], '"could we use the typed TideId here?"'),
    ],
)
def test_the_last_request_and_the_last_words(prompts: list[str], told: str) -> None:
    assert task.quoted(prompts) == told


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (LIST, " ".join(" ".join(LIST.splitlines()[:3]).split()) + " …"),
        ("Fix the reader\n" + "word " * 40, "Fix the reader " + "word " * 26 + "word…"),
        ("word " * 40, "word " * 29 + "word…"),
    ],
)
def test_what_is_too_long_ends_with_a_line_of_it(prompt: str, told: str) -> None:
    assert task.opening(prompt, task.LINE_CHARS) == told
