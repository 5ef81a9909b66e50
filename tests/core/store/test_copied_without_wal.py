"""A store that lacks what was acknowledged is found out: copied without its log, or put back older (issue 14)."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment
from faults import fold_log

NOTE = "the scheduler of the gateway runs in UTC, never in local time"


def found(run: Run, home: Path) -> list[dict[str, str]]:
    problems = run("status", env={"JOELCLAW_HOME": str(home)}).result["problems"]
    return [one for one in problems if one["code"] == "STORE_OLDER"]


def told(run: Run, home: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = run(
        "otel", "list", "--component", "store", "--hours", "1", env={"JOELCLAW_HOME": str(home)}
    ).result["events"]
    return listed


@pytest.fixture
def filled(run: Run, home: Path) -> Path:
    run("memory", "write", NOTE)
    run("otel", "emit", "first")
    return home


def test_the_file_alone_in_a_new_home(run: Run, filled: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(filled / "store.db", other / "store.db")
    there = {"JOELCLAW_HOME": str(other)}
    done = run("memory", "write", "what is written into the copy is kept", env=there)
    assert "without its log" in done.err
    (problem,) = found(run, other)
    assert "backup" in problem["fix"] and str(other / "store.db.older") in problem["fix"]
    assert [event["action"] for event in told(run, other)] == ["store.older"]
    again = run("memory", "write", "and nobody is told of it a second time", env=there)
    assert "without its log" not in again.err and len(told(run, other)) == 1
    accept = problem["fix"].partition("accept it as it is: ")[2]
    subprocess.run(accept, shell=True, check=True)
    assert found(run, other) == [] and run("status", env=there).result["healthy"]


@pytest.mark.parametrize("first", [("status",), ("recall", "scheduler"), ("otel", "emit", "a.b")], ids=" ".join)
def test_whichever_command_comes_first(run: Run, filled: Path, tmp_path: Path, first: tuple[str, ...]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(filled / "store.db", other / "store.db")
    run(*first, env={"JOELCLAW_HOME": str(other)})
    assert len(found(run, other)) == 1


def test_a_home_copied_without_its_log(run: Run, filled: Path, tmp_path: Path) -> None:
    fold_log(filled)
    run("otel", "emit", "in.the.log")
    shutil.copytree(filled, tmp_path / "other", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    (problem,) = found(run, tmp_path / "other")
    assert "its last change is number 2, of 3 that were stored" in problem["message"]


def test_a_recall_that_finds_nothing_tells_it(run: Run, filled: Path) -> None:
    for name in ("store.db-wal", "store.db-shm"):  # with all that was not folded into the file
        (filled / name).unlink()
    for _ in range(2):
        asked = run("recall", "scheduler gateway")
        (warning,) = asked.result["warnings"]
        assert "older than it should be" in warning and "joelclaw restore FILE" in warning
        assert asked.err == f"joelclaw: {warning}\n"
    run("memory", "write", NOTE)
    assert "warnings" not in run("recall", "scheduler gateway").result


def test_an_older_store_put_back(run: Run, filled: Path, tmp_path: Path) -> None:
    fold_log(filled)
    shutil.copy(filled / "store.db", tmp_path / "old.db")
    for number in range(3):
        run("otel", "emit", f"later.{number}")
    fold_log(filled)
    shutil.copy(tmp_path / "old.db", filled / "store.db")
    assert "older than it should be" in run("otel", "emit", "after.it").err
    assert len(found(run, filled)) == 1
    run("otel", "emit", "and.on")
    assert len(found(run, filled)) == 1  # it stays until somebody has read it


@pytest.mark.spawned
@pytest.mark.parametrize("whole", [False, True], ids=["the store", "all of it, with its mark"])
@pytest.mark.parametrize("later", ["memory write", "memory forget", "otel emit"])
def test_an_older_store_with_its_log_put_back(home: Path, tmp_path: Path, whole: bool, later: str) -> None:
    def spawn(*words: str) -> str:
        done = subprocess.run(
            [JOELCLAW, *words], env=clean_environment(home), capture_output=True, text=True, check=True
        )
        return done.stdout

    first = json.loads(spawn("memory", "write", NOTE, "--json"))["result"]["id"]
    old = tmp_path / "old"
    old.mkdir()
    for path in home.glob("store.db*") if whole else [home / f"store.db{end}" for end in ("", "-wal", "-shm")]:
        shutil.copy(path, old)
    spawn(*later.split(), first if later == "memory forget" else "the gateway restarts when the tide turns at noon")
    for path in home.glob("store.db*") if whole else ():
        path.unlink()
    for path in old.iterdir():
        shutil.copy(path, home)
    told = json.loads(spawn("recall", "noon tides", "--json"))["result"]["warnings"]
    assert "older than it should be" in told[0]
    spawn("memory", "write", "what is written into the older store is kept")
    assert "STORE_OLDER" in spawn("status", "--json")


def test_an_older_store_put_back_after_a_new_one_was_begun(run: Run, filled: Path, tmp_path: Path) -> None:
    shutil.copytree(filled, tmp_path / "old")
    run("memory", "write", "the gateway restarts when the tide turns at noon")
    for path in filled.glob("store.db*"):
        path.unlink()
    run("otel", "emit", "of.the.new.one")
    assert found(run, filled) == []  # begun anew is as the user wants it
    for path in filled.glob("store.db*"):
        path.unlink()
    for path in (tmp_path / "old").glob("store.db*"):
        shutil.copy(path, filled)
    run("otel", "emit", "after.it")
    (problem,) = found(run, filled)
    assert "its last change is number 3, of 4 that were stored" in problem["message"]


def test_nothing_is_found_where_nothing_is_missing(run: Run, filled: Path, tmp_path: Path) -> None:
    shutil.copytree(filled, tmp_path / "other")
    assert found(run, tmp_path / "other") == []  # with its log
    db = apsw.Connection(str(filled / "store.db"))  # another program folds the log at its end, and removes it
    db.execute("SELECT count(*) FROM event").fetchall()
    db.close()
    assert not (filled / "store.db-wal").exists()
    run("otel", "emit", "a.b")
    assert found(run, filled) == []
    for path in filled.glob("store.db*"):  # begun anew
        path.unlink()
    run("otel", "emit", "a.b")
    assert found(run, filled) == []
    run("otel", "prune", "--days", "0")
    run("otel", "emit", "a.b")
    assert found(run, filled) == []


def test_a_home_of_an_older_version_has_no_mark(run: Run, filled: Path) -> None:
    for name in ("store.db.mark", "acknowledged"):
        (filled / name).unlink()
    assert found(run, filled) == []
    run("otel", "emit", "a.b")
    assert (filled / "acknowledged").exists() and found(run, filled) == []


@pytest.mark.parametrize(("number", "many"), [(2, 0), (3, 1)])
def test_a_home_of_an_older_version_has_the_number_in_its_mark(run: Run, filled: Path, number: int, many: int) -> None:
    (filled / "acknowledged").unlink()
    (filled / "store.db.mark").write_text(f"{number:020}")
    assert len(found(run, filled)) == many


@pytest.mark.spawned
def test_nor_by_forty_writers_at_once(run: Run, home: Path) -> None:
    environment = clean_environment(home, JOELCLAW_OTEL_BUSY_MS="60000")

    def emit(number: int) -> int:
        return subprocess.run(
            [JOELCLAW, "otel", "emit", f"event.{number}"],
            env=environment,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        ).returncode

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(emit, range(40))) == {0}
    assert not (home / "store.db.older").exists()
    db = apsw.Connection(str(home / "store.db"))
    assert int((home / "acknowledged").read_text()) <= db.execute("SELECT seq FROM sqlite_sequence").get == 40
    db.close()
