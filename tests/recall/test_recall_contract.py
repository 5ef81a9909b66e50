"""The result of `recall` is that of the mirrored CLI: budgets, trust pass, filters, decay, events."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, NOW_MS, Run, attempt
from terminal import on_terminal, without_style

DAY_MS = 86_400_000


def take_in(home: Path, *lines: dict[str, Any]) -> None:
    """Import the lines; each is dated now unless it says otherwise."""
    data = "\n".join(json.dumps({"created_at": NOW_MS, **line}) for line in lines)
    report = attempt(home, "memory", "import", "-", stdin=data.encode(), env=NOW).result
    assert (report["failed"], report["added"]) == (0, len(lines)), report


def ask(home: Path, *words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    return attempt(home, "recall", *words, env=env or NOW).result


def ids(result: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in result["hits"]]


FACTS = (
    {"id": "a", "text": "The gateway retries thrice since the upstream drops idle connections",
    "verdict": "allow", "category": "ops",
     "session": "s1", "project": "gateway", "tags": ["retry"], "source": "cli"},
    {"id": "b", "text": "Gateway retries are logged at debug level by the proxy", "verdict": "allow",
    "category": "arch",
     "session": "s2", "project": "proxy"},
    {"id": "c", "collection": "episodes",
    "text": "user: should gateway retries back off exponentially or linearly?", "session": "s1"},
    {"id": "d", "collection": "knowledge",
    "text": "Gateway retries follow the policy of the platform handbook", "title": "Retry policy",
     "path": "docs/retry.md", "project": "gateway"},
)  # fmt: skip


@pytest.fixture
def stocked(home: Path) -> Path:
    take_in(home, *FACTS)
    return home


def test_hits_are_sorted_and_say_where_they_are_from(stocked: Path) -> None:
    result = ask(stocked, "gateway retries")
    assert sorted(ids(result)) == ["a", "b", "c", "d"]
    for hit in result["hits"]:
        assert 0 < hit["score"] <= 1
        assert hit["timestamp"] == "2026-09-21T14:13:20.000Z"
    assert [hit["score"] for hit in result["hits"]] == sorted((hit["score"] for hit in result["hits"]), reverse=True)
    assert result["count"] == 4 <= result["found"]
    assert result["backend"] == "sqlite"
    hits = {hit["id"]: hit for hit in result["hits"]}
    assert (hits["d"]["title"], hits["d"]["path"], hits["d"]["collection"]) == (
        "Retry policy", "docs/retry.md", "knowledge",
    )  # fmt: skip
    assert (hits["a"]["session"], hits["a"]["categoryId"], hits["a"]["writeVerdict"]) == (
        "s1", "jc:operations", "allow",
    )  # fmt: skip


@pytest.mark.parametrize(("words", "applied", "reason"), [
    (("retries",), "balanced", "auto.default"), (("gateway and retries",), "deep", "auto.complex_query"),
    (("why retries",), "deep", "auto.complex_query"), (("WHY retries",), "deep", "auto.complex_query"),
    (("x" * 90,), "balanced", "auto.default"), (("x" * 91,), "deep", "auto.long_query"),
    (("why", "--budget", "lean"), "lean", "explicit"), (("retries", "--budget", "deep"), "deep", "explicit"),
    (("why", "--budget", "balanced"), "balanced", "explicit"),
])  # fmt: skip
def test_budgets(home: Path, words: tuple[str, ...], applied: str, reason: str) -> None:
    budget = ask(home, *words)["budget"]
    assert (budget["applied"], budget["reason"]) == (applied, reason)
    profile = {"lean": (1.8, 5, False), "balanced": (3, 10, True), "deep": (5, 10, True)}[applied]
    assert (budget["fetchMultiplier"], budget["maxInject"], budget["rewriteEnabled"]) == profile
    assert budget["requested"] == (words[2] if len(words) > 1 else "auto")


DROPPED = {
    "held_by_write_gate": {"verdict": "hold"},
    "discarded_by_write_gate": {"verdict": "discard"},
    "stale_tagged": {"tags": ["stale"]},
    "stale_age": {"created_at": NOW_MS - 91 * DAY_MS},
    "too_short": {"text": "retries", "verdict": "allow"},
    "superseded": {"superseded_by": "newer"},
}


@pytest.mark.parametrize("reason", DROPPED)
def test_the_trust_pass_says_why(home: Path, reason: str) -> None:
    take_in(home, {"id": "x", "text": "Gateway retries are capped at three per request", **DROPPED[reason]})
    result = ask(home, "retries")
    assert (result["hits"], result["count"], result["droppedByTrustPass"]) == ([], 0, 1)
    (dropped,) = result["droppedDiagnostics"]
    assert (dropped["id"], dropped["reasons"]) == ("x", [reason])
    assert dropped["observation"]


def test_below_the_least_score(stocked: Path) -> None:
    done = attempt(stocked, "recall", "--batch", "-", stdin=b"gateway retries", env=NOW)  # which counts as no use
    scores = [hit["score"] for hit in done.result["hits"]]
    least = (scores[2] + scores[3]) / 2
    result = ask(stocked, "gateway retries", "--min-score", str(least))
    assert [hit["score"] for hit in result["hits"]] == scores[:3]
    assert result["droppedByTrustPass"] >= 1
    assert {tuple(dropped["reasons"]) for dropped in result["droppedDiagnostics"]} == {("below_min_score",)}
    assert ask(stocked, "gateway retries", "--min-score", "1")["hits"] == []
    assert attempt(stocked, "recall", "x", "--min-score", "1.1").code == 2


def test_held_and_discarded_memories_are_shown_on_request(home: Path) -> None:
    text = "Gateway retries are capped at three per {}"
    verdicts = ("allow", "hold", "discard")
    take_in(home, *({"id": verdict, "text": text.format(verdict), "verdict": verdict} for verdict in verdicts))
    assert ids(ask(home, "gateway retries")) == ["allow"]
    held = ask(home, "gateway retries", "--include-hold")
    assert (sorted(ids(held)), held["includeHold"], held["includeDiscard"]) == (["allow", "hold"], True, False)
    assert sorted(ids(ask(home, "gateway retries", "--include-discard"))) == ["allow", "discard"]
    assert sorted(ids(ask(home, "gateway retries", "--include-hold", "--include-discard"))) == [
        "allow", "discard", "hold",
    ]  # fmt: skip


CATEGORIES = {
    "preferences": ("preferences", "prefs"),
    "rules-conventions": ("rules", "conventions", "jc:rules-conventions"),
    "system-architecture": ("architecture", "arch", "system-architecture", "ARCH"),
    "operations": ("ops", "operations"),
    "memory-system": ("memory", "memory-system"),
    "projects": ("projects",),
    "people-relationships": ("people", "relationships"),
    "billing": ("billing", "jc:billing"),
}


def test_categories_and_their_aliases(home: Path) -> None:
    text = "Gateway retries as {} sees them"
    take_in(home, *({"id": name, "text": text.format(name), "category": f"jc:{name}"} for name in CATEGORIES))
    for name, aliases in CATEGORIES.items():
        for alias in aliases:
            result = ask(home, "gateway retries", "--category", alias)
            assert ids(result) == [name], alias
            assert result["categoryFilter"]["input"] == alias
            assert (result["categoryFilter"]["resolved"], result["categoryFilter"]["applied"]) == (f"jc:{name}", True)
            assert f"category:jc:{name}" in result["filtersApplied"]
    without = ask(home, "gateway retries")["categoryFilter"]
    assert (without["input"], without["resolved"], without["applied"]) == (None, None, False)


@pytest.mark.parametrize(("words", "expected"), [
    (("--collection", "observations"), "ab"), (("--collection", "episodes"), "c"), (("--collection",
    "knowledge"), "d"),
    (("--collection", "episodes,knowledge"), "cd"), (("--collection", "observations, episodes ,knowledge"), "abcd"),
    (("--session", "s1"), "ac"), (("--session", "s2"), "b"), (("--session", "none"), ""),
    (("--project", "gateway"), "acd"),
    (("--project", "gateway", "--session", "s1"), "ac"), (("--session", "s1", "--collection", "episodes"), "c"),
    (("--category", "ops", "--project", "gateway", "--collection", "observations"), "a"),
])  # fmt: skip
def test_filters(stocked: Path, words: tuple[str, ...], expected: str) -> None:
    assert "".join(sorted(ids(ask(stocked, "gateway retries", *words)))) == expected


def test_observations_age_episodes_hardly_and_knowledge_never(home: Path) -> None:
    text = "Gateway retries are capped at three per request and logged by the proxy at {} level, which nobody reads,"
    text += " since the dashboard of the platform team shows the same figures with less noise and a better search"
    take_in(
        home,
        *(
            {
                "id": f"{name}-{age}",
                "collection": collection,
                "text": text.format(age),
                "created_at": NOW_MS - days * DAY_MS,
            }
            for name, collection in (("o", "observations"), ("e", "episodes"), ("k", "knowledge"))
            for age, days in (("fresh", 0), ("aged", 60))
        ),
    )
    hits = {hit["id"]: hit for hit in ask(home, "gateway retries capped three request", "--limit", "10")["hits"]}
    share = {name: hits[f"{name}-aged"]["score"] / hits[f"{name}-aged"]["rawScore"] for name in "oek"}
    fresh = {name: hits[f"{name}-fresh"]["score"] / hits[f"{name}-fresh"]["rawScore"] for name in "oek"}
    assert share["o"] / fresh["o"] == pytest.approx(2.718281828 ** (-0.01 * 60), rel=1e-3)
    assert share["e"] / fresh["e"] == pytest.approx(1 - 0.05 * (1 - 2.718281828**-2), rel=1e-3)
    assert share["k"] == fresh["k"] == pytest.approx(1, rel=1e-3)
    order = list(hits)
    assert order.index("o-fresh") < order.index("o-aged")
    assert order.index("e-aged") < order.index("o-aged")


def test_use_and_priority_raise_the_score(home: Path) -> None:
    take_in(
        home,
        *(
            {"id": name, "text": f"Gateway retries are capped at three per request, says {name}", **more}
            for name, more in (
                ("plain", {}), ("used", {"recall_count": 20}), ("liked", {"retrieval_priority": 1.0}),
                ("poor", {"retrieval_priority": -1.0}),
            )
        ),
    )  # fmt: skip
    boosts = {hit["id"]: hit["usageBoost"] for hit in ask(home, "gateway retries")["hits"]}
    assert boosts == {"plain": 1.0, "used": pytest.approx(1.1827, abs=1e-3), "liked": 1.15, "poor": 0.85}


def test_a_hit_counts_as_recalled_and_a_batch_does_not(stocked: Path) -> None:
    counts = [
        next(hit["recallCount"] for hit in ask(stocked, "gateway retries")["hits"] if hit["id"] == "a")
        for _ in range(3)
    ]
    assert counts == [0, 1, 2]
    attempt(stocked, "recall", "--batch", "-", stdin=b"gateway retries\ngateway retries\n", env=NOW)
    shown = attempt(stocked, "memory", "show", "a").result
    assert (shown["recallCount"], shown["last_used_at"]) == (3, "2026-09-21T14:13:20.000Z")


def test_raw(stocked: Path) -> None:
    take_in(stocked, {"id": "m", "text": "Zebra rules:\n  one\n\n  two\tthree"})
    assert attempt(stocked, "recall", "zebra rules", "--raw", env=NOW).out == "Zebra rules: one two three\n"
    lines = attempt(stocked, "recall", "gateway retries", "--raw", env=NOW).out.splitlines()
    expected = {fact["text"].replace("user: ", "prompt: ") for fact in FACTS if fact["id"] != "d"}
    assert set(lines) == {*expected, "[file docs/retry.md] Gateway retries follow the policy of the platform handbook"}
    assert len(lines) == len(FACTS)
    assert attempt(stocked, "recall", "xylophone", "--raw", env=NOW).out == ""


def test_batch(stocked: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("gateway retries\n\n   \nxylophone\r\nrecall --limit 3\n")
    done = attempt(stocked, "recall", "--batch", str(tmp_path / "queries.txt"), "--limit", "2", env=NOW)
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["result"]["number"] for answer in answers] == [1, 2, 3]
    assert "xylophone" not in done.out, "agents may run recall unasked, and read no file with it"
    piped = attempt(stocked, "recall", "--batch", "-", stdin=(tmp_path / "queries.txt").read_bytes(), env=NOW).out
    queries = [json.loads(line)["result"]["query"] for line in piped.splitlines()]
    assert queries == ["gateway retries", "xylophone", "recall --limit 3"]
    assert [answer["result"]["count"] for answer in answers][:2] == [2, 0]
    assert all(list(answer) == ["ok", "command", "result", "next_actions"] for answer in answers)
    alone = ask(stocked, "gateway retries", "--limit", "2")
    assert [hit["id"] for hit in answers[0]["result"]["hits"]] == ids(alone)
    assert attempt(stocked, "recall", "--batch", "-", stdin=b"").out == ""
    for words in (("query", "--batch", "-"), ("--batch", str(tmp_path / "none.txt")), ()):
        failed = attempt(stocked, "recall", *words)
        assert failed.code in (1, 2)
        assert failed.envelope["error"]["code"] == "RECALL_INVALID_ARGS"


@pytest.mark.parametrize(("query", "reason"), [
    ("", "skip.empty_query"), ("  ", "skip.empty_query"), ('"exact words that are quoted"', "skip.literal_query"),
    ("packages/cli/src/some/long/path/name.ts", "skip.direct_identifier"),
    ("git rebase --onto main feature old", "skip.command_like"),
    ("where did somebody put the old machine", "nothing_to_expand"),
    ("short query", "skip.short_query"), ("three short words", "skip.short_query"),
])  # fmt: skip
def test_queries_that_are_not_rewritten(stocked: Path, query: str, reason: str) -> None:
    result = ask(stocked, "--budget", "balanced", "--", query)
    assert (result["rewrite"]["rewritten"], result["rewrite"]["reason"], result["rewrittenQuery"]) == (
        False, reason, query,
    )  # fmt: skip


def test_a_terminal_shows_the_best_hit_last(home: Path) -> None:
    filler = "\n".join(f"row {number} of this log says nothing at all" for number in range(60))
    text = f"assistant: {filler}\nThe gateway waits three times as long for its retries.\n{filler}"
    take_in(home, {"id": "a", "text": text, "project": "shop"})
    take_in(home, {"id": "b", "text": "The gateway is painted grey"})
    rows = without_style(on_terminal(home, "recall", "gateway retries", env=NOW).out).splitlines()
    assert [row.split()[0] for row in rows if row.startswith((" 1  ", " 2  "))] == ["2", "1"]
    best = "\n".join(rows[next(at for at, row in enumerate(rows) if row.startswith(" 1 ")) :])
    assert "shop" in best
    assert "waits three times as long for its retries" in " ".join(best.split())
    assert len(best.splitlines()) < 30, "of a text of 121 rows what stands around the match"


def test_events(stocked: Path, run: Run) -> None:
    ask(stocked, "gateway retries", "--budget", "lean", "--limit", "2")
    events = run("otel", "list", "--level", "debug,info", "--component", "recall-cli", env=NOW).result["events"]
    by_action = {event["action"]: event for event in events}
    assert set(by_action) == {"memory.recall.started", "memory.recall.completed"}
    assert by_action["memory.recall.started"]["level"] == "debug"
    done = by_action["memory.recall.completed"]
    assert done["success"] is True
    assert done["duration_ms"] >= 0
    assert (
        done["metadata"].items()
        >= {"query": "gateway retries", "budget": "lean", "found": 4, "returned": 2, "backend": "sqlite"}.items()
    )
