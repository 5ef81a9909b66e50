"""The root of a project; reading and writing respect hard links."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import Run

from core.project import real_root


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository below a user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return Path(os.path.realpath(folder))


def test_the_root_of_a_folder_is_its_repository_but_never_the_home(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    plain = tmp_path / "plain"
    plain.mkdir()
    (tmp_path / "link").symlink_to(inner)
    (tmp_path / ".git").mkdir()
    assert real_root(str(inner)) == real_root(str(root)) == real_root(str(tmp_path / "link")) == str(root)
    assert real_root(str(plain)) == os.path.realpath(plain)
    assert real_root("/") == "/"
    monkeypatch.setenv("HOME", str(plain))
    assert real_root(str(plain)) == os.path.realpath(plain)


SAID = "the quaggabeacon is read at noon"


def test_archiving_from_a_hard_linked_file_leaves_the_other_name(run: Run, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "a" / "s-1.jsonl")
    transcript.user(SAID)
    (tmp_path / "b").mkdir()
    os.link(transcript.path, tmp_path / "b" / "s-1.jsonl")
    assert [run("memory", "archive", str(tmp_path / folder)).result["episodes"]["added"] for folder in "ab"] == [1, 0]
    (tmp_path / "notes").mkdir()
    os.link(transcript.path, tmp_path / "notes" / "one.md")
    assert run("knowledge", "sync", str(tmp_path / "notes")).result["indexed"]["files"] == 1


def test_files_of_the_home_do_not_write_through_hard_links(run: Run, home: Path, tmp_path: Path) -> None:
    """All commands go on; a copy made of links keeps what it had, but for the store, which is one file still."""
    run("memory", "write", SAID)
    run("checkpoint", "save", "--session", "s", "--percent", "75", "-m", SAID)
    (home / "config.toml").write_text("[recall]\nlimit = 3\n")
    (home / "config.toml").chmod(0o600)
    original = tmp_path / "kept"
    subprocess.run(["cp", "-al", str(home), str(original)], check=True)
    state = (original / "sessions" / "s.json").read_text()
    run("checkpoint", "save", "--session", "s", "--percent", "80", "-m", "mend the gauge")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(tmp_path), "prompt": "mend it"}
    assert run("hook", "claude", stdin=json.dumps(event)).err == ""
    assert (original / "sessions" / "s.json").read_text() == state
    assert run("status").result["healthy"] and run("recall", SAID).result["hits"]
    run("backup", str(tmp_path / "kept.tar.gz"))
    run("memory", "forget", "--purge", "--match", SAID, "--yes")
    assert not [path for path in home.rglob("*") if path.is_file() and b"quaggabeacon" in path.read_bytes()]
    run("restore", str(tmp_path / "kept.tar.gz"), "--force")
    assert run("recall", SAID).result["hits"]
