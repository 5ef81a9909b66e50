"""A home with open permissions, for example after `cp -r`, is closed at the next write."""

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
    run(*words)
    assert wide(restored) == []
    after = modes(restored)
    assert after["."] == after["sessions"] == 0o700 and after["store.db"] == after["config.toml"] == 0o600
    assert after["mine"] == before["mine"] and after["mine/notes.sh"] == before["mine/notes.sh"]  # not ours


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
