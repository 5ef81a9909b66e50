"""When an idle session may be compacted: pure functions from state to state."""

import os

import pytest
from conftest import NOW_MS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clients
from core.command import split_command
from core.config import Config
from session import idle
from session.record import _record_compaction
from session.state import SessionState

MINUTE = 60_000
LEAST = 0.7


def blank() -> SessionState:
    return SessionState("s", "interactive", NOW_MS)


def least(share: float) -> Config:
    return Config({"compaction.idle_trigger_percent": share, "compaction.idle_trigger_minutes": 0})


def scheduled() -> SessionState:
    state = blank()
    idle.set_timer(state, 0.8, least(LEAST), minutes=10, cwd="/p")
    return state


def status(state: SessionState, now: int, in_progress: bool = False) -> str:
    return idle.status(state, now, in_progress=in_progress)


# The boundary table of OpenClaw #21117, and the cases of its tests.


@pytest.mark.parametrize("field", ["last_message_at", "last_compaction_at"])
def test_an_unreported_message_or_compaction_voids_the_timer(field: str) -> None:
    due = NOW_MS + 10 * MINUTE
    for at, expected in ((NOW_MS, "due"), (NOW_MS + 1, "none")):
        state = scheduled()
        setattr(state, field, at)
        assert status(state, due) == expected


def test_the_words_of_a_command_are_not_read_by_a_shell() -> None:
    values = {"session": "a b; rm -rf ~", "cwd": "/p q", "transcript": "", "agent": "{session}"}
    words = split_command("run --id={session} '{cwd}' \"{other}\" {transcript}", values)
    assert words == ["run", "--id=a b; rm -rf ~", "/p q", "{other}", ""]
    assert split_command(clients.by_name("claude").compact_command, {"session": "x"}) == [
        "claude", "-p", "/compact", "--resume", "x",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="quotation"):
        split_command("run 'x", {})


steps = st.sampled_from(["schedule", "below", "prompt", "turn", "compaction", "begin", "finish", "wait"])


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=40))
def test_a_timer_is_due_only_after_silence_and_never_twice(happened: list[str]) -> None:
    state, now = blank(), NOW_MS
    at_work: int | None = None
    silent_since: int | None = None
    for step in happened:
        now += 20_000
        os.environ["JOELCLAW_NOW_MS"] = str(now)
        if step == "schedule":
            state.turn_began_at = None
            idle.set_timer(state, 0.9, least(LEAST), minutes=1)
            silent_since = now
        elif step == "below":
            state.turn_began_at = None
            idle.set_timer(state, 0.1, least(LEAST), minutes=1)
            silent_since = None
        elif step == "prompt":
            state.idle_timer, state.turn_began_at, silent_since = None, now, None
        elif step == "turn":
            state.turn_began_at = None
        elif step == "compaction":
            _record_compaction(state, now)
            silent_since = None
        elif step == "begin" and status(state, now, at_work is not None) == "due":
            timer = state.idle_timer
            at_work = timer["scheduledAt"]
        elif step == "finish" and at_work is not None:
            if silent_since == at_work:
                state.idle_timer, silent_since = None, None
            at_work = None
        elif step == "wait":
            now += 50_000
        idle_state = status(state, now, at_work is not None)
        if idle_state == "due":
            assert silent_since is not None
            assert now - silent_since >= MINUTE
            assert at_work is None
        assert (idle_state == "none") == (silent_since is None)
