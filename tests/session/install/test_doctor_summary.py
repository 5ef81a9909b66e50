"""What the doctor says over all findings: each once, in what order, and if all is well; and of entries that differ."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clients import registry
from clients.own_settings import Place
from core import VERSION
from core.errors import Failure
from session.doctor import examination, hooks, trial
from session.doctor.finding import Finding, error, note, warning
from session.install.entered import Entry
from session.install.json_parts import Traces
from session.install.receipt import Receipt

CLAUDE = registry.row("claude").settings()


def test_findings_stand_by_their_subject_the_worst_first_and_each_once() -> None:
    found = [
        note("N", "store", "m", ""), warning("W", "pi", "m", ""), error("E", "store", "m", ""),
        warning("W", "pi", "m", "f"), Finding("O", "ok", "home", "m", ""), warning("W", "pi", "other", ""),
        error("STORE_DAMAGED", "store", "a", ""), error("STORE_DAMAGED", "home", "b", ""),
    ]  # fmt: skip
    result = examination._result(found, {"pi": {}}, {"home": 1, "store": 2, "other": 3})
    assert [(one["code"], one["subject"], one["message"]) for one in result["findings"]] == [
        ("W", "pi", "m"), ("W", "pi", "other"), ("E", "store", "m"), ("STORE_DAMAGED", "store", "a"),
        ("N", "store", "m"),
        ("O", "home", "m"),
    ]  # fmt: skip
    assert {name: result[name] for name in ("healthy", "errors", "warnings", "notes", "fixed")} == {
        "healthy": False, "errors": 2, "warnings": 2, "notes": 1, "fixed": 1,
    }  # fmt: skip
    assert list(result["subjects"]) == ["store", "home"]
    assert examination._result([warning("W", "pi", "", "")], {"pi": {}}, {})["healthy"] is True


def state(**more: Any) -> dict[str, Any]:
    return {"path": "/s", "installed": False, "current": False, "version": None, "notes": [], **more}


@pytest.fixture
def path(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings of Claude Code, in a folder of the test."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "claude" / "settings.json"


def codes(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in found]


def test_hooks_that_are_not_there_were_removed_or_never_put_in(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(CLAUDE), "present", lambda _: False)
    listed = state(path=str(path))
    assert hooks._absent(CLAUDE, listed, project=False) == []
    monkeypatch.setattr(type(CLAUDE), "present", lambda _: True)
    assert codes(hooks._absent(CLAUDE, listed, project=False)) == [("NOT_INSTALLED", "note")]
    monkeypatch.setattr(hooks, "_installed", lambda _, project: project)
    assert hooks._absent(CLAUDE, listed, project=False) == [], "those of the project are enough"
    assert codes(hooks._absent(CLAUDE, listed, project=True)) == [("NOT_INSTALLED", "note")]
    assert codes(hooks._absent(CLAUDE, {**listed, "installed": True}, project=False)) == [("HOOKS_REMOVED", "error")]
    Receipt.of(str(path), b"", created=True, traces=Traces()).save()
    (gone,) = hooks._absent(CLAUDE, listed, project=False)
    assert gone.message == f"joelclaw was installed in {path}, and its hooks are not there any more"
    assert gone.fix == "joelclaw install claude"


def test_entries_differ_by_somebody_s_hand_or_by_their_version(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("{}")
    listed = state(path=str(path))
    assert hooks._differs(CLAUDE, listed, "f") == warning(
        "HOOKS_OUTDATED", "claude", "what is installed is not what this version would write", "f"
    )
    Receipt.of(str(path), b"{}", created=True, traces=Traces()).save()
    assert hooks._differs(CLAUDE, listed, "f").message.endswith(f"would write, written by version {VERSION}")
    path.write_text("{ }")
    assert hooks._differs(CLAUDE, listed, "f").code == "HOOKS_CHANGED"


def entries(*events: str, executable: str = "/o/joelclaw") -> list[Entry]:
    return [Entry(Place(event, 0, 0), "x", executable) for event in events]


def test_of_entries_those_that_are_missing_doubled_or_call_another_are_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [one.name for one in CLAUDE.events]
    monkeypatch.setattr(hooks.plan, "command_for", lambda project: "/o/joelclaw")
    monkeypatch.setattr(hooks, "_installed", lambda *_, **__: False)
    monkeypatch.setattr(hooks, "foreign", lambda *_, **__: [])
    asked: list[str] = []
    monkeypatch.setattr(hooks.command, "version_of", lambda other: asked.append(other) or "0.0.1")

    def looked(found: list[Entry], *, may_call: bool = True, **more: Any) -> list[Finding]:
        listed = state(path=str(path), **more)
        return hooks._entries(CLAUDE, found, listed, project=False, may_call=may_call)

    assert looked(entries(*every), current=True) == []
    assert codes(looked(entries(*every), current=False)) == [("HOOKS_OUTDATED", "warning")]
    (missing,) = looked(entries(*every[2:]), current=False)
    told = f"no hook is entered for {every[0]}, {every[1]}: what happens there is neither kept nor told"
    assert (missing.code, missing.severity, missing.message) == ("HOOKS_MISSING", "error", told)
    monkeypatch.setattr(hooks.entered, "fault", lambda _: None)
    monkeypatch.setattr(hooks.own_command, "path", lambda: "/o/joelclaw")
    (other,) = looked(entries(*every, executable="/p/joelclaw"), current=False)
    assert (other.code, other.message) == (
        "HOOK_OTHER_COMMAND", f"its hooks call /p/joelclaw (0.0.1), and what runs here is /o/joelclaw ({VERSION})",
    )  # fmt: skip
    assert asked == ["/p/joelclaw"]
    (other,) = looked(entries(*every, executable="/p/joelclaw"), current=False, may_call=False)
    assert "(of no version that it tells)" in other.message
    assert asked == ["/p/joelclaw"], "what a project chose is not called"
    monkeypatch.setattr(hooks.entered, "fault", lambda _: ("GONE", "x"))
    assert looked(entries(*every, executable="/p/joelclaw"), current=False) == [], "the trial tells of it"
    monkeypatch.setattr(hooks, "foreign", lambda *_, **__: ["Stop"])
    monkeypatch.setattr(hooks, "_installed", lambda *_, **__: True)
    assert codes(looked(entries(*every), current=True)) == [("HOOK_FOREIGN", "note"), ("HOOKS_TWICE", "warning")]


def test_a_command_that_cannot_be_found_is_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(project: bool) -> str:
        raise Failure("INSTALL_FAILED", "x", "y")

    monkeypatch.setattr(hooks.plan, "command_for", fails)
    assert hooks._other_command(entries("Stop"), project=False) == ""
    monkeypatch.setattr(hooks.plan, "command_for", lambda project: "joelclaw" if project else "/o/joelclaw")
    assert hooks._other_command(entries("Stop"), project=False) == ""
    assert hooks._other_command(entries("Stop"), project=True) == "/o/joelclaw"


def test_one_of_two_scopes_with_the_same_file_counts_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks.entered, "entries", lambda *_, **__: [1])
    assert hooks._installed(CLAUDE, project=True) is True
    same: Any = SimpleNamespace(path=lambda project: "/same")
    assert hooks._installed(same, project=True) is False


def test_entries_are_tried_until_one_is_found_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def call(_client: Any, entry: Entry, event: str) -> trial.Call:
        called.append(event)
        return trial.Call(0, "", "", {"a": 7, "b": 9, "c": 8}[entry.command], [])

    client = registry.row("claude")
    tried = [Entry(Place("Stop", 0, 0), line, "/o/joelclaw") for line in "abc"]
    monkeypatch.setattr(trial.entered, "fault", lambda _: None)
    monkeypatch.setattr(trial, "_chosen", lambda *_: [(one, one.command) for one in tried])
    monkeypatch.setattr(trial, "_call", call)
    wrong = error("HOOK_FAILS", "claude", "m", "f")
    for bad, events, ms in (("", ["a", "b", "c"], 9), ("b", ["a", "b"], 9), ("a", ["a"], 7)):
        called.clear()
        monkeypatch.setattr(trial, "_judged", lambda _c, _e, event, *_, bad=bad, **__: [wrong] * (event == bad))
        assert trial.of(client, tried, project=False) == trial.Trial([wrong] * bool(bad), ms)
        assert called == events
    monkeypatch.setattr(trial.entered, "fault", lambda _: ("HOOK_COMMAND_GONE", "x is gone"))
    told = error("HOOK_COMMAND_GONE", "claude", "the hooks of claude do nothing: x is gone", "joelclaw install claude")
    assert trial.of(client, tried, project=False) == trial.Trial([told])
    assert called == ["a"], "what cannot be started is not called"
