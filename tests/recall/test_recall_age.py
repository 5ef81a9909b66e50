"""What counts as old and as short: a memory written again is young, and few Chinese characters say much."""

from __future__ import annotations

from conftest import NOW_MS, Run

DAY_MS = 86_400_000


def at(days: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + days * DAY_MS)}


def test_a_memory_that_was_written_again_does_not_go_stale(run: Run) -> None:
    text = "The staging database is restored every Monday from the last full backup of production"
    run("memory", "write", text, env=at(0))
    merged = run("memory", "write", text, env=at(80)).result
    assert merged["merged"]
    found = run("recall", "staging database backup", env=at(100)).result
    assert [hit["id"] for hit in found["hits"]] == [merged["id"]]


def test_a_memory_that_was_not_goes_stale_after_ninety_days(run: Run) -> None:
    run("memory", "write", "The staging database is restored every Monday from the last full backup", env=at(0))
    found = run("recall", "staging database backup", env=at(100)).result
    assert found["hits"] == []
    assert found["droppedDiagnostics"][0]["reasons"] == ["stale_age"]


def test_eight_chinese_characters_are_not_too_short(run: Run) -> None:
    run("memory", "write", "用户喜欢深色模式", env=at(0))
    assert run("recall", "深色模式", env=at(1)).result["count"] == 1
