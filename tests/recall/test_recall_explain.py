"""`recall --explain`: the words, the meaning, time and use that made each score, and why the others were dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import NOW_MS, Run
from terminal import on_terminal

from recall.query import OTHER_PROJECT

DAY = 86_400_000
NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
QUERY = "tide gauge of the north pier"
LINES: list[dict[str, Any]] = [
    {"id": "best", "text": "the tide gauge of the north pier reports in centimetres", "created_at": NOW_MS - 20 * DAY,
     "recall_count": 3, "retrieval_priority": 0.5, "project": "elsewhere"},
    {"id": "second", "text": "a gauge of the south pier was replaced", "created_at": NOW_MS},
    {"id": "pinned", "text": "the pier gauge is painted each spring", "tags": ["pinned"],
     "created_at": NOW_MS - 400 * DAY},
    {"id": "stale", "text": "the tide gauge of the north pier reports in feet", "created_at": NOW_MS - 200 * DAY},
    {"id": "held", "text": "perhaps the tide gauge is broken", "verdict": "hold", "created_at": NOW_MS},
    {"id": "superseded", "text": "the tide gauge of the north pier reports in inches", "superseded_by": "best",
     "created_at": NOW_MS},
    {"id": "far", "text": "pnpm is preferred over npm by everybody", "created_at": NOW_MS},
    {"id": "turn", "collection": "episodes", "text": "user: good", "session": "s", "created_at": NOW_MS - 60 * DAY},
    {"id": "turn2", "collection": "episodes", "text": "assistant: the north pier has a tide gauge that I read today",
     "session": "s", "created_at": NOW_MS - 60 * DAY},
]  # fmt: skip


@pytest.fixture(params=[0, 120], ids=["small", "over 64"])
def filled(run: Run, request: pytest.FixtureRequest) -> Run:
    lines = LINES + [
        {"id": f"n{n}", "text": f"lighthouse {n} burns {n * 3} litres of oil"} for n in range(request.param)
    ]
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in lines), env=NOW)
    return run


def explained(run: Run, *words: str) -> tuple[Any, Any]:
    result = run("recall", QUERY, "--explain", *words, env=NOW).result
    return result, result["explanation"]


def test_the_parts_make_the_score(filled: Run) -> None:
    result, told = explained(filled)
    assert [one["id"] for one in told["hits"]] == [hit["id"] for hit in result["hits"]]
    assert {"best", "second", "pinned", "turn2"} <= {hit["id"] for hit in result["hits"]}
    for one, hit in zip(told["hits"], result["hits"], strict=True):
        assert sum(word["weight"] for word in one["words"]) == pytest.approx(one["lexical"]["bm25"], abs=0.01)
        lexical, meaning = one["lexical"]["score"], (one["semantic"] or {"score": 0})["score"]
        assert one["fused"] == pytest.approx(lexical + meaning - lexical * meaning, abs=0.001)
        assert one["fused"] == hit["rawScore"]
        score = one["fused"] * one["substance"]
        if one["segment"]:
            weight = one["segment"]["w"]
            score = (1 - weight) * score + weight * one["segment"]["evidence"]
        score *= one["decay"]["factor"] * one["project"] * one["boost"]["factor"]
        assert min(score, 1) * one["known"] * one["echo"] == pytest.approx(hit["score"], abs=0.002)


def test_words_and_ranks_decay_and_use_are_told(filled: Run) -> None:
    _, told = explained(filled)
    by_id = {one["id"]: one for one in told["hits"]}
    best = by_id["best"]
    assert {"tide", "gauge", "north", "pier"} == {word["term"] for word in best["words"]}
    assert best["lexical"]["rank"] <= 4 and best["semantic"]["rank"] <= 4
    assert best["decay"] == {"factor": 0.8187, "days": 20.0, "by": "age"}
    assert (best["boost"]["priority"], best["boost"]["recalls"]) == (0.5, 3)
    assert by_id["pinned"]["decay"] == {"factor": 1.0, "days": 400.0, "by": "pinned"}


def test_every_candidate_that_was_dropped_has_its_reason(filled: Run) -> None:
    _, told = explained(filled, "--limit", "1")
    why = {one["id"]: one["reasons"] for one in told["dropped"]}
    assert why["stale"] == ["stale_age"]
    assert why["held"] == ["held_by_write_gate"]
    assert why["superseded"] == ["superseded"]
    assert why["second"] == ["beyond_limit"]
    assert {"stale_age", "held_by_write_gate", "superseded", "beyond_limit"} <= told["droppedCount"].keys()
    assert [one["score"] for one in told["dropped"]] == sorted((one["score"] for one in told["dropped"]), reverse=True)


def test_another_project_s_hit_says_what_that_costs(filled: Run, tmp_path: Any) -> None:
    here = tmp_path / "harbour"
    (here / ".git").mkdir(parents=True)
    result = filled("recall", QUERY, "--explain", env=NOW, cwd=here).result
    by_id = {one["id"]: one for one in result["explanation"]["hits"]}
    assert (by_id["best"]["project"], by_id["second"]["project"]) == (OTHER_PROJECT, 1.0)


def test_without_the_flag_the_answer_is_as_it_was(filled: Run) -> None:
    result, told = explained(filled)
    plain = filled("recall", QUERY, env=NOW).result
    assert "explanation" not in plain
    without = {key: value for key, value in result.items() if key not in ("explanation", "hits")}
    assert without == {key: value for key, value in plain.items() if key != "hits"}
    assert [hit["id"] for hit in plain["hits"]] == [hit["id"] for hit in result["hits"]]
    assert told


def test_a_name_is_explained_by_its_words(filled: Run) -> None:
    filled("memory", "write", "quayMaster is set in harbour.py", env=NOW)
    (one,) = filled("recall", "quayMaster", "--explain", env=NOW).result["explanation"]["hits"]
    assert "quaymaster" in [word["term"] for word in one["words"]]


def test_who_asks_why_has_not_used_the_memory(filled: Run) -> None:
    explained(filled)
    assert [hit["recallCount"] for hit in explained(filled)[0]["hits"] if hit["id"] == "best"] == [3]


def test_each_line_of_a_batch_is_explained(filled: Run) -> None:
    out = filled("recall", "--batch", "-", "--explain", stdin=f"{QUERY}\npnpm\n", env=NOW).out
    first, second = (json.loads(line)["result"]["explanation"] for line in out.splitlines())
    assert first["hits"] and second["terms"] == ["pnpm"]


def test_an_empty_store_and_bad_usage(run: Run) -> None:
    told = run("recall", QUERY, "--explain", env=NOW).result["explanation"]
    assert (told["hits"], told["dropped"], told["droppedCount"]) == ([], [], {})
    refused = run("recall", QUERY, "--explain", "--raw", env=NOW, ok=False)
    assert (refused.code, refused.json["error"]["code"]) == (2, "RECALL_INVALID_ARGS")


def test_a_person_reads_it_as_lines(filled: Run, home: Any) -> None:
    out = on_terminal(home, "recall", QUERY, "--explain", "--limit", "1").out
    for part in ("how the scores were computed", "words", "semantic", "left out", "superseded"):
        assert part in out
