"""A `backup` made while hooks write restores an equal home, and one that is killed leaves what was there before."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import apsw
import pytest
from claude_transcript import CWD, Transcript
from conftest import JOELCLAW, PATIENCE_S, Run, attempt, clean_environment
from faults import small_disk, snapshot

WRITERS = 6
NOTE = "the scheduler of the gateway runs in UTC, never in local time"
NEVER = ("cache", ".lock", ".tmp", "store.db-", "store.db.", "backups.json", ".locks", "/task/", "/queries/")


def tables(store: Path) -> dict[str, str]:
    """A hash of what each table holds, the tables of the indexes among them."""
    db = apsw.Connection(str(store))
    names = [str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    declared = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'"
    virtual = {str(name) for (name,) in db.execute(declared)}
    contents = {}
    for name in set(names) - virtual:
        rows = sorted(repr(row) for row in db.execute(f'SELECT * FROM "{name}"'))
        contents[name] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
    db.close()
    return contents


def kept_files(home: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(home.rglob("*")) if path.is_file() and path.name != "store.db")
    named = ((str(path.relative_to(home)), path) for path in paths)
    return {name: path.read_bytes() for name, path in named if not any(mark in f"/{name}" for mark in NEVER)}


def rows(store: Path, table: str, column: str) -> set[str]:
    db = apsw.Connection(str(store))
    db.set_busy_timeout(int(PATIENCE_S * 1000))  # who opens a log first looks through it alone
    values = {str(value) for (value,) in db.execute(f"SELECT {column} FROM {table}")}
    db.close()
    return values


def hook(run: Run, transcript: Transcript, session: str, prompt: str) -> None:
    """A prompt, archived, with its state and its events."""
    transcript.user(prompt)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt, "cwd": CWD}
    done = run("hook", "claude", stdin=json.dumps({**event, "transcript_path": str(transcript.path)}))
    assert done.err == ""


@pytest.fixture
def filled(run: Run, home: Path) -> Path:
    run("memory", "write", NOTE)
    run("checkpoint", "save", "--session", "a/b", "--percent", "75", "--message", "fix the scheduler of the gateway")
    run("checkpoint", "flush", "--session", "a/b")
    (home / "config.toml").write_text("[recall]\nlimit = 3\n")
    run("off", "--session", "other")
    run("recall", "scheduler")
    (home / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
    (home / "workspace" / "memory" / "2026-11-01.md").write_text("## 10:00 notes\n- ours\n")
    return home


@pytest.mark.spawned
def test_while_hooks_write_it_restores_equal(run: Run, filled: Path, tmp_path: Path) -> None:
    home, file, elsewhere = filled, tmp_path / "kept.tar.gz", tmp_path / "elsewhere"
    acknowledged = [0] * WRITERS
    go_on = threading.Event()
    go_on.set()
    faults: list[BaseException] = []

    def writing(number: int) -> None:
        transcript = Transcript(tmp_path / f"session-{number}.jsonl", first=number * 10_000)
        try:
            turn = 0
            while go_on.is_set():
                turn += 1
                prompt = f"prompt {turn} of writer {number}"
                hook(run, transcript, f"session-{number}", prompt)
                acknowledged[number] = turn
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=writing, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        while min(acknowledged) < 1 and not faults:
            time.sleep(0.01)
        run("otel", "list")
        turns = acknowledged[:]
        before = {table: rows(home / "store.db", table, "id") for table in ("document", "event")}
        result = run("backup", str(file)).result
        while sum(acknowledged) < sum(turns) + WRITERS and not faults:
            time.sleep(0.01)
    finally:
        go_on.clear()
        for thread in threads:
            thread.join()
    assert faults == []
    wrong = run("otel", "list", "--hours", "1", "--level", "error,fatal").result["events"]
    assert [event["action"] for event in wrong] == []  # no hook came too late
    restored = run("restore", str(file), "--into", str(elsewhere)).result
    assert restored["counts"] == result["counts"]
    for table, known in before.items():  # nothing that was acknowledged is missing
        assert len(known) > WRITERS and known <= rows(elsewhere / "store.db", table, "id")
    for number, turn in enumerate(turns):
        state = json.loads((elsewhere / "sessions" / f"session-{number}.json").read_text())
        assert state["counts"]["userMessages"] >= turn
    for table, column in (("document", "id"), ("event", "id"), ("transcript", "source")):
        assert rows(elsewhere / "store.db", table, column) <= rows(home / "store.db", table, column)
    assert run("status", env={"JOELCLAW_HOME": str(elsewhere)}).result["healthy"]


def test_at_rest_it_restores_equal_to_the_byte(run: Run, filled: Path, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "s.jsonl")
    transcript.user("mend the gauge")
    transcript.used("c1", "Bash", "harbourGauge is fine", command="make test")
    run("memory", "archive", str(transcript.path))
    file, elsewhere = tmp_path / "kept.tar.gz", tmp_path / "else where"
    run("backup", str(file))
    run("restore", str(file), "--into", str(elsewhere))
    assert tables(elsewhere / "store.db") == tables(filled / "store.db")
    assert kept_files(elsewhere) == kept_files(filled)
    expected = {"config.toml", "sessions/a%2Fb.json", "switches.json", "workspace/memory/2026-11-01.md"}
    assert expected <= set(kept_files(elsewhere))
    restored_home = {"JOELCLAW_HOME": str(elsewhere)}
    assert run("status", env=restored_home).result["healthy"]
    assert run("recall", "scheduler gateway", env=restored_home).result["hits"][0]["observation"] == NOTE
    modes = [stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (elsewhere, *elsewhere.rglob("*"), file)]
    assert not any(modes)
    db = apsw.Connection(str(elsewhere / "store.db"))
    assert db.execute("PRAGMA journal_mode").get == "wal"
    db.close()


def test_the_home_itself_is_replaced_and_the_old_one_kept(run: Run, filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.tar.gz"
    run("backup", str(file))
    run("memory", "write", "a later thing that the backup does not have")
    assert run("restore", str(file), "--verify-only").result["restored"] is False
    result = run("restore", str(file), "--force").result
    (aside,) = result["keptAside"]
    assert result["home"] == str(filled) and Path(aside).parent == filled.parent
    assert rows(filled / "store.db", "document", "text") < rows(Path(aside) / "store.db", "document", "text")
    assert run("memory", "write", "life goes on in the restored home").result["id"]


def test_foreign_files_are_left_out(run: Run, filled: Path, tmp_path: Path) -> None:
    (filled / "notes.txt").write_text("not ours")
    (filled / "cache" / "x.json").write_text("{}")
    (filled / "sessions" / "left.json.4194399.2.tmp").write_text("half")
    (filled / "sessions" / "link.json").symlink_to("/etc/hostname")
    (filled / "outbox.lock").touch(0o600)
    file = tmp_path / "kept.tar.gz"
    run("backup", str(file))
    with tarfile.open(file) as tar:
        names = tar.getnames()
    assert names[-2:] == ["store.db", "manifest.json"]
    assert "outbox.lock" in names  # it says that this memory has a cluster
    assert not [name for name in names if any(mark in f"/{name}" for mark in NEVER) and name != "outbox.lock"]
    assert not {"notes.txt", "sessions/link.json"} & set(names)


@pytest.mark.parametrize(("where", "code"), [
    ("{tmp}/there", "BACKUP_EXISTS"), ("{tmp}", "BACKUP_EXISTS"), ("{home}/b.tar", "BACKUP_IN_HOME"),
    ("{tmp}/no/b.tar", "BACKUP_NO_FOLDER"),
])  # fmt: skip
def test_invalid_targets_are_refused(run: Run, filled: Path, tmp_path: Path, where: str, code: str) -> None:
    (tmp_path / "there").write_text("mine")
    before = sorted(os.listdir(tmp_path))
    refused = run("backup", where.format(tmp=tmp_path, home=filled), ok=False).json
    assert refused["error"]["code"] == code and refused["fix"]
    assert ("--force" in refused["fix"]) == (where == "{tmp}/there")
    assert sorted(os.listdir(tmp_path)) == before and (tmp_path / "there").read_text() == "mine"
    if where == "{tmp}/there":
        assert run("backup", str(tmp_path / "there"), "--force").result["bytes"] > 1000


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


def test_a_disk_without_room(run: Run, filled: Path, tmp_path: Path) -> None:
    run("backup", str(tmp_path / "kept.tar.gz"))
    before = {name: data for name, data in snapshot(filled).items() if not name.endswith("-shm")}
    place = tmp_path / "place"
    with small_disk(place, 200):
        assert attempt(filled, "backup", str(place / "b.tar.gz")).assert_failed() == "BACKUP_FULL"
        restored = attempt(filled, "restore", str(tmp_path / "kept.tar.gz"), "--into", str(place / "home"))
        assert restored.assert_failed() == "RESTORE_FULL"
        assert os.listdir(place) == []
    assert {name: data for name, data in snapshot(filled).items() if not name.endswith("-shm")} == before


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
