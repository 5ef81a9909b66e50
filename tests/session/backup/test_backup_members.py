"""Which files of a home a backup holds, and which names a restored file may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.backup import members


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("store.db", True), ("store.db-wal", False), ("store.db/x", False), ("config.toml", True), ("cache/x", False),
        ("cache", False), ("backups.json", False), ("outbox.lock", True), ("sessions/s.json", True),
        ("mine.txt", False),
        ("sessions/s.json.lock", False), ("sessions/s.tmp", False), ("sessions/.locks/s", False), ("", False),
        ("sessions/.work/task/s", False), ("sessions/.work/observe-waiting/s", True), ("sessions/../x", False),
        ("sessions/./x", False), ("sessions//x", False), ("/sessions/x", False), ("sessions/a\nb", False),
        ("sessions/" + "x" * 255, True), ("sessions/" + "x" * 256, False), ("sessions/" + "é" * 127, True),
        ("sessions/" + "é" * 128, False), ("sessions/b/c/d/e/f", True), ("sessions/b/c/d/e/f/g", False),
        ("config.toml.lock", False), ("spool/x", True),
    ],
)  # fmt: skip
def test_a_name_that_a_backup_may_hold(name: str, kept: bool) -> None:
    assert members.is_kept(name) is kept


def test_the_files_of_a_home_come_in_order_without_links_and_without_the_store(tmp_path: Path) -> None:
    for name in (
        "store.db", "store.db-wal", "config.toml", "sessions/b.json", "sessions/a.json", "sessions/a.json.lock",
        "sessions/.locks/x", "sessions/.work/observe-waiting/w", "sessions/.work/task/t", "sessions/deep/x.json",
        "cache/x", "mine.txt", "also-mine/x",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "trusted.json").symlink_to(tmp_path / "config.toml")
    (tmp_path / "sessions" / "link.json").symlink_to(tmp_path / "config.toml")
    (tmp_path / "spool").symlink_to(tmp_path / "sessions")
    assert list(members.of_home(str(tmp_path))) == [
        "config.toml", "sessions/.work/observe-waiting/w", "sessions/a.json", "sessions/b.json", "sessions/deep/x.json",
    ]  # fmt: skip
    assert members.foreign_in(str(tmp_path)) == ["also-mine", "mine.txt"]
    assert list(members.of_home(str(tmp_path / "no"))) == []


def test_what_a_store_holds_is_counted_by_the_names_of_an_answer() -> None:
    counts = {"call": 4, "document": 1, "other": 9, "event": 0}
    assert members.counted(counts) == {"memories": 1, "events": 0, "toolCalls": 4}
