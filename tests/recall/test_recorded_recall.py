"""What a recall of the command line tells of itself, counts, and knows of sessions and projects."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS

from core import project
from core.config import Config
from core.errors import Failure
from core.store import documents, sqlite
from core.store.sessions import call_search, transcripts
from otel import log
from recall import engine
from session.recorded_recall import RecordedRecall

RESULT: Any = {
    "hits": [{"id": "m1"}, {"id": "m2"}], "budget": {"applied": "lean"}, "found": 9, "count": 2,
    "droppedByTrustPass": 1, "backend": "sqlite", "rewrite": {"strategy": "none"}, "semantic": False,
}  # fmt: skip


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is stored: events and the memories that are counted as recalled."""
    found: list[Any] = []
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 5))
    monkeypatch.setattr(sqlite, "open_reading", lambda: "db")
    monkeypatch.setattr(sqlite, "load_vectors", lambda db: True)
    monkeypatch.setattr(
        log, "try_append", lambda db, events, config, *, recalled, now: found.append((list(events), recalled, now))
    )
    monkeypatch.setattr(engine, "recall", lambda db, query, **asked: RESULT)
    return found


def ask(made: RecordedRecall, **more: Any) -> Any:
    return made.ask("a query", now=NOW_MS, budget="auto", limit=3, **more)


def test_a_recall_tells_when_it_begins_and_what_it_found(stored: list[Any]) -> None:
    made = RecordedRecall(Config({}))
    assert ask(made) is RESULT
    assert stored == []
    made.save(counting=True)
    ((events, recalled, now),) = stored
    assert (recalled, now) == (["m1", "m2"], NOW_MS + 5)
    began, ended = events
    assert [(one["action"], one["level"], one["component"], one["timestamp"]) for one in events] == [
        ("memory.recall.started", "debug", "recall-cli", NOW_MS),
        ("memory.recall.completed", "info", "recall-cli", NOW_MS + 5),
    ]
    assert {name: began["metadata"][name] for name in ("budget", "limit")} == {"budget": "auto", "limit": 3}
    told = {
        name: ended["metadata"].get(name) for name in ("budget", "found", "returned", "dropped", "semantic", "fallback")
    }
    assert told == {"budget": "lean", "found": 9, "returned": 2, "dropped": 1, "semantic": False, "fallback": None}
    made.save()
    assert stored[1] == ([], [], NOW_MS + 5), "not told and not counted again"


def test_a_fallback_is_told(stored: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "recall", lambda db, query, **asked: {**RESULT, "fallback": {"code": "CLUSTER_DOWN"}})
    made = RecordedRecall(Config({}))
    ask(made)
    made.save()
    assert stored[0][0][1]["metadata"]["fallback"] == "CLUSTER_DOWN"


def test_a_store_that_fails_is_told_at_once(stored: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any, **asked: Any) -> Any:
        raise sqlite.StoreError("broken")

    monkeypatch.setattr(engine, "recall", fail)
    with pytest.raises(Failure) as raised:
        ask(RecordedRecall(Config({})))
    ((events, recalled, _),) = stored
    assert [one["action"] for one in events] == ["memory.recall.started", "memory.recall.failed"]
    assert (events[1]["level"], events[1]["success"], events[1]["error"]) == ("error", False, raised.value.message)
    assert (events[1]["metadata"]["code"], recalled) == (raised.value.code, [])


def test_events_are_stored_by_the_five_hundred(stored: list[Any]) -> None:
    made = RecordedRecall(Config({}))
    for _ in range(249):
        ask(made)
    assert stored == []
    ask(made)
    assert [(len(events), recalled) for events, recalled, _ in stored] == [(500, [])]


@pytest.mark.parametrize("exists", [True, False])
def test_the_session_that_is_meant(stored: list[Any], monkeypatch: pytest.MonkeyPatch, exists: bool) -> None:
    monkeypatch.setattr(call_search, "exists", lambda db: exists)
    monkeypatch.setattr(transcripts, "whole_id", lambda db, given: "s1-whole" if given == "s1" else "")
    made = RecordedRecall(Config({}))
    assert [made.session_meant(given) for given in ("s1", "other", "")] == ["s1-whole" if exists else "s1", "other", ""]
    assert [made.is_unknown(given) for given in ("s1", "other", "")] == [not exists, True, False]


@pytest.mark.parametrize(
    ("repository", "named", "preferred"), [("me/p", "q", "me/p"), ("", "q", "q"), ("", "r", ""), ("", "", "")]
)
def test_the_project_whose_hits_go_first(
    stored: list[Any], monkeypatch: pytest.MonkeyPatch, repository: str, named: str, preferred: str
) -> None:
    monkeypatch.setattr(project, "repository_of", lambda folder: repository)
    monkeypatch.setattr(project, "name_of", lambda folder: named)
    monkeypatch.setattr(documents, "projects", lambda db: ["x", "q"])
    assert RecordedRecall(Config({})).preferred("/w") == preferred
    monkeypatch.setattr(sqlite, "open_reading", lambda: None)
    empty = RecordedRecall(Config({}))
    assert (empty.preferred("/w"), empty.session_meant("s1"), empty.is_unknown("s1")) == (repository, "s1", True)
    assert empty._vectors is False
