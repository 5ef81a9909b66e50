"""Recall from a cluster returns nearly the same hits as the local file, and falls back to it."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, NOW_MS, PATIENCE_S, ROOT, Run, attempt
from typesense_server import Server, free_ports, needs_server

sys.path.insert(0, str(ROOT / "bench"))
from notes import QUERIES, notes

pytestmark = needs_server
Filled = tuple[Path, dict[str, str]]
COUNT = 230  # with MORE under 250, the most that the server gives at once
TOLERANCE = 0.002
"""Scores that are equal; found and printed with four digits."""
SCALE = 0.07
"""How far the scores of a hit may lie apart on both sides: only the local search adds a word's other forms."""
PATIENT = {"JOELCLAW_STORE_TIMEOUT_MS": "20000", **NOW}
DAY_MS = 86_400_000
MORE: tuple[dict[str, Any], ...] = (
    {"id": "held", "text": "The zebra crossing service is perhaps owned by nobody", "verdict": "hold"},
    {"id": "gone", "text": "The zebra crossing service was switched off", "verdict": "discard"},
    {"id": "old", "text": "The zebra crossing service began as a sketch", "timestamp": NOW_MS - 200 * DAY_MS},
    {"id": "echo", "text": "Task: what is the zebra crossing service", "tags": ["session-task"]},
    {"id": "mine", "text": "The zebra crossing service answers on port 4410", "session": "s-1", "project": "/w/zebra"},
    {"id": "pref", "text": "Zebra stripes are preferred in the editor", "category": "prefs"},
    {"id": "forget-me", "text": "The zebra crossing service has a hidden switch"},
    {"id": "ünï code:[1]", "text": "Das Größenmaß der Brücke über die Zebra-Straße ist 数据库 12"},
    {"id": "path", "text": "`src/zebra/crossing_lights.ts` exports getLampColour, see ADR-0417"},
    {"id": "turn", "collection": "episodes", "text": "user: zebra or not?", "context": "assistant: paint the crossing"},
    {
        "id": "skill",
        "collection": "knowledge",
        "title": "Zebra handbook",
        "text": "How the lamps are tested, every May.",
    },
)
ASKED = (
    *QUERIES, "what is the zebra crossing service", "zebra", "crossing lights colour getLampColour",
    "src/zebra/crossing_lights.ts", "ADR-0417", "Größenmaß der Brücke", "数据库", "the of and", "handbook lamps tested",
    "nothing like this was ever said: quokka",
)  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Filled:
    """A home with some hundred memories, all of them on the server too; and what reads them there."""
    home = tmp_path_factory.mktemp("filled")
    cluster = server.environment(JOELCLAW_STORE_PREFIX="filled_", **PATIENT)
    at = NOW_MS - 3 * DAY_MS
    lines = [{"text": text, "verdict": "allow", "timestamp": at} for text in notes(COUNT)]
    lines += [{"verdict": "allow", "timestamp": at, **line} for line in MORE]
    assert attempt(home, "memory", "import", "-", stdin="\n".join(map(json.dumps, lines)).encode(), env=NOW).code == 0
    for words, env in (("memory forget forget-me", NOW), ("store init", cluster), ("store push", cluster)):
        attempt(home, *words.split(), env=env).assert_done()
    return home, cluster


def ask(run: Run, home: Path, env: dict[str, str], queries: list[str], *words: str) -> list[dict[str, Any]]:
    """The results of several queries; recalls in bulk do not count as use."""
    stdin = "\n".join(queries)
    out = run(
        "recall", "--batch", "-", *words, stdin=stdin, env={**env, "JOELCLAW_HOME": str(home)}, timeout=PATIENCE_S
    ).out
    return [json.loads(line)["result"] for line in out.splitlines()]


def both(run: Run, filled: Filled, queries: list[str], *words: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    home, cluster = filled
    local, remote = ask(run, home, NOW, queries, *words), ask(run, home, cluster, queries, *words)
    assert len(local) == len(remote) == len(queries)
    for local_answer, remote_answer in zip(local, remote, strict=True):
        assert (local_answer["backend"], remote_answer["backend"], remote_answer.get("fallback")) == (
            "sqlite", "typesense", None,
        )  # fmt: skip
    return list(zip(local, remote, strict=True))


def ids(result: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in result["hits"]]


def test_eight_of_ten_hits_agree_for_forty_questions(run: Run, filled: Filled) -> None:
    choose = random.Random(6)
    texts = list(notes(COUNT))
    drawn = [" ".join(choose.sample(choose.choice(texts).split(), 4)) for _ in range(40 - len(ASKED))]
    shared = total = first = 0
    for local, remote in both(run, filled, [*ASKED, *drawn], "--limit", "10", "--budget", "lean"):
        least = local["hits"][9]["score"] - TOLERANCE if local["count"] == 10 else 0.0
        equals = {
            hit["id"] for hit in remote["hits"] if hit["score"] >= least
        }  # of equal scores either may be the tenth
        total += local["count"]
        shared += max(len(set(ids(local)) & set(ids(remote))), min(len(equals), local["count"]))
        first += ids(local)[:1] == ids(remote)[:1]
        apart = {hit["id"]: hit["score"] for hit in remote["hits"]}
        for hit in local["hits"]:
            assert apart.get(hit["id"], hit["score"]) == pytest.approx(hit["score"], abs=SCALE)
    assert total > 250
    assert shared / total >= 0.8
    assert first >= 36


def test_a_hit_is_the_same_document(run: Run, filled: Filled) -> None:
    queries = ["zebra crossing port 4410", "Größenmaß", "handbook lamps", "paint the crossing"]
    for local, remote in both(run, filled, queries):
        local_hit = local["hits"][0]
        remote_hit = next(hit for hit in remote["hits"] if hit["id"] == local_hit["id"])
        assert {**remote_hit, "score": 0, "rawScore": 0} == {**local_hit, "score": 0, "rawScore": 0}


@pytest.mark.parametrize("words", [
    ("--collection", "observations"), ("--session", "s-1"), ("--project", "/w/zebra"), ("--category", "preferences"),
    ("--session", "s-1", "--project", "/w/zebra"), ("--session", "a `quoted` one, [x] && y:=z"),
    ("--include-discard", "--include-hold"), ("--min-score", "0.3"),
])  # fmt: skip
def test_filters_and_the_trust_pass_are_the_same(run: Run, filled: Filled, words: tuple[str, ...]) -> None:
    queries = ["what is the zebra crossing service", "zebra stripes preferred", "search indexer p99 cause"]
    for local, remote in both(run, filled, queries, "--limit", "100", "--budget", "deep", *words):
        local_scores, remote_scores = ([hit["score"] for hit in answer["hits"][:9]] for answer in (local, remote))
        assert remote_scores == pytest.approx(local_scores, abs=SCALE)
        for name in ("filtersApplied", "categoryFilter", "includeHold", "includeDiscard", "budget"):
            assert remote[name] == local[name]


def down(run: Run, home: Path, cluster: dict[str, str], code: str) -> dict[str, Any]:
    result = run("recall", "what is the zebra crossing service", env={**cluster, "JOELCLAW_HOME": str(home)}).result
    assert result["backend"] == "sqlite"
    assert result["hits"]
    assert {**result["fallback"], "reason": ""} == {"from": "typesense", "to": "sqlite", "reason": "", "code": code}
    assert result["fallback"]["reason"]
    return dict(result)


@pytest.fixture
def local(run: Run, home: Path) -> Path:
    """A home with a few memories, as this machine has them."""
    lines = [line for line in MORE if line["id"] in ("mine", "pref", "path")]
    run("memory", "import", "-", stdin="\n".join(json.dumps({"verdict": "allow", **line}) for line in lines), env=NOW)
    return home


def test_a_fault_is_an_event(run: Run, local: Path, server: Server) -> None:
    nobody = {**server.environment(**PATIENT), "TYPESENSE_URL": f"http://127.0.0.1:{free_ports(1)[0]}"}
    down(run, local, nobody, "TYPESENSE_UNREACHABLE")
    events = run("otel", "search", "memory.recall.completed", "--hours", "24", env=NOW).result["events"]
    assert events[0]["metadata"]["fallback"] == "TYPESENSE_UNREACHABLE"
    assert events[0]["metadata"]["backend"] == "sqlite"
    run("store", "init", env=server.environment(JOELCLAW_STORE_PREFIX="well_", **PATIENT))
    well = run("recall", "zebra", env=server.environment(JOELCLAW_STORE_PREFIX="well_", **PATIENT)).result
    assert "fallback" not in well
