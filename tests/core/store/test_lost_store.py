"""A store that is gone or empty beside its mark is told, with what brings it back, until the user has seen to it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, Run, attempt, clean_environment

NOTE = "the scheduler of the gateway runs in UTC, never in local time"
ASKED = ("recall", "scheduler gateway")


def problems(home: Path) -> list[dict[str, str]]:
    """What `status` and `doctor` tell of a lost store; they say the same."""
    kept = ("code", "message", "fix")
    attempt(home, "recall", "anything")  # notes it: those two write nothing
    told = attempt(home, "status").envelope["result"]["problems"]
    seen = [{name: one[name] for name in kept} for one in told if one["code"] == "STORE_LOST"]
    examined = attempt(home, "doctor").envelope["result"]["findings"]
    found = [{name: one[name] for name in kept} for one in examined if one["code"] == "STORE_LOST"]
    assert found == seen
    return found


@pytest.fixture
def filled(run: Run, home: Path) -> Path:
    run("memory", "write", NOTE)
    run("otel", "emit", "first")
    return home


def emptied(home: Path) -> None:
    (home / "store.db").write_bytes(b"")


def deleted(home: Path) -> None:
    (home / "store.db").unlink()


def deleted_with_its_log(home: Path) -> None:
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (home / name).unlink()


@pytest.mark.spawned  # a finding that cannot be written is kept by the process
def test_it_is_accepted_as_it_is_before_anything_is_written(filled: Path) -> None:
    deleted_with_its_log(filled)
    (problem,) = (
        one for one in attempt(filled, "status").envelope["result"]["problems"] if one["code"] == "STORE_LOST"
    )
    accept = problem["fix"].rpartition("to accept it as it is: ")[2]
    subprocess.run(["sh", "-c", accept], check=True)
    assert problems(filled) == []


@pytest.mark.parametrize("lose", [emptied, deleted, deleted_with_its_log], ids=lambda one: one.__name__)
def test_it_is_told_by_recall_status_and_doctor(filled: Path, lose: Any) -> None:
    lose(filled)
    for _ in range(2):
        asked = attempt(filled, *ASKED)
        assert (asked.code, asked.envelope["result"]["hits"]) == (0, [])
        (warning,) = asked.envelope["result"]["warnings"]
        assert "the store was lost" in warning and asked.err == f"joelclaw: {warning}\n"
    (problem,) = problems(filled)
    assert "memory archive --all` archives the transcripts" in problem["fix"]
    assert "written by hand" in problem["fix"] and "feedback" in problem["fix"]
    assert str(filled / "store.db.older") in problem["fix"]
    assert attempt(filled, "doctor").code == 1
    attempt(filled, "memory", "write", "something new, which goes into a store that begins now")
    assert "warnings" in attempt(filled, *ASKED).envelope["result"] and problems(filled)


def test_the_newest_backup_that_can_be_read_brings_it_back(run: Run, filled: Path, tmp_path: Path) -> None:
    backups = [tmp_path / f"{name} of mine.tar.gz" for name in ("old", "good", "damaged", "gone")]
    for number, file in enumerate(backups):
        run("backup", str(file), env={"JOELCLAW_NOW_MS": str(1_790_000_000_000 + number * 86_400_000)})
    backups[2].write_bytes(b"no backup")
    backups[3].unlink()
    deleted(filled)
    (warning,) = run(*ASKED).result["warnings"]
    (problem,) = problems(filled)
    assert str(backups[1]) in warning and "2026-09-22T" in warning
    command = problem["fix"].split("`")[1].partition(" restore ")[2]
    subprocess.run(f"{JOELCLAW} restore {command}", shell=True, check=True, env=clean_environment(filled))
    asked = attempt(filled, *ASKED)
    assert asked.result["hits"][0]["observation"] == NOTE and "warnings" not in asked.result
    assert problems(filled) == []


def test_it_ends_when_the_user_accepts_it(filled: Path) -> None:
    deleted(filled)
    (problem,) = problems(filled)
    accept = problem["fix"].partition("accept it as it is: ")[2]
    subprocess.run(accept, shell=True, check=True)
    asked = attempt(filled, *ASKED)
    assert "warnings" not in asked.result and asked.err == "" and problems(filled) == []
    attempt(filled, "memory", "write", NOTE).assert_done()
    assert attempt(filled, *ASKED).result["hits"] and problems(filled) == []


def test_a_hook_says_nothing_to_the_agent_and_keeps_an_event(run: Run, filled: Path) -> None:
    deleted(filled)
    payload = json.dumps({"session_id": "s", "messages": ["Mend the scheduler."], "percent": 10})
    told = run("hook", "pi", "turn_end", stdin=payload)
    assert (told.err, json.loads(told.out)) == ("", {"messages": []})
    assert problems(filled)
    events = run("otel", "list", "--component", "store", "--hours", "1").result["events"]
    assert [event["action"] for event in events] == ["store.lost"]


def test_a_home_without_a_mark_is_told_nothing(home: Path, tmp_path: Path, filled: Path) -> None:
    new = tmp_path / "new"
    asked = attempt(new, *ASKED)
    assert (asked.err, "warnings" in asked.result) == ("", False) and problems(new) == []
    other = tmp_path / "other"
    shutil.copytree(filled, other, ignore=shutil.ignore_patterns("store.db*"))  # the settings alone
    assert "warnings" not in attempt(other, *ASKED).result and problems(other) == []
