"""A session has one memory of its task, however long it lasts: rewritten with each task, the newest first, bounded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import faults
import pytest
from conftest import NOW_MS, Run

from core.store import documents, migrate
from memory import session_task
from memory.forget import forget
from memory.session_task import CHARS, grown
from memory.write import write

STEPS = [
    "Fix the memory use of the buoyline importer", "Also look at the readings parser", "Write the tests first",
    "The parser drops the last row of each file", "Now the schema of the gauges", "Add the index on station and time",
    "Why is the import of March twice as large", "Remove the rows that came twice", "Write the runbook for it",
    "Put the importer behind a lock", "The lock is never released on failure", "Release it in the keeper",
    "Document the lock in the runbook", "Rename the importer to buoyline-sync", "Update the unit of the timer",
    "Deploy it to staging", "Compare the totals of March again", "Deploy it to production",
]  # fmt: skip


def at(minute: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + 60_000 * minute)}


def tasks(run: Run) -> list[Any]:
    found: list[Any] = run("memory", "list", "--tag", "session-task", "--all", env=at(60)).result["memories"]
    return found


def save(run: Run, step: int, session: str = "long", message: str = "") -> Any:
    words = ["--percent", "65", "--message", message or STEPS[step], "--file", f"src/part{step}.py"]
    return run("checkpoint", "save", "--session", session, *words, env=at(step)).result


def test_a_long_session_leaves_one_memory_with_its_newest_task_first(run: Run, home: Path) -> None:
    written = {save(run, step)["memoryId"] for step in range(len(STEPS))}
    assert len(written) == 1
    (memory,) = tasks(run)
    assert memory["tags"] == ["compaction-extract", "session-task"]
    shown = run("memory", "show", memory["id"]).result
    text = shown["observation"]
    first, _, rest = text.partition("\n")
    assert first.startswith(f"Task: {' | '.join(STEPS[-3:])} | Files: src/part17.py, ")
    assert rest == "Earlier: " + " | ".join(STEPS[-4::-1])
    assert len(text) <= CHARS
    assert (shown["created_at"], shown["updated_at"]) == ("2026-09-21T14:13:20.000Z", "2026-09-21T14:30:20.000Z")
    assert shown["history"] == []
    state = json.loads((home / "sessions" / "long.json").read_text())
    assert (state["taskMemoryIds"], state["counts"]["writes"]) == ([memory["id"]], len(STEPS))
    (hit,) = run("recall", "readings parser buoyline", "--collection", "observations", env=at(60)).result["hits"]
    assert hit["id"] == memory["id"]


def test_what_is_oldest_goes_where_there_is_no_room() -> None:
    text = "Task: start"
    for number in range(60):
        text = grown(text, f"Task: message {number} {'x' * 80} | message {number + 1} {'x' * 80} | Files: a.py")
    assert CHARS - 200 < len(text) <= CHARS
    assert "message 60 " in text.splitlines()[0]
    assert "message 58 " in text.splitlines()[1]
    assert "start" not in text


def test_it_grows_no_longer_than_any_memory_may(run: Run) -> None:
    for step in range(len(STEPS)):
        words = ["--percent", "65", "--message", STEPS[step]]
        env = {**at(step), "JOELCLAW_MEMORY_MAX_CHARS": "300"}
        assert run("checkpoint", "save", "--session", "long", *words, env=env).result["written"], step
    (memory,) = tasks(run)
    assert len(run("memory", "show", memory["id"]).result["observation"]) <= 300


def test_a_message_that_was_cut_is_told_once() -> None:
    assert grown("Task: a long mess…", "Task: a long message | next") == "Task: a long message | next"
    assert grown("Task: one | two | Files: a", "Task: two | three") == "Task: two | three\nEarlier: one"
    assert grown("Task: x | Files: a | Files: b", "Task: y") == "Task: y\nEarlier: Files: a | x"


@pytest.mark.parametrize(
    ("before", "text", "most", "after"),
    [
        ("Task: a", "Task: b", 18, "Task: b\nEarlier: a"), ("Task: a", "Task: b", 17, "Task: b"),
        ("Task: a | b | c", "Task: d", 22, "Task: d\nEarlier: c | b"), ("", "Task: x", 99, "Task: x"),
        ("Task: one | two\nEarlier: zero | minus", "Task: three | Files: x", 99,
         "Task: three | Files: x\nEarlier: two | one | zero | minus"),
        ("Task: a | a | b", "Task: b", 99, "Task: b\nEarlier: a"),
        # what was cut is the same as what it was cut from, and only that
        ("Task: ab…", "Task: abc", 99, "Task: abc"), ("Task: abc", "Task: ab…", 99, "Task: ab…"),
        ("Task: abc…", "Task: ab…", 99, "Task: ab…"), ("Task: ab…", "Task: ab", 99, "Task: ab"),
        ("Task: abc", "Task: ab", 99, "Task: ab\nEarlier: abc"),
        ("Task: ab", "Task: abc", 99, "Task: abc\nEarlier: ab"),
    ],
)  # fmt: skip
def test_what_is_told_behind_the_new_task(before: str, text: str, most: int, after: str) -> None:
    assert grown(before, text, most) == after


def _write(db: apsw.Connection, text: str, *, known: tuple[str, ...] = (), **more: Any) -> str:
    given: dict[str, Any] = {"tags": ("extract", "task"), "project": "p1", "now": NOW_MS, **more}
    config: Any = SimpleNamespace(whole=lambda _: 400)
    return session_task.write(
        db, text, category="ops", source="hook", session="s1", known=known, vectors=False, config=config, **given
    )


def test_the_memory_of_a_task_keeps_its_age_and_counts_and_gets_the_new_words() -> None:
    db = migrate.in_memory()
    one = _write(db, "Task: mend the tide gauge of the pier")
    before = documents.by_id(db, one)
    assert before is not None
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}", one)
    again = _write(db, "Task: paint the lighthouse", tags=("more", "task"), project="", now=NOW_MS + 7)
    after = documents.by_id(db, one)
    assert again == one and after == {
        **before, "text": "Task: paint the lighthouse\nEarlier: mend the tide gauge of the pier",
        "tags": ["extract", "task", "more"], "updated_at": NOW_MS + 7, "merged_count": 1,
        "fingerprint": after["fingerprint"], "category_id": after["category_id"],
        "category_source": after["category_source"], "category_confidence": after["category_confidence"],
    }  # fmt: skip
    _write(db, "Task: paint the lighthouse", now=NOW_MS + 9)
    assert documents.by_id(db, one) == after
    _write(db, "Task: " + "x" * 380, now=NOW_MS + 9)
    grown_again = documents.by_id(db, one)
    assert grown_again is not None and grown_again["text"] == "Task: " + "x" * 380
    db.close()


def test_a_task_goes_on_in_the_last_memory_that_is_the_sessions_own() -> None:
    db = migrate.in_memory()
    first = _write(db, "Task: mend the tide gauge of the pier")
    forget(db, [first], now=NOW_MS, vectors=False)
    second = _write(db, "Task: mend the tide gauge of the pier")
    assert second != first and _write(db, "Task: and the lamp of it") == second
    other = write(db, "Task: count the gulls", tags=["task"], session="s2", now=NOW_MS, vectors=False,
                  config=SimpleNamespace(whole=lambda _: 400))["id"]  # type: ignore[arg-type]  # fmt: skip
    own = write(db, "Task: sweep the quay", tags=["x", "task"], session="s1", now=NOW_MS, vectors=False,
                config=SimpleNamespace(whole=lambda _: 400))["id"]  # type: ignore[arg-type]  # fmt: skip
    assert _write(db, "Task: oil the crane", known=(own, other, "unknown")) == own
    assert _write(db, "Task: oil the winch", known=(own, second)) == second
    third = _write(db, "Task: hoist the flag", tags=("task", "other"))
    assert third not in (first, second, own)
    db.close()


def test_sessions_keep_apart_and_one_that_was_forgotten_stays_so(run: Run) -> None:
    one = save(run, 0)["memoryId"]
    other = save(run, 4, session="other")["memoryId"]
    assert one != other
    run("memory", "forget", one)
    again = save(run, 1)["memoryId"]
    assert again not in (one, other)
    assert save(run, 2)["memoryId"] == again
    forgotten = {memory["id"]: memory["forgotten"] for memory in tasks(run)}
    assert forgotten == {one: True, other: False, again: False}


def test_it_is_found_again_where_the_state_was_lost(run: Run, home: Path) -> None:
    first = save(run, 0)["memoryId"]
    (home / "sessions" / "long.json").unlink()
    assert save(run, 5)["memoryId"] == first
    (memory,) = tasks(run)
    assert STEPS[0] in memory["observation"]


def test_what_a_hook_script_writes_is_a_memory_of_its_own(run: Run) -> None:
    words = ["--category", "ops", "--tags", "compaction-extract,session-task"]
    run("memory", "write", "Task: mend the tide gauge of the pier", *words, "--session", "long", env=at(0))
    run("memory", "write", "Task: paint the lighthouse of the island", *words, "--session", "long", env=at(1))
    save(run, 2)
    assert len(tasks(run)) == 3


@pytest.mark.spawned
@pytest.mark.parametrize("commit", [1, 2])
def test_killed_while_it_grows_it_is_the_old_one_or_the_new(run: Run, home: Path, commit: int) -> None:
    save(run, 0)
    before = tasks(run)[0]["observation"]
    words = ["checkpoint", "save", "--session", "long", "--percent", "65", "--message", STEPS[1]]
    faults.stopped(faults.paused(home, *words, commit=commit, env=at(1)))
    (memory,) = tasks(run)
    assert memory["observation"] == before or STEPS[1] in memory["observation"]
    save(run, 2)
    (memory,) = tasks(run)
    assert STEPS[2] in memory["observation"] and STEPS[0] in memory["observation"]
