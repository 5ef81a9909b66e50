"""`restore` verifies first: a damaged, hostile or newer backup changes nothing. Open permissions are closed later."""

import gzip
import io
import json
import os
import shutil
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import Run, attempt
from faults import snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Members = list[tuple[tarfile.TarInfo, bytes]]


@pytest.fixture
def backup(run: Run, home: Path, tmp_path: Path) -> Path:
    run("memory", "write", "the scheduler of the gateway runs in UTC, never in local time")
    run("checkpoint", "save", "--session", "s", "--percent", "75", "--message", "fix the scheduler")
    file = tmp_path / "kept.tar.gz"
    run("backup", str(file))
    return file


def read(file: Path) -> Members:
    with tarfile.open(file) as tar:
        members = []
        for about in tar:
            content = tar.extractfile(about)
            members.append((about, content.read() if content else b""))
    return members


def written(members: Members) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for about, data in members:
            tar.addfile(about, io.BytesIO(data))
    return out.getvalue()


def with_manifest(members: Members, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Members:
    """The members with a manifest that is true of them, but for `change`."""
    *others, (_, data) = members
    manifest = json.loads(data)
    manifest["members"] = [{"name": name.name, "bytes": len(content)} for name, content in others]
    change(manifest)
    return [*others, member("manifest.json", json.dumps(manifest).encode())]


def member(
    name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    about = tarfile.TarInfo(name)
    about.size, about.type, about.linkname = len(data), kind, link
    return about, data


def refused(run: Run, file: Path, tmp_path: Path, *more: str) -> str:
    """The code with which it is refused; nothing was changed, and nothing is left."""
    elsewhere = tmp_path / "elsewhere"
    before = sorted(os.listdir(tmp_path))
    for words in ((str(file), "--into", str(elsewhere)), (str(file), "--verify-only"), (str(file), "--force")):
        answer = run("restore", *words, *more, ok=False).json
        assert answer["fix"] and "Traceback" not in str(answer)
    assert sorted(os.listdir(tmp_path)) == before and not elsewhere.exists()
    return answer["error"]["code"]


HOSTILE = {
    "above": member("../evil", b"x"),
    "absolute": member("/tmp/evil", b"x"),
    "link": member("sessions/x.json", kind=tarfile.SYMTYPE, link="/etc/passwd"),
    "pipe": member("spool/x", kind=tarfile.FIFOTYPE),
    "folder": member("sessions", kind=tarfile.DIRTYPE),
    "unknown": member("bashrc", b"x"),
    "lock": member("sessions/.locks/x", b"x"),
    "twice": member("sessions/s.json", b"{}"),
    "control": member("sessions/\x1b[31m.json", b"{}"),
}


@pytest.mark.parametrize("which", HOSTILE)
def test_hostile_members_are_refused(run: Run, backup: Path, home: Path, tmp_path: Path, which: str) -> None:
    members = read(backup)
    backup.write_bytes(written(with_manifest([*members[:-1], HOSTILE[which], members[-1]])))
    before = snapshot(home)
    assert refused(run, backup, tmp_path) == "BACKUP_DAMAGED"
    assert snapshot(home) == before and not (tmp_path / "evil").exists()


@pytest.mark.parametrize(("change", "code"), [
    (
        lambda manifest: manifest["members"].append({"name": "x.json", "bytes": 2}),
        "BACKUP_DAMAGED",
    ),
    (lambda manifest: manifest["members"][0].update(bytes=1), "BACKUP_DAMAGED"),
    (lambda manifest: manifest["counts"].update(document=manifest["counts"]["document"] + 1), "BACKUP_DAMAGED"),
    (lambda manifest: manifest.update(format=2), "BACKUP_TOO_NEW"),
    (lambda manifest: manifest.update(schema=999), "STORE_TOO_NEW"),
    (lambda manifest: manifest.pop("members"), "BACKUP_DAMAGED"),
], ids=["a file more", "wrong size", "wrong count", "newer form", "newer schema", "no files"])  # fmt: skip
def test_false_or_newer_manifests_are_refused(
    run: Run, backup: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], code: str
) -> None:
    backup.write_bytes(written(with_manifest(read(backup), change)))
    assert refused(run, backup, tmp_path) == code


def test_newer_damaged_or_foreign_stores_are_refused(run: Run, backup: Path, tmp_path: Path) -> None:
    members = read(backup)
    (at,) = [number for number, (about, _) in enumerate(members) if about.name == "store.db"]
    store = members[at][1]
    newer = tmp_path / "newer.db"
    newer.write_bytes(store)
    db = apsw.Connection(str(newer))
    db.execute("PRAGMA journal_mode = DELETE; PRAGMA user_version = 999").fetchall()
    db.close()
    torn = bytearray(store)
    torn[4096 * 3 : 4096 * 9] = b"\xff" * 4096 * 6
    other = tmp_path / "other.db"
    db = apsw.Connection(str(other))
    db.execute("CREATE TABLE t (x); PRAGMA user_version = 1")
    db.close()
    for data, code in (
        (newer.read_bytes(), "STORE_TOO_NEW"), (bytes(torn), "STORE_DAMAGED"), (other.read_bytes(), "STORE_FOREIGN"),
        (b"no database", "STORE_DAMAGED"),
    ):  # fmt: skip
        changed = [*members[:at], member("store.db", data), *members[at + 1 :]]
        backup.write_bytes(written(with_manifest(changed)))
        assert refused(run, backup, tmp_path) == code


def test_a_member_that_claims_to_be_huge(run: Run, backup: Path, tmp_path: Path) -> None:
    plain = bytearray(gzip.decompress(backup.read_bytes()))
    about = tarfile.TarInfo("sessions/huge.json")
    about.size = 1 << 40
    backup.write_bytes(gzip.compress(about.tobuf(tarfile.GNU_FORMAT) + bytes(plain)))
    assert refused(run, backup, tmp_path) == "BACKUP_DAMAGED"
    store = tarfile.TarInfo("store.db")
    store.size = 1 << 45
    backup.write_bytes(gzip.compress(store.tobuf(tarfile.GNU_FORMAT) + bytes(plain)))
    assert refused(run, backup, tmp_path) in ("BACKUP_DAMAGED", "RESTORE_FULL")


def test_whatever_is_changed_or_cut_off_is_noticed_or_harmless(run: Run, backup: Path, home: Path) -> None:
    original = backup.read_bytes()
    before = snapshot(home)

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.integers(0, len(original) - 1), st.binary(min_size=1, max_size=8), st.integers(0, 3))
    def mutated(at: int, put: bytes, cut: int) -> None:
        begin, rest = original[:at], original[at + len(put) * (cut != 1) :]
        data = begin + put + rest if cut < 2 else begin + put * (cut - 2)
        backup.write_bytes(data)
        done = attempt(home, "restore", str(backup), "--verify-only")
        if done.code:  # what is left is a field of a header that means nothing here
            assert done.assert_failed() in ("BACKUP_DAMAGED", "BACKUP_TOO_NEW", "STORE_TOO_NEW")
        else:
            assert done.envelope["result"]["files"] == 4  # state, store, its mark, spool

    mutated()
    assert snapshot(home) == before
    assert not [name for name in os.listdir(backup.parent) if name.endswith(".tmp")]


def test_a_changed_letter_in_what_can_be_unpacked_is_noticed(run: Run, backup: Path, tmp_path: Path) -> None:
    whole = backup.read_bytes()
    changed = gzip.decompress(whole).replace(b"fix the scheduler", b"fox the scheduler")
    backup.write_bytes(gzip.compress(changed)[:-8] + whole[-8:])
    assert refused(run, backup, tmp_path) == "BACKUP_DAMAGED"


def test_a_home_that_holds_something(run: Run, backup: Path, home: Path, tmp_path: Path) -> None:
    before = snapshot(home)
    refusal = run("restore", str(backup), ok=False).json
    assert refusal["error"]["code"] == "RESTORE_NOT_EMPTY" and "--force" in refusal["fix"]
    no_backup = tmp_path / "no-backup"
    no_backup.write_text("mine")
    assert run("restore", str(no_backup), ok=False).json["error"]["code"] == "BACKUP_DAMAGED", "not what replaces it"
    other = tmp_path / "other"
    shutil.copytree(home, other)
    fix = run("restore", str(backup), "--into", str(other), ok=False).json["fix"]
    assert f"--into {other} --force" in fix and "--into" not in refusal["fix"]
    (home / "mine.txt").write_text("mine")
    refusal = run("restore", str(backup), "--force", ok=False).json
    assert refusal["error"]["code"] == "RESTORE_MIXED" and "mine.txt" in refusal["error"]["message"]
    assert {**snapshot(home), "mine.txt": b""} == {**before, "mine.txt": b""}
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run("restore", str(backup), "--into", str(empty)).result["keptAside"] == []
    (tmp_path / "file").write_text("x")
    assert run("restore", str(backup), "--into", str(tmp_path / "file"), ok=False).code == 1


def test_a_home_that_hooks_recreate_stays(run: Run, backup: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(home)
    rename = os.rename

    def renamed(source: str, target: str) -> None:
        rename(source, target)
        if source == str(home):  # a hook that runs in the moment between
            home.mkdir()
            (home / "written").write_text("meanwhile")

    monkeypatch.setattr(os, "rename", renamed)
    answer = run("restore", str(backup), "--force", ok=False).json
    assert answer["error"]["code"] == "RESTORE_BUSY"
    (old,) = home.parent.glob(f"{home.name}.before-restore-*")  # other tests leave such folders beside it
    assert snapshot(old) == before and str(old) in answer["fix"]


def test_what_is_wrong_with_a_backup_is_said_in_plain_words(run: Run, backup: Path, tmp_path: Path) -> None:
    members = read(backup)
    for malformed in (members[:-1], [*members[:-1], member("manifest.json", b"[]")], [member("manifest.json", b"{")]):
        backup.write_bytes(written(malformed))
        done = run("restore", str(backup), "--verify-only", ok=False).json
        assert done["error"]["message"] == "the backup is damaged: its contents are malformed"


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
