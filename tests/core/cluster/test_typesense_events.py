"""Events searched in the cluster: those of every machine; and this machine's where the cluster fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run
from typesense_server import Server, free_ports, needs_server

pytestmark = needs_server
CLUSTER = ("--backend", "typesense")


def environment(server: Server, prefix: str, machine: str = "one", at: int = NOW_MS) -> dict[str, str]:
    return server.environment(
        JOELCLAW_STORE_PREFIX=prefix,
        JOELCLAW_STORE_TIMEOUT_MS="20000",
        JOELCLAW_SYSTEM_ID=machine,
        JOELCLAW_NOW_MS=str(at),
    )


def emit(run: Run, env: dict[str, str], action: str, *words: str) -> None:
    run("otel", "emit", action, *words, env=env)


@pytest.fixture
def two(run: Run, tmp_path: Path, server: Server, request: pytest.FixtureRequest) -> dict[str, str]:
    """Events of two machines in one cluster; the environment of the first."""
    prefix = f"{abs(hash(request.node.name))}_"
    first = environment(server, prefix)
    second = {**environment(server, prefix, "two"), "JOELCLAW_HOME": str(tmp_path / "second")}
    run("store", "init", env=first)
    early = environment(server, prefix, at=NOW_MS - 3_600_000)
    emit(run, early, "deploy.started", "--component", "ship-it", "--metadata", '{"branch": "main", "tries": 2}')
    emit(run, first, "deploy.failed", "--level", "error", "--error", "disk is full", "--duration-ms", "12.5")
    emit(run, second, "deploy.rolled_back", "--level", "warn", "--source", "cron", "--success", "false")
    for env in (first, second):
        run("store", "sync", env=env)
    return first


def actions(result: dict[str, Any]) -> list[str]:
    return [event["action"] for event in result["events"] if event["action"].startswith("deploy")]


def test_search_finds_the_events_of_every_machine_newest_first(run: Run, two: dict[str, str]) -> None:
    result = run("otel", "search", "deploy", *CLUSTER, env=two).result
    assert (result["backend"], "fallback" in result) == ("typesense", False)
    assert sorted(actions(result)) == ["deploy.failed", "deploy.rolled_back", "deploy.started"]
    assert actions(result)[-1] == "deploy.started"
    assert result["found"] == 3
    counts = {facet["field_name"]: facet["counts"] for facet in result["facets"]}
    assert counts["component"] == [{"value": "otel-cli", "count": 2}, {"value": "ship-it", "count": 1}]
    assert actions(run("otel", "search", "deploy", env=two).result) == ["deploy.failed", "deploy.started"]


def test_an_event_is_what_the_local_file_shows(run: Run, two: dict[str, str]) -> None:
    for query in ("deploy started", "disk full", "disk fu", "deploy.sta"):
        there = run("otel", "search", query, *CLUSTER, env=two).result
        here = run("otel", "search", query, env=two).result
        assert there["events"] == here["events"] != []
        assert there["filterBy"] == here["filterBy"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--level", "error,warn"), ["deploy.failed", "deploy.rolled_back"]),
        (("--system", "two"), ["deploy.rolled_back"]),
        (("--success", "false"), ["deploy.rolled_back"]),
        (("--component", "ship-it"), ["deploy.started"]),
        (("--hours", "0.5"), ["deploy.failed", "deploy.rolled_back"]),
        (("--source", "cron", "--level", "error"), []),
    ],
)
def test_filters(run: Run, two: dict[str, str], words: tuple[str, ...], wanted: list[str]) -> None:
    assert sorted(actions(run("otel", "search", "deploy", *words, *CLUSTER, env=two).result)) == wanted


def test_all_words_must_occur_and_pages_do_not_overlap(run: Run, two: dict[str, str]) -> None:
    assert run("otel", "search", "deploy quokka", *CLUSTER, env=two).result["found"] == 0
    pages = [
        run("otel", "search", "deploy", "--limit", "1", "--page", str(page), *CLUSTER, env=two).result
        for page in (1, 2, 3, 4)
    ]
    assert [page["found"] for page in pages] == [3, 3, 3, 3]
    assert len({actions(page)[0] for page in pages[:3]}) == 3
    assert pages[3]["events"] == []


def test_stats_count_every_machine(run: Run, two: dict[str, str]) -> None:
    stats = run("otel", "stats", *CLUSTER, env=two).result
    listed = run("otel", "list", "--limit", "200", *CLUSTER, env=two).result
    assert stats["total"] == listed["found"] >= 3
    assert stats["errors"] == 1
    assert stats["errorRate"] == round(1 / stats["total"], 4)
    assert stats["recent15m"]["total"] < stats["total"]


def test_without_the_cluster_this_machine_answers(run: Run, two: dict[str, str]) -> None:
    nobody = {**two, "TYPESENSE_URL": f"http://127.0.0.1:{free_ports(1)[0]}"}
    for words in (("search", "deploy"), ("list",), ("stats",)):
        result = run("otel", *words, *CLUSTER, env=nobody).result
        assert result["backend"] == "sqlite"
        assert result["fallback"]["code"] == "TYPESENSE_UNREACHABLE"
    assert actions(run("otel", "search", "deploy", *CLUSTER, env=nobody).result) == ["deploy.failed", "deploy.started"]


def test_follow_is_of_the_local_file(run: Run) -> None:
    failed = run("otel", "search", "x", "--follow", *CLUSTER, ok=False)
    assert (failed.code, failed.json["error"]["code"]) == (2, "OTEL_INVALID_ARGS")
