"""A client's settings: what in them keeps our hooks from running, and how their text is edited."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import put
from hypothesis import given
from hypothesis import strategies as st

import clients
from session.install.client_settings import settings_of
from session.install.settings_text import Malformed, edited, parsed

CLAUDE, CODEX, GEMINI, PI = (settings_of(clients.by_name(name)) for name in ("claude", "codex", "gemini", "pi"))


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project in which we stand, and a folder of the user for each client."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for client in (CLAUDE, CODEX, GEMINI, PI):
        monkeypatch.setenv(client.client.home_variable, str(tmp_path / client.name))


def written(path: str | Path, value: Any) -> str:
    return str(put(Path(path), value if isinstance(value, str) else json.dumps(value)))


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


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=2), VALUES, max_size=4)


@given(OBJECTS, OBJECTS, st.sampled_from([None, 2, "\t"]))
def test_the_text_has_the_requested_value(before: Any, expected: Any, indent: Any) -> None:
    try:
        after = edited(json.dumps(before, indent=indent), expected)
    except Malformed:  # an item in the middle of a list: ours go to the end
        return
    assert parsed(after) == expected


@pytest.mark.parametrize(("text", "expected", "after"), [
    ('{"a":1}', {"a": 1, "b": [2]}, '{"a":1, "b": [2]}'),
    ('{\r\n\t"a": 1 // mine\r\n}', {"a": 1, "b": 2}, '{\r\n\t"a": 1, // mine\r\n\t"b": 2\r\n}'),
    ('{\n  "a": [ // none yet\n  ]\n}', {"a": [1]}, '{\n  "a": [ // none yet\n    1\n  ]\n}'),
    ('{"a": [1, /* x */ 2, 3]}', {"a": [1, 3]}, '{"a": [1, /* x */ 3]}'),
    ('{"a": "// no comment", "b": 1}', {"a": "// no comment"}, '{"a": "// no comment"}'),
    ("\ufeff\n", {"a": 1}, '\ufeff\n{\n  "a": 1\n}\n'),
])  # fmt: skip
def test_comments_and_layout_stay(text: str, expected: Any, after: str) -> None:
    assert edited(text, expected) == after


@pytest.mark.parametrize(("text", "value", "more", "after"), [
    ("{a: 1,}", {"a": 1}, {"b": 2}, '{a: 1, "b": 2,}'),
    ("{\n  'a': [1, 2,], // it's\n}\n", {"a": [1, 2]}, {"b": {}}, "{\n  'a': [1, 2,], // it's\n  \"b\": {},\n}\n"),
    ("{$a_1: .5, é: +0x1F, c: -2., d: 'say \"hi\"'}", {"$a_1": 0.5, "é": 31, "c": -2.0, "d": 'say "hi"'}, {},
     "{$a_1: .5, é: +0x1F, c: -2., d: 'say \"hi\"'}"),
    ("{a: 'x\\\ny\\x41\\u00e9\\'\\v\\0', /* , */ b: null,}", {"a": "xyAé'\v\0", "b": None}, {},
     "{a: 'x\\\ny\\x41\\u00e9\\'\\v\\0', /* , */ b: null,}"),
])  # fmt: skip
def test_json5_is_read_and_stays(text: str, value: Any, more: Any, after: str) -> None:
    assert parsed(text) == value
    assert edited(text, {**value, **more}) == after
    assert edited(after, value) == text


@pytest.mark.parametrize("text", [
    "{a: 1,, }", "{,}", "{a 1}", "{a: b}", "[1", "{'a: 1}", "{a: 1} b", "{a: 1, a: 2}", r'{"\xzz": 1}', "{",
    "[" * 100_000,
])  # fmt: skip
def test_other_text_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parsed(text)
