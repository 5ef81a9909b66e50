"""A backup or restore that is killed or runs out of space leaves the previous state and no partial file."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, attempt, clean_environment
from faults import small_disk, snapshot

NOTE = "the scheduler of the gateway runs in UTC, never in local time"
# Stops a command before the so-many-th file that it opens to write, renames or removes anywhere.
_STEPS = """\
import os, sys, time
count = 0
def audited(event, given):
    global count
    path = str(given[0])
    writes = event == "open" and given[2] & 3 or event in ("os.rename", "os.remove", "os.mkdir")
    if writes and path.startswith(os.environ["STEPS_BELOW"]) and "pause-" not in path:
        count += 1
        if count == int(os.environ["STEPS_AT"]):
            os.kill(os.getpid(), int(os.environ.get("STEPS_SIGNAL", "9")))
sys.addaudithook(audited)
"""


@pytest.fixture
def filled(run: Run, home: Path) -> Path:
    run("memory", "write", NOTE)
    run("checkpoint", "save", "--session", "s", "--percent", "75", "--message", "fix the scheduler")
    return home


def at_step(home: Path, folder: Path, step: int, sent: signal.Signals = signal.SIGKILL) -> dict[str, str]:
    """The environment of a command that gets a signal at its so-many-th step below a folder."""
    hooks = home.parent / "steps"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(_STEPS)
    return {
        "PYTHONPATH": str(hooks), "STEPS_AT": str(step), "STEPS_BELOW": str(folder), "STEPS_SIGNAL": str(int(sent)),
    }  # fmt: skip


def killed_at(home: Path, folder: Path, step: int, *words: str) -> bool:
    """Kill a command at its so-many-th step; whether it came so far."""
    env = at_step(home, folder, step)
    done = attempt(home, *words, env=env)
    assert done.code in (0, -signal.SIGKILL), done
    return done.code != 0


@pytest.mark.parametrize("exists", [False, True], ids=["a new file", "over another"])
def test_a_backup_killed_at_each_step(run: Run, filled: Path, tmp_path: Path, exists: bool) -> None:
    place = tmp_path / "place"
    place.mkdir()
    file = place / "kept.tar.gz"
    old = b""
    if exists:
        run("backup", str(file))
        old = file.read_bytes()
    step = 1
    while killed_at(filled, place, step, "backup", str(file), "--force"):
        if file.exists() and file.read_bytes() != old:  # the very last step: it is whole
            run("restore", str(file), "--verify-only")
        else:
            assert file.exists() == exists
        step += 1
    assert step > 3
    run("restore", str(file), "--verify-only")


def test_a_restore_killed_at_each_step(run: Run, filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.tar.gz"
    run("backup", str(file))
    place = tmp_path / "place"
    home = place / "home"
    run("restore", str(file), "--into", str(home))
    run("memory", "write", "a thing that only the old home knows", env={"JOELCLAW_HOME": str(home)})
    step = 1
    while killed_at(filled, place, step, "restore", str(file), "--into", str(home), "--force"):
        aside = [path for path in place.iterdir() if ".before-restore-" in path.name]
        complete = [path for path in (home, *aside) if (path / "store.db").exists()]
        assert complete, "the old home or the new one is there as a whole"
        for path in complete:
            assert attempt(path, "status").result["healthy"]
        if home.exists() and not aside:
            assert attempt(home, "recall", "old home knows").result["hits"]
        step += 1
    assert step > 3
    assert attempt(home, "recall", "scheduler gateway").result["hits"][0]["observation"] == NOTE


def test_an_interrupted_backup_tidies_up(run: Run, filled: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for step in (1, 2):
        env = at_step(filled, place, step, signal.SIGINT)
        assert attempt(filled, "backup", str(place / "kept.tar"), env=env).code == 130
        assert os.listdir(place) == []


def test_a_disk_without_room_for_the_backup(run: Run, filled: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    before = snapshot(filled)
    with small_disk(place, 200):
        done = attempt(filled, "backup", str(place / "kept.tar.gz"))
        assert done.assert_failed() == "BACKUP_FULL"
        assert os.listdir(place) == []
    assert {name: data for name, data in snapshot(filled).items() if not name.endswith("-shm")} == {
        name: data for name, data in before.items() if not name.endswith("-shm")
    }


def test_a_disk_without_room_for_the_restore(run: Run, filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.tar.gz"
    run("backup", str(file))
    with small_disk(tmp_path / "place", 200):
        done = attempt(filled, "restore", str(file), "--into", str(tmp_path / "place" / "home"))
        assert done.assert_failed() == "RESTORE_FULL"
        assert os.listdir(tmp_path / "place") == []


def test_two_backups_to_one_file(run: Run, filled: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    file = place / "kept.tar.gz"
    env = clean_environment(filled, **at_step(filled, place, 2, signal.SIGSTOP))
    first = subprocess.Popen([JOELCLAW, "backup", str(file), "--force"], env=env, stdout=subprocess.DEVNULL)
    os.waitpid(first.pid, os.WUNTRACED)
    run("backup", str(file))
    first.send_signal(signal.SIGCONT)
    assert first.wait(PATIENCE_S) == 0
    assert os.listdir(place) == ["kept.tar.gz"]
