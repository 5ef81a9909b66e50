"""The zone rules as a state machine: any sequence of turns and compactions keeps ADR-0203."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core import json_text
from core.config import Config
from core.quoting import one_line
from session import record
from session.reactions import recovery, task
from session.session import Session as Call
from session.state import Damaged, SessionState

if TYPE_CHECKING:
    from clients.base import Kind
    from session.state import Memory

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
    return len(json_text.dumps(state.to_json()).encode())


def call_of(state: SessionState, now: int, percent: float | None = None) -> Call:
    """A call about a session in this state, as if it had been loaded."""
    call = Call(SESSION, DEFAULTS)
    call.state, call.before, call.now = state, state.copy(), now
    call.usage = {"tokens": None, "window": None, "percent": percent, "source": "usage"}
    return call


class Turns(RuleBasedStateMachine):
    """A session with a clock. Each rule is a process that loads the state, works, and saves it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000
        self.entered: list[str] = []
        """The zones that were entered since the last compaction."""
        self.save(SessionState(SESSION, "interactive", self.now))

    def load(self) -> SessionState:
        return SessionState.from_json(json_text.loads(self.disk))

    def save(self, state: SessionState) -> None:
        self.disk = json_text.dumps(state.to_json())

    @rule(
        prompts=messages, touched=files, percent=percents, found=hits, does=st.booleans(),
        kind=st.sampled_from(["turn", "before_compaction"]), step=st.integers(0, 20_000),
    )  # fmt: skip
    def turn(
        self, prompts: list[str], touched: list[str], percent: float | None, found: list[str], does: bool,
        kind: Kind, step: int,
    ) -> None:  # fmt: skip
        self.now += step
        call = call_of(self.load(), self.now, percent)
        before, state = call.before, call.state
        record.record(record.own_event(kind, messages=prompts, files=touched), call)
        plan = call.plan
        assert before is not None and plan is not None
        assert all(any(path[-100:] == known[-100:] for known in state.files) for path in touched)
        if prompts:
            assert state.messages[-1] == record.message(prompts[-1])
        if kind == "turn":
            assert plan.zone in ("warm", "hot") or not (plan.must_recall or plan.must_write or plan.entered)
            assert plan.zone == "hot" or not plan.must_write
        self.entered += plan.entered
        assert len(self.entered) == len(set(self.entered))
        assert not plan.must_recall or (state.task_hash != before.recalled_hash and 5 <= len(plan.query) <= 120)
        assert not plan.must_write or state.task_hash != before.written_hash
        if plan.must_recall and does:
            task._record_recall(state, plan.query, memories(found), self.now)
            assert state.recall_queries[:1] == [plan.query] if found else state.recall_cache == before.recall_cache
        if plan.must_write and does:
            state.written_hash = state.task_hash
        self.save(state)

    @rule(step=st.integers(0, 90_000))
    def compact(self, step: int) -> None:
        self.now += step
        call = call_of(self.load(), self.now)
        state, before = call.state, call.before
        assert before is not None
        record.record(record.own_event("after_compaction"), call)
        assert (state.compaction_count, state.recall_cache) == (before.compaction_count + 1, before.recall_cache)
        assert (state.note_owed, state.warm_zone_entered, state.hot_zone_entered) == (True, False, False)
        note = recovery.talk_note(
            state.task, state.files_modified, state.recalled_memories, state.recall_queries, 300, ""
        )
        assert note.content or not (state.task or state.files or state.recall_cache)
        self.entered = []
        self.save(state)

    @invariant()
    def bounds_hold(self) -> None:
        state = self.load()
        assert json_text.dumps(state.to_json()) == self.disk
        held = state.checkpoint
        assert len(self.disk.encode()) < 65_536
        assert len(held["currentTask"]) <= 500
        assert len(state.messages) <= 3 and all(len(entry["text"]) <= 200 for entry in state.messages)
        assert held["filesModified"] == state.files[-10:]
        assert len(set(state.files)) == len(state.files) <= 20
        assert (len(held["recallHits"]) <= 5, len(held["recallQueries"]) <= 3) == (True, True)
        assert len(state.recall_cache) <= 3


TestTurns = Turns.TestCase
TestTurns.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)


@settings(deadline=None)
@given(st.sampled_from(["字", "\U0001f600", '"', "\\", "\x00", "\x7f", "a"]))
def test_the_fullest_state_fits(unit: str) -> None:
    state = SessionState(unit * 200, unit * 60)
    state.files = [f"{number}" + one_line(unit * 999) for number in range(99)]
    state.messages = [entry for _ in range(9) if (entry := record.message(unit * 999))]
    state.task = one_line(unit * 999)
    state.injected_scopes = [f"{n}" + one_line(unit * 99) for n in range(99)]
    state.injected_kinds = {f"{n}" + one_line(unit * 99): 2**63 for n in range(99)}
    state.recall_cache = [
        {
            "query": unit * 999,
            "hash": unit * 99,
            "hits": memories([f"{n}" + one_line(unit * 999) for _ in range(9)]),
            "at": 1,
        }
        for n in range(9)
    ]
    assert size(state) < 65_536


fields = st.sampled_from(sorted(SessionState("s").to_json()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(fields, inner, max_size=9),
)


@given(json_values)
def test_any_json_is_a_state_or_damaged(value: Any) -> None:
    if isinstance(value, dict):
        value |= {"version": 1, "sessionId": "s"}
    try:
        state = SessionState.from_json(value)
    except Damaged:
        return
    written = state.to_json()
    assert SessionState.from_json(written).to_json() == written
    call = call_of(state, 1, 70)
    record.record(record.own_event("turn", messages=["a message of some length"], files=["x"]), call)
    assert size(state) > 0
    assert recovery.talk_note(state.task, state.files, state.recalled_memories, [], 300, "").content
