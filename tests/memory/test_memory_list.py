"""`memory list`: the observations with their ids, by tag, category, project, age, verdict and source, page by page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import NOW_MS, Run

DAY = 86_400_000
LINES: list[dict[str, Any]] = [
    {"id": "old-tuesday", "text": "the ferry leaves on Tuesday at noon", "tags": ["ferry", "plan"],
     "project": "harbour", "created_at": NOW_MS - 100 * DAY, "category": "ops"},
    {"id": "new-pnpm", "text": "prefer pnpm over npm in this repository", "tags": ["tools"], "category": "preferences",
     "created_at": NOW_MS - 2 * DAY, "source": "pi"},
    {"id": "one-comma", "text": "tags may hold a comma, or a quote", "tags": [",", 'a"b', "ferry"],
     "created_at": NOW_MS - 3 * DAY},
    {"id": "held-one", "text": "perhaps the ferry is green", "verdict": "hold", "created_at": NOW_MS - 4 * DAY},
    {"id": "gone-one", "text": "the ferry was sold to the island", "created_at": NOW_MS - 5 * DAY},
    {"id": "a-turn", "collection": "episodes", "text": "user: where is the ferry", "created_at": NOW_MS - DAY},
]  # fmt: skip


@pytest.fixture
def listed(run: Run) -> Any:
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in LINES))
    run("memory", "forget", "gone-one")

    def ids(*words: str) -> list[str]:
        result = run("memory", "list", *words, env={"JOELCLAW_NOW_MS": str(NOW_MS)}).result
        assert result["found"] >= result["count"] == len(result["memories"])
        return [row["id"] for row in result["memories"]]

    return ids


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], ["new-pnpm", "one-comma", "old-tuesday"]), (["--tag", "ferry"], ["one-comma", "old-tuesday"]),
        (["--tag", "ferry", "--tag", "plan"], ["old-tuesday"]), (["--tag", "ferr"], []),
        (["--tag", ","], ["one-comma"]), (["--tag", 'a"b'], ["one-comma"]), (["--category", "prefs"], ["new-pnpm"]),
        (["--project", "harbour"], ["old-tuesday"]),
    ],
)  # fmt: skip
def test_the_newest_first_and_only_those_that_are_asked_for(listed: Any, words: list[str], wanted: list[str]) -> None:
    assert listed(*words) == wanted


def test_the_list_shows_each_memory_and_a_runnable_next_page(run: Run, listed: Any) -> None:
    done = run("memory", "list", "--tag", "ferry", "--limit", "1", "--all")
    (row,) = done.result["memories"]
    assert (row["observation"], row["tags"]) == (LINES[2]["text"], LINES[2]["tags"])
    assert (row["verdict"], row["pinned"], row["forgotten"], row["supersededBy"]) == ("allow", False, False, "")
    (more,) = [step["command"] for step in done.json["next_actions"] if "--page" in step["command"]]
    assert "--all" in more
    words = more.partition(" memory ")[2].split()
    assert [entry["id"] for entry in run("memory", *words).result["memories"]] == ["old-tuesday"]


def test_the_tasks_of_sessions_are_listed_where_they_are_asked_for(run: Run, listed: Any) -> None:
    task = {"id": "a-task", "text": "mend the ferry's gauge", "tags": ["compaction-extract", "session-task"]}
    run("memory", "import", "-", stdin=json.dumps({**task, "created_at": NOW_MS}))
    assert "a-task" not in listed()
    assert listed("--tag", "session-task") == ["a-task"]
    assert "a-task" in listed("--all")
