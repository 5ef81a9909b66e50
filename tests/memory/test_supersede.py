"""`memory supersede`: deploy day is Friday, not Tuesday: the old memory is handed out no more, and is not lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import Run

TUESDAY = "Deploy day of the harbour service is Tuesday"
FRIDAY = "Deploy day of the harbour service is Friday"


@pytest.fixture
def old(run: Run) -> str:
    identifier: str = run("memory", "write", TUESDAY, "--tags", "deploys,pinned", "-c", "rules").result["id"]
    return identifier


def recalled(run: Run) -> list[str]:
    return [hit["observation"] for hit in run("recall", "deploy day of the harbour service").result["hits"]]


def shown(run: Run, identifier: str) -> Any:
    return run("memory", "show", identifier).result


def test_recall_returns_only_the_replacement_and_both_are_linked(run: Run, old: str) -> None:
    result = run("memory", "supersede", old, FRIDAY).result
    new = result["id"]
    assert new != old
    assert (result["supersedes"], result["superseded"]) == (old, {"id": old, "observation": TUESDAY})
    assert (result["tags"], result["category"]) == (["deploys", "pinned"], "rules-conventions")
    assert recalled(run) == [FRIDAY]
    (dropped,) = run("recall", "deploy day of the harbour service").result["droppedDiagnostics"]
    assert (dropped["id"], dropped["reasons"]) == (old, ["superseded"])
    given = run("inject", "memory", "--session", "s", "--query", "deploy day of the harbour service").out
    assert FRIDAY in given and TUESDAY not in given
    assert [row["observation"] for row in run("memory", "recent").result["observations"]] == [FRIDAY]
    assert [row["id"] for row in run("memory", "list").result["memories"]] == [new]
    assert {row["id"]: row["supersededBy"] for row in run("memory", "list", "--all").result["memories"]} == {
        new: "", old: new,
    }  # fmt: skip
    assert (shown(run, old)["supersededBy"], shown(run, new)["supersedes"]) == (new, old)


def test_it_is_taken_back(run: Run, old: str) -> None:
    new = run("memory", "supersede", old, FRIDAY).result["id"]
    back = run("memory", "supersede", old, "--undo").result
    assert (back["id"], back["supersededBy"], back["takenOut"]) == (old, "", [new])
    assert recalled(run) == [TUESDAY]
    assert shown(run, new)["forgotten"]
    again = run("memory", "supersede", old, "--undo", ok=False)
    assert again.json["error"]["code"] == "MEMORY_NOT_SUPERSEDED"


def test_an_existing_memory_with_the_new_text_is_the_replacement(run: Run, old: str) -> None:
    known = run("memory", "write", FRIDAY).result["id"]
    result = run("memory", "supersede", old, FRIDAY + ".").result
    assert (result["id"], result["merged"]) == (known, True)
    assert run("memory", "supersede", old, "--undo").result["takenOut"] == []
    assert sorted(recalled(run)) == sorted([TUESDAY, FRIDAY + "."])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["{id}", "ok thanks"], "MEMORY_NOT_ALLOWED"), (["{id}", "is it Friday?"], "MEMORY_NOT_ALLOWED"),
        (["{id}", TUESDAY + "."], "MEMORY_DUPLICATE"), (["{id}", " "], "EMPTY_TEXT"),
        (["{id}"], "MEMORY_INVALID_ARGS"), (["{id}", FRIDAY, "--undo"], "MEMORY_INVALID_ARGS"),
        (["no-such-memory", FRIDAY], "MEMORY_NOT_FOUND"),
    ],
)  # fmt: skip
def test_bad_input_changes_nothing(run: Run, old: str, words: list[str], code: str) -> None:
    before = run("memory", "export").out
    failed = run("memory", "supersede", *(word.format(id=old) for word in words), ok=False)
    assert (failed.json["error"]["code"], bool(failed.json["fix"])) == (code, True)
    assert run("memory", "export").out == before
    assert recalled(run) == [TUESDAY]


@pytest.mark.parametrize("undo", [False, True])
def test_killed_within_its_commit_the_old_state_holds(run: Run, home: Path, old: str, undo: bool) -> None:
    words = ["memory", "supersede", old, "--undo" if undo else FRIDAY]
    if undo:
        run("memory", "supersede", old, FRIDAY)
    texts = [json.loads(line)["text"] for line in run("memory", "export").out.splitlines()]
    held = recalled(run)
    faults.stopped(faults.paused(home, *words, commit=1))
    after = run("memory", "export").out
    assert [json.loads(line)["text"] for line in after.splitlines()] == texts
    assert recalled(run) == held
    run(*words)
    assert recalled(run) == ([TUESDAY] if undo else [FRIDAY])
