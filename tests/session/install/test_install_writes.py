"""The file of a client is written whole: with its mode and owner, a backup of what was there, no rest of a failure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS

from core.errors import Failure
from session.install import apply
from session.install.hook_entries import Traces
from session.install.plan import Plan
from session.install.receipt import Receipt


@pytest.fixture(autouse=True)
def frozen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))


def plan(path: Path, before: bytes | None, after: bytes | None, **more: Any) -> Plan:
    receipt = None if after is None else Receipt.of(str(path), after, created=before is None, traces=Traces())
    given: dict[str, Any] = {"client": None, "project": False, "receipt": receipt, **more}
    return Plan(path=str(path), target=str(path), before=before, after=after, **given)


def mode(path: Path | str) -> int:
    return os.stat(path).st_mode & 0o7777


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_new_file_is_private_and_in_a_project_is_not(tmp_path: Path) -> None:
    for project, file_mode, folder_mode in ((False, 0o600, 0o700), (True, 0o640, 0o750)):
        path = tmp_path / f"new{project}" / "deep" / "settings.json"
        before = os.umask(0o027)
        try:
            assert apply.carry_out(plan(path, None, b"{}", project=project)) is None
        finally:
            os.umask(before)
        assert path.read_bytes() == b"{}" and names(path.parent) == ["settings.json"]
        assert mode(path) == file_mode and mode(path.parent) == mode(path.parent.parent) == folder_mode
        kept = Receipt.load(str(path))
        assert kept is not None and kept.created and kept.folders == (str(path.parent.parent), str(path.parent))


def test_a_file_keeps_its_mode_and_what_it_held(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    path.chmod(0o644)
    backup = apply.carry_out(plan(path, b"old", b"new"))
    assert backup == f"{path}.joelclaw-backup-{NOW_MS}"
    assert (path.read_bytes(), mode(path)) == (b"new", 0o644)
    assert (Path(backup).read_bytes(), mode(backup)) == (b"old", 0o644)
    assert apply.carry_out(plan(path, b"new", b"newer")) == f"{backup}-2", "never over another file"
    assert apply.carry_out(plan(path, b"newer", b"newest", untouched=True)) is None
    assert len(names(tmp_path)) == 3 + os.path.isdir(tmp_path / "home")


def test_what_somebody_changed_meanwhile_is_left(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"other")
    for before in (b"old", None):
        with pytest.raises(Failure) as raised:
            apply.carry_out(plan(path, before, b"new"))
        assert raised.value.code == "INSTALL_CHANGED" and path.read_bytes() == b"other"


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(Failure, match="cannot be written: No space left on device") as raised:
        apply.carry_out(plan(path, b"old", b"new", receipt=None))
    assert raised.value.fix == f"make {tmp_path} writable and run this again; nothing was changed"
    assert path.read_bytes() == b"old" and names(tmp_path) == ["settings.json"]
    deep = tmp_path / "a" / "b" / "settings.json"
    with pytest.raises(Failure):
        apply.carry_out(plan(deep, None, b"new", receipt=None))
    assert names(tmp_path) == ["settings.json"], "the folders that it made are gone too"


def test_taking_out_leaves_what_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "settings.json"
    apply.carry_out(plan(path, None, b"{}"))
    (tmp_path / "a" / "mine").touch()
    assert apply.carry_out(plan(path, b"{}", None, untouched=True)) is None
    assert names(tmp_path / "a") == ["mine"] and Receipt.load(str(path)) is None
    apply.carry_out(plan(path, None, b"{}"))
    backup = apply.carry_out(plan(path, b"{}", None))
    assert backup is not None and Path(backup).read_bytes() == b"{}"
    assert names(path.parent) == [Path(backup).name], "a folder with a backup stays"


def test_what_is_as_it_should_be_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    apply.carry_out(plan(path, None, b"{}"))
    stamp = path.stat().st_mtime_ns
    assert apply.carry_out(plan(path, b"{}", b"{}")) is None
    assert path.stat().st_mtime_ns == stamp and Receipt.load(str(path)) is not None
    apply.carry_out(plan(path, b"{}", b"{}", receipt=None))
    assert Receipt.load(str(path)) is None


def test_a_file_stays_its_owner_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.touch()
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda _, user, group: asked.append((user, group)))
    apply._same_owner(str(path), str(path))
    assert asked == [], "it is ours already"
    here = path.stat()
    monkeypatch.setattr(os, "geteuid", lambda: here.st_uid + 1)
    apply._same_owner(str(path), str(path))
    assert asked == [(here.st_uid, here.st_gid)]

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    apply._same_owner(str(path), str(path))


def test_one_installation_at_a_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "_LOCK_WAIT_S", 0.0)
    with apply.locked():
        with pytest.raises(Failure) as raised, apply.locked():
            pass
        assert raised.value.code == "INSTALL_BUSY"
    with apply.locked():
        pass
    home.rename(f"{home}.away")
    home.write_text("no folder")
    with pytest.raises(Failure) as raised, apply.locked():
        pass
    assert raised.value.code == "INSTALL_FAILED"


def test_a_failure_names_what_was_changed_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[str] = []
    first, second = tmp_path / "settings.json", tmp_path / "skill.md"
    apply.carry_out_after(plan(first, None, b"{}"), changed)
    second.write_bytes(b"somebody was faster")
    with pytest.raises(Failure) as raised:
        apply.carry_out_after(plan(second, None, b"ours"), changed)
    assert raised.value.message.endswith(f"; changed before it: {first}")
    assert raised.value.fix == "run this again"

    def full(_plan: Plan, _data: bytes) -> None:
        raise OSError(28, "No space left on device", str(second))

    monkeypatch.setattr(apply, "_write", full)
    with pytest.raises(Failure) as raised:
        apply.carry_out_after(plan(second, second.read_bytes(), b"ours"), changed)
    assert "changed before it" in raised.value.message and "nothing was changed" not in raised.value.fix
    with pytest.raises(Failure) as raised:
        apply.carry_out_after(plan(second, second.read_bytes(), b"ours"), [])
    assert raised.value.fix.endswith("nothing was changed")
