"""`memory edit` and `tag`: a memory gets another text, or other tags, and keeps its id and what it said before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import NOW_MS, Run

TEXT = "The deploy key of staging lies in the drawer of the harbour office"
NEWER = "The deploy key of staging lies in the vault of the bank"
LATER = {"JOELCLAW_NOW_MS": str(NOW_MS + 3_600_000)}


@pytest.fixture
def kept(run: Run) -> str:
    written = run("memory", "write", TEXT, "--tags", "keys,staging", env={"JOELCLAW_NOW_MS": str(NOW_MS)})
    identifier: str = written.result["id"]
    return identifier


def shown(run: Run, identifier: str) -> Any:
    return run("memory", "show", identifier).result


def test_an_edited_memory_is_found_by_its_new_text(run: Run, kept: str) -> None:
    before = shown(run, kept)
    edited = run("memory", "edit", kept, NEWER, env=LATER)
    assert edited.json["next_actions"][1]["params"]["text"]["required"] is True
    result = edited.result
    assert (result["id"], result["changed"], result["before"]) == (kept, True, TEXT)
    after = shown(run, kept)
    assert (after["observation"], after["created_at"]) == (NEWER, before["created_at"])
    assert after["updated_at"] > before["updated_at"]
    assert [entry["text"] for entry in after["history"]] == [TEXT]
    assert after["tags"] == ["keys", "staging"]
    assert [hit["observation"] for hit in run("recall", "vault of the bank").result["hits"]] == [NEWER]
    assert run("recall", "drawer harbour office", "--min-score", "0.3").result["hits"] == []
    again = run("memory", "edit", kept, NEWER, env=LATER).result
    assert not again["changed"]
    assert len(shown(run, kept)["history"]) == 1


def test_it_is_judged_redacted_and_categorised_anew(run: Run) -> None:
    run("memory", "import", "-", stdin=json.dumps({"id": "by-words", "text": "the pipeline deploys to the server"}))
    secret = "prefer tabs; ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    result = run("memory", "edit", "by-words", secret).result
    assert result["redacted"]
    assert "ghp_" not in json.dumps(shown(run, "by-words")["observation"])
    assert result["category"] == "preferences"
    chosen = run("memory", "write", "the gauge is read at noon each day", "--category", "people").result["id"]
    assert run("memory", "edit", chosen, "prefer tabs over spaces always").result["category"] == "people-relationships"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["edit", "{id}", "  "], "EMPTY_TEXT"),
        (["edit", "no-such-memory", "a new text of a memory"], "MEMORY_NOT_FOUND"),
        (["edit", "{id}", "the ferry leaves at noon on Sundays"], "MEMORY_DUPLICATE"),
        (["edit", "a-turn", "user: I never said that"], "MEMORY_NOT_EDITABLE"),
        (["edit", "forgotten", "the ferry does not leave at all"], "MEMORY_FORGOTTEN"),
        (["edit", "{id}", "ok"], "MEMORY_NOT_ALLOWED"),
        (["edit", "{id}"], "MEMORY_INVALID_ARGS"),
        (["edit", "{id}", "--add-tags", ",".join(map(str, range(70)))], "MEMORY_INVALID_ARGS"),
        (["edit", "no-such-memory", "--add-tags", "x"], "MEMORY_NOT_FOUND"),
        (["edit", "a-turn", "--pin"], "MEMORY_NOT_EDITABLE"),
    ],
)
def test_bad_input_changes_nothing(run: Run, kept: str, words: list[str], code: str) -> None:
    run("memory", "write", "the ferry leaves at noon on Sundays")
    turn = {"id": "a-turn", "collection": "episodes", "text": "user: where is the ferry"}
    run("memory", "import", "-", stdin=json.dumps(turn) + "\n" + json.dumps({"id": "forgotten", "text": "it is green"}))
    run("memory", "forget", "forgotten")
    before = run("memory", "export").out
    failed = run("memory", *(word.format(id=kept) for word in words), ok=False)
    assert failed.code in (1, 2)
    assert failed.json["error"]["code"] == code
    assert failed.json["fix"]
    assert run("memory", "export").out == before


def test_tags_come_and_go_and_the_memory_grows_no_younger(run: Run, kept: str) -> None:
    before = shown(run, kept)
    result = run(
        "memory", "edit", kept, "--add-tags", "bank, keys", "--remove-tags", "staging,unknown", env=LATER
    ).result
    assert (result["tags"], result["added"], result["removed"]) == (["keys", "bank"], ["bank"], ["staging"])
    after = shown(run, kept)
    assert (after["tags"], after["updated_at"]) == (["keys", "bank"], before["updated_at"])
    assert not run("memory", "edit", kept, "--add-tags", "bank").result["changed"]
    exported = json.loads(run("memory", "export").out)
    assert exported["tags"] == ["keys", "bank"]


@pytest.mark.parametrize(
    "words", [("edit", "{id}", NEWER), ("edit", "{id}", "--add-tags", "more"), ("edit", "{id}", "--pin")]
)
def test_killed_within_its_commit_it_has_changed_nothing(
    run: Run, home: Path, kept: str, words: tuple[str, ...]
) -> None:
    before = run("memory", "export").out
    given = [word.format(id=kept) for word in words]
    faults.stopped(faults.paused(home, "memory", *given, commit=1))
    assert run("memory", "export").out == before
    assert run("memory", *given).result["changed"]
    assert run("memory", "export").out != before


YEAR = 365 * 86_400_000
NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
TEXT = "the tide gauge of the north pier reports in centimetres"


@pytest.fixture
def old(run: Run) -> str:
    line = {"id": "old-gauge", "text": TEXT, "created_at": NOW_MS - YEAR}
    run("memory", "import", "-", stdin=json.dumps(line), env=NOW)
    return "old-gauge"


def hits(run: Run) -> list[Any]:
    found: list[Any] = run("recall", "tide gauge north pier", env=NOW).result["hits"]
    return found


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
