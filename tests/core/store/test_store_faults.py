"""What breaks on disk breaks no command: a clear error or a set-aside file, exit 1, nothing overwritten (issue 2).

`otel emit` and `checkpoint` end within a second in every state; a checkpoint goes on without its store.
"""

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest
from conftest import PATIENCE_S, ROOT, Attempt, attempt, begin, put
from faults import SLOWEST_S, WITHOUT_COLUMNS, fold_log, read_only, small_disk, snapshot, until_open, write_lock

from core.store import sqlite

SESSION = "s1"
FACT = "The gateway retries three times because the upstream drops idle connections after 55 seconds"
LINES = b"".join(
    json.dumps({"id": f"n{i}", "text": f"Worker {i} listens on port {9000 + i} and logs to /var/log/w{i}.log"}).encode()
    + b"\n"
    for i in range(400)
)
MESSAGES = ("--message", "repair the retry loop of the gateway", "--message", "the upstream drops idle connections")
SAVE_COLD = ("checkpoint", "save", "--session", SESSION, "--percent", "10", *MESSAGES, "--file", "src/gateway.ts")
SAVE_HOT = ("checkpoint", "save", "--session", SESSION, "--percent", "80", *MESSAGES, "--file", "src/retry.ts")
FLUSH = ("checkpoint", "flush", "--session", SESSION, "--percent", "85")
RECOVERY = ("inject", "recovery", "--session", SESSION)
STARTUP = ("inject", "memory", "--session", SESSION, "--query", "gateway retries")
EMIT = ("otel", "emit", "compaction.before", "--metadata", '{"percent": 81}')
WRITE = ("memory", "write", "The staging queue drains at 14:00 UTC; deploys wait for it")
RECALL = ("recall", "gateway retries")
IMPORT = ("memory", "import", "-")
STATUS = ("status",)
SESSIONS = (SAVE_COLD, SAVE_HOT, FLUSH, RECOVERY, STARTUP)
WRITERS = (WRITE, IMPORT, EMIT)
ALL = (*WRITERS, RECALL, *SESSIONS, STATUS)
IMPATIENT = {"JOELCLAW_STORE_BUSY_MS": "200"}


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with 401 memories and one session, its log folded into the store file."""
    home = tmp_path_factory.mktemp("whole") / "home"
    attempt(home, *IMPORT, stdin=LINES).assert_done()
    attempt(home, "memory", "write", FACT).assert_done()
    attempt(home, *SAVE_COLD).assert_done()
    fold_log(home)
    return home


@pytest.fixture
def good(intact: Path, home: Path) -> Path:
    """A copy of the whole home, to be damaged."""
    shutil.copytree(intact, home)
    return home


def go(home: Path, words: tuple[str, ...], *, largest_file: int | None = None) -> Attempt:
    """Run a command, and hold it to its time."""
    stdin = LINES[: LINES.index(b"\n") + 1] if words is IMPORT else None
    done = attempt(home, *words, stdin=stdin, env=IMPATIENT, largest_file=largest_file)
    if words[0] in ("otel", "checkpoint", "inject"):
        assert done.took_s < SLOWEST_S, done
    assert "Traceback" not in done.out + done.err, done
    return done


def answered(done: Attempt) -> None:
    """Done or failed, in its frame either way."""
    if done.code:
        done.assert_failed()
    else:
        done.assert_done()


def _changed(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(home: Path) -> None:
        (home / "store.db").write_bytes(change((home / "store.db").read_bytes()))

    return damage


def _newer(home: Path) -> None:
    db = apsw.Connection(str(home / "store.db"))
    db.execute("PRAGMA user_version = 999")
    db.close()
    fold_log(home)


def _foreign(home: Path, version: int = 0) -> None:
    (home / "store.db").unlink()
    db = apsw.Connection(str(home / "store.db"))
    db.execute(
        f"CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup'); PRAGMA user_version = {version}"
    )
    db.close()


def _folder(home: Path) -> None:
    (home / "store.db").unlink()
    (home / "store.db").mkdir()
    (home / "store.db" / "kept.txt").write_text("kept")


UNUSABLE: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "garbage": (_changed(lambda _: random.Random(3).randbytes(20_000)), {"STORE_DAMAGED"}),
    "the header alone": (_changed(lambda data: data[:100]), {"STORE_DAMAGED"}),
    "cut in the middle": (_changed(lambda data: data[: len(data) // 2 + 77]), {"STORE_DAMAGED"}),
    "a newer schema": (_newer, {"STORE_TOO_NEW"}),
    "another program's database": (_foreign, {"STORE_FOREIGN"}),
    "another's, same version": (partial(_foreign, version=sqlite.SCHEMA), {"STORE_FOREIGN", "STORE_UNREADABLE"}),
    "another program's, older version": (partial(_foreign, version=1), {"STORE_FOREIGN"}),
    "a folder": (_folder, {"STORE_UNREADABLE"}),
}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_unusable_store_is_reported_and_left_untouched_and_sessions_go_on(good: Path, fault: str) -> None:
    damage, codes = UNUSABLE[fault]
    damage(good)
    before = {name: data for name, data in snapshot(good).items() if name.startswith("store.db")}
    for words in (*WRITERS, RECALL):
        assert go(good, words).assert_failed() in codes, words
    for words in SESSIONS:
        done = go(good, words)
        done.assert_done()
        if words is SAVE_HOT:
            assert (done.result["zone"], done.result["written"]) == ("hot", False)
            assert {"recallError", "writeError", "eventError"} & set(done.result), done.result
        if words is RECOVERY:
            assert "retry loop" in done.result["content"]
    state = json.loads(_state(good).read_text())
    assert state["checkpoint"]["filesModified"] == ["src/gateway.ts", "src/retry.ts"]
    result = go(good, STATUS).result
    assert result["healthy"] is False
    assert {problem["code"] for problem in result["problems"]} & codes
    assert all(problem["message"] and problem["fix"] for problem in result["problems"])
    after = snapshot(good)
    assert {name: after[name] for name in before} == before
    assert not [name for name in after if name.startswith("store.db.damaged")]


@pytest.mark.parametrize("seed", range(12))
def test_garbage_anywhere_is_reported_as_damage(good: Path, seed: int) -> None:
    """Words, vectors and documents lie on pages of their own, and each tells of damage in its own way."""
    store = good / "store.db"
    data = bytearray(store.read_bytes())
    numbers = random.Random(seed)
    pages = len(data) // 4096
    first = pages * seed // 12 or 1
    data[first * 4096 : (first + pages // 12 + 1) * 4096] = numbers.randbytes((pages // 12 + 1) * 4096)
    store.write_bytes(bytes(data))
    done = go(good, ("recall", "gateway retries"))
    if done.code:
        assert done.assert_failed() == "STORE_DAMAGED", done


def test_every_byte_of_a_schema_page_may_be_wrong(good: Path) -> None:
    """Whatever the first page says, a command answers in its frame."""
    original = (good / "store.db").read_bytes()
    draw = random.Random(11)
    for _ in range(12):
        data = bytearray(original)
        for _ in range(draw.choice((1, 4, 40))):
            data[draw.randrange(16, 8192)] = draw.randrange(256)
        for name in ("store.db-wal", "store.db-shm"):
            (good / name).unlink(missing_ok=True)
        (good / "store.db").write_bytes(bytes(data))
        for words in (RECALL, EMIT):
            done = go(good, words)
            if done.code:
                done.assert_failed()
            else:  # on stderr it may say that the store is older than it was
                assert done.envelope["ok"] is True and "Traceback" not in done.err


def test_a_held_write_lock_delays_commands_only_briefly(good: Path) -> None:
    with write_lock(good):
        for words in WRITERS:
            assert go(good, words).assert_failed() == "STORE_BUSY", words
        assert go(good, RECALL).result["count"] > 0
        saved = go(good, SAVE_HOT).result
        assert saved["recalled"] is True
        assert saved["writeError"]["code"] == "STORE_BUSY"
        sent = {"session": SESSION, "entries": [{"role": "user", "text": "mend the retry loop"}]}
        entries = attempt(good, "checkpoint", "save", "--stdin", stdin=json.dumps(sent).encode()).result
        assert entries["archiveError"]["code"] == "STORE_BUSY"
        schema = json.loads((ROOT / "docs" / "contract" / "checkpoint-save.schema.json").read_text())
        assert {key for key in (*saved, *entries) if key.endswith("Error")} <= schema["properties"].keys()
        for words in (FLUSH, RECOVERY, STARTUP, STATUS):
            go(good, words).assert_done()
    go(good, WRITE).assert_done()


def test_a_write_waits_for_another_to_end(good: Path) -> None:
    """The lock is given back while the write waits: it then goes through."""
    with write_lock(good):
        process = begin(good, *WRITE, JOELCLAW_STORE_BUSY_MS=str(int(PATIENCE_S * 1000)))
        until_open(process, good / "store.db-wal")
        with pytest.raises(subprocess.TimeoutExpired):  # it is at work until the lock is given back
            process.wait(0.5)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["ok"] is True


# --- state files ---------------------------------------------------------------------------------------------------


def _state(home: Path) -> Path:
    return home / "sessions" / f"{SESSION}.json"


@pytest.mark.parametrize("words", SESSIONS, ids=lambda words: "-".join((*words[:2], *words[4:6])))
def test_every_command_of_a_session_sets_a_damaged_file_aside(good: Path, words: tuple[str, ...]) -> None:
    damaged = _state(good).read_bytes()[:-40]
    _state(good).write_bytes(damaged)
    result = go(good, words).result
    (aside,) = (good / "sessions").glob("*.damaged-*")
    assert (aside.read_bytes(), result["setAside"]) == (damaged, str(aside))
    if words is not RECOVERY:
        assert json.loads(_state(good).read_text())["sessionId"] == SESSION
    assert "session.state.set_aside" in (attempt(good, "otel", "list").out)


def test_a_newer_state_file_is_refused_and_left_untouched(good: Path) -> None:
    newer = json.dumps({**json.loads(_state(good).read_text()), "version": 999}).encode()
    _state(good).write_bytes(newer)
    for words in SESSIONS:
        assert go(good, words).assert_failed() == "STATE_TOO_NEW"
    assert _state(good).read_bytes() == newer
    for words in (*WRITERS, RECALL, STATUS):
        go(good, words).assert_done()


def test_a_file_instead_of_the_sessions_folder(good: Path) -> None:
    shutil.rmtree(good / "sessions")
    (good / "sessions").write_text("kept")
    for words in SESSIONS:
        answered(go(good, words))
    (aside,) = good.glob("sessions.damaged-*")
    assert aside.read_text() == "kept"
    for words in (*WRITERS, RECALL, STATUS):
        go(good, words).assert_done()


def test_a_file_instead_of_the_home(home: Path) -> None:
    home.write_text("kept")
    for words in (*WRITERS, *SESSIONS[:3]):
        go(home, words).assert_failed()
    for words in (RECALL, RECOVERY, STARTUP):
        answered(go(home, words))
    assert go(home, STATUS).result["healthy"] is False
    assert home.read_text() == "kept"


# --- disk ----------------------------------------------------------------------------------------------------------


def no_state_is_kept(home: Path, code: str) -> None:
    """What saves a state fails; what injects may, or goes without."""
    for words in (SAVE_COLD, SAVE_HOT, FLUSH):
        assert go(home, words).assert_failed() == code
    for words in (RECOVERY, STARTUP):
        done = go(home, words)
        if done.code:
            assert done.assert_failed() == code
        else:
            done.assert_done()


def test_a_read_only_home_answers_reads(good: Path) -> None:
    before = snapshot(good)
    with read_only(good):
        assert FACT in [hit["observation"] for hit in go(good, RECALL).result["hits"]]
        for words in WRITERS:
            assert go(good, words).assert_failed() == "STORE_READ_ONLY"
        no_state_is_kept(good, "STATE_READ_ONLY")
        for line in ("status", "memory stats", "memory recent", "otel list", f"checkpoint show {SESSION}"):
            go(good, tuple(line.split())).assert_done()
        assert len(attempt(good, "memory", "export").out.splitlines()) == 401
    assert snapshot(good) == before


def test_a_read_only_home_shows_what_its_log_holds(good: Path) -> None:
    """As a home is left by every command: the last writes lie in the log, not in the store file."""
    attempt(good, "memory", "write", "The nightly export of billing runs at 02:30 UTC").assert_done()
    assert (good / "store.db-wal").stat().st_size > 0
    before = snapshot(good)
    with read_only(good):
        hits = attempt(good, "recall", "nightly billing export").result["hits"]
        assert "The nightly export of billing runs at 02:30 UTC" in [hit["observation"] for hit in hits]
    assert snapshot(good) == before


FULL_STORE = {"STORE_FULL", "STORE_IO"}


def test_a_full_disk_loses_nothing(home: Path, intact: Path) -> None:
    with small_disk(home, 4096) as fill:
        shutil.copytree(intact, home, dirs_exist_ok=True)
        fill()
        for words in WRITERS:
            assert go(home, words).assert_failed() in FULL_STORE
        assert FACT in [hit["observation"] for hit in go(home, RECALL).result["hits"]]
        no_state_is_kept(home, "STATE_FULL")
        go(home, STATUS).assert_done()
        assert json.loads(_state(home).read_text())["checkpoint"]["filesModified"] == ["src/gateway.ts"]
        assert [name for name in snapshot(home) if name.endswith(".tmp")] == []
        for ballast in home.glob("ballast-*"):
            ballast.unlink()
        assert len(attempt(home, "memory", "export").out.splitlines()) == 401
        for words in ALL:
            go(home, words).assert_done()


@pytest.mark.parametrize("largest_file", [0, 5000])
def test_a_file_that_may_not_grow(good: Path, largest_file: int) -> None:
    """What a quota does, and a full disk, for those who may not mount one."""
    state = _state(good).read_bytes()
    store = (good / "store.db").read_bytes()
    codes = {}
    for words in (WRITE, EMIT, RECALL, *SESSIONS):
        done = go(good, words, largest_file=largest_file)
        if done.code:
            codes[words] = done.assert_failed()
    if largest_file == 0:
        assert {codes.get(words) for words in (WRITE, EMIT)} <= FULL_STORE
        assert _state(good).read_bytes() == state
        assert (good / "store.db").read_bytes() == store
    assert [name for name in snapshot(good) if name.endswith(".tmp")] == []
    for words in (WRITE, EMIT, RECALL, *SESSIONS):
        go(good, words).assert_done()
    assert len(attempt(good, "memory", "export").out.splitlines()) >= 401


def test_an_older_store_is_migrated_when_read(opened_store: apsw.Connection) -> None:
    opened_store.execute(f"DROP TABLE upkeep; {WITHOUT_COLUMNS} PRAGMA user_version = 9")
    reading = sqlite.open_reading()
    assert reading is not None and reading.execute("PRAGMA user_version").get == sqlite.SCHEMA
    assert reading.execute("SELECT count(*) FROM upkeep").get == 0
    reading.close()


@pytest.mark.parametrize(("error", "code"), [
    (apsw.NotADBError("x"), "STORE_DAMAGED"), (apsw.CorruptError("x"), "STORE_DAMAGED"),
    (apsw.FullError("x"), "STORE_FULL"),
    (apsw.BusyError("x"), "STORE_BUSY"), (apsw.LockedError("x"), "STORE_BUSY"),
    (apsw.ReadOnlyError("x"), "STORE_READ_ONLY"), (apsw.SQLError("no such table: x"), "STORE_FOREIGN"),
    (apsw.SQLError("there is no such table"), "STORE_UNREADABLE"), (apsw.IOError("x"), "STORE_IO"),
    (apsw.CantOpenError("x"), "STORE_UNREADABLE"), (apsw.PermissionsError("x"), "STORE_UNREADABLE"),
])  # fmt: skip
def test_database_errors_have_codes(home: Path, monkeypatch: pytest.MonkeyPatch, error: apsw.Error, code: str) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    store = put(home / "store.db", b"x")
    for _ in range(2):
        failure = sqlite.as_failure(error)
        assert failure.code == code and failure.fix and str(store) in failure.message
        store.unlink(missing_ok=True)
