"""OpenClaw gets a plugin, and an entry in its settings, which are JSON5."""

import json
from pathlib import Path

import pytest
from conftest import JOELCLAW, put
from doctors import User
from test_doctor_hooks import user

from session.install.settings_text import parsed

__all__ = ["user"]

PLUGIN = {"enabled": True, "hooks": {"allowConversationAccess": True}}
SETTINGS = {
    "none": None,
    "empty": "",
    "plain": '{"agents": {"defaults": {"model": "m"}}}',
    "json5": "// mine\n{\n  gateway: { mode: 'local', port: 0x4a38, },\n  /* off */ tools: {allow: ['exec',],},\n}\n",
    "plugins": "{\r\n\tplugins: {\r\n\t\tallow: ['joelclaw'],\r\n\t\tentries: { other: {} },\r\n\t},\r\n}",
}


def folder(user: User) -> Path:
    return user.folder / ".openclaw"


def write(user: User, text: str | None) -> None:
    folder(user).mkdir(exist_ok=True)
    if text is not None:
        (folder(user) / "openclaw.json").write_bytes(text.encode())


def plugin_of(user: User) -> object:
    settings = parsed((folder(user) / "openclaw.json").read_bytes().decode())
    return settings.get("plugins", {}).get("entries", {}).get("joelclaw")


def openclaw(folder: Path, answer: object) -> str:
    """A folder with an `openclaw` that prints an answer."""
    put(folder / "openclaw", f"#!/bin/sh\necho \"$*\" >> {folder}/asked\necho '{json.dumps(answer)}'\n", 0o755)
    return str(folder)


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_uninstalling_restores_every_byte(user: User, text: str | None) -> None:
    write(user, text)
    before = {path: path.read_bytes() for path in folder(user).rglob("*")}
    (row,) = user.call("install", "openclaw", "--yes", "--no-archive")["agents"]
    assert plugin_of(user) == PLUGIN
    assert any("allowConversationAccess" in note for note in row["notes"])
    extension = folder(user) / "extensions" / "joelclaw"
    assert json.dumps(JOELCLAW) in (extension / "index.js").read_text()
    assert json.loads((extension / "openclaw.plugin.json").read_text())["id"] == "joelclaw"
    assert json.loads((extension / "package.json").read_text())["openclaw"] == {"extensions": ["./index.js"]}
    assert not user.call("install", "openclaw", "--yes", "--no-archive")["agents"][0]["changed"]
    assert user.codes("--client", "openclaw") == {}
    user.call("uninstall", "openclaw", "--yes")
    left = {path for path in folder(user).rglob("*") if ".joelclaw-backup-" not in path.name}
    assert {path: path.read_bytes() for path in left} == before


def test_what_others_wrote_since_stays(user: User) -> None:
    config = user.folder / "own.json5"
    config.write_text(str(SETTINGS["json5"]))
    env = {"OPENCLAW_STATE_DIR": str(user.folder / "state"), "OPENCLAW_CONFIG_PATH": str(config)}
    user.call("install", "openclaw", "--yes", "--no-archive", **env)
    assert (user.folder / "state" / "extensions" / "joelclaw" / "index.js").exists()
    config.write_text(config.read_text().replace("mode: 'local'", "mode: 'remote'"))
    user.call("uninstall", "openclaw", "--yes", **env)
    assert config.read_text() == str(SETTINGS["json5"]).replace("mode: 'local'", "mode: 'remote'")


@pytest.mark.parametrize("is_enabled", [False, True])
def test_the_users_own_settings_of_the_plugin_stay(user: User, is_enabled: bool) -> None:
    own = {"enabled": is_enabled, "hooks": {"timeoutMs": 9000, "allowConversationAccess": False}}
    write(user, json.dumps({"plugins": {"entries": {"joelclaw": own}}}))
    assert user.codes("--client", "openclaw") == {"openclaw": ["HOOKS_REMOVED"]}
    (row,) = user.call("install", "openclaw", "--yes", "--no-archive")["agents"]
    assert any("switched off by `plugins.entries.joelclaw.hooks.allow" in note for note in row["notes"])
    switched_off = ["HOOKS_DISABLED"] * (2 - is_enabled)
    assert user.codes("--client", "openclaw", "--fix")["openclaw"] == switched_off
    assert plugin_of(user) == own


ENTRY = json.dumps({"joelclaw": PLUGIN})


@pytest.mark.parametrize(("plugins", "code"), [
    (f"entries: {ENTRY.replace('true', 'false', 1)}", "HOOKS_DISABLED"),
    ("entries: {joelclaw: {enabled: true}}", "HOOKS_OUTDATED"),
])  # fmt: skip
def test_doctor_says_why_the_plugin_does_not_run(user: User, plugins: str, code: str) -> None:
    user.call("install", "openclaw", "--yes", "--no-archive")
    write(user, f"{{plugins: {{{plugins}}}}}")
    assert code in user.codes("--client", "openclaw")["openclaw"]


def test_settings_that_openclaw_cannot_read_are_left_alone(user: User) -> None:
    write(user, "{plugins: [}")
    refused = user.run("install", "openclaw", "--yes", env=user.environment(), cwd=user.project, ok=False).json
    assert (refused["error"]["code"], "openclaw.json" in refused["fix"]) == ("INSTALL_REFUSED", True)
    assert not (folder(user) / "extensions").exists()


def test_uninstalling_leaves_settings_of_another_form_alone(user: User) -> None:
    write(user, '{"plugins": []}')
    assert not user.call("uninstall", "openclaw", "--yes")["agents"][0]["changed"]


def test_openclaw_has_no_settings_of_a_project(user: User) -> None:
    done = user.run("install", "openclaw", "--project", "--yes", env=user.environment(), cwd=user.project, ok=False)
    assert done.json["error"]["code"] == "INSTALL_FAILED"
    assert user.codes("--client", "openclaw", "--project") == {}


@pytest.mark.parametrize(("answer", "expected"), [
    ({"plugin": {"status": "loaded"}, "typedHooks": [{}, {}], "diagnostics": []}, "loads the plugin, with 2 hooks"),
    ({"plugin": {"status": "error"}}, "does not load the plugin"),
    ("?", "does not load the plugin"),
])  # fmt: skip
def test_openclaw_is_asked_whether_it_loads_the_plugin(user: User, answer: object, expected: str) -> None:
    own = openclaw(user.folder / "bin", answer)
    openclaw(user.project / "bin", {})  # a folder of the project must not decide what runs
    path = f"bin:{own}:{Path(JOELCLAW).parent}:/usr/bin:/bin"
    (row,) = user.call("install", "openclaw", "--yes", "--no-archive", PATH=path)["agents"]
    assert expected in row["notes"][-1]
    assert (user.folder / "bin" / "asked").read_text() == "plugins inspect joelclaw --runtime --json\n"
    assert not (user.project / "bin" / "asked").exists()
