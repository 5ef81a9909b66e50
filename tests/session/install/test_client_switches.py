"""What keeps a client from running our hooks: switches, trust, and damaged settings."""

import json
from pathlib import Path
from typing import Any

import pytest

import clients
from session.install.client_settings import settings_of

CLAUDE, CODEX, GEMINI, PI = (settings_of(clients.by_name(name)) for name in ("claude", "codex", "gemini", "pi"))


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project in which we stand, and a folder of the user for each client."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for client in (CLAUDE, CODEX, GEMINI, PI):
        monkeypatch.setenv(client.client.home_variable, str(tmp_path / client.name))


def written(path: str | Path, value: Any) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def messages_of(findings: list[Any]) -> list[str]:
    return [finding.message for finding in findings]


def test_claude_the_nearest_file_with_the_setting_decides(tmp_path: Path) -> None:
    assert CLAUDE.switched_off() == []
    user = written(CLAUDE.path(project=False), {"disableAllHooks": True})
    message = f"hooks are switched off by `disableAllHooks` in {user}"
    assert messages_of(CLAUDE.switched_off()) == messages_of(CLAUDE.switched_off()) == [message]
    written(CLAUDE.path(project=True), {"disableAllHooks": False})
    assert CLAUDE.switched_off() == []
    local = written(tmp_path / "project" / ".claude" / "settings.local.json", {"disableAllHooks": True})
    assert messages_of(CLAUDE.switched_off()) == [f"hooks are switched off by `disableAllHooks` in {local}"]
    written(local, {"other": 1})
    assert CLAUDE.switched_off() == []


@pytest.mark.parametrize(("features", "off"), [
    ("", False), ("hooks = true", False), ("hooks = false", True), ("hooks = 0", False),
])  # fmt: skip
def test_codex_a_feature_switches_hooks_off(features: str, off: bool, tmp_path: Path) -> None:
    path = written(tmp_path / "codex" / "config.toml", f"[features]\n{features}\n")
    message = f"hooks are switched off by `features.hooks` in {path}"
    assert messages_of(CODEX.switched_off()) == [message] * off
    assert len(CODEX.notes(project=False)) == 1 + off
    assert len(CODEX.notes(project=True)) == 2 + off


def test_codex_runs_only_trusted_hooks(tmp_path: Path) -> None:
    config = tmp_path / "codex" / "config.toml"
    untrusted = "its hooks are not trusted, so they do not run"
    assert messages_of(CODEX.untrusted(project=False)) == [untrusted]
    key = f"{CODEX.path(project=False)}:pre_compact:0:0"
    for line, expected in (("enabled = true", [untrusted]), ('trusted_hash = "x"', [])):
        written(config, f'[hooks.state."{key}"]\n{line}\n')
        assert messages_of(CODEX.untrusted(project=False)) == expected
    here = tmp_path / "project"
    about = f"{here} is not trusted, so its hooks do not run"
    assert messages_of(CODEX.untrusted(project=True))[-1] == about
    written(config, f'[projects."{here}"]\ntrust_level = "trusted"\n')
    assert about not in messages_of(CODEX.untrusted(project=True))


@pytest.mark.parametrize(("decisions", "default", "is_trusted"), [
    ({}, None, False), ({}, "always", True), ({}, "never", False), ({"project": True}, None, True),
    ({"project": False}, "always", False), ({"": True}, None, True), ({"": True, "project": False}, None, False),
    ({"": True, "project": None}, None, True),
])  # fmt: skip
def test_pi_loads_a_project_s_extension_if_the_project_is_trusted(
    decisions: dict[str, Any], default: str | None, is_trusted: bool, tmp_path: Path
) -> None:
    saved = {str((tmp_path / folder).resolve()): decision for folder, decision in decisions.items()}
    written(PI.below("trust.json", project=False), saved)
    written(PI.below("settings.json", project=False), {"defaultProjectTrust": default} if default else {})
    assert PI.untrusted(project=False) == PI.notes(project=False) == []
    findings = PI.untrusted(project=True)
    assert [str(tmp_path / "project") in finding.message for finding in findings] == [True] * (not is_trusted)
    assert len(PI.notes(project=True)) == (not is_trusted)


def test_gemini_a_setting_in_the_projects_file_wins() -> None:
    assert GEMINI.switched_off() == []
    user = written(GEMINI.path(project=False), {"hooksConfig": {"enabled": False, "disabled": ["joelclaw"]}})
    by_user = [f"hooks are switched off by `hooksConfig.enabled` in {user}"]
    assert messages_of(GEMINI.switched_off()) == GEMINI.notes(project=False) == by_user
    assert GEMINI.notes(project=True)[0] == "gemini runs a project's hooks only in a trusted folder"
    written(GEMINI.path(project=True), {"hooksConfig": {"enabled": True}})
    assert GEMINI.switched_off() == []
