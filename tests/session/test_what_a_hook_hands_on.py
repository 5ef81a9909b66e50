"""What a hook's event hands on: to the archive, the turn, the injections (`session.hook.pipeline`)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from clients import payload, registry
from core.config import Config
from session.hook import pipeline
from session.inject import project_context, refresh, startup
from session.state import schema

USAGE: Any = {"tokens": 5, "window": 9, "percent": 55.5, "source": "usage"}


def event(kind: Any = "prompt", **more: Any) -> Any:
    return {**payload.event({}, kind, kind), **more}


def context(**more: Any) -> Any:
    """A context that notes what is asked of its store."""
    seen: list[Any] = []
    store = SimpleNamespace(
        archive=lambda path, **about: seen.append((path, about)) or ["new"],
        archive_items=lambda items, **about: seen.append((items, about)),
        keep_summary=lambda session, text: seen.append((session, text)),
    )
    known: dict[str, Any] = {
        "agent": "claude", "session_id": "s1", "previous": None, "role": "worker", "now": NOW_MS, "store": store,
        "config": Config({}), "faults": [], "seen": seen, "is_excluded": lambda cwd="": cwd == "/secret",
        "has_been_off": lambda cwd: cwd == "/off", "is_late": False,
    }  # fmt: skip
    return SimpleNamespace(**{**known, **more})


def state_of(**more: Any) -> Any:
    return {**schema.blank("s1", "interactive", NOW_MS), **more}


@pytest.mark.parametrize(
    ("given", "before", "asked"),
    [
        ({"items": ["i"], "transcript": "/t", "cwd": "/w"}, None, (["i"], "/w")),
        ({"transcript": "/t", "cwd": "/w"}, None, ("/t", "/w")),
        ({"transcript": "/t"}, "/known", ("/t", "/known")),
        ({"transcript": "/t"}, None, ("/t", "")),
        ({"cwd": "/w"}, None, None),
        ({"transcript": "/t", "cwd": "/secret"}, None, None),
        ({"transcript": "/t"}, "/secret", None),
        ({"items": ["i"], "cwd": "/secret"}, None, None),
    ],
)
def test_what_is_archived(given: Any, before: str | None, asked: Any) -> None:
    made = context(previous=None if before is None else state_of(cwd=before))
    items = pipeline._archive(event(**given), made, 3.0)
    if asked is None:
        assert (items, made.seen) == ([], [])
        return
    what, cwd = asked
    about = {"agent": "claude", "session": "s1", "cwd": cwd}
    assert made.seen == [(what, about if "items" in given else {**about, "until": 3.0})]
    assert items == (["i"] if "items" in given else ["new"])


def test_a_summary_is_kept_and_answered_with_nothing() -> None:
    for cwd, kept in (("/w", [("s1", "what was done")]), ("/secret", [])):
        made = context()
        assert pipeline.answer(event("summary", cwd=cwd, summary="what was done"), made, silent=False, until=0.0) == []
        assert made.seen == kept


def test_the_turn_of_an_event() -> None:
    given = event(messages=["one thing", "two things"], files=["a.py"], cwd="/w")
    turn = pipeline._turn_of(given, context(), USAGE)
    assert {**turn, "messages": [entry["text"] for entry in turn["messages"]]} == {
        "role": "worker", "messages": ["one thing", "two things"], "files": ["a.py"], "percent": 55.5, "tokens": 5,
        "window": 9, "agent": "claude", "cwd": "/w",
    }  # fmt: skip
    for messages, told in ((["one", "two"], ["two"]), (["one"], ["one"]), ([], [])):
        turn = pipeline._turn_of(event(messages=messages, cwd="/off"), context(), USAGE)
        assert [entry["text"] for entry in turn["messages"]] == told, (
            "of those before it is not known when they were said"
        )


@pytest.mark.parametrize(
    ("items", "pending", "ended"), [(["i"], ["p"], True), (["i"], ["p"], False), ([], ["p"], True), (["i"], [], True)]
)
def test_memories_are_judged_where_something_is_new_and_some_are_pending(items: Any, pending: Any, ended: bool) -> None:
    made = context(previous=state_of(pendingFeedback=pending))
    found: list[Any] = pipeline._feedback(made, items, ended=ended)
    assert [one._ended for one in found] == ([ended] if items and pending else [])
    assert pipeline._feedback(context(), items) == []
    if found:
        assert pipeline._feedback(made, items)[0]._ended is True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "message", "files", "cwd"),
    [
        ({"messages": ["one", " two "]}, "two", [], ""),
        ({"messages": []}, "", [], ""),
        ({"kind": "tool", "messages": ["one"], "files": ["a.py"]}, "", ["a.py"], "/known"),
        ({"kind": "tool", "files": ["a.py"], "cwd": "/w"}, "", ["a.py"], "/w"),
    ],
)
def test_which_injections_may_be_due(given: Any, message: str, files: list[str], cwd: str) -> None:
    before = state_of(cwd="/known", updatedAt=7)
    found: list[Any] = pipeline._injections(event(**given), context(), USAGE, before)
    assert [one._injection for one in found] == ([project_context, refresh] if files else [refresh])
    last = found[-1]._moment
    assert (last.message, last.percent, last.active_at, last.files) == (message, 55.5, 7, ())
    if files:
        assert (found[0]._moment.files, found[0]._moment.cwd, found[0]._moment.message) == (files, cwd, "")
    first: list[Any] = pipeline._injections(event(**given), context(), USAGE, None)
    assert (first[-1]._moment.active_at, first[0]._moment.cwd) == (None, cwd if cwd == "/w" else "")


def test_what_a_client_has_left_word_for_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "session.jsonl"
    read: list[Any] = []

    def kept_of(data: bytes, *, whole: bool) -> str:
        read.append((data, whole))
        return "k" * 200_001

    form = SimpleNamespace(kept_of=kept_of)
    row = SimpleNamespace(session_file=True, transcript=lambda: form)
    monkeypatch.setattr(registry, "row", lambda agent: row)
    monkeypatch.setattr(pipeline, "_KEPT_BYTES", 8)
    for data, given in ((b"12345678", (b"12345678", True)), (b"123456789", (b"23456789", False))):
        path.write_bytes(data)
        read.clear()
        assert pipeline._kept(event(transcript=str(path)), context()) == "k" * 200_000
        assert read == [given]
    assert pipeline._kept(event(), context()) == ""
    made = context()
    assert pipeline._kept(event(transcript=str(tmp_path / "gone")), made) == ""
    assert [fault["step"] for fault in made.faults] == ["kept"]
    row.session_file = False
    assert pipeline._kept(event(transcript=str(path)), context()) == ""
    row.session_file, row.transcript = True, SimpleNamespace
    assert pipeline._kept(event(transcript=str(path)), context()) == ""


def test_the_timer_of_idle_compaction_is_kept_where_that_is_on() -> None:
    assert pipeline._idle_timer(event(), context(), USAGE) == []
    on = context(config=Config({"compaction.idle_trigger_minutes": 1}))
    assert len(pipeline._idle_timer(event(), on, None)) == 1


def startup_moment(**more: Any) -> Any:
    return SimpleNamespace(
        context=SimpleNamespace(now=NOW_MS, config=more.get("config", Config({}))), query=more.get("query", ""),
        about={}, foreign=False,
    )  # fmt: skip


def test_a_startup_text_is_given_once_and_asked_for_by_role() -> None:
    settings = Config({"inject.query": "mine", "inject.gateway_query": "gateway's"})
    for role, asked in (("interactive", "mine"), ("gateway", "gateway's")):
        moment = startup_moment(config=settings)
        assert startup.due(state_of(role=role), moment) == ""
        assert moment.about == {"query": asked}
        assert startup.query(state_of(role=role), startup_moment(config=settings, query="given")) == "given"
    had = state_of(injectedKinds={"memory-recall": 1})
    assert startup.due(had, startup_moment()) == "already-injected"
    assert startup.due(state_of(injectedKinds={"other": 1}), startup_moment()) == ""


@pytest.mark.parametrize(
    ("foreign", "role", "query", "is_foreign"),
    [
        ({"inject.query"}, "interactive", "", True),
        ({"inject.query"}, "interactive", "given", False),
        ({"inject.query"}, "gateway", "", False),
        ({"inject.gateway_query"}, "gateway", "", True),
        (set(), "interactive", "", False),
    ],
)
def test_a_projects_own_query_is_foreign(foreign: set[str], role: str, query: str, is_foreign: bool) -> None:
    settings = Config({})
    settings.foreign = frozenset(foreign)
    moment = startup_moment(config=settings, query=query)
    startup.due(state_of(role=role), moment)
    assert moment.foreign is is_foreign


def test_what_is_noted_of_a_startup_text() -> None:
    text: Any = {"content": "x"}
    before = state_of(injectedKinds={"other": 1}, updatedAt=1)
    assert startup.apply(before, startup_moment(), text) == {
        **before, "injectedKinds": {"other": 1, "memory-recall": NOW_MS}, "updatedAt": NOW_MS,
    }  # fmt: skip
    assert startup.apply(before, startup_moment(), None) == {**before, "updatedAt": NOW_MS}


def memories(count: int, text: str) -> Any:
    return [{"id": f"m{n}", "text": f"{n}{text}", "category": "", "score": 1.0} for n in range(count)]


@pytest.mark.parametrize(
    ("letter", "length", "shown", "longest"),
    [("x", 0, 3, 1), ("x", 199, 3, 200), ("x", 200, 3, 200), ("数", 60, 3, 61), ("数", 199, 3, 66)],
)
def test_a_startup_text_has_three_memories_within_its_budget(
    letter: str, length: int, shown: int, longest: int
) -> None:
    made = startup.text_of([{**memories(1, "")[0], "text": " "}, *memories(5, letter * length)])
    assert made is not None and [one["id"] for one in made["memories"]] == [f"m{n}" for n in range(shown)]
    lines = made["content"].splitlines()
    assert lines[1] == "## Relevant Memory (auto-retrieved)"
    assert [line[:12] for line in lines[2:-1]] == [f"{n}. [memory] "[:12] for n in (1, 2, 3)]
    assert max(len(line) - len("1. [memory] ") for line in lines[2:-1]) == longest


def test_where_it_was_left_goes_before_memories() -> None:
    assert startup.text_of([]) is None
    left = startup.text_of([], ["**Last task** (1 h ago): x"])
    assert left is not None and left["content"].splitlines()[1:-1] == [
        "## Where This Project Was Left", "**Last task** (1 h ago): x",
    ]  # fmt: skip
    long = startup.text_of(memories(3, " told"), ["x" * 1_500])
    assert long is not None and long["memories"] == []
    both = startup.text_of(memories(3, "数" * 60), ["x" * 1_000])
    assert both is not None and 0 < len(both["memories"]) < 3
