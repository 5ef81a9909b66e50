"""A home with open permissions, for example after `cp -r`, is corrected and reported once."""

import json
import shutil
import stat
from pathlib import Path

import pytest
from conftest import Run

WRITERS = [
    ("memory", "write", "The invoices of the exporter are kept for ninety days"), ("otel", "emit", "c.d"),
    ("checkpoint", "save", "--session", "s", "--percent", "5"),
]  # fmt: skip


@pytest.fixture
def restored(run: Run, home: Path) -> Path:
    """A home with a bit of everything in it, as `cp -r` makes it with the usual umask."""
    run("memory", "write", "The scheduler of the gateway runs in UTC, never in local time")
    run("checkpoint", "save", "--session", "s", "--percent", "75", "--message", "fix the scheduler")
    (home / "config.toml").write_text("[recall]\nlimit = 3\n")
    run("recall", "scheduler")
    (home / "mine").mkdir()
    (home / "mine" / "notes.sh").write_text("not ours")
    open_to_others(home)
    return home


def open_to_others(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)


def modes(home: Path) -> dict[str, int]:
    return {str(path.relative_to(home)): stat.S_IMODE(path.lstat().st_mode) for path in (home, *home.rglob("*"))}


def wide(home: Path) -> list[str]:
    return sorted(name for name, mode in modes(home).items() if mode & 0o077 and not name.startswith("mine"))


@pytest.mark.parametrize("words", WRITERS, ids=lambda words: f"{words[0]} {words[1]}")
def test_the_next_write_corrects_the_modes(run: Run, restored: Path, words: tuple[str, ...]) -> None:
    before = modes(restored)
    assert "store.db" in wide(restored) and "sessions/s.json" in wide(restored) and "cache" in wide(restored)
    done = run(*words)
    assert wide(restored) == []
    after = modes(restored)
    assert after["."] == after["sessions"] == 0o700 and after["store.db"] == after["config.toml"] == 0o600
    assert after["mine"] == before["mine"] and after["mine/notes.sh"] == before["mine/notes.sh"]  # not ours
    assert done.err.count("others could read") == 1 and str(restored) in done.err
    assert "others could read" not in run(*words).err


def test_unreachable_files_are_corrected_silently(run: Run, restored: Path) -> None:
    restored.chmod(0o700)
    assert "others could read" not in run(*WRITERS[0]).err
    assert wide(restored) == []


def fire(run: Run) -> None:
    payload = {"session_id": "h", "hook_event_name": "UserPromptSubmit", "prompt": "fix the scheduler", "cwd": "/"}
    done = run("hook", "claude", stdin=json.dumps(payload))
    assert done.err == ""


def test_the_correction_is_a_single_event(run: Run, restored: Path) -> None:
    run(*WRITERS[1])
    fire(run)
    fire(run)
    events = run("otel", "list", "--component", "home", "--json").result["events"]
    assert [(event["action"], event["level"]) for event in events] == [("home.modes.corrected", "warn")]
    assert events[0]["metadata"]["count"] >= 6 and "." in events[0]["metadata"]["first"]


def test_links_and_their_targets_are_left_alone(run: Run, restored: Path, tmp_path: Path) -> None:
    aim = tmp_path / "aim"
    aim.mkdir(mode=0o755)
    aim.chmod(0o755)
    (restored / "sessions" / "link").symlink_to(aim)
    shutil.rmtree(restored / "spool")
    (restored / "spool").symlink_to(aim)
    run(*WRITERS[2])
    assert stat.S_IMODE(aim.stat().st_mode) == 0o755
    assert stat.S_IMODE((restored / "store.db").stat().st_mode) == 0o600
