"""The recorded session of `make demo`: a real compaction, and facts that only memory can keep (demo/README.md)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).resolve().parents[2] / "demo"
RAW = (DEMO / "pi-session.jsonl").read_text(encoding="utf-8")
ENTRIES: list[dict[str, Any]] = [json.loads(line) for line in RAW.splitlines()]
SCENARIO: dict[str, Any] = json.loads((DEMO / "scenario.json").read_text(encoding="utf-8"))
WINDOW: int = SCENARIO["client"]["contextWindow"]
CUT = next(i for i, entry in enumerate(ENTRIES) if entry["type"] == "compaction")
COMPACTION = ENTRIES[CUT]
SPEAKERS = {"assistant": "assistant", "user": "user", "toolResult": "tool"}


def said(entries: list[dict[str, Any]], speaker: str | None = None) -> str:
    """The texts of the messages in `entries`, of one speaker or of all."""
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    return "\n".join(
        part["text"]
        for message in messages
        if speaker in (None, SPEAKERS[message["role"]])
        for part in message["content"]
        if part["type"] == "text"
    )


def percent_per_prompt(entries: list[dict[str, Any]]) -> list[float]:
    """Context use, in percent of the window, at the end of each user prompt's run."""
    ends: list[float] = []
    for message in (entry["message"] for entry in entries if entry["type"] == "message"):
        if message["role"] == "user":
            ends.append(0.0)
        elif message["role"] == "assistant":
            ends[-1] = 100 * message["usage"]["totalTokens"] / WINDOW
    return ends


def test_entries_form_one_chain_of_a_pi_session() -> None:
    assert ENTRIES[0]["type"] == "session" and ENTRIES[0]["version"] == 3
    parents = [None, *(entry["id"] for entry in ENTRIES[1:-1])]
    assert [entry["parentId"] for entry in ENTRIES[1:]] == parents


def test_exactly_one_compaction_made_by_pi_itself() -> None:
    assert [entry["type"] for entry in ENTRIES].count("compaction") == 1
    assert COMPACTION["fromHook"] is False
    assert COMPACTION["tokensBefore"] > WINDOW - SCENARIO["client"]["reserveTokens"]
    assert COMPACTION["firstKeptEntryId"] in {entry["id"] for entry in ENTRIES[:CUT]}


def test_prompts_are_those_of_the_scenario_in_order() -> None:
    users = [entry for entry in ENTRIES if entry.get("message", {}).get("role") == "user"]
    assert [said([entry]) for entry in users] == SCENARIO["prompts"]
    assert 8 <= len(users) <= 10
    assert 1 <= sum(ENTRIES.index(entry) > CUT for entry in users) <= 2


def test_every_model_reply_is_scripted_and_carries_its_usage() -> None:
    replies = [entry["message"] for entry in ENTRIES if entry.get("message", {}).get("role") == "assistant"]
    assert [part["text"] for reply in replies for part in reply["content"] if part["type"] == "text"] == [
        step["text"] for step in SCENARIO["steps"]
    ]
    assert [(reply["usage"]["input"], reply["usage"]["output"]) for reply in replies] == [
        (step["usage"]["input"], step["usage"]["output"]) for step in SCENARIO["steps"]
    ]


def test_context_climbs_through_both_zones_and_falls_after_the_compaction() -> None:
    before, after = percent_per_prompt(ENTRIES[:CUT]), percent_per_prompt(ENTRIES[CUT:])
    assert before == sorted(before)
    assert before[0] < 40 and any(40 <= p < 60 for p in before) and any(60 <= p < 80 for p in before)
    assert all(0 < p < 40 for p in after)


@pytest.mark.parametrize("fact", SCENARIO["facts"], ids=lambda fact: fact["needle"])
def test_fact_is_said_before_the_compaction_and_lost_by_it(fact: dict[str, str]) -> None:
    kept = next(i for i, entry in enumerate(ENTRIES) if entry.get("id") == COMPACTION["firstKeptEntryId"])
    assert fact["needle"] in said(ENTRIES[:kept], fact["said_by"])
    assert fact["needle"] not in json.dumps(COMPACTION, ensure_ascii=False)
    assert fact["needle"] not in json.dumps(ENTRIES[kept:], ensure_ascii=False)


def test_facts_cover_what_a_summary_loses() -> None:
    kinds = {fact["kind"] for fact in SCENARIO["facts"]}
    assert kinds >= {
        "decision",
        "reason",
        "failed",
        "insight",
        "preference",
        "command",
        "path",
        "checkpoint",
        "blocker",
    }
    needles = [fact["needle"] for fact in SCENARIO["facts"]]
    assert len(set(needles)) == len(needles)


def test_three_to_five_files_are_written_by_tools_that_succeeded() -> None:
    failed = {
        entry["message"]["toolCallId"]
        for entry in ENTRIES
        if entry.get("message", {}).get("role") == "toolResult" and entry["message"]["isError"]
    }
    assert failed == set()
    calls = [
        part for entry in ENTRIES for part in entry.get("message", {}).get("content", []) if part["type"] == "toolCall"
    ]
    written = {call["arguments"]["path"] for call in calls if call["name"] in ("write", "edit")}
    assert 3 <= len(written) <= 5
    assert written == set(COMPACTION["details"]["modifiedFiles"])


def test_subject_changes_once_before_the_compaction() -> None:
    changes = [i for i, prompt in enumerate(SCENARIO["prompts"]) if prompt.startswith("Different subject")]
    assert len(changes) == 1
    assert percent_per_prompt(ENTRIES[:CUT])[changes[0]] >= 60


def test_recording_is_small() -> None:
    assert len(RAW.encode()) < 40_000
    assert all(len(line) < 4_000 for line in RAW.splitlines())


@pytest.mark.parametrize("name", ["pi-session.jsonl", "scenario.json", "README.md"])
def test_no_path_or_address_of_the_recording_machine(name: str) -> None:
    text = (DEMO / name).read_text(encoding="utf-8")
    roots = r"(?<![\w./])/(?:home|Users|root|tmp|work|usr|opt|var|mnt|srv|private|proc)(?:/[\w.-]+)*"
    assert set(re.findall(roots, text)) <= {"/home/dev/buoyline"}
    assert re.findall(r"localhost|\b(?:\d{1,3}\.){3}\d{1,3}\b|https?://", text) == []
