"""What a checkpoint plans, tells as events and answers, and what a context knows (`session.checkpoint`)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from core.config import Config
from core.errors import Failure
from session import checkpoint, session_event
from session.checkpoint import Checkpoint
from session.context import Context
from session.state import schema, zones

TASK = "Fix the memory use of the importer"
HIT: Any = {
    "id": "m1", "observation": "We read it in batches of 1,500 rows, because a day does not fit.", "context": "",
    "collection": "observations", "categoryId": "", "session": "", "tags": [], "score": 0.9, "project": "p",
}  # fmt: skip


def state_of(**more: Any) -> Any:
    return {**schema.blank("s1", "interactive", NOW_MS - 9_000), **more}


def step_of(percent: float | None, *, state: Any = None, turn: bool = True, **more: Any) -> tuple[Checkpoint, Any, Any]:
    """A checkpoint at a context usage, the state that it makes, and what it asked of the store and noted."""
    seen = SimpleNamespace(recalled=[], written=[], noted=[])
    found, written = more.pop("found", [HIT]), more.pop("written", "t1")
    store = SimpleNamespace(
        recall=lambda query, **about: seen.recalled.append((query, about)) or found,
        write_task=lambda text, **about: seen.written.append((text, about)) or written,
    )
    excluded = more.pop("excluded", False)
    context = SimpleNamespace(
        now=NOW_MS, config=Config({}), store=store, faults=[], set_aside=more.pop("set_aside", ""),
        is_excluded=lambda cwd: excluded, project_of=lambda state: "p",
        serves_all=lambda state: state["role"] == "gateway", note=seen.noted.extend,
    )  # fmt: skip
    given = checkpoint.turn_of(messages=[TASK], files=["a.py", "b.py"], percent=percent) if turn else None
    step = Checkpoint(context, given, **more)  # type: ignore[arg-type]
    return step, step.change(state or state_of()), seen


def done(percent: float | None, **more: Any) -> tuple[Checkpoint, Any, Any]:
    step, state, seen = step_of(percent, **more)
    if step.is_due(state):
        step.work(state)
        state = step.apply(state)
    step.follow_up(state)
    return step, state, seen


def told(seen: Any) -> list[tuple[str, Any]]:
    return [(event["action"], event["metadata"]) for event in seen.noted]


@pytest.mark.parametrize(
    ("percent", "zone", "recalls", "writes", "events"),
    [
        (None, "unknown", 0, 0, []),
        (39.9, "cold", 0, 0, []),
        (40, "warm", 1, 0, ["task.recalled", "compaction.extract.warm"]),
        (59.9, "warm", 1, 0, ["task.recalled", "compaction.extract.warm"]),
        (60, "hot", 1, 1, ["task.recalled", "compaction.extract.warm", "compaction.extract.hot"]),
    ],
)
def test_what_a_turn_does_by_its_zone(
    percent: float | None, zone: str, recalls: int, writes: int, events: list[str]
) -> None:
    step, state, seen = done(percent)
    assert (len(seen.recalled), len(seen.written)) == (recalls, writes)
    assert [name for name, _ in told(seen)] == events
    assert (state["counts"]["saves"], state["counts"]["flushes"], state["updatedAt"]) == (1, 0, NOW_MS)
    assert (state["counts"]["recalls"], state["counts"]["writes"]) == (recalls, writes)
    result = step.result(state)
    assert (result["zone"], result["recalled"], result["written"], result["hits"]) == (
        zone,
        recalls > 0,
        writes > 0,
        recalls,
    )
    assert step.has_work is (recalls > 0)


def test_what_a_hot_turn_asks_writes_and_tells() -> None:
    step, state, seen = done(61, set_aside="/aside")
    assert seen.recalled == [(TASK, {"project": "p", "everywhere": False})]
    assert seen.written == [
        (f"Task: {TASK} | Files: b.py, a.py", {"source": "interactive", "session": "s1", "project": "p", "known": []})
    ]
    assert told(seen) == [
        ("task.recalled", {"query": TASK, "returned": 1, "written": True}),
        ("compaction.extract.warm", {"percent": 61}),
        ("compaction.extract.hot", {"percent": 61, "recallHits": 1, "filesCount": 2}),
    ]
    assert step.result(state) == {
        "sessionId": "s1", "role": "interactive", "zone": "hot", "percent": 61, "entered": ["warm", "hot"],
        "recalled": True, "recallReason": "new-task", "recallQuery": TASK, "hits": 1, "cachedHits": 1, "written": True,
        "writeReason": "new-task", "memoryId": "t1", "currentTask": TASK, "filesModified": ["a.py", "b.py"],
        "taskHash": state["taskHash"], "compactionCount": 0, "setAside": "/aside",
    }  # fmt: skip


def test_a_hot_zone_is_told_when_it_is_entered_and_when_a_task_is_written() -> None:
    known = zones.record_turn(state_of(warmZoneEntered=True, hotZoneEntered=True), checkpoint.turn_of(messages=[TASK]))
    asked = {**known, "recalledHash": known["taskHash"]}
    assert [name for name, _ in told(done(60, state=asked)[2])] == ["compaction.extract.hot"], "it is written"
    both = {**asked, "writtenHash": known["taskHash"]}
    assert told(done(60, state=both)[2]) == []
    entered = done(60, state={**both, "hotZoneEntered": False})[2]
    assert [name for name, _ in told(entered)] == ["compaction.extract.hot"]


def test_what_failed_is_told_as_its_reason() -> None:
    step, state, seen = done(60, found=None, written=None)
    result = step.result(state)
    assert (result["recallReason"], result["writeReason"], result["memoryId"]) == ("failed", "failed", None)
    assert [name for name, _ in told(seen)] == ["compaction.extract.warm", "compaction.extract.hot"]
    busy, state, _ = step_of(60)
    busy.is_busy()
    assert [busy.result(state)[name] for name in ("recallReason", "writeReason")] == ["in-flight"] * 2
    cold, state, _ = done(10)
    assert [cold.result(state)[name] for name in ("recallReason", "writeReason")] == ["below-warm"] * 2


def test_a_recall_without_hits_is_none() -> None:
    step, state, seen = done(50, found=[])
    assert (step.result(state)["recalled"], step.result(state)["hits"]) == (True, 0)
    assert told(seen)[0] == ("task.recalled", {"query": TASK, "returned": 0, "written": False})
    assert state["recalledHash"] == state["taskHash"]


def test_work_that_is_left_is_not_due() -> None:
    step, state, _ = step_of(60, leave_work=True)
    assert (step.has_work, step.is_due(state)) == (True, False)
    assert step_of(60)[0].is_due(state) is True
    assert step_of(10)[0].is_due(state) is False


def test_of_an_excluded_folder_nothing_is_written() -> None:
    step, state, seen = done(60, excluded=True)
    assert (seen.written, len(seen.recalled)) == ([], 1)
    assert (step.result(state)["written"], step.result(state)["writeReason"]) == (False, "excluded")


def test_without_a_turn_the_usage_that_was_told_counts() -> None:
    known = zones.record_turn(state_of(), checkpoint.turn_of(messages=[TASK], percent=61))
    step, state, seen = done(None, state=known, turn=False)
    assert (state["counts"]["saves"], state["updatedAt"]) == (0, NOW_MS - 9_000)
    assert (step.result(state)["zone"], step.result(state)["percent"]) == ("hot", 61)
    assert told(seen)[1] == ("compaction.extract.warm", {"percent": 61})


@pytest.mark.parametrize("role", ["interactive", "gateway"])
def test_what_a_flush_tells(role: str) -> None:
    known = state_of(role=role, lastCompactionAt=NOW_MS - 4_000, contextTokens=5, contextLimit=9)
    known["checkpoint"]["compactionCount"] = 3
    step, state, seen = done(61, state=known, flush=True)
    before, after = (
        ("gateway." if role == "gateway" else "") + f"compaction.{name}" for name in ("before", "checkpoint")
    )
    count = "gwCompactionCount" if role == "gateway" else "compactionCount"
    assert told(seen) == [
        (("gateway." if role == "gateway" else "") + "task.recalled", {"query": TASK, "returned": 1, "written": True}),
        (before, {
            count: 3, "contextPercent": 61, "contextTokens": 5, "contextLimit": 9, "recallCacheSize": 1,
            "recallHits": 1, "filesCount": 2, "userMessageCount": 1, "timeSinceLastCompactionMs": 4_000,
            "timeSinceSessionStartMs": 9_000,
        }),
        (after, {
            count: 3, "contextPercent": 61, "recallHits": 1, "filesCount": 2, "queriesCount": 1,
            "taskChars": len(TASK), "written": True, "memoryId": "t1",
        }),
    ]  # fmt: skip
    assert (state["counts"]["saves"], state["counts"]["flushes"], step.result(state)["entered"]) == (0, 1, [])
    assert seen.recalled[0][1]["everywhere"] is (role == "gateway")


def test_a_clock_that_went_back_makes_no_time_negative() -> None:
    ahead = state_of(lastCompactionAt=NOW_MS + 1, startedAt=NOW_MS + 1)
    _, about = told(done(10, state=ahead, flush=True, found=None, written=None)[2])[0]
    assert (about["timeSinceLastCompactionMs"], about["timeSinceSessionStartMs"]) == (0, 0)


def test_an_event_of_a_session() -> None:
    made = session_event.event("x.y", "", "s1", {"duration_ms": 5, "a": 1}, NOW_MS)
    assert {name: made[name] for name in ("action", "source", "component", "level", "sessionId", "duration_ms")} == {  # type: ignore[literal-required]
        "action": "x.y", "source": "interactive", "component": "session-lifecycle", "level": "info", "sessionId": "s1",
        "duration_ms": 5,
    }  # fmt: skip
    aside = session_event.set_aside_event("gateway", "s1", "/h/sessions/s1.json.damaged-1", NOW_MS)
    assert (aside["action"], aside["level"], aside["source"], aside["metadata"]) == (
        "session.state.set_aside", "warn", "gateway", {"file": "s1.json.damaged-1"},
    )  # fmt: skip
    damaged = session_event.switches_damaged("s1", "/h/switches.json.damaged-1", NOW_MS)
    assert (damaged["action"], damaged["level"], damaged["metadata"]) == (
        "switch.set_aside", "warn", {"file": "switches.json.damaged-1"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("until", "began", "been_off"),
    [(None, 100, True), (101, 100, True), (100, 100, False), (1, None, True), (0, None, False)],
)
def test_whether_a_session_was_off_since_it_began(until: int | None, began: int | None, been_off: bool) -> None:
    context = Context("s1", Config({}))
    context._switches = [{"silences": [{"scope": "session", "name": "s1", "since": 0, "until": until}], "excluded": []}]
    context._previous = [None if began is None else state_of(startedAt=began, cwd="/w")]
    assert context.has_been_off("/w") is been_off
    assert context.is_off("/w") is (until is None)
    context._switches = [None]
    assert (context.has_been_off("/w"), context.is_off("/w"), context.is_excluded("/w")) == (False, False, False)


def test_where_a_session_works() -> None:
    context = Context("s1", Config({}), role="gateway")
    assert context.directory(state_of(cwd="/w"), "/v") == "/v"
    assert context.directory(state_of(cwd="/w")) == "/w"
    assert context.project_of(state_of(cwd="/w/p", role="gateway")) == ""
    assert context.project_of(state_of(cwd="/w/p")) == "p"
    assert (context.role, Context("s1", Config({})).role) == ("gateway", "")


def test_events_are_kept_until_they_are_stored() -> None:
    stored: list[Any] = []
    for deferred, works in ((False, True), (True, True), (False, False)):
        context = Context("s1", Config({}), deferred=deferred)
        store: Any = SimpleNamespace(append=lambda *given, works=works: stored.append(given) or works)
        context._store = store
        stored.clear()
        context.note([{"id": "e"}], recalled=["m"])  # type: ignore[typeddict-item]
        assert stored == ([] if deferred else [([{"id": "e"}], ["m"])])
        assert bool(context.events) is (deferred or not works)
        assert context.write_events() is (deferred and works)
        assert bool(context.events) is not works
    assert Context("s1", Config({})).write_events() is False


@pytest.mark.parametrize("holds_lock", [False, True])
def test_what_a_hook_left_is_done_for_a_session_that_is_known(
    home: Path, monkeypatch: pytest.MonkeyPatch, holds_lock: bool
) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    with pytest.raises(Failure) as refused:
        checkpoint.catch_up(Context("s1", Config({})), holds_lock=holds_lock)
    assert refused.value.code == "SESSION_NOT_FOUND"
    checkpoint.save("s1", checkpoint.turn_of(messages=[TASK], percent=10), Config({}))
    locks: list[bool] = []
    is_due = Checkpoint.is_due
    monkeypatch.setattr(Checkpoint, "is_due", lambda self, state: locks.append(self.takes_lock) or is_due(self, state))
    result = checkpoint.catch_up(Context("s1", Config({})), holds_lock=holds_lock)
    assert (result["zone"], result["percent"], result["currentTask"]) == ("cold", 10, TASK)
    assert locks == [not holds_lock]
    assert result["ms"] >= 0
