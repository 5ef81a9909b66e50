"""The state file survives a round trip through JSON, and an event replaces it no more often than needed."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from conftest import at_ms as at
from hypothesis import given
from hypothesis import strategies as st

from session import state as states
from session.state import Damaged, SessionState

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"
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
    run("memory", "write", MEMORY, "--project", project.name, env=at(0))
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


KEYS = list(SessionState("s").to_json())


@given(st.dictionaries(st.sampled_from([*KEYS, "later"]), st.none() | st.text() | st.integers()))
def test_a_state_survives_a_round_trip(value: dict[str, Any]) -> None:
    try:
        state = SessionState.from_json({**value, "version": 1, "sessionId": "s"})
    except Damaged:
        return
    written = state.to_json()
    assert list(written) == KEYS
    assert SessionState.from_json(written).to_json() == written
