"""A cluster that could not be used is left alone for some seconds; a fault of one query, or of ours, is no reason."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from conftest import NOW_MS

from core import config
from core.errors import Failure
from core.store.typesense import circuit_breaker
from recall import cluster

SETTINGS = config.Config({})
OF_THE_CLUSTER = (
    "TYPESENSE_UNREACHABLE", "TYPESENSE_UNAUTHORIZED", "TYPESENSE_NOT_INITIALISED", "TYPESENSE_API_KEY_MISSING",
)  # fmt: skip


@pytest.fixture(autouse=True)
def frozen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    for name in ("JOELCLAW_STORE_URLS", "TYPESENSE_URL", "TYPESENSE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def noted() -> tuple[str, str] | None:
    return circuit_breaker.read(cluster._nodes(SETTINGS))


@pytest.mark.parametrize("code", OF_THE_CLUSTER)
def test_a_fault_of_the_cluster_is_noted(code: str) -> None:
    told = cluster.fallback(SETTINGS, Failure(code, "it is down", "wait"))
    assert told == {"from": "typesense", "to": "sqlite", "reason": "it is down", "code": code}
    assert noted() == (code, "it is down")


def test_the_first_fault_is_kept_while_it_holds() -> None:
    cluster.fallback(SETTINGS, Failure(OF_THE_CLUSTER[0], "the first", "wait"))
    second = cluster.fallback(SETTINGS, Failure(OF_THE_CLUSTER[1], "the second", "wait"))
    assert second["reason"] == "the second"
    assert noted() == (OF_THE_CLUSTER[0], "the first"), "else every fault would begin the wait anew"


def test_other_faults_are_told_and_not_noted(home: Path) -> None:
    one = cluster.fallback(SETTINGS, Failure("TYPESENSE_BAD_ANSWER", "no hits in it", "report it"))
    assert (one["code"], one["reason"]) == ("TYPESENSE_BAD_ANSWER", "no hits in it")
    ours = cluster.fallback(SETTINGS, KeyError("hits"))
    assert (ours["code"], ours["reason"]) == ("KeyError", "KeyError: 'hits'")
    assert noted() is None and not home.exists()


def test_a_noted_fault_stops_the_next_recall() -> None:
    db = apsw.Connection(":memory:")
    circuit_breaker.note(cluster._nodes(SETTINGS), "TYPESENSE_UNREACHABLE", "it is down")
    with pytest.raises(Failure, match="it is down") as raised:
        cluster.ask(SETTINGS, None, lambda _: pytest.fail("the cluster was asked"), db)
    assert (raised.value.code, raised.value.fix) == ("TYPESENSE_UNREACHABLE", "wait some seconds")


@pytest.mark.parametrize(("later_ms", "holds"), [(0, True), (9_999, True), (10_000, False), (-1, False)])
def test_a_fault_holds_for_ten_seconds(monkeypatch: pytest.MonkeyPatch, later_ms: int, holds: bool) -> None:
    circuit_breaker.note("here", "CODE", "why")
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + later_ms))
    assert circuit_breaker.read("here") == (("CODE", "why") if holds else None)
    assert circuit_breaker.read("there") is None


def test_a_fault_is_forgotten_when_the_cluster_answers(home: Path) -> None:
    circuit_breaker.clear()  # nothing is there
    circuit_breaker.note("here", "CODE", "why")
    circuit_breaker.clear()
    assert circuit_breaker.read("here") is None
    mark = home / "cache" / "typesense-down.json"
    assert not mark.exists()
    for damaged in ("", "[]", "{}", json.dumps({"nodes": "here", "at": "x", "code": "c", "message": "m"})):
        mark.write_text(damaged)
        assert circuit_breaker.read("here") is None


def test_a_fault_is_of_one_cluster_and_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {cluster._nodes(SETTINGS)}
    for name, value in (("TYPESENSE_API_KEY", "x"), ("TYPESENSE_URL", "http://a"), ("JOELCLAW_STORE_URLS", "http://b")):
        monkeypatch.setenv(name, value)
        seen.add(cluster._nodes(SETTINGS))
    assert len(seen) == 4 and not any(" x" in one for one in seen)
    assert cluster._nodes(SETTINGS).startswith("http://b "), "our own variable comes first"
