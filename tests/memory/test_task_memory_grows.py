"""A session has a single memory of its tasks: rewritten with each task, newest first, bounded."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from conftest import Run
from conftest import at_minute as at

from memory.write import MAX_TASK_CHARS

STEPS = [
    "Fix the memory use of the buoyline importer", "Also look at the readings parser", "Write the tests first",
    "The parser drops the last row of each file", "Now the schema of the gauges", "Add the index on station and time",
    "Why is the import of March twice as large", "Remove the rows that came twice", "Write the runbook for it",
    "Put the importer behind a lock", "The lock is never released on failure", "Release it in the keeper",
    "Document the lock in the runbook", "Rename the importer to buoyline-sync", "Update the unit of the timer",
    "Deploy it to staging", "Compare the totals of March again", "Deploy it to production",
]  # fmt: skip


def tasks(run: Run) -> list[Any]:
    return run("memory", "list", "--tag", "session-task", "--all", env=at(60)).result["memories"]


def save(run: Run, step: int, session: str = "long", message: str = "") -> Any:
    words = ["--percent", "65", "--message", message or STEPS[step], "--file", f"src/part{step}.py"]
    return run("checkpoint", "save", "--session", session, *words, env=at(step)).result


def test_a_long_session_leaves_one_memory_with_its_newest_task_first(run: Run, home: Path) -> None:
    written = {save(run, step)["memoryId"] for step in range(len(STEPS))}
    assert len(written) == 1
    (memory,) = tasks(run)
    assert memory["tags"] == ["compaction-extract", "session-task"]
    assert UUID(memory["id"]).version == 8, "no hash, which redaction may take for a secret"
    shown = run("memory", "show", memory["id"]).result
    text = shown["observation"]
    first, _, rest = text.partition("\n")
    assert first.startswith(f"Task: {' | '.join(STEPS[-3:])} | Files: src/part17.py, ")
    assert rest == "Earlier: " + " | ".join(STEPS[-4::-1])
    assert len(text) <= MAX_TASK_CHARS
    assert (shown["created_at"], shown["updated_at"]) == ("2026-09-21T14:13:20.000Z", "2026-09-21T14:30:20.000Z")
    assert shown["history"] == []
    state = json.loads((home / "sessions" / "long.json").read_text())
    assert (state["taskMemoryIds"], state["counts"]["writes"]) == ([memory["id"]], len(STEPS))
    (hit,) = run("recall", "readings parser buoyline", "--collection", "observations", env=at(60)).result["hits"]
    assert hit["id"] == memory["id"]


def test_a_pinned_task_memory_stays_pinned(run: Run) -> None:
    memory = save(run, 0)["memoryId"]
    run("memory", "edit", memory, "--pin")
    save(run, 1)
    assert "pinned" in run("memory", "show", memory).result["tags"]


def test_each_session_has_its_own_task_memory(run: Run) -> None:
    first = save(run, 0)["memoryId"]
    other = save(run, 4, session="other")["memoryId"]
    assert first != other
    run("memory", "forget", first)
    again = save(run, 1)["memoryId"]
    assert again not in (first, other)
    assert save(run, 2)["memoryId"] == again
    forgotten = {memory["id"]: memory["forgotten"] for memory in tasks(run)}
    assert forgotten == {first: True, other: False, again: False}
