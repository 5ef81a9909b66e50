"""`joelclaw doctor` checks store, home, model and cluster, and `--fix` repairs what is ours."""

import json
import os
import re
import stat
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import JOELCLAW, NOW_MS, PATIENCE_S, ROOT, Run
from doctors import User
from doctors import user as made
from faults import WITHOUT_COLUMNS, fold_log, small_disk

from core.store import sqlite
from session import doctor_hooks

HOUR_MS = 3_600_000


@pytest.fixture
def user(tmp_path: Path, home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setattr(doctor_hooks, "MAX_SECONDS", PATIENCE_S)
    user_ = made(tmp_path, home, run)
    user_.call("memory", "write", "the deploy script needs the staging key")
    return user_


def the(user: User, code: str, *words: str, **env: str) -> dict[str, Any]:
    """The only finding of a doctor's look, which has this code."""
    (findings,) = user.doctor(*words, **env)["findings"]
    assert findings["code"] == code, findings
    return findings


def test_all_is_well(user: User) -> None:
    result = user.doctor()
    assert (result["healthy"], result["findings"]) == (True, [])
    assert " ".join(result["subjects"]) == "command store home switches settings model cluster exporter"
    about = user.call("status")["store"]
    assert about["size"] > 0 and about["schema"] == about["knownSchema"]
    assert about["newest"] == "2026-09-21T14:13:20.000Z"


def torn(user: User) -> None:
    """Write noise over a page that only a check of all pages reads."""
    fold_log(user.memory)
    db = apsw.Connection(str(user.memory / "store.db"))
    page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'document_fingerprint'").get
    size = db.execute("PRAGMA page_size").get
    db.close()
    with open(user.memory / "store.db", "r+b") as handle:
        handle.seek((page - 1) * size)
        handle.write(os.urandom(size))


def test_a_torn_page(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    torn(user)
    result = user.doctor()
    (findings,) = [finding for finding in result["findings"] if finding["code"] == "STORE_DAMAGED"]
    assert (findings["severity"], findings["subject"], result["healthy"]) == ("error", "store", False)
    assert "STORE_DAMAGED" in {problem["code"] for problem in user.call("status")["problems"]}
    monkeypatch.setattr("session.doctor.LARGE_STORE_BYTES", 100_000)
    assert user.call("status")["healthy"], "a large store is not read from end to end"
    assert user.doctor()["healthy"] is False


def test_a_free_page_that_is_in_use(user: User) -> None:
    """The next write would destroy what it holds."""
    fold_log(user.memory)
    with open(user.memory / "store.db", "r+b") as handle:
        handle.seek(32)  # the first page of the free list, and how many pages it has
        handle.write((5).to_bytes(4, "big") + (1).to_bytes(4, "big"))
    assert "STORE_DAMAGED" in user.codes()["store"]


def test_modes_that_give_others_access(user: User) -> None:
    user.memory.chmod(0o755)
    (user.memory / "store.db").chmod(0o644)
    (user.memory / "somebody's.txt").write_text("not ours")
    (user.memory / "somebody's.txt").chmod(0o644)
    finding = the(user, "MODES_OPEN")
    assert "store.db" in finding["message"] and "somebody" not in finding["message"].partition(" in /")[0]
    (done,) = user.doctor("--fix")["findings"]
    assert (done["code"], done["severity"]) == ("MODES_OPEN", "ok")
    assert stat.S_IMODE(user.memory.stat().st_mode) == 0o700
    assert stat.S_IMODE((user.memory / "store.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((user.memory / "somebody's.txt").stat().st_mode) == 0o644


def test_a_full_disk(user: User) -> None:
    with small_disk(user.memory, 4_000) as fill:
        user.call("memory", "write", "the deploy script needs the staging key")
        fill()
        assert the(user, "STORE_FULL")["severity"] == "error"


def in_the_home(user: User) -> dict[str, object]:
    """Every file and folder with its mode and content, but SQLite's index of the log."""
    every = (path for path in (user.memory, *user.memory.rglob("*")) if path.suffix != ".db-shm")
    return {str(path): (path.stat().st_mode, path.is_file() and path.read_bytes()) for path in every}


@pytest.mark.parametrize("store", ["current", "old", "lost"])
def test_doctor_writes_nothing_and_agrees_with_status(user: User, store: str) -> None:
    settings(user, "[recall]\nlimit = 9\n")  # what is read of it is kept in another form by other commands
    user.call("install", "claude")
    user.call("memory", "write", "the deploy script needs the staging key")
    user.call("checkpoint", "save", "--session", "s1", "--percent", "70")
    user.memory.chmod(0o755)  # others close it
    file, at = user.memory / "store.db", 10
    if store == "old":
        db = apsw.Connection(str(file))
        db.execute(WITHOUT_COLUMNS)
        db.execute(f"PRAGMA user_version = {at}; PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.close()
    if store == "lost":
        file.unlink()
    before = in_the_home(user)
    examined, status = user.doctor(), user.call("status")
    assert in_the_home(user) == before
    findings = [(finding["severity"], finding["code"], finding["message"]) for finding in examined["findings"]]
    problems = [(problem["severity"], problem["code"], problem["message"]) for problem in status["problems"]]
    assert problems == [finding for finding in findings if finding[0] in ("error", "warning")]
    assert ("STORE_LOST" in {code for _, code, _ in problems}) == (store == "lost")
    assert (examined["healthy"], status["healthy"]) == (store != "lost",) * 2
    assert status["store"]["schema"] == (0 if store == "lost" else sqlite.SCHEMA)
    assert "MODES_OPEN" in {code for _, code, _ in problems}


def test_leftovers_of_killed_writers(user: User) -> None:
    old = time.time() - 7_200
    for name in ("trusted.json.4711.99.tmp", "knowledge.json.4712.98.tmp"):
        (user.memory / name).write_text("half")
        (user.memory / name).chmod(0o600)
        os.utime(user.memory / name, (old, old))
    (user.memory / "config.toml.4713.97.tmp").write_text("being written")
    (user.memory / "config.toml.4713.97.tmp").chmod(0o600)
    assert the(user, "STALE_FILES")["severity"] == "note"
    assert len(list(user.memory.glob("*.tmp"))) == 3, "asking deletes nothing"
    (done,) = user.doctor("--fix")["findings"]
    assert (done["code"], done["severity"], done["message"]) == ("STALE_FILES", "ok", "2 leftovers deleted")
    assert [path.name for path in user.memory.glob("*.tmp")] == ["config.toml.4713.97.tmp"]


def test_waiting_events(user: User) -> None:
    user.call("otel", "emit", "build.broke", "--level", "error")
    (event,) = user.call("otel", "list", "--limit", "1")["events"]
    spool = user.memory / "spool"
    spool.mkdir(exist_ok=True)
    waiting = {"id": "e", "timestamp": NOW_MS - 25 * HOUR_MS, "sessionId": "s", "systemId": "here", "level": "warn"}
    waiting |= {"source": "cli", "component": "hook", "action": "hook.failed", "success": False, "metadata": {}}
    assert event["action"] == "build.broke"
    (spool / "events.jsonl").write_text(json.dumps(waiting) + "\n")
    spool.chmod(0o700)
    (spool / "events.jsonl").chmod(0o600)
    assert user.doctor()["findings"] == []  # the end of a turn may not come for long
    with (spool / "events.jsonl").open("a") as file:
        file.write(json.dumps({**waiting, "id": "long", "metadata": {"text": "x" * 262_144}}) + "\n")
    assert the(user, "EVENTS_WAIT")["severity"] == "warning"
    assert (spool / "events.jsonl").exists()


def settings(user: User, text: str) -> None:
    (user.memory / "config.toml").write_text(text)
    (user.memory / "config.toml").chmod(0o600)


def test_a_missing_model_command(user: User) -> None:
    settings(user, '[model]\ncommand = "no-such-model --fast"\n')
    finding = the(user, "MODEL_COMMAND_GONE")
    assert (finding["subject"], finding["severity"], "no-such-model" in finding["message"]) == ("model", "error", True)
    settings(user, """[model]\ncommand = "cat 'unclosed"\n""")
    assert "cat 'unclosed" in the(user, "MODEL_COMMAND_GONE")["message"]
    settings(user, '[model]\ncommand = "cat"\n')
    assert user.doctor()["findings"] == []


def test_a_cluster_that_is_not_set_up(user: User) -> None:
    settings(user, '[store]\nbackend = "typesense"\nurls = "http://127.0.0.1:9"\n')
    finding = the(user, "TYPESENSE_NOT_INITIALISED", TYPESENSE_API_KEY="k")
    assert (finding["severity"], finding["fix"]) == ("warning", "run `joelclaw store init`")
    assert "TYPESENSE_API_KEY_MISSING" in [finding["code"] for finding in user.doctor()["findings"]]


def test_fix_repairs_entries(user: User) -> None:
    copy = user.installed_elsewhere("claude")
    before = user.file("claude").read_bytes()
    copy.unlink()
    result = user.doctor("--fix")
    assert result["healthy"] is True
    done = next(finding for finding in result["findings"] if finding["severity"] == "ok")
    assert (done["code"], done["subject"], done["fix"]) == ("HOOKS_ENTERED", "claude", "")
    assert JOELCLAW in user.file("claude").read_text()
    (backup,) = user.file("claude").parent.glob("*backup*")
    assert backup.read_bytes() == before
    assert str(backup) in done["message"]
    assert user.doctor("--fix")["fixed"] == 0, "there is nothing left to mend"


def test_fix_leaves_the_users_files_alone(user: User) -> None:
    """His switches, his damaged files and his trust stay as they are."""
    user.call("install", "claude", "codex", "gemini")
    settings = json.loads(user.file("claude").read_text())
    user.file("claude").write_text(json.dumps({**settings, "disableAllHooks": True}))
    user.file("gemini").write_text("{")
    user.call("off", "--everywhere")
    before = [user.file(name).read_bytes() for name in ("claude", "codex", "gemini")]
    result = user.doctor("--fix")
    codes = {finding["code"] for finding in result["findings"]}
    assert {"HOOKS_DISABLED", "TRUST_MISSING", "SETTINGS_DAMAGED", "SWITCHED_OFF"} <= codes
    assert [user.file(name).read_bytes() for name in ("claude", "codex", "gemini")] == before


def test_every_code_is_documented() -> None:
    page = (ROOT / "docs" / "doctor.md").read_text()
    listed = set(re.findall(r"`([A-Z_]+)`", page))
    modules = (ROOT / "session").glob("doctor*.py")
    reported = re.compile(r'\b(?:note|warning|error|severity)(?:\(|, )\s*"([A-Z_]+)"')
    written = {code for path in modules for code in reported.findall(path.read_text())}
    assert len(written) > 30
    assert written - listed == set()


def broken(*_: object, **__: object) -> Any:
    raise RuntimeError("a bug of ours")


@pytest.mark.parametrize(("place", "subject"), [
    ("apsw.sqlite_lib_version", "command"),
    ("core.config.load", "settings"),
    ("core.store.store_file.contents", "store"),
    ("core.store.store_file.faults", "store"),
    ("core.store.folders.known", "store"),
    ("recall.vectors.Table", "store"),
    ("core.files.leftovers", "home"),
    ("session.doctor.state_times", "home"),
    ("core.switches.read", "switches"),
    ("session.doctor.find_program", "model"),
    ("core.store.cluster_sync.outbox_problems", "cluster"),
    ("otel.export.status", "exporter"),
    ("session.doctor_hooks.settings_of", "claude"),
])  # fmt: skip
def test_a_fault_of_a_check_is_a_finding_and_the_other_checks_run(
    user: User, monkeypatch: pytest.MonkeyPatch, place: str, subject: str
) -> None:
    settings(user, "[model]\ncommand = 'no-such-model'\n")
    user.memory.chmod(0o755)
    monkeypatch.setattr(place, broken)
    findings = user.doctor()["findings"]
    faults = [finding for finding in findings if finding["code"] == "CHECK_FAILED"]
    assert subject in {finding["subject"] for finding in faults}
    assert all("RuntimeError: a bug of ours" in finding["message"] for finding in faults)
    assert len(faults) == 1 or subject == "claude", "no check fails because of another"
    others = {"home": ["MODEL_COMMAND_GONE"], "model": ["MODES_OPEN"], "settings": ["MODES_OPEN"]}
    assert {*others.get(subject, ("MODEL_COMMAND_GONE", "MODES_OPEN"))} <= {finding["code"] for finding in findings}
    assert "CHECK_FAILED" in {problem["code"] for problem in user.call("status")["problems"]}


def test_a_fault_of_a_repair_is_a_finding(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.memory.chmod(0o755)
    monkeypatch.setattr("core.files.close_all", broken)
    codes = [finding["code"] for finding in user.doctor("--fix")["findings"]]
    assert sorted(codes) == ["FIX_FAILED", "MODES_OPEN"]
