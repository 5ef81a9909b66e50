"""Which sessions and events of a project one that asks is told of, and how many (`session.session_store`)."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS

from core.config import Config
from core.store import events
from core.store.sessions import calls
from recall import engine
from session.session_store import SessionStore

FAULT: Any = {"step": "x", "code": "X", "message": "x"}


def session(identifier: str, *, folder: str = "/w", count: int = 1, at: int = NOW_MS) -> Any:
    return {"id": identifier, "folder": folder, "calls": count, "updated_at": at}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> SessionStore:
    """A store with a database that is only handed on."""
    monkeypatch.setattr(SessionStore, "reading", lambda self: ("db", False))
    return SessionStore(Config({}), NOW_MS)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The archived sessions, the newest first; filled in by the test."""
    found: list[Any] = []
    monkeypatch.setattr(calls, "projects", lambda db: ["p", "other", "me/p"])

    def of_project(db: Any, names: list[str], most: int, *, talks_in: str | None = None) -> list[Any]:
        assert names == ["p"]
        return [
            one for one in found
            if (one["calls"] if talks_in is None else not one["calls"] and one["folder"] == talks_in)
        ][:most]  # fmt: skip

    monkeypatch.setattr(calls, "sessions_of_project", of_project)
    monkeypatch.setattr(calls, "most_used_names", lambda db, one, most: [f"{one}:{most}"])
    monkeypatch.setattr(calls, "prompts", lambda db, one, most: [f"{one}:{most}"])
    monkeypatch.setattr(calls, "calls", lambda db, one, *, last: [f"{one}:{last}"])
    monkeypatch.setattr(calls, "last_answer", lambda db, one: f"{one} is done")
    return found


def test_the_last_five_sessions_and_of_each_what_is_needed(store: SessionStore, known: list[Any]) -> None:
    known += [session("asks"), *(session(f"s{n}") for n in range(6))]
    left: list[Any] = store.left("p", "/w", without="asks")
    assert [one["session"]["id"] for one in left] == ["s0", "s1", "s2", "s3", "s4"]
    assert [one["names"] for one in left] == [[f"s{n}:80"] for n in range(5)]
    assert [one["prompts"] for one in left] == [["s0:12"], ["s1:12"], ["s2:12"], [], []]
    assert [one["calls"] for one in left] == [["s0:60"], [], [], [], []]
    assert [one["answer"] for one in left] == ["s0 is done", "", "", "", ""]


def test_the_one_to_go_on_from(store: SessionStore, known: list[Any]) -> None:
    known += [session("new", folder="/v"), session("old"), session("older")]

    def first(**more: Any) -> list[str]:
        return [one["session"]["id"] for one in store.left("p", "/w", without="", **more)]

    assert first() == ["old", "older", "new"]
    assert first(first="new") == ["new", "old", "older"]
    assert first(first="older") == ["older", "old", "new"]


def test_sessions_that_only_talked_come_besides(store: SessionStore, known: list[Any]) -> None:
    known += [session("asks", count=0, at=9), *(session(f"t{n}", count=0, at=8 - n) for n in range(5))]
    known += [session("elsewhere", count=0, folder="/v"), *(session(f"s{n}", at=7 - n) for n in range(6))]
    left: list[Any] = store.left("p", "/w", without="asks")
    assert [one["session"]["id"] for one in left] == ["t0", "s0", "t1", "s1", "t2", "s2", "s3", "s4"]
    assert [bool(one["names"]) for one in left] == [False, True, False, True, False, True, True, True]
    assert [bool(one["prompts"]) for one in left] == [True] * 6 + [False] * 2
    assert [one["calls"] for one in left if one["calls"]] == [["s0:60"]]
    assert left[1]["calls"] == ["s0:60"]


def test_what_others_did_since_a_time(store: SessionStore, known: list[Any]) -> None:
    known += [
        session("asks"), session("ahead", at=NOW_MS + 1), session("now"), session("idle", count=0),
        session("since", at=NOW_MS - 60), session("before", at=NOW_MS - 61), session("beyond"),
    ]  # fmt: skip

    def others(since: int) -> list[Any]:
        return list(store.meanwhile("p", since, without="asks"))

    assert [one["session"]["id"] for one in others(NOW_MS - 61)] == ["now", "since"], "of the last five, two at most"
    assert [one["session"]["id"] for one in others(NOW_MS - 60)] == ["now"]
    assert others(NOW_MS) == []
    assert (others(0)[0]["names"], others(0)[0]["prompts"], others(0)[0]["calls"]) == (["now:80"], ["now:12"], [])


def test_without_a_project_or_after_a_fault_nothing_is_asked(store: SessionStore, known: list[Any]) -> None:
    known.append(session("one"))
    assert store.left("", "/w", without="") == store.meanwhile("", 0, without="") == []
    store.faults.append(FAULT)
    assert store.left("p", "/w", without="") == store.meanwhile("p", 0, without="") == []
    assert (store.recall("q"), store.happened(0), store.calls("one")) == (None, None, 0)
    assert (store.append([{"id": "e"}]), store.write_task("t", source="", session="", project="")) == (  # type: ignore[typeddict-item]
        False, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "asked", "shown"),
    [
        ({"project": "p"}, {"project": "p", "strictly": False, "apart": True}, ["own", "task", "global"]),
        ({"everywhere": True}, {"project": "", "strictly": False, "apart": False},
         ["own", "task", "global", "nobody's"]),
        ({"project": "p", "strictly": True}, {"project": "p", "strictly": True, "apart": True},
         ["own", "task", "global"]),
    ],
)  # fmt: skip
def test_what_a_session_recalls(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch, more: Any, asked: Any, shown: list[str]
) -> None:
    hits = [
        {"id": "own", "project": "p", "tags": []}, {"id": "task", "project": "p", "tags": ["session-task"]},
        {"id": "global", "project": "", "tags": ["x"]}, {"id": "nobody's", "project": "", "tags": ["session-task"]},
    ]  # fmt: skip
    given: dict[str, Any] = {}
    monkeypatch.setattr(engine, "recall", lambda db, query, **about: given.update(about) or {"hits": hits})
    found = store.recall("q", **more)
    assert found is not None and [hit["id"] for hit in found] == shown
    assert {key: given[key] for key in asked} == asked
    assert (given["limit"], given["budget"], given["now"], given["vectors"], given["patience_ms"]) == (
        15, "lean", NOW_MS, False, 500,
    )  # fmt: skip
    assert given["min_score"] == Config({}).number("inject.min_score")
    assert store.recall("q", strictly=True) == [], "of no project there is nothing of its own"


def test_what_went_wrong_is_told_once_and_the_newest_first(
    store: SessionStore, known: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    rows = {"levels": [("b", 2), ("a", 1)], "failed": [("c", 3), ("a", 1)]}

    def newest(db: Any, query: Any, most: int) -> list[Any]:
        asked.append((query, most))
        return [{"id": one, "timestamp": at} for one, at in rows["failed" if query["success"] is False else "levels"]]

    monkeypatch.setattr(events, "newest", newest)
    monkeypatch.setattr(events, "tally", lambda db, query: asked.append((query, 0)) or ["tally"])
    found = store.happened(7, project="p", session="s1")
    assert found is not None
    assert ([one["id"] for one in found[0]], found[1]) == (["c", "b", "a"], ["tally"])
    plain = {
        "words": [], "levels": [], "sources": [], "components": [], "session": "", "system": "", "success": None,
        "since": 7, "near": ("s1", ["p"]),
    }  # fmt: skip
    assert asked == [
        ({**plain, "levels": ["warn", "error", "fatal"]}, 60), ({**plain, "success": False}, 60), (plain, 0),
    ]  # fmt: skip
    asked.clear()
    store.happened(7, everywhere=True)
    assert all("near" not in query for query, _ in asked)


def test_how_many_calls_a_session_has(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "session", lambda db, one: session(one, count=7) if one == "s1" else None)
    assert (store.calls("s1"), store.calls("s2")) == (7, 0)
    monkeypatch.setattr(SessionStore, "reading", lambda self: (None, False))
    assert store.calls("s1") == 0
    assert store.happened(0) == ([], [])
    assert store.left("p", "/w", without="") == store.meanwhile("p", 0, without="") == []
