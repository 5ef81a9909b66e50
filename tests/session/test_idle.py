"""`joelclaw idle`: timers are set, listed and cancelled; `idle run` compacts each due session once, and ends well."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW, NOW_MS, PATIENCE_S, Run, at_ms, begin, put, until

from core.command import split_command
from session import idle as idle_compaction

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
def test_a_timer_needs_a_full_context(run: Run, words: tuple[str, ...], env: dict[str, str], scheduled: bool) -> None:
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


DUE = at_ms(10 * MINUTE)


class Idle:
    """A home with a compaction command, a script that is made here."""

    def __init__(self, run: Run, home: Path, folder: Path) -> None:
        self.run, self.home, self.folder = run, home, folder
        self.log = folder / "log"
        self.project = folder / "project"
        self.project.mkdir()

    def command(self, body: str, template: str = "{session} {cwd} {agent}", **settings: object) -> None:
        script = put(self.folder / "compact.sh", f"#!/bin/sh\n{body}\n", 0o700)
        lines = [f"idle.command = {json.dumps(f'{script} {template}')}"]
        lines += [f"{key.replace('__', '.')} = {json.dumps(value)}" for key, value in settings.items()]
        put(self.home / "config.toml", "\n".join(lines) + "\n")

    def logging(self) -> str:
        return f'echo "$*" >> {self.log}'

    def schedule(self, session: str = "s", *, ms: int = NOW_MS, agent: str = "pi") -> None:
        words = ("--percent", "80", "--minutes", "10", "--agent", agent, "--cwd", str(self.project))
        result = self.run("idle", "schedule", f"--session={session}", *words, env={"JOELCLAW_NOW_MS": str(ms)}).result
        assert result["scheduled"]

    def once(self, **env: str) -> Any:
        return self.run("idle", "run", "--once", env={**DUE, **env}).result

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def state(self, session: str = "s") -> Any:
        return json.loads((self.home / "sessions" / f"{session}.json").read_text())

    def events(self) -> list[tuple[str, str, str | None]]:
        events = self.run("otel", "search", "compaction idle", "--hours", "1", env=DUE).result["events"]
        return sorted((event["sessionId"], event["action"], event.get("error")) for event in events)

    def begin(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        return begin(self.home, "idle", "run", *words, cwd=self.folder, **env)


@pytest.fixture
def idle(run: Run, home: Path, tmp_path: Path) -> Idle:
    return Idle(run, home, tmp_path)


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_due_session_is_compacted_in_its_folder_and_recorded(idle: Idle) -> None:
    idle.command(f'echo "$* $PWD $JOELCLAW_IDLE_RUN" >> {idle.log}')
    idle.schedule()
    result = idle.once()
    counts = {"completed": 1, "failed": 0, "skipped": 0, "stopped": False, "timersLeft": 0}
    assert {**result, "sessions": []} == {**counts, "sessions": []}
    assert idle.lines() == [f"s {idle.project} pi {idle.project} 1"]
    assert idle.state()["idleTimer"] is None
    assert idle.events() == [("s", "compaction.idle.completed", None), ("s", "compaction.idle.started", None)]
    assert idle.once()["sessions"] == []
    assert len(idle.lines()) == 1


def test_a_failing_command_is_recorded_and_the_next_session_is_compacted(idle: Idle) -> None:
    idle.command(f'{idle.logging()}; [ "$1" = b ] || {{ echo "no such session" >&2; exit 3; }}')
    idle.schedule("a")
    idle.schedule("b")
    result = idle.once()
    assert (result["failed"], result["completed"], result["timersLeft"]) == (1, 1, 0)
    assert [session["exitStatus"] for session in result["sessions"]] == [3, 0]
    assert ("a", "compaction.idle.failed", "exit status 3: no such session") in idle.events()
    assert ("b", "compaction.idle.completed", None) in idle.events()
    assert idle.once()["sessions"] == []  # a timer is run once, whatever came of it


@pytest.mark.parametrize(("template", "session", "agent", "says"), [
    ("", "s", "pi", "no known command"), ("", "s", "", "no known command"),
    ("/no/such/command {session}", "s", "pi", "No such file"), ("run 'x", "s", "pi", "quotation"),
    ("true {session}", "-s", "pi", "cannot take the id"), ("true {session}", "x" * 300, "pi", "cannot take the id"),
])  # fmt: skip
def test_a_command_that_cannot_run_is_an_event(idle: Idle, template: str, session: str, agent: str, says: str) -> None:
    idle.schedule(session, agent=agent)
    result = idle.once(JOELCLAW_IDLE_COMMAND=template)
    assert (result["failed"], result["timersLeft"]) == (1, 0)
    assert says in result["sessions"][0]["error"]
    ((_, _, error),) = [event for event in idle.events() if event[1] == "compaction.idle.failed"]
    assert error is not None
    assert says in error


def test_two_at_once_compact_a_session_once(idle: Idle) -> None:
    idle.command(f"{idle.logging()}; sleep 0.3")
    for session in "abc":
        idle.schedule(session)
    both = [idle.begin("--once", **DUE) for _ in range(2)]
    results = [json.loads(process.communicate(timeout=PATIENCE_S)[0])["result"] for process in both]
    assert sorted(line[0] for line in idle.lines()) == ["a", "b", "c"]
    assert sum(result["completed"] for result in results) == 3
    assert sum(result["failed"] for result in results) == 0


def test_a_hanging_command_is_killed_with_its_children(idle: Idle, monkeypatch: pytest.MonkeyPatch) -> None:
    idle.command(f"trap '' TERM; sleep 300 & echo $! >> {idle.log}; echo $$ >> {idle.log}; wait; sleep 300")
    idle.schedule()
    monkeypatch.setattr(idle_compaction, "COMPACTION_SECONDS", 5)
    result = idle.once()
    assert "too long" in result["sessions"][0]["error"]
    assert len(idle.lines()) == 2
    until(lambda: not any(is_there(int(pid)) for pid in idle.lines()))  # a process that was killed ends when it may run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_running_command_and_leaves_the_timer(idle: Idle, number: signal.Signals) -> None:
    idle.command(f"sleep 300 & echo $! >> {idle.log}; echo $$ >> {idle.log}; wait")
    idle.schedule()
    process = idle.begin(**DUE)
    until(lambda: len(idle.lines()) == 2)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, b"")
    result = json.loads(out)["result"]
    assert (result["stopped"], result["failed"], result["timersLeft"]) == (True, 0, 1)
    assert len(idle.lines()) == 2
    until(lambda: not any(is_there(int(pid)) for pid in idle.lines()))  # a process that was killed ends when it may run


def test_it_notices_a_new_timer_and_ends_on_ctrl_c(idle: Idle) -> None:
    idle.command(idle.logging())
    process = idle.begin()
    until(lambda: Path(f"/proc/{process.pid}/wchan").exists())
    idle.schedule()  # due long ago, by the clock of that process
    until(lambda: idle.state()["idleTimer"] is None)  # the command logs before it ends
    assert len(idle.lines()) == 1
    process.send_signal(signal.SIGINT)
    result = json.loads(process.communicate(timeout=PATIENCE_S)[0])["result"]
    assert (result["stopped"], process.returncode) == (True, 0)  # the signal may come before it is counted


def test_a_kill_ends_the_running_command_too(idle: Idle) -> None:
    idle.command(f"echo $$ >> {idle.log}; exec sleep 300")
    idle.schedule()
    process = idle.begin(**DUE)
    until(idle.lines)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    until(lambda: not is_there(int(idle.lines()[0])))
    idle.command("exit 0")
    assert idle.once()["completed"] == 1


def test_hooks_inside_the_command_are_not_user_turns(idle: Idle) -> None:
    payload = json.dumps({"session_id": "s", "prompt": "/compact", "messages": ["/compact"], "percent": 90})
    hooks = "; ".join(f"echo '{payload}' | {JOELCLAW} hook pi {name}" for name in ("prompt", "turn_end"))
    idle.command(hooks, compaction__idleTriggerMinutes=10)
    idle.schedule()
    assert idle.once()["completed"] == 1
    assert (idle.state()["idleTimer"], idle.state()["turnBeganAt"]) == (None, None)


def test_a_message_during_the_compaction_is_reported_and_kept(idle: Idle) -> None:
    payload = json.dumps({"session_id": "s", "prompt": "and now by harbour", "percent": 90})
    body = f"echo '{payload}' | env -u JOELCLAW_IDLE_RUN {JOELCLAW} hook pi prompt"
    idle.command(body, compaction__idleTriggerMinutes=10)
    idle.schedule()
    result = idle.once()
    assert result["sessions"][0]["messageMeanwhile"] is True
    assert idle.state()["idleTimer"] is None
    assert idle.state()["turnBeganAt"] == NOW_MS + 10 * MINUTE


MESSAGE = {"role": "user", "content": "hi"}
BEGAN = {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "message": MESSAGE}
BOUNDARY = {"type": "system", "subtype": "compact_boundary", "uuid": "2", "sessionId": "s"}


@pytest.mark.parametrize("compacts", [True, False])
def test_status_0_alone_is_no_compaction(idle: Idle, tmp_path: Path, compacts: bool) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(json.dumps({**BEGAN, "cwd": str(idle.project)}) + "\n" + json.dumps(BOUNDARY) + "\n")
    deeper = idle.project / "deeper"  # where the agent's shell is by now
    deeper.mkdir()
    then = f"echo '{json.dumps(BOUNDARY)}' >> {transcript}" if compacts else "echo Not enough"
    idle.command(f"pwd >> {idle.log}; {then}", compaction__idleTriggerMinutes=10, context__window=100)
    payload = {"session_id": "s", "hook_event_name": "Stop", "cwd": str(deeper), "transcript_path": str(transcript)}
    usage = {"type": "assistant", "uuid": "3", "message": {"role": "assistant", "usage": {"input_tokens": 90}}}
    with transcript.open("a") as file:
        file.write(json.dumps(usage) + "\n")
    idle.run("hook", "claude", stdin=json.dumps(payload), env=NOW)
    assert idle.state()["idleTimer"]["cwd"] == str(deeper)
    (session,) = idle.once()["sessions"]
    assert session["outcome"] == ("completed" if compacts else "failed")
    assert ("Not enough" in session.get("error", "")) is not compacts
    assert idle.lines() == [str(idle.project)]
