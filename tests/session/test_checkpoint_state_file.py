"""The state file: bounded, whole under parallel hooks, set aside when damaged; listing, showing and clearing."""

import json
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import NOW, NOW_MS, PATIENCE_S, Run, begin


def state_file(home: Path, session: str = "s1") -> Path:
    return home / "sessions" / f"{session}.json"


def save(run: Run, *words: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    return run("checkpoint", "save", "--session", session, *words, env=NOW, **more).result


def plant(home: Path, content: bytes) -> None:
    state_file(home).parent.mkdir(parents=True, exist_ok=True)
    state_file(home).write_bytes(content)


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
    plant(home, content)
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


@pytest.mark.parametrize("unit", ["x", "\U0001f600", "\\", '"', "\x01y", "字", "a/"], ids=repr)
def test_the_file_stays_below_64_kb_for_any_input(run: Run, home: Path, unit: str) -> None:
    fields = {
        "session": unit * 150,
        "percent": 45,
        "role": unit * 500,
        "messages": [f"{number}{unit * 3000}" for number in range(20)],
        "files": [f"{number}{unit * 900}" for number in range(300)],
    }
    for _ in range(2):
        run("checkpoint", "save", "--stdin", stdin=json.dumps(fields), env=NOW)
    (path,) = (home / "sessions").glob("*.json")
    assert 1000 < path.stat().st_size < 65_536
    assert run("checkpoint", "show").result["sessions"][0].get("problem") is None


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


def test_a_prefix_of_the_id_names_a_session(run: Run) -> None:
    for session in ("11111111-aaaa", "11111111-bbbb", "22222222-cccc"):
        run("checkpoint", "save", "--session", session, "--percent", "20", "--message", "Look at the harbour")
    assert run("checkpoint", "show", "2222").result["sessionId"] == "22222222-cccc"
    several = run("checkpoint", "show", "11111111", ok=False).json["error"]
    assert several["code"] == "SESSION_AMBIGUOUS" and "11111111-bbbb" in several["message"]
    assert run("checkpoint", "show", "222", ok=False).json["error"]["code"] == "SESSION_NOT_FOUND"


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
    assert state["counts"] == {
        "saves": 6, "flushes": 0, "recalls": 1, "writes": 1, "injections": 0, "userMessages": 1,
    }  # fmt: skip
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
