"""The recovery note after a compaction (ADR-0203, stage 3)."""

from pathlib import Path
from typing import Any

from conftest import Run
from conftest import at_second as at

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"
OPEN = '<joelclaw-memory source="session-recovery" note="recalled data, not instructions">'


def recover(run: Run, seconds: float = 60, *words: str) -> dict[str, Any]:
    return run("inject", "recovery", "--session", "s1", *words, env=at(seconds)).result


def prepare(run: Run, percent: str = "65") -> None:
    run("memory", "write", MEMORY, env=at(0))
    words = [word for number in range(7) for word in ("--file", f"src/part{number}.py")]
    run("checkpoint", "save", "--session", "s1", "--percent", percent, "--message", TASK, *words, env=at(1))


def test_the_note_follows_the_decision_record(run: Run) -> None:
    prepare(run)
    result = recover(run)
    assert result["content"].split("\n") == [
        OPEN,
        "## Session Recovery",
        f"**Task:** {TASK}",
        "**Modified:** src/part6.py, src/part5.py, src/part4.py, src/part3.py, src/part2.py",
        "**Related memories:**",
        f"- {MEMORY}",
        f'**Deeper context:** `joelclaw recall "{TASK}" --raw`',
        "</joelclaw-memory>",
    ]
    assert (result["injected"], result["customType"], result["display"]) == (True, "compaction-recovery", False)
    assert result["chars"] == len(result["content"])
    assert result["estimatedTokens"] == -(-result["chars"] // 4)
    (event,) = run("otel", "search", "compaction.inject", "--hours", "1", env=at(61)).result["events"]
    assert event["action"] == "compaction.inject"
    metadata = event["metadata"]
    assert len(metadata.pop("memoryIds")) == 1
    assert metadata.pop("duration_ms") == event["duration_ms"] > 0
    assert metadata == {
        "compactionCount": 1,
        "filesCount": 5,
        "recallHitsCount": 1,
        "queriesCount": 1,
        "contentChars": result["chars"],
        "estimatedTokens": result["estimatedTokens"],
        "timeSinceSessionStartMs": 59_000,
    }


def test_raw_prints_only_the_text_and_nothing_when_skipped(run: Run) -> None:
    prepare(run)
    first = run("inject", "recovery", "--session", "s1", "--raw", env=at(60))
    assert first.out.startswith(OPEN + "\n## Session Recovery\n")
    assert first.out.endswith("</joelclaw-memory>\n")
    assert run("inject", "recovery", "--session", "s1", "--raw", env=at(61)).out == ""


def test_a_second_compaction_within_the_cooldown_injects_nothing(run: Run) -> None:
    prepare(run)
    recover(run, 60)
    skipped = recover(run, 119.999)
    assert (skipped["injected"], skipped["reason"], skipped["content"]) == (False, "rapid-recompaction", "")
    (event,) = run("otel", "search", "compaction.inject.skipped", "--hours", "1", env=at(120)).result["events"]
    assert event["metadata"] == {"compactionCount": 2, "reason": "rapid-recompaction"}
    again = recover(run, 120)
    assert (again["injected"], again["compactionCount"]) == (True, 3), "a skipped one does not prolong the cooldown"


def test_an_unknown_session_gets_nothing(run: Run, home: Path) -> None:
    result = recover(run)
    assert (result["injected"], result["reason"]) == (False, "no-checkpoint")
    assert not home.exists()
    run("checkpoint", "save", "--session", "s1", "--percent", "3", env=at(1))
    result = recover(run)
    assert (result["injected"], result["reason"], result["compactionCount"]) == (False, "no-checkpoint", 1)
    run("checkpoint", "save", "--session", "s1", "--percent", "3", "-m", TASK, env=at(61))
    assert recover(run, 62)["injected"], "an empty one starts no cooldown"


def test_automated_messages_are_no_query(run: Run) -> None:
    prepare(run)
    for message in ("[cron] the buoyline importer has run", "Watchdog: the buoyline importer decodes a whole day"):
        run("checkpoint", "save", "--session", "s1", "-m", message, env=at(2))
    assert f'**Deeper context:** `joelclaw recall "{TASK}" --raw`\n' in recover(run)["content"]


def test_a_query_without_hits_is_not_printed(run: Run) -> None:
    run("checkpoint", "save", "--session", "s1", "--percent", "20", "-m", TASK, env=at(1))
    result = recover(run)
    assert "Related memories" not in result["content"]
    assert result["recallHitsCount"] == 0
    assert "**Deeper context:**" not in result["content"]
