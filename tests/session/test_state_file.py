"""The state of a session: bounded, whole under parallel hooks, replaced rarely, set aside if damaged, expired."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faults
import pytest
from conftest import NOW, NOW_MS, PATIENCE_S, Run, begin, put
from conftest import at_ms as at
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core import files, json_text
from core.config import Config
from core.quoting import one_line
from session import record
from session import state as states
from session.reactions import recovery, task
from session.session import Session as Call
from session.state import Damaged, SessionState

if TYPE_CHECKING:
    from clients.base import Kind
    from session.state import Memory


def state_file(home: Path, session: str = "s1") -> Path:
    return home / "sessions" / f"{session}.json"


def save(run: Run, *words: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    return run("checkpoint", "save", "--session", session, *words, env=NOW, **more).result


DAMAGE = {
    "empty": b"",
    "truncated": b'{"version": 1, "sessionId": "s1", "mess',
    "garbage": bytes(range(256)) * 9,
    "not UTF-8": b'{"version": 1, "sessionId": "\xff\xfe"}',
    "foreign": b'{"name": "left-pad", "version": "1.3.0"}',
    "a list": b"[]",
    "no version": b'{"sessionId": "s1"}',
    "another session": b'{"version": 1, "sessionId": "s2"}',
    "wrong type": b'{"version": 1, "sessionId": "s1", "files": [1]}',
    "wrong mark": b'{"version": 1, "sessionId": "s1", "idleTimer": {"dueAt": "x"}}',
    "wrong cache": b'{"version": 1, "sessionId": "s1", "recallCache": [{"hits": 3}]}',
    "deep": b"[" * 200_000,
    "huge": b'{"version": 1, "sessionId": "s1", "role": "' + b"x" * 2_000_000 + b'"}',
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_state_file_is_set_aside_with_its_bytes(run: Run, home: Path, content: bytes) -> None:
    put(state_file(home), content)
    listed = run("checkpoint", "show").result["sessions"]
    assert [(entry["problem"], entry["bytes"]) for entry in listed] == [("damaged", len(content))]
    result = save(run, "--percent", "10", "-m", "going on after the damage")
    aside = Path(result["setAside"])
    assert aside.read_bytes() == content
    assert aside.parent == state_file(home).parent
    assert json.loads(state_file(home).read_bytes())["checkpoint"]["currentTask"] == "going on after the damage"
    (event,) = run("otel", "search", "session state set_aside", "--hours", "1", env=NOW).result["events"]
    assert (event["level"], event["metadata"]) == ("warn", {"file": aside.name})
    assert [entry["sessionId"] for entry in run("checkpoint", "show").result["sessions"]] == ["s1"]
    assert "setAside" not in save(run, "--percent", "11")


def test_list_is_newest_first(run: Run) -> None:
    for number, name in enumerate(["old", "new", "mid"]):
        at = NOW_MS + {"old": 0, "mid": 1000, "new": 2000}[name]
        words = ("--session", name, "--percent", str(number), "-m", f"task {name}")
        run("checkpoint", "save", *words, env={"JOELCLAW_NOW_MS": str(at)})
    sessions = run("checkpoint", "show").result["sessions"]
    assert [entry["sessionId"] for entry in sessions] == ["new", "mid", "old"]
    assert sessions[0] == {
        "sessionId": "new", "role": "interactive", "task": "task new", "percent": 1, "compactionCount": 0,
        "updatedAt": NOW_MS + 2000, "bytes": sessions[0]["bytes"],
    }  # fmt: skip


def test_unknown_sessions_create_no_home(run: Run, home: Path) -> None:
    assert run("checkpoint", "show").result == {"count": 0, "sessions": []}
    failed = run("checkpoint", "show", "nobody", ok=False)
    assert (failed.code, failed.json["error"]["code"]) == (1, "SESSION_NOT_FOUND")
    assert not home.exists(), "asking makes nothing"


TASK = "Fix the memory use of the buoyline importer"


def together(home: Path, *calls: tuple[str, ...]) -> list[dict[str, Any]]:
    """Spawn all calls before waiting for any; their results."""
    environment = {**NOW, **faults.patient(home)}
    results = []
    for process in [begin(home, *words, **environment) for words in calls]:
        out, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, out
        results.append(json.loads(out)["result"])
    return results


@pytest.mark.spawned
def test_parallel_hooks_in_the_hot_zone_write_the_task_once(run: Run, home: Path) -> None:
    run("memory", "write", "The buoyline importer decodes a whole day at once", env=NOW)
    save = ("checkpoint", "save", "--session", "s1", "--percent", "70", "--message", TASK)
    results = together(home, *((*save, "--file", f"f{number}") for number in range(6)))
    state = run("checkpoint", "show", "s1").result
    assert sorted(state["files"]) == [f"f{number}" for number in range(6)]
    assert [result["written"] for result in results].count(True) == 1
    assert [result["recalled"] for result in results].count(True) == 1
    assert {result["writeReason"] for result in results} == {"new-task", "unchanged"}
    counts = {"saves": 6, "flushes": 0, "recalls": 1, "writes": 1, "injections": 0, "userMessages": 1}
    assert state["counts"] == counts
    assert len(state["taskMemoryIds"]) == 1


@pytest.mark.spawned
@pytest.mark.parametrize("words", [
    ("recovery",), ("memory", "--query", "importer unresolved failures"),
], ids=["recovery", "memory"])  # fmt: skip
def test_parallel_calls_give_a_text_once(run: Run, home: Path, words: tuple[str, ...]) -> None:
    run("memory", "write", "Operational context: the importer is the active work and has unresolved failures", env=NOW)
    run("checkpoint", "save", "--session", "s1", "--percent", "10", "-m", TASK, env=NOW)
    results = together(home, *[("inject", *words, "--session", "s1")] * 4)
    assert sorted(result["injected"] for result in results) == [False, False, False, True]
    assert {result["reason"] for result in results} - {"injected"} <= {"already-injected", "rapid-recompaction"}
    assert run("checkpoint", "show", "s1").result["checkpoint"]["compactionCount"] == (4 if len(words) == 1 else 0)


IMPORTER = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
LATER = "and now the same for the tide tables of the buoyline importer"
DUE = 45 * 60_000


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose state was replaced in this process, one entry a time."""
    paths: list[str] = []
    write = states.write_state

    def counted(state: Any) -> None:
        paths.append(state.session_id)
        write(state)

    monkeypatch.setattr(states, "write_state", counted)
    return paths


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture
def under_way(run: Run, project: Path) -> None:
    """Two memories, one on a file, and a session with one prompt in the warm zone."""
    run("memory", "write", IMPORTER, "--project", project.name, env=at(0))
    run("memory", "write", "Never edit batches.py by hand: it is made", "--project", project.name, env=at(0))
    hook(run, project, "prompt", prompt=TASK, percent=45)


def hook(run: Run, project: Path, event: str, later: int = 0, **more: Any) -> list[str]:
    """The kinds of text that an event of pi brings."""
    payload = {"session_id": "s1", "cwd": str(project), **more}
    env = {**at(later), "JOELCLAW_COMPACTION_IDLETRIGGERMINUTES": "5"}
    answer = run("hook", "pi", event, stdin=json.dumps(payload), env=env).json
    return [message["customType"] for message in answer["messages"]]


def test_a_session_start(run: Run, project: Path, writes: list[str]) -> None:
    run("memory", "write", "operational context: the active work is the importer, a recent decision", env=at(0))
    assert hook(run, project, "session_start") == ["memory-recall"]
    assert writes == ["s1", "s1"]


@pytest.mark.usefixtures("under_way")
@pytest.mark.parametrize(("event", "later", "more", "kinds"), [
    ("prompt", DUE, {"prompt": LATER, "percent": 66}, ["context-refresh"]),
    ("tool", 1000, {"files": ["batches.py"], "percent": 46}, ["project-context"]),
    ("turn_end", 2000, {"percent": 90, "messages": [TASK, LATER]}, []),
    ("before_compaction", 2000, {"percent": 90}, []),
    ("after_compaction", 3000, {}, ["compaction-recovery"]),
])  # fmt: skip
def test_an_event_replaces_the_state_twice(
    run: Run, project: Path, writes: list[str], event: str, later: int, more: dict[str, Any], kinds: list[str]
) -> None:
    writes.clear()
    assert hook(run, project, event, later, **more) == kinds
    assert writes == ["s1", "s1"]
    timer = run("checkpoint", "show", "s1").result["idleTimer"]
    assert (timer and timer["ratio"]) == (0.9 if event == "turn_end" else None)


@pytest.mark.parametrize("words", [
    ("checkpoint", "save", "--percent", "70", "-m", LATER), ("checkpoint", "flush", "--percent", "90"),
    ("inject", "recovery"),
], ids=lambda words: " ".join(words[:2]))  # fmt: skip
@pytest.mark.usefixtures("under_way")
def test_a_command(run: Run, writes: list[str], words: tuple[str, ...]) -> None:
    writes.clear()
    run(*words, "--session", "s1", env=at(DUE))
    assert writes == ["s1", "s1"]


DAY_MS = 86_400_000
EVENT = {"hook_event_name": "UserPromptSubmit", "prompt": "why are the tide tables read twice", "cwd": "/"}


def at_day(days: float) -> dict[str, str]:
    """Time frozen so many days after NOW_MS."""
    return {"JOELCLAW_NOW_MS": str(int(NOW_MS + days * DAY_MS))}


@pytest.fixture
def talk(run: Run) -> Run:
    """A session `old` with an event 100 days before the session `new`."""
    run("memory", "write", "the tide tables of Husum are read twice", env=at_day(0))
    for session, days in (("old", 0), ("new", 100)):
        run("hook", "claude", stdin=json.dumps({**EVENT, "session_id": session}), env=at_day(days))
    return run


def sessions(home: Path) -> list[str]:
    return sorted(path.stem for path in (home / "sessions").glob("*.json"))


@pytest.mark.parametrize(
    ("days", "remaining"), [(None, ["new"]), ("0", ["new", "old"]), ("101", ["new", "old"]), ("99", ["new"])]
)
def test_states_without_an_event_for_90_days_go(talk: Run, home: Path, days: str | None, remaining: list[str]) -> None:
    if days is not None:
        (home / "config.toml").write_text(f"[retention]\nsessions_days = {days}\n")
    counted = talk("store", "prune", "--dry-run", env=at_day(100)).result["sessionStates"]
    assert (counted, sessions(home)) == (2 - len(remaining), ["new", "old"])
    assert talk("store", "prune", "--yes", env=at_day(100)).result["sessionStates"] == counted
    assert sessions(home) == remaining
    assert sorted(path.name for path in (home / "sessions" / ".locks").iterdir()) == remaining
    assert talk("store", "prune", "--yes", env=at_day(100)).result["sessionStates"] == 0


@pytest.mark.parametrize("fields", [
    {"noteOwed": True},
    {"idleTimer": {"scheduledAt": 1, "dueAt": 2, "ratio": 0.8, "cwd": "/", "transcript": ""}},
    {"lastInjectionAt": NOW_MS + 50 * DAY_MS},
    {"lastCompactionAt": NOW_MS + 50 * DAY_MS},
    {"version": 99},
])  # fmt: skip
def test_a_session_with_something_open_stays(talk: Run, home: Path, fields: dict[str, Any]) -> None:
    path = home / "sessions" / "old.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    assert talk("store", "prune", "--yes", env=at_day(100)).result["sessionStates"] == 0
    assert sessions(home) == ["new", "old"]


def test_a_session_that_a_process_uses_stays(talk: Run, home: Path) -> None:
    with files.FileLock(str(home / "sessions" / ".locks" / "old")):
        assert talk("store", "prune", "--yes", env=at_day(100)).result["sessionStates"] == 0


def test_a_session_goes_on_after_its_state_expired(talk: Run, home: Path) -> None:
    talk("store", "prune", "--yes", env=at_day(100))
    talk("hook", "claude", stdin=json.dumps({**EVENT, "session_id": "old"}), env=at_day(101))
    assert json.loads((home / "sessions" / "old.json").read_text())["counts"]["userMessages"] == 1


def test_a_lock_that_was_removed_while_another_waits_is_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with files.FileLock(str(path)):
        path.unlink()
        with files.FileLock(str(path), 0), pytest.raises(files.LockTimeout), files.FileLock(str(path), 0):
            pass


READING = ("status", "doctor", "session list", "session show old", "idle list", "checkpoint show old")


@pytest.mark.parametrize("command", READING)
def test_commands_do_not_read_all_states(talk: Run, home: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    state = json.loads((home / "sessions" / "old.json").read_text())
    for number in range(300):
        path = home / "sessions" / f"copy-{number:04}.json"
        path.write_text(json.dumps({**state, "sessionId": path.stem, "updatedAt": NOW_MS - 1 - number}))
        files.os.utime(path, (1, 1))
    read: list[str] = []
    original = files.read_file

    def counting(path: str, most: int = -1) -> bytes:
        read.append(path)
        return original(path, most)

    monkeypatch.setattr(files, "read_file", counting)
    talk(*command.split(), env=at_day(101))
    assert len([path for path in read if "/copy-" in path]) <= 60


DEFAULTS = Config({})
LONG_ID = "s" * 200
said = ["fix the importer", "now the tests", "write the runbook", "go", "x" * 900, "数" * 900]
prompts_of = st.lists(st.sampled_from(said), max_size=4)
edited = [*(f"src/f{number}.py" for number in range(30)), "p" * 999, "路" * 999]
paths_of = st.lists(st.sampled_from(edited), max_size=5)
percents = st.none() | st.floats(0, 120)
hits = st.lists(st.sampled_from(["a memory", "another memory", "字" * 999, "m" * 999]), max_size=7)


def memories(texts: list[str]) -> list[Memory]:
    return [{"id": f"id-{n}", "text": text, "category": "字" * 300, "score": 0.5} for n, text in enumerate(texts)]


def size(state: SessionState) -> int:
    return len(json_text.dumps(state.to_json()).encode())


def call_of(state: SessionState, now: int, percent: float | None = None) -> Call:
    """A call about a session in this state, as if it had been loaded."""
    call = Call(LONG_ID, DEFAULTS)
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
        self.save(SessionState(LONG_ID, "interactive", self.now))

    def load(self) -> SessionState:
        return SessionState.from_json(json_text.loads(self.disk))

    def save(self, state: SessionState) -> None:
        self.disk = json_text.dumps(state.to_json())

    @rule(
        prompts=prompts_of, touched=paths_of, percent=percents, found=hits, does=st.booleans(),
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
        known, queries = state.recalled_memories, state.recall_queries
        note = recovery.talk_note(state.task, state.files_modified, known, queries, 300, "")
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
    hits_of = [memories([f"{n}" + one_line(unit * 999) for _ in range(9)]) for n in range(9)]
    state.recall_cache = [{"query": unit * 999, "hash": unit * 99, "hits": hits, "at": 1} for hits in hits_of]
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
