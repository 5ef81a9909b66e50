"""What a person reads on a terminal of what `doctor` found, subject by subject, and what is to be done next."""

from __future__ import annotations

from typing import Any

import pytest
from terminal import drawn, styles

from cli.doctor import doctor, view
from session.doctor import examination

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
EVENTS = [
    {"lastAt": "2026-09-21T12:13:20Z", "calls24h": 1000}, {"lastAt": "2026-09-20T12:13:20Z", "calls24h": 200},
    {"lastAt": None, "calls24h": 7},
]  # fmt: skip
CLIENT: dict[str, Any] = {
    "installed": True, "scope": "user", "current": True, "trialMs": 12, "events": EVENTS,
}  # fmt: skip
WELL: dict[str, Any] = {
    "healthy": True, "errors": 0, "warnings": 0, "fixed": 0, "clients": {"pi": CLIENT}, "subjects": {}, "findings": [],
}  # fmt: skip
FOUND = {"subject": "pi", "severity": "error", "code": "HOOK_GONE", "message": "it is gone", "fix": "put it back"}


def of_client(**about: Any) -> str:
    return drawn(view.report, {**WELL, "clients": {"pi": {**CLIENT, **about}}}, columns=200)[1]


def of_subject(name: str, facts: dict[str, Any]) -> str:
    """What is told of a subject beside the client."""
    line = drawn(view.report, {**WELL, "subjects": {name: facts}}, columns=200)[2]
    return line.removeprefix(f"✓ {name}  ")


def test_all_is_well() -> None:
    result = {**WELL, "subjects": {"spool": {"used": True}, "vectors": {"used": False}}}
    assert drawn(view.report, result, STEP) == [
        "all is well",
        "✓ pi       installed, current, answers in 12 ms, 1,200 calls in 24 h, last 2026-09-21 12:13",
        "✓ spool    in use",
        "✓ vectors  not in use",
        SHOWN_STEP,
    ]
    assert styles(view.report, result)["all is well"] == "bold green"


@pytest.mark.parametrize(
    ("errors", "warnings", "fixed", "said", "colour"),
    [
        (1, 0, 0, "1 error", "bold red"),
        (2, 1, 3, "2 errors, 1 warning, 3 mended", "bold red"),
        (0, 2, 1, "2 warnings, 1 mended", "bold yellow"),
        (0, 0, 2, "all is well, 2 mended", "bold green"),
    ],
)
def test_the_verdict(errors: int, warnings: int, fixed: int, said: str, colour: str) -> None:
    result = {**WELL, "errors": errors, "warnings": warnings, "fixed": fixed}
    assert drawn(view.report, result)[0] == said
    assert styles(view.report, result)[said] == colour


def test_what_is_wrong_stands_under_its_subject_which_has_the_worst_sign() -> None:
    warned = {**FOUND, "severity": "warning", "code": "OLD", "message": "it is old", "fix": ""}
    noted = {**FOUND, "severity": "note", "subject": "home", "code": "ODD", "message": "it is odd"}
    result = {**WELL, "findings": [warned, FOUND, noted], "subjects": {"home": {"path": "/h", "freeBytes": None}}}
    shown = drawn(view.report, {**result, "clients": {"pi": {**CLIENT, "installed": False}}})
    assert shown[1:] == [
        "✗ pi    not installed",
        "    ! it is old  OLD",
        "    ✗ it is gone  HOOK_GONE",
        "      → put it back",
        "· home  /h",
        "    · it is odd  ODD",
        "      → put it back",
    ]


def test_a_client_in_one_line() -> None:
    assert of_client(installed=None) == "✓ pi  its settings cannot be read"
    assert of_client(installed=False) == "✓ pi  not installed"
    bare = {"scope": "project", "current": False, "trialMs": None, "events": EVENTS[2:]}
    assert of_client(**bare) == "✓ pi  installed for this project"
    assert of_client(events=[], trialMs=0) == "✓ pi  installed, current, answers in 0 ms"


@pytest.mark.parametrize(
    ("name", "facts", "told"),
    [
        ("store", {"exists": False}, "none yet"),
        ("store", {"exists": True, "path": "/h/store.db"}, "/h/store.db"),
        ("store", {"exists": True, "size": 2048, "log": 10, "schema": 7}, "whole, 2.0 KiB + 10 B log, schema 7"),
        ("home", {"path": "/h", "freeBytes": 0}, "/h, 0 B free"),
        ("home", {"path": "/h", "freeBytes": None}, "/h"),
        ("switches", {"off": [], "excluded": []}, "nothing is off"),
        ("switches", {"off": [1], "excluded": []}, "1 off, 0 excluded"),
        ("switches", {"off": [], "excluded": [1, 2]}, "0 off, 2 excluded"),
        ("settings", {"changed": []}, "all as by default"),
        ("settings", {"changed": ["a", "b"]}, "2 of your own"),
        ("command", {"path": "/bin/joelclaw", "version": "0.1"}, "/bin/joelclaw, 0.1"),
    ],
)
def test_a_subject_in_one_line(name: str, facts: dict[str, Any], told: str) -> None:
    assert of_subject(name, facts) == told


def found(monkeypatch: pytest.MonkeyPatch, *findings: tuple[str, str], **options: Any) -> tuple[int, list[str]]:
    """The exit code and the commands of an examination with such findings."""
    healthy = all(severity != "error" for _, severity in findings)
    rows = [{**FOUND, "code": code, "severity": severity} for code, severity in findings]
    monkeypatch.setattr(examination, "run", lambda *_, **__: {"healthy": healthy, "findings": rows})
    answer = doctor.run({"client": [], "project": False, "fix": False, **options})
    return answer.exit_code, [action["command"] for action in answer.next_actions]


def test_what_is_to_be_done_next(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch) == (0, [])
    mend = "joelclaw doctor --fix"
    assert found(monkeypatch, ("MODES_OPEN", "error")) == (1, [mend])
    assert found(monkeypatch, ("STALE_FILES", "note"), ("HOOK_FAILED", "warning")) == (0, [mend])
    asked = {"client": ["pi", "codex"], "project": True}
    (named,) = found(monkeypatch, ("WAL_LARGE", "warning"), **asked)[1]
    assert named == "joelclaw doctor --client pi --client codex --project --fix"
    assert found(monkeypatch, ("MODES_OPEN", "ok")) == (0, []), "what is mended is left alone"
    assert found(monkeypatch, ("MODES_OPEN", "warning"), fix=True) == (0, [])
    hooks = "joelclaw otel search hook --level warn,error"
    assert found(monkeypatch, ("HOOK_LATE", "warning"), ("MODES_OPEN", "error"), fix=True) == (1, [hooks])
    assert found(monkeypatch, ("HOOK_COMMAND_ODD", "error")) == (1, [])


def test_the_fix_runs_where_our_name_is_not_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.own_command.word", lambda _="": "/opt/joelclaw")
    row = {**FOUND, "fix": "run `joelclaw status`"}
    monkeypatch.setattr(examination, "run", lambda *_, **__: {"healthy": True, "findings": [row]})
    result: Any = doctor.run({"client": [], "project": False, "fix": False}).result
    assert result["findings"][0]["fix"] == "run `/opt/joelclaw status`"
