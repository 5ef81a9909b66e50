"""Whatever interrupts `memory observe`, each range of turns is observed exactly once in the end."""

import signal
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import PATIENCE_S, Run, begin
from test_memory_observe import EACH, FORM, MODEL, Fake, long_session, model, stored, texts, transcript
from test_model_command import runs, script, until

__all__ = ["model", "transcript"]


def waiting(tmp_path: Path) -> tuple[str, Path, Path]:
    """A model that tells its id, and answers when a file is there."""
    pids, go = tmp_path / "told", tmp_path / "go"
    source = (
        "import os, sys, time\nsys.stdin.read()\n"
        f"open({str(pids)!r} + '.new', 'w').write(str(os.getpid()))\nos.rename({str(pids)!r} + '.new', {str(pids)!r})\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        f"sys.stdout.buffer.write({FORM!r}.encode())\n"
    )
    return script(tmp_path / "waiting.py", source), pids, go


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_while_the_model_works(
    run: Run, home: Path, tmp_path: Path, transcript: Transcript, model: Fake, ending: signal.Signals
) -> None:
    command, pids, _ = waiting(tmp_path)
    with begin(home, "memory", "observe", str(transcript.path), "--command", command) as process:
        until(pids.exists)
        process.send_signal(ending)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode
    until(lambda: not runs(int(pids.read_text())))
    assert stored(home) == []
    assert (
        run("memory", "observe", str(transcript.path), "--command", model.command).result["observations"]["added"] == 4
    )
    assert len(texts(home)) == 4


@pytest.mark.spawned
def test_killed_right_after_the_store(run: Run, home: Path, tmp_path: Path, model: Fake) -> None:
    """The second range's model kills the command: the first one is stored, and not asked about again."""
    transcript = long_session(tmp_path / "s.jsonl", 40)
    killing = Fake(tmp_path / "killing", EACH)
    Path(killing.folder, "model.sh").write_text(MODEL + '[ "$number" != 1 ] || kill -9 "$PPID"\n')
    run("memory", "observe", str(transcript.path), "--command", killing.command, ok=False)
    assert len(stored(home)) == 1
    result = run("memory", "observe", str(transcript.path), "--command", killing.command).result
    assert result["left"]["turns"] == 0
    assert len(stored(home)) == 3
    assert killing.prompts[1] == killing.prompts[2]
    assert len(set(killing.prompts)) == 3


def children(pid: int) -> list[int]:
    processes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            processes.append(int(stat.parent.name))
    return processes
