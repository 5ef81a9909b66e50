"""What the doctor says of a home: its modes and owners, what was left or set aside in it, and what is switched off."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from core import clock
from session.doctor import home as home_of
from session.doctor import repair
from session.doctor.finding import Finding

AT = 1_790_000_000_000
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def mine(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(AT))
    monkeypatch.setattr(home_of, "_disk", lambda *_: [])
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return home


def made(home: Path, name: str, mode: int = 0o600, text: str = "x") -> Path:
    path = home / name
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)
    path.write_text(text)
    path.chmod(mode)
    return path


def codes(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in found]


def test_without_a_home_nothing_is_said_of_it(home: Path) -> None:
    assert home_of.examine() == ({"path": str(home), "exists": False, "freeBytes": None}, [])


def test_a_home_that_is_as_it_should_be_has_no_finding(home: Path) -> None:
    made(home, "sessions/s.json")
    facts, found = home_of.examine()
    assert (facts["exists"], facts["spooledEvents"], found) == (True, 0, [])


@pytest.mark.parametrize("mode", [0o610, 0o604, 0o601, 0o620, 0o640])
def test_what_others_may_use_is_named_and_mended(home: Path, tmp_path: Path, mode: int) -> None:
    opened = made(home, "sessions/s.json", mode)
    made(home, "mine.txt", 0o666)
    (tmp_path / "other").write_text("x")
    (tmp_path / "other").chmod(0o666)
    (home / "sessions" / "link.json").symlink_to(tmp_path / "other")
    assert home_of.open_to_others() == [str(opened)]
    _, found = home_of.examine()
    assert [(one.code, one.message) for one in found] == [("MODES_OPEN", f"others may use sessions/s.json in {home}")]
    assert [one.message for one in repair._close()] == ["1 files and folders are now yours alone"]
    assert opened.stat().st_mode & 0o777 == 0o600
    assert repair._close() == []


def test_the_folder_of_a_person_is_no_home_of_ours(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home, "sessions/s.json", 0o644)
    monkeypatch.setenv("HOME", str(home))
    assert home_of.open_to_others() == []


def test_what_belongs_to_another_user_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home, "config.toml")
    own = os.geteuid()
    monkeypatch.setattr(home_of.os, "geteuid", lambda: own + 1)
    _, (found,) = home_of.examine()
    assert (found.code, found.fix) == ("OWNED_BY_OTHERS", f"sudo chown -R {own + 1} {home}")
    assert found.message == f"., config.toml in {home} belong to another user"


def test_what_was_set_aside_is_worth_knowing(home: Path) -> None:
    made(home, "switches.json.damaged-5")
    _, found = home_of.examine()
    assert codes(found) == [("FILES_SET_ASIDE", "note")]


@pytest.mark.parametrize(("age", "found"), [(HOUR, []), (HOUR + 1, [("EVENTS_WAIT", "warning")])])
def test_events_wait_for_an_hour_before_that_is_a_finding(
    home: Path, age: int, found: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir(mode=0o700)
    monkeypatch.setattr(home_of.spool, "lying_in", lambda _: [{"timestamp": AT}, {"timestamp": AT - age}])
    facts, told = home_of.examine()
    assert (codes(told), facts["spooledEvents"]) == (found, 2)
    assert [one.message for one in told] == [f"2 events wait since {clock.iso(AT - age)} to be stored"] * len(found)


def silence(scope: str, name: str = "", until: int | None = None) -> dict[str, Any]:
    return {"scope": scope, "name": name, "since": AT, "until": until}


def test_what_is_switched_off_here_is_a_warning_and_elsewhere_a_note(home: Path, tmp_path: Path) -> None:
    silences = [
        silence("everywhere"), silence("everywhere", until=AT + 1), silence("project", "work"),
        silence("project", "other"), silence("session", "s 1"),
    ]  # fmt: skip
    made(home, "switches.json", text=json.dumps({"silences": silences, "excluded": [str(tmp_path)]}))
    facts, found, every = home_of.switched_off()
    at = clock.iso(AT)
    assert [(one.code, one.severity, one.message, one.fix) for one in found] == [
        ("SWITCHED_OFF", "warning", f"everything is switched off since {at}: hooks are called and do nothing",
         "joelclaw on --everywhere"),
        ("SWITCHED_OFF", "warning", f"the project work is switched off since {at}: hooks are called and do nothing",
         "joelclaw on --project"),
        ("SWITCHED_OFF_ELSEWHERE", "note", f"the project other is switched off since {at}",
         "run `joelclaw on --project` in a folder of it"),
        ("SWITCHED_OFF_ELSEWHERE", "note", f"the session s 1 is switched off since {at}",
         "joelclaw on --session 's 1'"),
        ("FOLDER_EXCLUDED", "warning", f"{tmp_path} is excluded: sessions in this folder are never archived",
         f"joelclaw exclude --remove {tmp_path}"),
    ]  # fmt: skip
    assert facts == {"off": [one for one in silences if one["until"] is None], "excluded": [str(tmp_path)]}
    assert every == silences
    made(home, "switches.json", text="{")
    assert home_of.switched_off() == ({"off": [], "excluded": []}, [], [])


def test_only_what_is_wrong_is_mended(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(repair, "_enter", lambda name, project: done.append(name) or Finding("E", "ok", name, "", ""))
    monkeypatch.setattr(repair, "_close", lambda: done.append("close") or [])
    monkeypatch.setattr(repair, "_fold", lambda: done.append("fold") or [])
    monkeypatch.setattr(repair.files, "sweep_temporary", lambda: 3)

    def mended(*found: tuple[str, str]) -> list[str]:
        done.clear()
        told = repair.run([Finding(code, "error", subject, "", "") for code, subject in found], ["pi", "codex"],
                          project=False)  # fmt: skip
        return [*done, *(one.message for one in told if one.code == "STALE_FILES")]

    assert mended() == mended(("HOOKS_DISABLED", "pi"), ("HOOKS_MISSING", "claude")) == []
    assert mended(("HOOKS_MISSING", "codex"), ("HOOKS_OUTDATED", "pi")) == ["pi", "codex"]
    assert mended(("MODES_OPEN", "home")) == ["close"]
    assert mended(("WAL_LARGE", "store")) == ["fold"]
    assert mended(("STALE_FILES", "home")) == ["3 temporary files were deleted"]
