"""A model's command gets the prompt and answers; every fault has a code, and no process survives."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_S, ROOT, Run, clean_environment, until

from core.command import IN_MODEL, Model, model_from_config
from core.config import Config
from core.errors import Failure

SECRET = "sk-ant-api03-" + "Zk3Jq9Xw2Lm8" * 7 + "AA"
FAMILY = """\
import os, signal, subprocess, sys, time
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
near = subprocess.Popen([sys.executable, "-S", "-c", code])
with open(sys.argv[1] + ".new", "w") as told:
    told.write(f"{os.getpid()} {near.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""
"""A model with a child that ignores SIGTERM."""


def ask(prompt: str, command: str, *, timeout: float = 20, max_prompt: int = 10**6) -> str:
    limits: Any = {"timeout_seconds": timeout, "max_prompt_bytes": max_prompt}
    return Model(command, Config({f"model.{name}": value for name, value in limits.items()}))(prompt)


def failure(prompt: str, command: str, *, timeout: float = 20, max_prompt: int = 10**6) -> Failure:
    with pytest.raises(Failure) as raised:
        ask(prompt, command, timeout=timeout, max_prompt=max_prompt)
    assert raised.value.fix
    assert raised.value.exit_code == 1
    return raised.value


def script(path: Path, source: str) -> str:
    """A command line that runs this Python source."""
    path.write_text(source)
    return f"{sys.executable} -S {path}"


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def pids(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()]


def test_prompt_in_answer_out() -> None:
    assert ask("what was decided?\n", "cat") == "what was decided?"
    long = "tokens and words " * 10_000
    assert ask(long, "cat") == long.strip()


@pytest.mark.parametrize(("command", "code", "message"), [
    ("cat 'half", "MODEL_NOT_CONFIGURED", "no closing quotation"),
    ("no-such-program-here --x", "MODEL_NOT_FOUND", "no-such-program-here"),
    ("/etc/passwd", "MODEL_NOT_FOUND", "/etc/passwd"),
    ("sh -c 'echo all is well; exit 3'", "MODEL_FAILED", "exit status 3"),
    ("sh -c 'kill -9 $$'", "MODEL_FAILED", "signal 9"),
    ("sh -c 'echo first >&2; echo the quota is used >&2; echo >&2; exit 1'", "MODEL_FAILED", "the quota is used"),
    ("true", "MODEL_FAILED", "true: nothing on stdout, exit status 0"), ("yes", "MODEL_FAILED", "printed too much"),
    ("sleep 3600", "MODEL_TIMEOUT", "0.5 s"),
])  # fmt: skip
def test_every_fault_has_its_code(command: str, code: str, message: str) -> None:
    fault = failure("hello", command, timeout=0.5 if code == "MODEL_TIMEOUT" else 60)
    assert fault.code == code
    assert message in fault.message


def test_no_secret_leaves_or_returns_in_an_error() -> None:
    answer = ask(f"the key is {SECRET}, keep it", "cat")
    assert "[redacted:" in answer
    assert SECRET[:30] not in answer
    fault = failure("", f"sh -c 'printf \"\\033[31mbad key {SECRET}\\033[0m\" >&2; exit 1'")
    assert SECRET[:30] not in fault.message
    assert fault.message.isprintable()
    assert len(failure("", "sh -c 'printf %02000d 1 >&2; exit 1'").message) < 400


def test_the_command_knows_where_it_runs_and_asks_no_model_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("", "printenv JOELCLAW_IN_MODEL") == "1"
    monkeypatch.setenv(IN_MODEL, "1")
    with pytest.raises(Failure) as raised:
        model_from_config(Config({"model.command": "cat"}))
    assert raised.value.code == "MODEL_FAILED"


@pytest.mark.parametrize(("then", "code"), [
    ("time.sleep(3600)", "MODEL_TIMEOUT"),
    ("sys.exit(1)", "MODEL_FAILED"), ("print('done')", ""),  # although its child holds stdout open
])  # fmt: skip
def test_no_process_of_its_group_survives(tmp_path: Path, then: str, code: str) -> None:
    path = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + then) + f" {path}"
    outcome = failure("hello", command, timeout=3).code if code else ask("hello", command)
    assert (outcome, len(pids(path))) == (code or "done", 2)
    until(lambda: not any(map(runs, pids(path))))


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGALRM, signal.SIGKILL])
def test_the_process_group_ends_with_our_process(tmp_path: Path, ending: signal.Signals) -> None:
    path = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "time.sleep(3600)") + f" {path}"
    asking = (
        f"from core.config import Config\nfrom core.command import Model\nModel({command!r}, Config({{}}))('hello')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", asking], cwd=ROOT, env=clean_environment(tmp_path), stderr=subprocess.DEVNULL
    )
    try:
        until(path.exists)
        assert all(map(runs, pids(path)))
        process.send_signal(ending)
        process.wait(PATIENCE_S)
        until(lambda: not any(map(runs, pids(path))))
    finally:
        process.kill()
        process.wait()


def test_no_descriptor_and_no_child_remains() -> None:
    ask("", "echo once")
    before = sorted(os.listdir("/proc/self/fd"))
    for command in ("echo again", "false"):
        try:
            ask("", command)
        except Failure:
            pass
    assert sorted(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("agent", ["pi", "claude"])
def test_a_hook_below_a_model_is_silent(run: Run, home: Path, agent: str) -> None:
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "inner", "prompt": "write observations"})
    done = run("hook", agent, "prompt", stdin=event, env={IN_MODEL: "1"})
    assert done.err == ""
    assert done.out == ('{"messages": []}\n' if agent in ("pi", "opencode") else "")
    assert not (home / "sessions").exists()
    assert not (home / "store.db").exists()
