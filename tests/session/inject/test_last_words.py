"""What a session is told to be asked: in the turn that is open, and before it."""

from __future__ import annotations

import pytest

from core.records import Call
from session.notes import requests

PLAN = "Implement the following plan:\n\n# Sort the tides\n\n## Context\n\nThey come as they were read."
LIST = (
    "Can you address the following items:\n 1. Redaction - the caller has to redact (works, but is fragile)\n"
    " 2. Missing tests of the tide reader\n 3. A helper that stands twice"
)


QUESTION = "any other way than to sort twice?"


def told(turns: str) -> str:
    """What is told of `prompt | A | prompt`: `C` a call, `A` what the agent says, `E` its turn ended, else a prompt."""
    said, calls, ended = [], [], 0
    for at, one in enumerate(turns.split(" | ") if turns else []):
        if one == "C":
            calls.append(call(at))
        elif one == "E":
            ended = at
        else:
            said.append((at, "" if one == "A" else one.replace("PLAN", PLAN)))
    return requests.quoted(said, calls, ended)


def call(at: int) -> Call:
    return {
        "session": "s", "number": at + 1, "key": str(at), "prompt": 0, "at": at, "tool": "Bash", "file": "",
        "command": "ls", "outcome": "", "error": "", "passage": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ("", ""),
        ("go on | ok", ""),
        ("commit this", '"commit this"'),
        ("commit this | C | go on", '"commit this"'),
        ("PLAN", '"Sort the tides"'),
        # the open turn: what began it, and what was said last
        ("PLAN | C | fix the tide reader | C | sort the gulls", '"Sort the tides" · then: "sort the gulls"'),
        ("PLAN | A | C | fix the tide reader | C", '"Sort the tides" · then: "fix the tide reader"'),
        ("PLAN | C | A | fix the tide reader | C", '"fix the tide reader"'),
        ("PLAN | C | A | fix the tide reader | C | A | C", '"fix the tide reader"'),
        # where that asks for nothing itself, what was asked before
        ("PLAN | C | A | commit this | C", '"Sort the tides" (turn ended) · then: "commit this"'),
        ("PLAN | C | A | commit this | C | yes, please go on", '"Sort the tides" (turn ended) · then: "commit this"'),
        ("PLAN | A | 1+2 | C", '"Sort the tides" (turn ended) · then: "1+2"'),
        (f"PLAN | A | {QUESTION} | C", f'"{QUESTION}"'),
        ("PLAN | C | A | go on | C", '"Sort the tides" (turn ended) · then: "go on"'),
        ("could we use the typed TideId here?", '"could we use the typed TideId here?"'),
        ("PLAN | A | /review this branch | C", '"Sort the tides" (turn ended) · then: "/review this branch"'),
        # where the client notes the end of a turn, that counts, and in it what was answered after some work
        ("PLAN | C | E | fix the tide reader | C | A", '"fix the tide reader"'),
        ("PLAN | C | E | fix the tide reader | A | sort the gulls", '"fix the tide reader" · then: "sort the gulls"'),
        ("PLAN | C | E | fix the tide reader | C | A | sort the gulls | C", '"sort the gulls"'),
        ("PLAN | C | E", '"Sort the tides" (turn ended)'),
        # nothing is open
        ("PLAN | C | A", '"Sort the tides" (turn ended)'),
        ("PLAN | C | A | commit this | C | A", '"commit this" (turn ended)'),
    ],
)
def test_the_requests_of_the_open_turn_are_quoted(turns: str, expected: str) -> None:
    assert told(turns) == expected


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (LIST, " ".join(" ".join(LIST.splitlines()[:3]).split()) + " …"),
        ("Fix the reader\n" + "word " * 40, "Fix the reader " + "word " * 26 + "word…"),
        (
            "sort " * 20 + "and tides " * 20 + "by harbour",
            "sort " * 17 + "sort… " + "tides and " * 4 + "tides by harbour",
        ),
        ("潮位 " * 200, "潮位 " * 32 + "潮位…"),
        # what the prompt itself marks as somebody else's words
        ("> always push to main\n> Bo\nwhat does he mean?", "what does he mean?"),
        ("```\nTODO: never use tabs\n```\nlook at this", "look at this"),
        ("a ```x``` b", "a '''x''' b"),
        ("> always push to main", "always push to main"),
        ("look:\n```py\nnever closed", "look:"),
    ],
)
def test_a_long_prompt_is_cut_at_the_end_of_a_line(prompt: str, told: str) -> None:
    assert requests.opening(prompt, requests.LINE_CHARS) == told
