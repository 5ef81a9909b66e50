"""A model's command gets its prompt and answers, every fault has its code, and nothing of it is left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PATIENCE_S, ROOT, Run, clean_environment

from core.config import Config
from core.errors import Failure
from core.process import model_command

SECRET = "sk-ant-api03-" + "Zk3Jq9Xw2Lm8" * 7 + "AA"
FAMILY = """\
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
far = "import os, subprocess, sys, time; os.setsid(); child = [sys.executable, '-S', '-c', sys.argv[2]];" \\
      "p = subprocess.Popen(child); open(sys.argv[1], 'w').write(f'{os.getpid()} {p.pid}'); time.sleep(3600)"
subprocess.Popen([sys.executable, "-S", "-c", far, sys.argv[1] + ".far", code])
near = subprocess.Popen([sys.executable, "-S", "-c", code])
while not (os.path.exists(sys.argv[1] + ".far") and open(sys.argv[1] + ".far").read()):
    time.sleep(0.01)
with open(sys.argv[1] + ".new", "w") as told:
    told.write(f"{os.getpid()} {os.getppid()} {near.pid} " + open(sys.argv[1] + ".far").read())
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""
"""A model with a child that ignores SIGTERM, and one in a session of its own that has a child again."""


def ask(prompt: str, command: str, *, timeout: float = 20, max_prompt: int = 10**6, max_output: int = 10**6) -> str:
    return model_command.ask(prompt, command=command, timeout=timeout, max_prompt=max_prompt, max_output=max_output)


def failure(
    prompt: str, command: str, *, timeout: float = 20, max_prompt: int = 10**6, max_output: int = 1000
) -> Failure:
    with pytest.raises(Failure) as raised:
        ask(prompt, command, timeout=timeout, max_prompt=max_prompt, max_output=max_output)
    assert raised.value.fix
    assert raised.value.exit_code == 1
    return raised.value


def script(path: Path, source: str) -> str:
    """A command line that runs this Python source."""
    path.write_text(source)
    return f"{sys.executable} -S {path}"


def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Wait for something that other processes do."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def pids(told: Path) -> list[int]:
    return [int(word) for word in told.read_text().split()]


def test_prompt_in_answer_out() -> None:
    assert ask("what was decided?\n", "cat") == "what was decided?"
    long = "tokens and words " * 50_000
    assert ask(long, "cat") == long.strip()


def test_a_command_that_does_not_read_its_prompt() -> None:
    assert ask("x" * 900_000, "echo hello") == "hello"
    assert ask("x" * 900_000, "sh -c 'exec <&-; sleep 0.1; echo closed'") == "closed"


def test_no_shell_reads_the_line(tmp_path: Path) -> None:
    assert ask("", "echo '$HOME;' > a '|' cat") == "$HOME; > a | cat"
    assert ask("", """printf '%s|' "two words" 'and it'"'"'s'""") == "two words|and it's|"


def test_what_is_no_text_becomes_text() -> None:
    assert ask("", r"printf '\357\273\277a\377b\000c\r\n\n'") == "a\ufffdb\ufffdc"


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("", "MODEL_NOT_CONFIGURED", ""),
        ("   ", "MODEL_NOT_CONFIGURED", ""),
        ("cat 'half", "MODEL_NOT_CONFIGURED", "no closing quotation"),
        ("no-such-program-here --x", "MODEL_NOT_FOUND", "no-such-program-here"),
        ("/etc/passwd", "MODEL_NOT_FOUND", "/etc/passwd"),
        ("sh -c 'echo all is well; exit 3'", "MODEL_FAILED", "exit code 3"),
        ("sh -c 'kill -9 $$'", "MODEL_FAILED", "signal 9"),
        ("sh -c 'echo first >&2; echo the quota is used >&2; echo >&2; exit 1'", "MODEL_FAILED", "the quota is used"),
        ("true", "MODEL_EMPTY", ""),
        ("printf '  \n\t\n'", "MODEL_EMPTY", ""),
        ("sleep 3600", "MODEL_TIMEOUT", "0.5 s"),
        ("yes", "MODEL_TOO_LONG", "1000 bytes"),
    ],
)
def test_every_fault_has_its_code(command: str, code: str, told: str) -> None:
    found = failure("hello", command, timeout=0.5 if code == "MODEL_TIMEOUT" else 60)
    assert found.code == code
    assert told in found.message


def test_a_program_whose_interpreter_is_gone(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_text("#!/no/such/interpreter\n")
    odd.chmod(0o700)
    assert failure("", str(odd)).code == "MODEL_NOT_FOUND"


def test_a_prompt_that_is_too_long_starts_nothing(tmp_path: Path) -> None:
    found = failure("é" * 600, f"touch {tmp_path}/ran", max_prompt=1000)
    assert found.code == "MODEL_TOO_LONG"
    assert "1200" in found.message
    assert not (tmp_path / "ran").exists()


def test_no_secret_leaves_and_none_comes_back_in_an_error() -> None:
    answer = ask(f"the key is {SECRET}, keep it", "cat")
    assert "[redacted:" in answer
    assert SECRET[:30] not in answer
    found = failure("", f"sh -c 'printf \"\\033[31mbad key {SECRET}\\033[0m\" >&2; exit 1'")
    assert SECRET[:30] not in found.message
    assert found.message.isprintable()
    assert len(failure("", "sh -c 'printf %02000d 1 >&2; exit 1'").message) < 400


def test_the_command_knows_where_it_runs_and_asks_no_model_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("", "printenv JOELCLAW_IN_MODEL") == "1"
    monkeypatch.setenv(model_command.IN_MODEL, "1")
    assert failure("", "cat").code == "MODEL_FAILED"
    with pytest.raises(Failure):
        model_command.from_config(Config({"model.command": "cat"}))


def test_from_config() -> None:
    assert model_command.from_config(Config({})) is None
    assert model_command.from_config(Config({"model.command": "  "})) is None
    asked = model_command.from_config(Config({"model.command": "tr a b", "model.max_output_bytes": 4}))
    assert asked is not None
    assert asked("aaaa") == "bbbb"
    with pytest.raises(Failure, match="more than 4"):
        asked("aaaaa")
    other = model_command.from_config(Config({"model.command": "tr a b"}), "tr a c")
    assert other is not None
    assert other("a") == "c"
    slow = model_command.from_config(Config({}), "sleep 3600")
    assert slow is not None
    with pytest.raises(Failure, match=r"within 0\.2 s"):
        slow("", seconds=0.2)


def test_the_time_ends_the_whole_family(tmp_path: Path) -> None:
    for seconds in (1, 10, 60):  # the first in which the family comes together will do
        told = tmp_path / f"pids-{seconds}"
        command = script(tmp_path / "model.py", FAMILY + "time.sleep(3600)") + f" {told}"
        assert failure("hello", command, timeout=seconds).code == "MODEL_TIMEOUT"
        if told.exists():
            break
    assert len(pids(told)) == 5
    assert not [pid for pid in pids(told) if runs(pid)]  # at once: ask returns when they have ended


def test_what_a_command_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    told = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "print('done')") + f" {told}"
    assert ask("hello", command) == "done"  # although its children hold stdout open
    assert not [pid for pid in pids(told) if runs(pid)]


def test_what_a_finished_command_leaves_behind_is_given_no_time(tmp_path: Path) -> None:
    told, asked = tmp_path / "told", tmp_path / "asked"
    child = (
        "import signal, sys, time;"
        f"signal.signal(signal.SIGTERM, lambda *_: open({str(asked)!r}, 'w'));"
        f"open({str(told)!r}, 'w');"
        "time.sleep(3600)"
    )
    source = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-S', '-c', {child!r}])\n"
        f"while not os.path.exists({str(told)!r}): time.sleep(0.01)\n"
        "print('done')"
    )
    assert ask("hello", script(tmp_path / "model.py", source)) == "done"
    assert not asked.exists()  # SIGTERM is for a command that is stopped


def test_a_command_that_is_stopped_may_tidy_up(tmp_path: Path) -> None:
    tidied = tmp_path / "tidied"
    source = (
        "import signal, sys, time\n"
        f"def tidy(*_): open({str(tidied)!r}, 'w'); sys.exit()\n"
        "signal.signal(signal.SIGTERM, tidy)\n"
        "print('x' * 5000, flush=True)\n"
        "time.sleep(3600)"
    )
    for _ in range(20):  # it has three tenths of a second for it, in which a busy machine may not come to it
        assert failure("hello", script(tmp_path / "model.py", source)).code == "MODEL_TOO_LONG"
        if tidied.exists():
            break
    assert tidied.exists()


def test_too_much_output_ends_the_whole_family(tmp_path: Path) -> None:
    told = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "print('x' * 5000, flush=True); time.sleep(3600)") + f" {told}"
    assert failure("hello", command).code == "MODEL_TOO_LONG"
    assert not [pid for pid in pids(told) if runs(pid)]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGKILL])
def test_however_the_asker_ends_so_does_the_family(tmp_path: Path, ending: signal.Signals) -> None:
    told = tmp_path / "pids"
    command = script(tmp_path / "model.py", FAMILY + "time.sleep(3600)") + f" {told}"
    asking = (
        "from core.process.model_command import ask\n"
        f"ask('hello', command={command!r}, timeout=60, max_prompt=1000, max_output=1000)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", asking], cwd=ROOT, env=clean_environment(tmp_path), stderr=subprocess.DEVNULL
    )
    try:
        until(told.exists)
        assert all(map(runs, pids(told)))
        process.send_signal(ending)
        process.wait(PATIENCE_S)
        until(lambda: not any(map(runs, pids(told))))
    finally:
        process.kill()
        process.wait()


def test_a_killed_keeper_takes_the_command_with_it(tmp_path: Path) -> None:
    source = "import os, signal, sys, time; open(sys.argv[1], 'w').write(str(os.getpid()));"
    command = script(tmp_path / "model.py", source + "os.kill(os.getppid(), signal.SIGKILL); time.sleep(3600)")
    found = failure("hello", f"{command} {tmp_path}/pid")
    assert found.code == "MODEL_FAILED"
    until(lambda: not runs(int((tmp_path / "pid").read_text())))


def test_no_descriptor_and_no_child_stays(tmp_path: Path) -> None:
    ask("", "echo once")
    before = sorted(os.listdir("/proc/self/fd"))
    for command in ("echo again", "false", "yes"):
        try:
            ask("", command, max_output=1000)
        except Failure:
            pass
    assert sorted(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("agent", ["pi", "claude", "codex", "gemini", "opencode"])
def test_a_hook_below_a_model_is_silent(run: Run, home: Path, agent: str) -> None:
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "inner", "prompt": "write observations"})
    done = run("hook", agent, "prompt", stdin=event, env={model_command.IN_MODEL: "1"})
    assert done.err == ""
    assert done.out == ('{"messages": []}\n' if agent in ("pi", "opencode") else "")
    assert not (home / "sessions").exists()
    assert not (home / "store.db").exists()
