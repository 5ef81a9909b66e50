"""The zone rules as a state machine: any run of turns, outcomes and compactions keeps what ADR-0203 promises."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core import json_text
from core.config import Config
from session import checkpoint
from session.inject import recovery
from session.state import rules, state_file

if TYPE_CHECKING:
    from session import records
    from session.records import Memory, SessionState

DEFAULTS = Config({})
SESSION = "s" * 200
messages = st.lists(
    st.sampled_from(["fix the importer", "now the tests", "write the runbook", "go", "x" * 900, "数" * 900]), max_size=4
)
files = st.lists(st.sampled_from([f"src/f{number}.py" for number in range(30)] + ["p" * 999, "路" * 999]), max_size=5)
percents = st.none() | st.floats(0, 120)
hits = st.lists(st.sampled_from(["a memory", "another memory", "字" * 999, "m" * 999]), max_size=7)


def memories(texts: list[str]) -> list[Memory]:
    return [{"id": f"id-{n}", "text": text, "category": "字" * 300, "score": 0.5} for n, text in enumerate(texts)]


def size(state: SessionState) -> int:
    return len(json_text.dumps(state).encode())


class Session(RuleBasedStateMachine):
    """One session with a clock, at most one process at work, and the disk as JSON text."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000
        self.disk = json_text.dumps(state_file.blank(SESSION, "interactive", self.now))
        self.work: records.Plan | None = None
        self.warm_events = self.hot_events = 0
        self.recalled: list[str] = []
        self.written: list[str] = []
        self.given_messages: list[str] = []
        self.given_files: set[str] = set()

    def load(self) -> SessionState:
        return state_file.state_of(json_text.loads(self.disk), SESSION)

    @rule(said=messages, touched=files, percent=percents, flush=st.booleans(), step=st.integers(0, 20_000))
    def turn(self, said: list[str], touched: list[str], percent: float | None, flush: bool, step: int) -> None:
        self.now += step
        turn = checkpoint.turn_of(messages=said, files=touched, percent=percent)
        before = self.load()
        state = rules.record_turn(before, turn)
        plan = rules.plan_of(state, rules.zone_of(percent, DEFAULTS), flush=flush)
        assert set(turn["files"]) <= set(state["files"])
        if turn["messages"]:
            assert state["messages"][-1] == turn["messages"][-1]
        if not flush:
            assert (plan["zone"] in ("warm", "hot")) or not (plan["recall"] or plan["write"] or plan["entered"])
            assert plan["zone"] == "hot" or not plan["write"]
            self.warm_events += "warm" in plan["entered"]
            self.hot_events += "hot" in plan["entered"]
        if plan["recall"]:
            assert plan["hash"] != state["recalledHash"]
            assert 5 <= len(plan["query"]) <= 120
        if plan["write"]:
            assert plan["hash"] != state["writtenHash"]
        if self.work is None and (plan["recall"] or plan["write"]):
            self.work = plan
        self.disk = json_text.dumps(rules.enter(state, plan))

    @precondition(lambda self: self.work is not None)
    @rule(found=st.none() | hits, stored=st.booleans(), dies=st.booleans())
    def finish(self, found: list[str] | None, stored: bool, dies: bool) -> None:
        plan, self.work = self.work, None
        assert plan is not None
        if dies:
            return
        recalled = memories(found) if plan["recall"] and found is not None else None
        memory = f"task-{plan['hash']}" if plan["write"] and stored else None
        before = self.load()
        state = rules.finish(before, plan, recalled, memory, now=self.now)
        assert state["messages"] == before["messages"]
        assert state["files"] == before["files"]
        if recalled is not None:
            assert state["recalledHash"] == plan["hash"]
            if recalled:
                assert state["checkpoint"]["recallQueries"][0] == plan["query"]
            else:
                assert state["recallCache"] == before["recallCache"], "a query without results is not validated"
        if memory is not None:
            assert state["writtenHash"] == plan["hash"]
        self.disk = json_text.dumps(state)

    @rule(step=st.integers(0, 90_000))
    def compact(self, step: int) -> None:
        self.now += step
        before = self.load()
        rapid = rules.is_rapid(before, self.now, 60_000)
        last = before["lastInjectionAt"]
        assert rapid == (last is not None and self.now - last < 60_000)
        state = rules.compact(before, self.now)
        if not rapid:
            state = {**state, "lastInjectionAt": self.now}
        assert state["checkpoint"]["compactionCount"] == before["checkpoint"]["compactionCount"] + 1
        assert state["recallCache"] == before["recallCache"]
        assert not state["warmZoneEntered"]
        assert not state["hotZoneEntered"]
        made = recovery.of_talk(
            state["checkpoint"]["currentTask"], state["checkpoint"]["filesModified"],
            state_file.memories(state["recallCache"]), state["checkpoint"]["recallQueries"], 300, "",
        )  # fmt: skip
        if state["checkpoint"]["currentTask"] or state["files"] or state["recallCache"]:
            assert made["content"]
        self.disk = json_text.dumps(state)
        self.warm_events = self.hot_events = 0

    @invariant()
    def bounds_hold(self) -> None:
        state = self.load()
        held = state["checkpoint"]
        assert len(self.disk.encode()) < 65_536
        assert len(held["currentTask"]) <= 500
        assert len(state["messages"]) <= 3
        assert all(len(entry["text"]) <= 200 for entry in state["messages"])
        assert held["filesModified"] == state["files"][-10:]
        assert len(set(state["files"])) == len(state["files"]) <= 20
        assert len(held["recallHits"]) <= 5
        assert len(held["recallQueries"]) <= 3
        assert len(state["recallCache"]) <= 3
        assert self.warm_events <= 1
        assert self.hot_events <= 1

    @invariant()
    def what_is_on_disk_reads_back_the_same(self) -> None:
        state = self.load()
        assert json_text.dumps(state) == json_text.dumps(
            state_file.state_of(json.loads(json_text.dumps(state)), SESSION)
        )


Session.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestSession = Session.TestCase


@settings(deadline=None)
@given(st.data())
def test_the_fullest_state_fits(data: Any) -> None:
    unit = data.draw(st.sampled_from(["字", "\U0001f600", '"', "\\", "\x00", "\x7f", "a"]))
    state = state_file.blank(unit * 200, unit * 99, 0)
    state["files"] = [f"{number}" + rules.one_line(unit * 999) for number in range(99)]
    state["messages"] = [entry for _ in range(9) if (entry := rules.message(unit * 999))]
    state["checkpoint"]["currentTask"] = rules.one_line(unit * 999)
    state["injectedScopes"] = [f"{n}" + rules.one_line(unit * 99) for n in range(99)]
    state["injectedKinds"] = {f"{n}" + rules.one_line(unit * 99): 2**63 for n in range(99)}
    state["recallCache"] = [
        {
            "query": unit * 999,
            "hash": unit * 99,
            "hits": memories([f"{n}" + rules.one_line(unit * 999) for _ in range(9)]),
            "at": 1,
        }
        for n in range(9)
    ]
    assert size(state_file.bounded(state)) < 65_536


fields = st.sampled_from(sorted(state_file.blank("s", "r", 0)))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(fields, inner, max_size=9),
)


@given(json_values)
def test_any_json_is_a_state_or_damaged(value: Any) -> None:
    if isinstance(value, dict):
        value |= {"version": 1, "sessionId": "s"}
    try:
        state = state_file.state_of(value, "s")
    except state_file.Damaged:
        return
    assert size(state) > 0
    rules.record_turn(state, checkpoint.turn_of(messages=["a message of some length"], files=["x"], percent=70))
    held = state["checkpoint"]["currentTask"], state["files"], state_file.memories(state["recallCache"])
    assert any(held) or not recovery.of_talk(*held, [], 300, "")["content"]


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=5))
def test_a_hook_that_sends_everything_and_one_that_sends_what_is_new_agree(
    history: list[int], fresh: list[int]
) -> None:
    def entries(numbers: list[int]) -> list[records.Message]:
        unlike = [n for at, n in enumerate(numbers) if at == 0 or numbers[at - 1] != n]
        return [{"text": str(n), "hash": str(n)} for n in unlike]

    whole = entries(history + fresh)
    known = entries(history)[-3:]
    after = [*known, *rules.added(known, whole)][-3:]
    assert after == whole[-3:]
