"""Which files of a home a backup holds, which names a restored file may have, and what is known of backups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session.backup import archive


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        *((name, True) for name in ("store.db", "outbox.lock", "sessions/.work/observe-waiting/s", "spool/x")),
        *((name, False) for name in ("store.db-wal", "cache/x", "backups.json", "mine.txt", "sessions/s.json.lock")),
        *((name, False) for name in ("sessions/.locks/s", "sessions/.work/task/s", "sessions/../x", "/sessions/x", "")),
    ],
)
def test_a_name_that_a_backup_may_hold(name: str, kept: bool) -> None:
    assert archive.is_kept(name) is kept


@pytest.fixture(autouse=True)
def home_of_the_test(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", "50")


def test_what_killed_backups_left_goes_and_that_of_running_ones_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive.state_file, "is_alive", lambda pid: pid == 7)
    gone = ["b.tar.8.1.tmp", "b.tar.store.8.1.tmp", "b.tar.restoring.8.1.tmp"]
    kept = ["b.tar", "b.tar.7.1.tmp", "b.tar.8.1.txt", "b.tar.8.tmp", "b.tar.x.1.tmp", "b.tar.8.x.tmp", "c.tar.8.1.tmp",
            "b.tar.other.8.1.tmp"]  # fmt: skip
    for name in (*gone[:2], *kept):
        (tmp_path / name).write_text("x")
    (tmp_path / gone[2]).mkdir()
    archive.sweep(str(tmp_path / "b.tar"))
    assert sorted(os.listdir(tmp_path)) == sorted(kept)


def test_a_home_knows_its_last_twenty_backups_each_once(home: Path) -> None:
    home.mkdir()
    assert archive.known() == []
    before = [{"file": f"/b{number}", "at": "t"} for number in range(20)]
    archive.note(str(home), "/b20", "t", before)
    assert [one["file"] for one in archive.known()] == [f"/b{number}" for number in range(1, 21)]
    archive.note(str(home), "/b5", "u", archive.known())
    assert [one["file"] for one in archive.known()][-2:] == ["/b20", "/b5"]
    assert archive.known(str(home))[-1] == {"file": "/b5", "at": "u"}
    assert len(archive.known()) == 20
    for text in ("{", "7", '[{"file": 1}]'):
        (home / "backups.json").write_text(text)
        assert archive.known() == []
