"""The signpost holds what was found out, not what was asked, and its queries reach back over the session."""

from __future__ import annotations

import json
import re
from typing import Any

from conftest import NOW_MS, Run

SESSION = "s1"
TURNS = (
    (
        "Why does the nightly import of the tide tables run out of memory?",
        "Insight: 78 % of the peak is the list of decoded rows, so the import must read the tide tables in batches.",
    ),
    (
        "Could a pool of workers decode the harbour files faster?",
        "Failed approach, do not retry: a pool of 4 takes 139 s for the harbour files against 96 s in one process.",
    ),
    (
        "The alert mails go out three times an hour, please stop that",
        "Decision: one alert mail per outage, since the sweep runs every 20 minutes and forgets what it sent.",
    ),
    (
        "Rename the lighthouse column in the buoy report",
        "The lighthouse column of the buoy report is named beacon_id from now on, because two parsers rely on it.",
    ),
)


def at(minute: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + minute * 60_000)}


def archive(run: Run, number: int, prompt: str, answer: str) -> None:
    lines = [
        {"id": f"{number}u", "text": f"user: {prompt}", "context": answer},
        {"id": f"{number}n", "text": f"assistant: Looking at it now. {prompt[:30]}", "context": prompt},
        {"id": f"{number}a", "text": f"assistant: {answer}", "context": prompt},
    ]
    given = [{**line, "collection": "episodes", "session": SESSION, "created_at": NOW_MS} for line in lines]
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, given)), env=at(number))


def session(run: Run, turns: tuple[tuple[str, str], ...] = TURNS) -> str:
    """Play the turns at 50 % of the window, compact, and return the signpost."""
    for number, (prompt, answer) in enumerate(turns):
        archive(run, number, prompt, answer)
        run("checkpoint", "save", "--session", SESSION, "--percent", "50", "-m", prompt, env=at(number))
    run("checkpoint", "flush", "--session", SESSION, env=at(10))
    content: str = run("inject", "recovery", "--session", SESSION, env=at(11)).result["content"]
    return content


def lines_of(content: str, start: str) -> list[str]:
    return [line for line in content.splitlines() if line.startswith(start)]


def test_memories_are_findings_not_questions_nor_narration(run: Run) -> None:
    related = lines_of(session(run, TURNS[:2]), "- ")
    assert any("Failed approach" in line for line in related)
    assert not any(line.startswith("- user: Could a pool") for line in related)
    assert not any("Looking at it now" in line for line in related[:2])


def test_the_queries_together_bring_back_the_older_work_too(run: Run) -> None:
    asked = re.findall(r'recall "([^"]+)"', session(run))
    assert asked
    found = "\n".join(hit["observation"] for query in asked for hit in run("recall", query, env=at(20)).result["hits"])
    for told in ("beacon_id", "one alert mail per outage", "139 s", "78 %"):
        assert told in found, (told, asked)


def test_the_task_line_holds_all_three_messages(run: Run) -> None:
    long = (
        "Make the exporter of the northern harbours keep its place when the link breaks off in the middle of a file, "
    )
    turns = ((long * 2, TURNS[0][1]), ("Keep the old format", TURNS[1][1]), ("And add a test for it", TURNS[2][1]))
    task = lines_of(session(run, turns), "**Task:**")[0]
    assert "exporter" in task
    assert "Keep the old format" in task
    assert task.endswith("And add a test for it")
    assert len(task) <= len("**Task:** ") + 200


def hits(run: Run, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run("recall", query, "--budget", "lean", env=at(20)).result["hits"]
    return found


def test_an_answer_goes_before_the_question_that_was_asked(run: Run) -> None:
    for number, turn in enumerate(TURNS):
        archive(run, number, *turn)
    first = hits(run, TURNS[1][0])
    assert first[0]["id"] == "1a"
    # and the question itself stays findable
    assert "1u" in [hit["id"] for hit in first]


def test_a_text_that_is_no_user_turn_is_found_by_its_own_words(run: Run) -> None:
    line = {"id": "x", "collection": "episodes", "text": "fixed in a20b280 on main", "created_at": NOW_MS}
    run("memory", "import", "-", stdin=json.dumps(line), env=at(0))
    assert [hit["id"] for hit in hits(run, "fixed in a20b280 on main")] == ["x"]
