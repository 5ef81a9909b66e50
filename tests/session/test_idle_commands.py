"""`joelclaw idle schedule|cancel|list|due`, the hooks that schedule and cancel, and the settings."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

from core.command import split_command

MINUTE = 60_000
ON = {"JOELCLAW_COMPACTION_IDLETRIGGERMINUTES": "10"}


def at(ms: int = NOW_MS, **more: str) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(ms), **more}


def hook(run: Run, event: str, ms: int = NOW_MS, env: dict[str, str] | None = None, **fields: Any) -> None:
    payload = {"session_id": "s", "cwd": "/", "transcript_path": "/t.jsonl", **fields}
    done = run("hook", "pi", event, stdin=json.dumps(payload), env=at(ms, **(ON if env is None else env)))
    assert done.json == {"messages": []}


def state(home: Path, session: str = "s") -> Any:
    return json.loads((home / "sessions" / f"{session}.json").read_text())


def schedule(run: Run, *words: str, ms: int = NOW_MS, session: str = "s", env: dict[str, str] | None = None) -> Any:
    return run("idle", "schedule", "--session", session, *words, env=at(ms, **(env or {}))).result


def due_timers(run: Run, env: dict[str, str]) -> list[dict[str, Any]]:
    return [timer for timer in run("idle", "list", env=env).result["timers"] if timer["standing"] != "waiting"]


def test_a_timer_is_set_and_listed(run: Run, tmp_path: Path) -> None:
    result = schedule(run, "--percent", "70", "--minutes", "5", "--agent", "claude")
    assert result == {
        "sessionId": "s", "scheduled": True, "reason": "scheduled", "ratio": 0.7, "threshold": 0.7, "replaced": False,
        "dueAt": NOW_MS + 5 * MINUTE,
    }  # fmt: skip
    (timer,) = run("idle", "list", env=at()).result["timers"]
    assert timer == {
        "sessionId": "s", "agent": "claude", "cwd": str(tmp_path), "percent": 70, "scheduledAt": NOW_MS,
        "dueAt": NOW_MS + 5 * MINUTE, "dueInSeconds": 300, "standing": "waiting",
    }  # fmt: skip


@pytest.mark.parametrize(("words", "env", "scheduled"), [
    (("--percent", "69.9"), {}, False),
    (("--percent", "70"), {}, True),
    (("--percent", "84"), {"JOELCLAW_COMPACTION_IDLETRIGGERPERCENT": "0.85"}, False),
    (("--percent", "85"), {"JOELCLAW_COMPACTION_IDLETRIGGERPERCENT": "0.85"}, True),
])  # fmt: skip
def test_the_context_must_be_full_enough(
    run: Run, words: tuple[str, ...], env: dict[str, str], scheduled: bool
) -> None:
    result = schedule(run, *words, env={**ON, **env})
    assert result["scheduled"] is scheduled
    assert result["reason"] == ("scheduled" if scheduled else "below-threshold")
    assert run("idle", "list", env=at()).result["count"] == int(scheduled)


def test_lists_are_soonest_first_and_due_ones_apart(run: Run, home: Path) -> None:
    for session, minutes in (("c", 3), ("a", 1), ("b", 2), ("/odd id", 4)):
        schedule(run, "--percent", "80", "--minutes", str(minutes), session=session)
    (home / "sessions" / "broken.json").write_text("{")
    (home / "sessions" / "other.json").write_text((home / "sessions" / "a.json").read_text())
    names = [timer["sessionId"] for timer in run("idle", "list", env=at()).result["timers"]]
    assert names == ["a", "b", "c", "/odd id"]
    for minutes in range(5):
        due = due_timers(run, at(NOW_MS + minutes * MINUTE))
        assert [timer["sessionId"] for timer in due] == names[:minutes]
        assert {timer["standing"] for timer in due} <= {"due"}


def test_a_new_timer_replaces_the_old_and_cancel_removes_it(run: Run, home: Path) -> None:
    schedule(run, "--percent", "80", "--minutes", "5")
    assert schedule(run, "--percent", "80", "--minutes", "5", ms=NOW_MS + MINUTE)["replaced"] is True
    (timer,) = run("idle", "list", env=at()).result["timers"]
    assert timer["dueAt"] == NOW_MS + 6 * MINUTE
    for cancelled in (True, False):
        result = run("idle", "schedule", "--cancel", "--session", "s").result
        assert result == {"sessionId": "s", "known": True, "cancelled": cancelled}
    assert run("idle", "list").result == {"count": 0, "timers": []}
    assert state(home)["idleTimer"] is None


# What hooks do by themselves.


def test_a_turns_end_schedules_and_the_next_message_cancels(run: Run, home: Path) -> None:
    hook(run, "prompt", prompt="sort the tide tables", percent=80)
    assert (state(home)["idleTimer"], state(home)["turnBeganAt"]) == (None, NOW_MS)
    hook(run, "turn_end", NOW_MS + MINUTE, messages=["sort the tide tables"], percent=80)
    assert state(home)["idleTimer"] == {
        "scheduledAt": NOW_MS + MINUTE, "dueAt": NOW_MS + 11 * MINUTE, "ratio": 0.8, "cwd": "/",
        "transcript": "/t.jsonl",
    }  # fmt: skip
    assert state(home)["turnBeganAt"] is None
    hook(run, "turn_end", NOW_MS + 2 * MINUTE, messages=["sort the tide tables"], percent=81)
    assert state(home)["idleTimer"]["dueAt"] == NOW_MS + 12 * MINUTE
    hook(run, "session_end", NOW_MS + 3 * MINUTE)
    assert state(home)["idleTimer"]["dueAt"] == NOW_MS + 12 * MINUTE  # it may be taken up again
    hook(run, "prompt", NOW_MS + 4 * MINUTE, prompt="and now by harbour", percent=81)
    assert (state(home)["idleTimer"], state(home)["turnBeganAt"]) == (None, NOW_MS + 4 * MINUTE)
    assert len(due_timers(run, at(NOW_MS + 30 * MINUTE))) == 0
    hook(run, "session_end", NOW_MS + 5 * MINUTE)  # interrupted: no turn runs any more
    assert state(home)["turnBeganAt"] is None


@pytest.mark.parametrize("env", [{}, ON])
def test_a_message_that_a_script_saves_cancels_too(run: Run, home: Path, env: dict[str, str]) -> None:
    save = ("checkpoint", "save", "--session", "s", "--percent", "80")
    run(*save, "--message", "sort the tide tables", env=env)
    schedule(run, "--percent", "80", "--minutes", "10", env=env)
    run(*save, env=env)
    assert state(home)["idleTimer"] is not None, "the end of a turn is no message"
    run(*save, "--message", "and now by harbour", env=env)
    assert state(home)["idleTimer"] is None


def test_a_running_turn_delays_the_compaction(run: Run) -> None:
    hook(run, "prompt", prompt="sort the tide tables", percent=80)
    schedule(run, "--percent", "80", env=ON)
    (timer,) = due_timers(run, at(NOW_MS + 10 * MINUTE))
    assert timer["standing"] == "turn-running"
    (timer,) = due_timers(run, at(NOW_MS + 60 * MINUTE))  # the agent was killed
    assert timer["standing"] == "due"


def test_the_words_of_a_command_are_not_read_by_a_shell() -> None:
    values = {"session": "a b; rm -rf ~", "cwd": "/p q", "transcript": "", "agent": "{session}"}
    words = split_command("run --id={session} '{cwd}' \"{other}\" {transcript}", values)
    assert words == ["run", "--id=a b; rm -rf ~", "/p q", "{other}", ""]
