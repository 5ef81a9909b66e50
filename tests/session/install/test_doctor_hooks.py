"""`joelclaw doctor` reports each way in which hooks fail silently, with a fix."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW_MS, PATIENCE_S, Run, put
from doctors import FILES, User
from doctors import user as made

from session import doctor_hooks

HOOKED = ("claude", "codex", "gemini")
DAY_MS = 86_400_000
LAST = "0b5f2c1e-0000-4000-8000-000000000001"


@pytest.fixture
def user(tmp_path: Path, home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setattr(doctor_hooks, "MAX_SECONDS", PATIENCE_S)  # how fast a hook is says nothing here
    return made(tmp_path, home, run)


def trust(user: User) -> None:
    """What Codex writes when its hooks were reviewed."""
    keys = "session_start user_prompt_submit post_tool_use stop pre_compact session_end subagent_stop interrupt".split()
    lines = [f'[hooks.state."{user.file("codex")}:{key}:0:0"]\ntrusted_hash = "sha256:0"\n' for key in keys]
    (user.file("codex").parent / "config.toml").write_text("".join(lines))


@pytest.mark.parametrize("client", FILES)
def test_a_working_client_has_no_findings(user: User, client: str) -> None:
    user.call("install", client)
    if client == "codex":
        trust(user)
    result = user.doctor("--client", client)
    assert [finding["code"] for finding in result["findings"]] == ["HOOK_NEVER_CALLED"]
    about = result["clients"][client]
    assert (about["installed"], about["current"]) == (True, True)
    assert user.call("memory", "stats")["total"] == 0, "the trial has a home of its own"


def test_an_installation_in_this_project_is_checked_too(user: User) -> None:
    """pi leaves a project's extension out until the project is trusted, and `pi -p` does not say so."""
    user.call("install", "pi", "--project")
    about = user.doctor()["clients"]["pi"]
    assert (about["scope"], about["installed"]) == ("project", True)
    assert "TRUST_MISSING" in user.codes()["pi"]


@pytest.mark.parametrize("client", ["claude", "pi"])
def test_a_deleted_environment(user: User, client: str) -> None:
    copy = user.installed_elsewhere(client)
    assert "HOOK_COMMAND_GONE" not in user.codes().get(client, [])
    shutil.rmtree(copy.parent.parent)
    assert "HOOK_COMMAND_GONE" in user.codes()[client]
    (problem,) = user.call("status")["problems"]
    assert (problem["code"], problem["subject"]) == ("HOOK_COMMAND_GONE", client)
    assert (str(copy) in problem["message"], problem["fix"].endswith(f"joelclaw install {client}")) == (True, True)


SCRIPTS = {
    "a package that is gone": ("echo 'ModuleNotFoundError: cli' >&2; exit 1", "HOOK_FAILS", "ModuleNotFoundError"),
    "another program of the name": ("exit 0", "HOOK_FAILS", "exit status 0"),
    "one that prints something else": ("echo hello", "HOOK_FAILS", "exit status 0"),
    "one that hangs": ("exec sleep 600", "HOOK_HANGS", "did not answer within 1 s"),
}


@pytest.mark.parametrize("what", SCRIPTS)
@pytest.mark.parametrize("client", ["claude", "opencode"])
def test_a_broken_command(user: User, client: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script, code, message = SCRIPTS[what]
    if code == "HOOK_HANGS":
        monkeypatch.setattr(doctor_hooks, "MAX_SECONDS", 1.0)
    copy = user.installed_elsewhere(client)
    copy.write_text(f"#!/bin/sh\n{script}\n")
    (findings,) = [finding for finding in user.doctor()["findings"] if finding["code"] == code]
    assert (findings["subject"], findings["severity"]) == (client, "error")
    assert message in findings["message"]


def test_an_entry_that_was_removed(user: User) -> None:
    user.call("install", "claude")
    settings = json.loads(user.file("claude").read_text())
    del settings["hooks"]["UserPromptSubmit"], settings["hooks"]["PreCompact"]
    user.file("claude").write_text(json.dumps(settings))
    (findings,) = [finding for finding in user.doctor()["findings"] if finding["code"] == "HOOKS_MISSING"]
    assert (findings["severity"], "UserPromptSubmit, PreCompact" in findings["message"]) == ("error", True)


@pytest.mark.parametrize("client", ["claude", "pi"])
def test_all_entries_removed(user: User, client: str) -> None:
    user.call("install", client)
    user.file(client).write_text("{}" if client == "claude" else "export default () => {};")
    assert "HOOKS_REMOVED" in user.codes()[client]
    user.file(client).unlink()
    assert "HOOKS_REMOVED" in user.codes()[client]
    user.call("install", client)
    user.call("uninstall", client)
    assert "HOOKS_REMOVED" not in user.codes().get(client, [])


def test_an_entry_that_was_edited(user: User) -> None:
    user.call("install", "claude")
    text = user.file("claude").read_text()
    user.file("claude").write_text(text.replace('"timeout": 5', '"timeout": 1'))
    assert user.file("claude").read_text() != text
    assert "claude" not in user.codes(), "the user's own choice"


def test_installed_twice(user: User) -> None:
    user.call("install", "claude")
    user.call("install", "claude", "--project")
    assert user.codes()["claude"] == ["HOOKS_TWICE"]
    assert user.codes("--project")["claude"] == ["HOOKS_TWICE"]


@pytest.mark.parametrize("client", HOOKED)
def test_damaged_settings(user: User, client: str) -> None:
    user.call("install", client)
    user.file(client).write_text(user.file(client).read_text().rstrip()[:-1])
    assert "SETTINGS_DAMAGED" in user.codes()[client]
    damaged = by_code(user.doctor(), "SETTINGS_DAMAGED")
    assert "run this" not in damaged["fix"] and "joelclaw doctor` again" in damaged["fix"]


def test_switched_off(user: User) -> None:
    user.call("install", "claude")
    user.call("off", "--everywhere")
    result = user.doctor()
    (findings,) = [finding for finding in result["findings"] if finding["code"] == "SWITCHED_OFF"]
    assert (findings["subject"], findings["severity"], result["healthy"]) == ("switches", "warning", True)
    assert findings["message"].startswith("everything is switched off since")
    user.call("on", "--everywhere")
    assert "switches" not in user.codes()
    user.call("off", "--project")
    assert user.codes()["switches"] == ["SWITCHED_OFF"]
    (findings,) = [finding for finding in user.doctor()["findings"] if finding["code"] == "SWITCHED_OFF"]
    assert findings["message"].startswith(f"the project {user.project.name} is switched off since")
    user.call("on", "--project")
    user.call("exclude", ".")
    assert user.codes()["switches"] == ["FOLDER_EXCLUDED"]
    sibling = user.project.with_name(user.project.name[:-1])  # the name of the project begins like it
    sibling.mkdir()
    user.call("exclude", str(sibling))
    (finding,) = [finding for finding in user.doctor()["findings"] if finding["code"] == "FOLDER_EXCLUDED"]
    assert finding["fix"] == f"joelclaw exclude --remove {user.project}"
    user.call("exclude", "--remove", ".")
    assert "switches" not in user.codes()


def test_a_file_in_the_place_of_the_home(user: User) -> None:
    user.call("install", "claude")
    shutil.rmtree(user.memory)
    user.memory.write_text("in the way")
    result = user.doctor()
    assert result["healthy"] is False
    assert {finding["subject"] for finding in result["findings"] if finding["severity"] == "error"} & {"store", "home"}


def transcript(user: User, at_ms: int) -> None:
    path = user.folder / ".claude" / "projects" / "-work" / f"{LAST}.jsonl"
    put(path, json.dumps({"type": "user", "sessionId": LAST, "message": {"role": "user", "content": "hi"}}) + "\n")
    os.utime(path, (at_ms / 1000, at_ms / 1000))


def installed_at(user: User, at_ms: int) -> None:
    os.utime(user.file("claude"), (at_ms / 1000, at_ms / 1000))


def by_code(result: dict[str, Any], code: str) -> dict[str, Any]:
    return next(finding for finding in result["findings"] if finding["code"] == code)


def test_hooks_that_were_never_called(user: User) -> None:
    user.call("install", "claude")
    installed_at(user, NOW_MS - DAY_MS)
    transcript(user, NOW_MS - 2 * DAY_MS)
    assert by_code(user.doctor(), "HOOK_NEVER_CALLED")["severity"] == "note"
    transcript(user, NOW_MS)
    assert by_code(user.doctor(), "HOOK_NEVER_CALLED")["severity"] == "error"
    user.call("checkpoint", "save", "--session", LAST, "--percent", "70")
    assert by_code(user.doctor(), "HOOK_NEVER_CALLED")["severity"] == "note", "its calls were lost with the store"
    user.call("memory", "forget", "--session", LAST)
    assert by_code(user.doctor(), "HOOK_NEVER_CALLED")["severity"] == "note", "its calls were forgotten"
    (user.memory / "sessions" / f"{LAST}.json.forgotten").unlink()
    user.call("off", "--everywhere")
    assert "claude" not in user.codes(), "what is switched off is not called either"
    user.call("on", "--everywhere", JOELCLAW_NOW_MS=str(NOW_MS + 1_000))
    assert "claude" not in user.codes(), "nor was it then"
    transcript(user, NOW_MS + 2_000)
    assert user.codes()["claude"] == ["HOOK_NEVER_CALLED"]
    for file in user.memory.glob("store.db*"):
        file.write_bytes(b"damaged" * 999)
    assert "claude" not in user.codes(), "without the store nobody knows whether hooks ran"


def prompt(user: User, at_ms: int) -> None:
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(user.project), "prompt": "go on"}
    env = user.environment(JOELCLAW_NOW_MS=str(at_ms))
    user.run("hook", "claude", stdin=json.dumps(payload), env=env, cwd=user.project)


def test_hooks_that_are_no_longer_called(user: User) -> None:
    user.call("install", "claude")
    installed_at(user, NOW_MS - 9 * DAY_MS)
    prompt(user, NOW_MS - 3 * DAY_MS)
    transcript(user, NOW_MS - 3 * DAY_MS)
    assert "claude" not in user.codes()
    transcript(user, NOW_MS)
    assert user.codes()["claude"] == ["HOOKS_SILENT"]


def test_hooks_that_failed_or_were_late(user: User) -> None:
    user.call("install", "claude")

    def emit(action: str, hours_ago: int, event: str, error: str) -> None:
        about = json.dumps({"agent": "claude", "event": event})
        at = ("--timestamp", str(NOW_MS - hours_ago * 3_600_000))
        flags = ("--success", "false", "--error", error, "--metadata", about)
        user.call("otel", "emit", action, "--component", "hook", "--level", "error", *flags, *at)

    emit("hook.failed", 30, "Stop", "long ago")
    emit("hook.failed", 3, "Stop", "the first")
    emit("hook.degraded", 2, "Stop", "STORE_BUSY: written by another")
    emit("hook.timeout", 1, "PreCompact", "no answer within 2 s")
    emit("hook.failed", 1, "", "INVALID_JSON: stdin")
    result = user.doctor()
    every = [finding for finding in result["findings"] if finding["code"] == "HOOK_FAILED"]
    unnamed, failed = sorted(every, key=lambda entry: "Stop" in entry["message"])
    assert unnamed["message"].startswith("its hook failed once in 24 h")
    degraded, late = by_code(result, "HOOK_DEGRADED"), by_code(result, "HOOK_LATE")
    assert {finding["severity"] for finding in (failed, degraded, late)} == {"warning"} and result["healthy"]
    assert "Stop failed once in 24 h; the last error: the first" in failed["message"]
    assert "Stop did only part of its work once in 24 h; the last error: STORE_BUSY" in degraded["message"]
    assert "PreCompact was late once" in late["message"]


def named(user: User, script: str) -> str:
    folder = user.folder / "older" / "bin"
    put(folder / "joelclaw", f"#!/bin/sh\n{script}\n", 0o755)
    return f"{folder}:/usr/bin:/bin"


def test_another_joelclaw_on_the_path(user: User) -> None:
    (findings,) = user.doctor(PATH=named(user, "echo 'joelclaw 0.0.1'"))["findings"]
    assert (findings["code"], findings["severity"], findings["subject"]) == ("PATH_COMMAND_OTHER", "warning", "command")
    assert str(user.folder / "older" / "bin" / "joelclaw") in findings["message"]


def test_a_projects_hooks_use_path(user: User) -> None:
    user.call("install", "claude", "--project")
    assert "claude" not in user.codes("--project")
    codes = user.codes("--project", PATH=named(user, "echo 'joelclaw 0.0.1'"))
    assert codes == {"claude": ["HOOK_FAILS"], "command": ["PATH_COMMAND_OTHER"]}
    assert "HOOK_COMMAND_GONE" in user.codes("--project", PATH="/usr/bin:/bin")["claude"]


def test_a_project_s_own_program_is_never_called(user: User) -> None:
    (user.project / ".git").mkdir()
    user.call("install", "claude", "--project")
    ran = user.folder / "ran"
    program = put(user.project / "joelclaw", f'#!/bin/sh\necho x >> {ran}\nexec {JOELCLAW} "$@"\n', 0o755)
    path = user.project / ".claude" / "settings.json"
    path.write_text(path.read_text().replace("joelclaw hook claude", f"{program} hook claude"))
    assert str(program) in path.read_text()
    assert "HOOK_NOT_TRIED" in user.codes("--project")["claude"]
    assert not ran.exists()


@pytest.mark.parametrize("kind", ["pipe", "nested"])
def test_a_project_s_settings_cannot_stop_the_doctor(user: User, kind: str) -> None:
    user.call("install", "claude")
    folder = user.project / ".claude"
    folder.mkdir()
    if kind == "pipe":
        os.mkfifo(folder / "settings.local.json")
    else:
        (folder / "settings.local.json").write_text("[" * 200_000)
    assert "claude" not in user.codes()
