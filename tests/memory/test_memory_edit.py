"""`memory edit`, `tag` and `supersede`: a memory changes or is replaced, and what it said is not lost."""

import json
import re
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import NOW, NOW_MS, Run, at_ms

TEXT = "The deploy key of staging lies in the drawer of the harbour office"
NEWER = "The deploy key of staging lies in the vault of the bank"
LATER = at_ms(3_600_000)


@pytest.fixture
def memory(run: Run) -> str:
    written = run("memory", "write", TEXT, "--tags", "keys,staging", env=NOW)
    return written.result["id"]


def shown(run: Run, identifier: str) -> Any:
    return run("memory", "show", identifier).result


def test_an_edited_memory_is_found_by_its_new_text(run: Run, memory: str) -> None:
    before = shown(run, memory)
    edited = run("memory", "edit", memory, NEWER, env=LATER)
    result = edited.result
    assert (result["id"], result["changed"], result["before"]) == (memory, True, TEXT)
    after = shown(run, memory)
    assert (after["observation"], after["created_at"]) == (NEWER, before["created_at"])
    assert after["updated_at"] > before["updated_at"]
    assert [entry["text"] for entry in after["history"]] == [TEXT]
    assert after["tags"] == ["keys", "staging"]
    assert [hit["observation"] for hit in run("recall", "vault of the bank").result["hits"]] == [NEWER]
    assert run("recall", "drawer harbour office", "--min-score", "0.3").result["hits"] == []
    again = run("memory", "edit", memory, NEWER, env=LATER).result
    assert not again["changed"]
    assert len(shown(run, memory)["history"]) == 1


def test_an_edit_is_judged_redacted_and_categorized_again(run: Run) -> None:
    run("memory", "import", "-", stdin=json.dumps({"id": "by-words", "text": "the pipeline deploys to the server"}))
    secret = "prefer tabs; ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    result = run("memory", "edit", "by-words", secret).result
    assert result["redacted"]
    assert "ghp_" not in json.dumps(shown(run, "by-words")["observation"])
    assert result["category"] == "preferences"
    chosen = run("memory", "write", "the gauge is read at noon each day", "--category", "people").result["id"]
    assert run("memory", "edit", chosen, "prefer tabs over spaces always").result["category"] == "people-relationships"


@pytest.mark.parametrize(("words", "code"), [
    (["edit", "{id}", "  "], "EMPTY_TEXT"),
    (["edit", "no-such-memory", "a new text of a memory"], "MEMORY_NOT_FOUND"),
    (["edit", "a-turn", "user: I never said that"], "MEMORY_NOT_EDITABLE"),
    (["edit", "forgotten", "the ferry does not leave at all"], "MEMORY_FORGOTTEN"),
    (["edit", "{id}", "ok"], "MEMORY_NOT_ALLOWED"),
    (["edit", "{id}"], "MEMORY_INVALID_ARGS"),
    (["edit", "{id}", "--add-tags", " , "], "MEMORY_INVALID_ARGS"),
    (["edit", "no-such-memory", "--add-tags", "x"], "MEMORY_NOT_FOUND"),
    (["edit", "a-turn", "--pin"], "MEMORY_NOT_EDITABLE"),
    (["supersede", "{id}", "ok thanks"], "MEMORY_NOT_ALLOWED"),
    (["supersede", "{id}", "is it Friday?"], "MEMORY_NOT_ALLOWED"),
    (["supersede", "{id}", TEXT + "."], "MEMORY_DUPLICATE"),
    (["supersede", "{id}", " "], "EMPTY_TEXT"),
    (["supersede", "{id}"], "MEMORY_INVALID_ARGS"),
    (["supersede", "{id}", NEWER, "--undo"], "MEMORY_INVALID_ARGS"),
    (["supersede", "no-such-memory", NEWER], "MEMORY_NOT_FOUND"),
])  # fmt: skip
def test_bad_input_changes_nothing(run: Run, memory: str, words: list[str], code: str) -> None:
    turn = {"id": "a-turn", "collection": "episodes", "text": "user: where is the ferry"}
    run("memory", "import", "-", stdin=json.dumps(turn) + "\n" + json.dumps({"id": "forgotten", "text": "it is green"}))
    run("memory", "forget", "forgotten")
    before = run("memory", "export").out
    failed = run("memory", *(word.format(id=memory) for word in words), ok=False)
    assert failed.code in (1, 2)
    assert failed.json["error"]["code"] == code
    assert failed.json["fix"]
    flags = set(re.findall("--[a-z-]+", failed.json["fix"]))
    known = set(re.findall("--[a-z-]+", run("memory", words[0], "--help").out))
    assert failed.code == 1 or flags <= known, "it can be typed"
    assert run("memory", "export").out == before


def test_tags_come_and_go_and_the_memory_grows_no_younger(run: Run, memory: str) -> None:
    before = shown(run, memory)
    result = run(
        "memory", "edit", memory, "--add-tags", "bank, keys", "--remove-tags", "staging,unknown", env=LATER
    ).result
    assert (result["tags"], result["added"], result["removed"]) == (["keys", "bank"], ["bank"], ["staging"])
    after = shown(run, memory)
    assert (after["tags"], after["updated_at"]) == (["keys", "bank"], before["updated_at"])
    assert not run("memory", "edit", memory, "--add-tags", "bank").result["changed"]
    exported = json.loads(run("memory", "export").out)
    assert exported["tags"] == ["keys", "bank"]


@pytest.mark.parametrize("words", ["edit", "edit --add-tags", "edit --pin", "supersede", "supersede --undo"])
def test_killed_during_its_commit_a_change_changes_nothing(run: Run, home: Path, memory: str, words: str) -> None:
    if words == "supersede --undo":
        run("memory", "supersede", memory, NEWER)
    before = run("memory", "export").out
    verb, *flags = words.split()
    command = ("memory", verb, memory, *flags, *([NEWER] if flags in ([], ["--add-tags"]) else []))
    faults.stopped(faults.paused(home, *command, commit=1))
    assert run("memory", "export").out == before
    run(*command)
    assert run("memory", "export").out != before


YEAR = 365 * 86_400_000
GAUGE = "the tide gauge of the north pier reports in centimetres"


@pytest.fixture
def old(run: Run) -> str:
    line = {"id": "old-gauge", "text": GAUGE, "created_at": NOW_MS - YEAR}
    run("memory", "import", "-", stdin=json.dumps(line), env=NOW)
    return "old-gauge"


def hits(run: Run) -> list[Any]:
    return run("recall", "tide gauge north pier", env=NOW).result["hits"]


def test_a_pinned_memory_is_handed_out_after_a_year(run: Run, old: str) -> None:
    assert hits(run) == []
    result = run("memory", "edit", old, "--pin", env=NOW).result
    assert (result["pinned"], result["changed"], result["tags"]) == (True, True, ["pinned"])
    (hit,) = hits(run)
    assert 0 < hit["score"] <= 1
    assert not run("memory", "edit", old, "--pin", env=NOW).result["changed"]
    assert [row["id"] for row in run("memory", "list", "--tag", "pinned", env=NOW).result["memories"]] == [old]
    run("memory", "edit", old, "--unpin", env=NOW)
    assert run("memory", "show", old).result["tags"] == []


TUESDAY = "Deploy day of the harbour service is Tuesday"
FRIDAY = "Deploy day of the harbour service is Friday"


@pytest.fixture
def replaced_memory(run: Run) -> str:
    return run("memory", "write", TUESDAY, "--tags", "deploys,pinned", "-c", "rules").result["id"]


def recalled(run: Run) -> list[str]:
    return [hit["observation"] for hit in run("recall", "deploy day of the harbour service").result["hits"]]


def test_recall_returns_only_the_replacement_and_both_are_linked(run: Run, replaced_memory: str) -> None:
    result = run("memory", "supersede", replaced_memory, FRIDAY).result
    new = result["id"]
    assert new != replaced_memory
    assert (result["supersedes"], result["superseded"]) == (
        replaced_memory,
        {"id": replaced_memory, "observation": TUESDAY},
    )
    assert (result["tags"], result["category"]) == (["deploys", "pinned"], "rules-conventions")
    assert recalled(run) == [FRIDAY]
    (dropped,) = run("recall", "deploy day of the harbour service").result["droppedDiagnostics"]
    assert (dropped["id"], dropped["reasons"]) == (replaced_memory, ["superseded"])
    injected = run("inject", "memory", "--session", "s", "--query", "deploy day of the harbour service").out
    assert FRIDAY in injected and TUESDAY not in injected
    assert [row["observation"] for row in run("memory", "recent").result["observations"]] == [FRIDAY]
    assert [row["id"] for row in run("memory", "list").result["memories"]] == [new]
    assert {row["id"]: row["supersededBy"] for row in run("memory", "list", "--all").result["memories"]} == {
        new: "", replaced_memory: new,
    }  # fmt: skip
    assert (shown(run, replaced_memory)["supersededBy"], shown(run, new)["supersedes"]) == (new, replaced_memory)


def test_a_replacement_can_be_undone(run: Run, replaced_memory: str) -> None:
    new = run("memory", "supersede", replaced_memory, FRIDAY).result["id"]
    back = run("memory", "supersede", replaced_memory, "--undo").result
    assert (back["id"], back["supersededBy"], back["takenOut"]) == (replaced_memory, "", [new])
    assert recalled(run) == [TUESDAY]
    assert shown(run, new)["forgotten"]
    again = run("memory", "supersede", replaced_memory, "--undo", ok=False)
    assert again.json["error"]["code"] == "MEMORY_NOT_SUPERSEDED"


def test_an_existing_memory_with_the_new_text_is_the_replacement(run: Run, replaced_memory: str) -> None:
    known = run("memory", "write", FRIDAY).result["id"]
    result = run("memory", "supersede", replaced_memory, FRIDAY + ".").result
    assert (result["id"], result["merged"]) == (known, True)
    assert run("memory", "supersede", replaced_memory, "--undo").result["takenOut"] == []
    assert sorted(recalled(run)) == sorted([TUESDAY, FRIDAY + "."])
