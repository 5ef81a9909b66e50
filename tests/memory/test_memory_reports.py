"""`memory recent`, `scorecard`, `stats` and `list`: shapes, bounds, filters and pages."""

import json
from typing import Any

import pytest
from conftest import NOW, NOW_MS, Run

HOUR = 3_600_000


def _at(hours: float) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(int(NOW_MS + hours * HOUR))}


def test_recent_has_the_contracts_shape(run: Run) -> None:
    assert run("memory", "recent").result == {"count": 0, "hours": 24, "observations": []}
    run("memory", "write", "The oldest fact of the three", env=_at(-30))
    run("memory", "write", "word " * 60 + "end", env=_at(-2))
    last = run("memory", "write", "The newest fact of the three", "-s", "pi", env=_at(-1)).result
    run("memory", "import", "-", stdin='{"text": "an episode", "collection": "episodes"}', env=_at(-1))
    result = run("memory", "recent", env=_at(0)).result
    assert (result["count"], len(result["observations"])) == (2, 2)
    first = result["observations"][0]
    assert (first["id"], first["category"], first["source"]) == (last["id"], "operations", "pi")
    assert first["at"] == "2026-09-21T13:13:20.000Z"
    assert len(result["observations"][1]["observation"]) == 120
    assert run("memory", "recent", "-n", "1", env=_at(0)).result["count"] == 1
    assert run("memory", "recent", "--hours", "48", env=_at(0)).result["count"] == 3


def _metrics(run: Run) -> dict[str, Any]:
    return {metric["name"]: metric for metric in run("memory", "scorecard", env=_at(0)).result["metrics"]}


def _recalled(run: Run, hours: float, returned: int, rewrite: str = "disabled") -> None:
    run(
        "otel", "emit", "memory.recall.completed", "--component", "recall-cli", "--metadata",
        json.dumps({"rewrite": rewrite, "returned": returned}), env=_at(hours),
    )  # fmt: skip


def test_figures_need_five_recalls(run: Run) -> None:
    for _ in range(4):
        _recalled(run, -1, 0)
    metric = _metrics(run)["memory_yield_rate"]
    assert (metric["value"], metric["status"]) == (None, "not enough yet")
    assert metric["detail"] == "4 in this time, 5 are needed"
    assert run("memory", "scorecard", env=_at(0)).result["gatesBreached"] == []
    _recalled(run, -1, 0)
    metric = _metrics(run)["memory_yield_rate"]
    assert (metric["value"], metric["status"], metric["detail"]) == (0.0, "red", "0 of 5")


def test_recalls_count_towards_yield_and_coverage(run: Run) -> None:
    run("memory", "write", "The zebra cache is cleared every night", env=_at(-3))
    for _ in range(5):
        assert run("recall", "zebra cache", env=_at(-2)).result["count"] == 1
    for _ in range(3):
        assert run("recall", "zebra cache", "--collection", "knowledge", env=_at(-2)).result["count"] == 0
    metrics = _metrics(run)
    assert metrics["memory_yield_rate"]["detail"] == "5 of 8"
    assert metrics["memory_yield_rate"]["status"] == "yellow"
    assert (metrics["usage_coverage_rate"]["value"], metrics["usage_coverage_rate"]["status"]) == (1.0, "green")
    later = {metric["name"]: metric for metric in run("memory", "scorecard", env=_at(30)).result["metrics"]}
    assert later["memory_yield_rate"]["status"] == "not enough yet"


def test_stats_count_the_memories(run: Run) -> None:
    empty = run("memory", "stats").result
    assert (empty["total"], empty["oldest"], empty["collections"]["observations"]) == (0, None, 0)
    run("memory", "write", "The first fact of them all", "-s", "pi", "--project", "p", env=_at(-2))
    run("memory", "write", "the first fact of them all.", "-s", "pi", "--project", "p", env=_at(-1))
    run("memory", "write", "[gate=hold] The second fact is vague", "-c", "prefs", env=_at(-1))
    run("memory", "import", "-", stdin='{"text": "an episode", "collection": "episodes"}', env=_at(0))
    result = run("memory", "stats").result
    assert (result["total"], result["merged"]) == (3, 1)
    assert result["collections"] == {"observations": 2, "episodes": 1, "knowledge": 0}
    assert result["verdicts"] == {"allow": 2, "hold": 1, "discard": 0}
    assert result["categories"]["jc:preferences"] == 1
    assert result["sources"] == {"cli": 1, "pi": 1}
    assert result["projects"] == {"p": 1}
    assert (result["oldest"], result["newest"]) == ("2026-09-21T12:13:20.000Z", "2026-09-21T14:13:20.000Z")


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
        result = run("memory", "list", *words, env=NOW).result
        assert result["found"] >= result["count"] == len(result["memories"])
        return [row["id"] for row in result["memories"]]

    return ids


@pytest.mark.parametrize(("words", "expected"), [
    ([], ["new-pnpm", "one-comma", "old-tuesday"]), (["--tag", "ferry"], ["one-comma", "old-tuesday"]),
    (["--tag", "ferry", "--tag", "plan"], ["old-tuesday"]), (["--tag", "ferr"], []), (["--tag", ","], ["one-comma"]),
    (["--tag", 'a"b'], ["one-comma"]), (["--category", "prefs"], ["new-pnpm"]),
    (["--project", "harbour"], ["old-tuesday"]),
])  # fmt: skip
def test_list_is_newest_first_and_filtered(listed: Any, words: list[str], expected: list[str]) -> None:
    assert listed(*words) == expected


def test_list_shows_each_memory(run: Run, listed: Any) -> None:
    done = run("memory", "list", "--tag", "ferry", "--limit", "1", "--all")
    (row,) = done.result["memories"]
    assert (row["observation"], row["tags"]) == (LINES[2]["text"], LINES[2]["tags"])
    assert (row["verdict"], row["pinned"], row["forgotten"], row["supersededBy"]) == ("allow", False, False, "")


def test_task_memories_are_listed_on_request(run: Run, listed: Any) -> None:
    task = {"id": "a-task", "text": "mend the ferry's gauge", "tags": ["compaction-extract", "session-task"]}
    run("memory", "import", "-", stdin=json.dumps({**task, "created_at": NOW_MS}))
    assert "a-task" not in listed()
    assert listed("--tag", "session-task") == ["a-task"]
    assert "a-task" in listed("--all")
