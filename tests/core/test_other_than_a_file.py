"""A pipe, a device, a folder or a link that leads nowhere in place of a file: no command waits, and it is said."""

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import Attempt, attempt

COMMANDS = (
    "recall tides", "doctor", "status", "off --everywhere", "memory write the-osprey-table-is-kept-for-the-year",
    "session list", "idle list", "checkpoint show s1", "checkpoint save --session s1 --message tides", "otel list",
    "hook claude",
)  # fmt: skip
EVENT = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "why are tides read twice", "cwd": "/"}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with all kinds of files."""
    home = tmp_path_factory.mktemp("lived") / "home"
    home.mkdir(0o700)
    (home / "config.toml").write_text("[compaction]\nidle_trigger_minutes = 5\n")
    notes = home.parent / "notes"
    notes.mkdir()
    (notes / "tides.md").write_text("# Tides\n\nThey are read twice.\n")
    for words in ("memory write tides-are-read-twice-in-Husum", f"knowledge sync {notes}", "off --session other"):
        attempt(home, *words.split())
    for words in ("hook claude", "idle schedule --session s1 --percent 90 --minutes 1 --agent claude"):
        attempt(home, *words.split(), stdin=json.dumps(EVENT).encode())
    return home


def put(kind: str, path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "folder":
        (path / "inner").mkdir(parents=True)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "/nowhere/at/all")


def ended(home: Path, words: str) -> Attempt:
    stdin = json.dumps(EVENT).encode() if words.startswith("hook") else b""
    done = attempt(home, *words.split(), stdin=stdin)  # pytest's `faulthandler_timeout` ends one that waits
    assert done.code in (0, 1), done
    assert "UNKNOWN_ERROR" not in done.out and "Traceback" not in done.err, done
    return done


@pytest.mark.parametrize("name", [
    "config.toml", "switches.json", "store.db", "store.db-wal", "store.db-journal", "store.db.lock", "sessions/s1.json",
    "sessions/.locks/s1", "spool/events.jsonl", "spool/events.jsonl.taken-1", "knowledge.json", "switches.json.lock",
    "cache/store-prune.lock", "cache/unknown-settings.json",
])  # fmt: skip
def test_no_command_waits_for_a_pipe(lived: Path, home: Path, name: str) -> None:
    for words in COMMANDS:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(lived, home)
        put("pipe", home / name)
        ended(home, words)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link"])
@pytest.mark.parametrize(("name", "words", "code"), [
    ("config.toml", "recall tides", "CONFIG_INVALID"),
    ("store.db", "recall tides", "STORE_UNREADABLE"),
    ("store.db", "memory write the-osprey-table-is-kept-for-the-year", "STORE_UNREADABLE"),
    ("sessions/s1.json", "checkpoint show s1", "STATE_UNREADABLE"),
])  # fmt: skip
def test_it_says_what_is_wrong_and_what_to_do(
    lived: Path, home: Path, kind: str, name: str, words: str, code: str
) -> None:
    shutil.copytree(lived, home)
    for suffix in ("-wal", "-shm"):
        (home / f"store.db{suffix}").unlink(missing_ok=True)
    put(kind, home / name)
    answer = ended(home, words).envelope
    assert answer["error"]["code"] == code
    assert f"{home / name}: it is a folder, a pipe," in answer["error"]["message"]
    assert f"move {home / name} away" in answer["fix"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link"])
@pytest.mark.parametrize(("name", "words"), [
    ("sessions/s1.json", "checkpoint save --session s1 --message tides"),
    ("sessions/.locks/s1", "checkpoint save --session s1 --message tides"),
    ("switches.json", "off --everywhere"),
    ("spool/events.jsonl", "hook claude"),
])  # fmt: skip
def test_what_can_be_made_anew_is_set_aside(lived: Path, home: Path, kind: str, name: str, words: str) -> None:
    shutil.copytree(lived, home)
    put(kind, home / name)
    assert ended(home, words).code == 0
    assert (home / name).is_file() and not (home / name).is_symlink()
    findings = {finding["code"]: finding["message"] for finding in attempt(home, "doctor").result["findings"]}
    assert f"{name}.damaged-" in findings["FILES_SET_ASIDE"]
