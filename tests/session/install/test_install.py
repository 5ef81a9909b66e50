"""`joelclaw install` adds our part to a client's configuration and changes nothing else."""

import errno
import json
import os
import shlex
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import JOELCLAW, PATIENCE_S, ROOT, Attempt, Run, begin, put
from doctors import FILES
from terminal import on_terminal, without_style

SHARED_EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]
CLAUDE_EVENTS = [*SHARED_EVENTS, "PostToolUseFailure", "SubagentStop"]
CODEX_EVENTS = [*SHARED_EVENTS, "Interrupt", "SubagentStop"]
GEMINI_EVENTS = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"]
FOREIGN = """{
    // how I like it
    "theme": "dark", "model": {"name":"x" },
    "hooks": {
        "SessionStart": [
            { "matcher": "startup", "hooks": [ { "type": "command", "command": "notify" } ] } // mine
        ]
        /* end */
    }
}"""


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The home of somebody whose clients are to be configured."""
    folder = tmp_path / "somebody"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


Install = Callable[..., Any]


def environment(user: Path, **more: str) -> dict[str, str]:
    unset = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME")
    return {**dict.fromkeys(unset, ""), "HOME": str(user), **more}


@pytest.fixture
def install(run: Run, user: Path, project: Path) -> Install:
    """Run `joelclaw install` for somebody, in a project's folder; gives the result, or the envelope of a failure."""

    def spawn(*words: str, ok: bool = True, verb: str = "install", **env: str) -> Any:
        done = run(verb, *words, env=environment(user, **env), cwd=project, ok=ok)
        return done.result if ok else done.json

    return spawn


def hooks_in(path: Path) -> dict[str, list[dict[str, Any]]]:
    return json.loads(path.read_text())["hooks"]


def ours(entries: dict[str, list[dict[str, Any]]], event: str) -> list[dict[str, Any]]:
    return [entry for group in entries[event] for entry in group["hooks"] if "joelclaw" in entry["command"]]


@pytest.mark.parametrize(("agent", "events", "seconds", "unit"), [
    ("claude", CLAUDE_EVENTS, 5, 1), ("codex", CODEX_EVENTS, 5, 1), ("gemini", GEMINI_EVENTS, 5, 1000),
    ("qwen", SHARED_EVENTS, 5, 1), ("copilot", SHARED_EVENTS, 5, 1),
])  # fmt: skip
def test_each_event_has_a_hook(
    install: Install, user: Path, agent: str, events: list[str], seconds: int, unit: int
) -> None:
    result = install(agent)
    (row,) = result["agents"]
    path = user / FILES[agent]
    assert row["path"] == str(path)
    assert (row["changed"], row["created"], row["backup"]) == (True, True, None)
    assert "+++ " in row["diff"]
    assert row["notes"]
    entries = hooks_in(path)
    assert list(entries) == events
    for event in events:
        (entry,) = ours(entries, event)
        expected = 3 if agent == "codex" and event in ("SubagentStop", "SessionEnd") else seconds
        assert entry["timeout"] == expected * unit
        assert entry["command"] == f"{shlex.quote(JOELCLAW)} hook {agent} 2>/dev/null || :"
    tools = {"claude": "Edit|Write|MultiEdit|NotebookEdit", "codex": "apply_patch|Edit|Write"}
    tools["qwen"] = "write_file|edit|notebook_edit"
    matchers = {event: group["matcher"] for event in events for group in entries[event] if "matcher" in group}
    assert matchers == ({"PostToolUse": tools[agent]} if agent in tools else {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


FAKES = {"missing": None, "answers": "printf ours", "crashes": "echo no >&2; exit 2"}


@pytest.mark.parametrize("fake", FAKES)
def test_a_hook_succeeds_with_our_answer_or_nothing(install: Install, user: Path, tmp_path: Path, fake: str) -> None:
    install("claude")
    script = FAKES[fake]
    command = tmp_path / "it's a folder" / "joelclaw"
    if script is not None:
        put(command, f"#!/bin/sh\ncat >/dev/null\n{script}\n", 0o755)
    (entry,) = ours(hooks_in(user / FILES["claude"]), "Stop")
    line = entry["command"].replace(shlex.quote(JOELCLAW), shlex.quote(str(command)))
    done = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True, env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", b"ours" if fake == "answers" else b"")


@pytest.mark.parametrize("agent", FILES)
def test_a_project_gets_the_bare_name(install: Install, user: Path, project: Path, agent: str) -> None:
    (row,) = install(agent, "--project")["agents"]
    path = Path(row["path"])
    assert path.is_relative_to(project)
    assert not list(user.iterdir())
    text = path.read_text()
    assert str(Path(JOELCLAW).parent) not in text
    assert ('const JOELCLAW = "joelclaw";' in text) or (f'"joelclaw hook {agent} 2>/dev/null || :"' in text)
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0o077 & 0o666 & ~umask()
    assert any("PATH" in note for note in row["notes"])


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(("agent", "variable", "below"), [
    ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
    ("codex", "CODEX_HOME", "hooks.json"),
    ("pi", "PI_CODING_AGENT_DIR", "extensions/joelclaw.ts"),
    ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ("qwen", "QWEN_HOME", "settings.json"),
    ("copilot", "COPILOT_HOME", "settings.json"),
    ("opencode", "XDG_CONFIG_HOME", "opencode/plugin/joelclaw.js"),
    ("opencode", "OPENCODE_CONFIG_DIR", "plugin/joelclaw.js"),
])  # fmt: skip
def test_the_clients_own_variables(install: Install, tmp_path: Path, agent: str, variable: str, below: str) -> None:
    folder = tmp_path / "elsewhere"
    (row,) = install(agent, **{variable: str(folder)})["agents"]
    assert Path(row["path"]) == folder / below
    assert (folder / below).exists()


def test_every_other_byte_stays(install: Install, user: Path) -> None:
    path = put(user / FILES["gemini"], FOREIGN, 0o640)
    (row,) = install("gemini")["agents"]
    lines, before = path.read_text().splitlines(), FOREIGN.splitlines()
    assert lines[:5] == before[:5]
    assert lines[5] == before[5].replace("} // mine", "}, // mine")
    assert lines[-2:] == before[-2:]
    assert "        /* end */" in lines
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    backup = Path(row["backup"])
    assert backup.parent == path.parent
    assert backup.name.startswith("settings.json.joelclaw-backup-")
    assert backup.read_text() == FOREIGN
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert sorted(p.name for p in path.parent.glob("settings*")) == sorted([path.name, backup.name])


def test_an_older_entry_is_updated(install: Install, user: Path) -> None:
    old = {"type": "command", "command": "/old/bin/joelclaw hook claude 2>/dev/null || :", "timeout": 60}
    silent = {"type": "command", "command": "/old/joelclaw hook claude >/dev/null 2>&1 || :"}
    theirs = {"type": "command", "command": "theirs"}
    wrapper = {"type": "command", "command": "/opt/log-joelclaw hook claude"}
    hooks = {
        "SessionStart": [{"matcher": "compact", "hooks": [old]}, {"hooks": [theirs]}],
        "Stop": [{"hooks": [theirs, old]}, {"hooks": [silent]}],
        "UserPromptSubmit": [{"hooks": [old]}],
        "Notification": [{"hooks": [old]}],
        "PostToolUse": [{"hooks": [wrapper]}],
    }
    path = put(user / FILES["claude"], json.dumps({"hooks": hooks}))
    install("claude")
    entries = hooks_in(path)
    assert "/old/" not in path.read_text()
    command = entries["SessionStart"][0]["hooks"][0]["command"]
    assert command == f"{JOELCLAW} hook claude 2>/dev/null || :"
    assert len(entries["UserPromptSubmit"]) == 1
    assert "matcher" not in entries["SessionStart"][0]
    assert entries["SessionStart"][1] == {"hooks": [theirs]}
    assert entries["Stop"][0] == {"hooks": [theirs]}
    assert len(ours(entries, "Stop")) == 1
    assert "Notification" not in entries
    assert entries["PostToolUse"][0] == {"hooks": [wrapper]}
    assert install("claude")["agents"][0]["changed"] is False


@pytest.mark.parametrize("edited", [
    "JOELCLAW_HOME=/m {} hook claude 2>/dev/null || :", "timeout 4 {} hook claude", "notify&&{} hook claude || true",
    "sh -c '{} hook claude' 2>/dev/null", "cd /old/bin/joelclaw-logs; {} hook claude",
    "{} hook claude Stop --verbose 2>/dev/null || :", "uv run joelclaw hook claude",
    "sh -c '\"$PLACE/joelclaw\" hook claude'", 'JOELCLAW_HOME=/m "$HOME/joelclaw" hook claude',
])  # fmt: skip
def test_an_edited_command_stays_the_hook(run: Run, install: Install, user: Path, project: Path, edited: str) -> None:
    path = user / FILES["claude"]
    install("claude")
    before = f"{JOELCLAW} hook claude 2>/dev/null || :"
    settings = json.loads(path.read_text())
    settings["hooks"]["SessionStart"][0]["hooks"][0]["command"] = edited.format("/old/bin/joelclaw")
    path.write_text(json.dumps(settings))
    install("claude")
    assert [entry["command"] for entry in ours(hooks_in(path), "SessionStart")] == [edited.format(JOELCLAW)]
    assert [entry["command"] for entry in ours(hooks_in(path), "PreCompact")] == [before]
    codes = [finding["code"] for finding in run("doctor", env=environment(user), cwd=project).result["findings"]]
    assert not {"HOOKS_MISSING", "HOOKS_OUTDATED", "HOOK_COMMAND_GONE"} & {*codes}
    (row,) = install("claude", verb="uninstall")["agents"]
    assert hooks_in(path) == {"SessionStart": [{"hooks": [{**settings["hooks"]["SessionStart"][0]["hooks"][0],
                                                   "command": edited.format(JOELCLAW)}]}]}  # fmt: skip
    listed = next(about for about in install("--list")["installs"] if about["path"] == str(path))
    skipped = next(about for about in install("--all", verb="uninstall")["skipped"] if about["agent"] == "claude")
    assert [skipped["reason"]] == row["notes"] == listed["notes"] and "delete them by hand" in skipped["reason"]
    left = run("doctor", "--fix", env=environment(user), cwd=project).result["findings"]
    assert [finding["code"] for finding in left if finding["subject"] == "claude"] == ["HOOKS_LEFT"]
    assert [*hooks_in(path)] == ["SessionStart"]


@pytest.mark.parametrize(("old", "new"), [
    ('"timeout": 5', '"timeout": 20'), ('{"hooks"', '{"matcher": "Bash", "hooks"'),
    (f"{JOELCLAW} hook", f'\\"{JOELCLAW}\\" hook'), (f"{JOELCLAW} hook", '\\"$HOME/bin/joelclaw\\" hook'),
    (f"{JOELCLAW} hook", "~/bin/joelclaw hook"),
])  # fmt: skip
def test_a_changed_hook_stays_until_an_uninstall(install: Install, user: Path, old: str, new: str) -> None:
    (user / "bin").mkdir()
    (user / "bin" / "joelclaw").symlink_to(JOELCLAW)
    path = user / FILES["claude"]
    install("claude")
    before, at, rest = json.dumps(json.loads(path.read_text())).partition('"Stop": ')
    changed = before + at + rest.replace(old, new, 1)
    assert rest.replace(old, new, 1) != rest
    path.write_text(changed)
    assert not install("claude")["agents"][0]["changed"]
    assert path.read_text() == changed
    path.write_text(changed.replace(f'"{JOELCLAW} hook', '"/old/bin/joelclaw hook'))
    install("claude")
    assert path.read_text() == changed, "the path is repaired, and the change stays"
    install("claude", verb="uninstall")
    assert not path.exists()


REFUSED = {
    "no JSON": b'{"a": 1',
    "no object": b"[]",
    "hooks is a list": b'{"hooks": []}',
    "hooks is null": b'{"hooks": null}',
    "an event is an object": b'{"hooks": {"Stop": {}}}',
    "hooks twice": b'{"hooks": {}, "hooks": {}}',
    "an event twice": b'{"hooks": {"Stop": [], "Stop": []}}',
    "two values": b"{} {}",
}


@pytest.mark.parametrize("what", REFUSED)
def test_unknown_formats_are_left_alone(install: Install, user: Path, what: str) -> None:
    path = put(user / FILES["claude"], REFUSED[what])
    for verb in ("install", "uninstall"):
        failed = install("claude", verb=verb, ok=False)
        assert failed["error"]["code"] == "INSTALL_REFUSED"
        assert str(path) in failed["error"]["message"] and "nothing was changed" in failed["fix"]
        assert "``" not in failed["error"]["message"]
        assert path.read_bytes() == REFUSED[what]
        assert len(list(path.parent.iterdir())) == 1


def test_a_refusal_stops_all_before_anything_is_written(install: Install, user: Path) -> None:
    put(user / FILES["gemini"], "{")
    install("claude", "gemini", ok=False)
    assert not (user / ".claude").exists()


def test_a_folder_that_cannot_be_written(install: Install, user: Path) -> None:
    # A file in the place of a folder stands for any that cannot be written: modes do not stop root.
    (user / ".claude").write_text("x")
    failed = install("claude", ok=False)
    assert failed["error"]["code"] == "INSTALL_FAILED"
    assert failed["fix"]
    assert [p.name for p in user.iterdir()] == [".claude"]


def test_a_full_disk_needs_space(install: Install, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    failed = install("claude", ok=False)
    assert (failed["error"]["code"], failed["fix"]) == ("INSTALL_FAILED", "free some space and run this again")
    assert not (user / FILES["claude"]).exists()


def test_a_link_is_followed(install: Install, user: Path, tmp_path: Path) -> None:
    target = put(tmp_path / "dotfiles" / "claude.json", '{"a": 1}')
    path = user / FILES["claude"]
    path.parent.mkdir()
    path.symlink_to(target)
    (row,) = install("claude")["agents"]
    assert path.is_symlink()
    assert "hook claude" in target.read_text()
    assert Path(row["backup"]).parent == path.parent
    assert [p.name for p in target.parent.iterdir()] == ["claude.json"]
    install("claude", verb="uninstall")
    assert path.is_symlink()
    assert target.read_text() == '{"a": 1}'


def test_dry_run_writes_nothing(install: Install, user: Path, home: Path) -> None:
    result = install("claude", "pi", "--dry-run")
    assert result["dryRun"] is True
    assert all(agent["diff"] and agent["changed"] and agent["created"] for agent in result["agents"])
    assert not list(user.iterdir())
    assert not home.exists()


def test_all_installs_for_present_clients(install: Install, user: Path, tmp_path: Path) -> None:
    (user / ".claude").mkdir()
    command = put(tmp_path / "bin" / "codex", "#!/bin/sh\n", 0o755)
    result = install("--all", PATH=f"{command.parent}:{Path(JOELCLAW).parent}:/usr/bin:/bin")
    assert [agent["agent"] for agent in result["agents"]] == ["claude", "codex"]
    assert {file["agent"] for file in result["skipped"]} == {"openclaw", *FILES} - {"claude", "codex"}
    assert all(file["reason"] for file in result["skipped"])
    result = install("--all", verb="uninstall")
    assert [agent["agent"] for agent in result["agents"]] == ["claude", "codex"]
    assert all(agent["changed"] for agent in result["agents"])


def test_damaged_settings_do_not_keep_the_other_clients_installed(run: Run, install: Install, user: Path) -> None:
    install("claude", "gemini", "qwen")
    put(user / FILES["copilot"], '{"never installed"')
    (user / ".qwen" / "settings.json").write_text('{"hooks": joelclaw')
    done = run("uninstall", "--all", env=environment(user), ok=False)
    assert (done.code, done.json["ok"]) == (1, False)
    assert [agent["agent"] for agent in done.result["agents"] if agent["changed"]] == ["claude", "gemini"]
    (damaged,) = [row for row in done.result["skipped"] if row["failed"]]
    assert damaged["agent"] == "qwen" and str(user / ".qwen" / "settings.json") in damaged["reason"]
    (user / ".qwen" / "settings.json").unlink()
    result = run("uninstall", "--all", env=environment(user)).result
    assert [row["reason"] for row in result["skipped"] if str(user / FILES["copilot"]) in row["reason"]]


def test_list(install: Install, user: Path) -> None:
    def listed() -> dict[tuple[str, str], Any]:
        return {(hook["agent"], hook["scope"]): hook for hook in install("--list")["installs"]}

    installs = listed()
    expected = {(agent, scope) for agent in FILES for scope in ("user", "project")}
    assert set(installs) == {*expected, ("openclaw", "user")}
    assert not any(hook["installed"] or hook["current"] for hook in installs.values())
    install("claude", "pi")
    install("codex", "--project")
    installs = listed()
    current = [key for key, state in installs.items() if state["installed"] and state["current"]]
    assert current == [("pi", "user"), ("claude", "user"), ("codex", "project")]
    assert installs["claude", "user"]["version"]
    path = user / FILES["claude"]
    path.write_text(path.read_text().replace(JOELCLAW, "/old/bin/joelclaw", 1))
    put(user / FILES["gemini"], "{")
    installs = listed()
    assert (installs["claude", "user"]["installed"], installs["claude", "user"]["current"]) == (True, False)
    assert installs["gemini", "user"]["installed"] is None
    assert installs["gemini", "user"]["notes"]


def test_parallel_installs_leave_a_single_entry(user: Path, project: Path, home: Path) -> None:
    path = put(user / FILES["claude"], '{"a": 1}')
    every = [begin(home, "install", "claude", cwd=project, **environment(user)) for _ in range(4)]
    results = [json.loads(child.communicate(timeout=PATIENCE_S)[0])["result"]["agents"][0] for child in every]
    assert sorted(result["changed"] for result in results) == [False, False, False, True]
    assert all(len(ours(hooks_in(path), event)) == 1 for event in CLAUDE_EVENTS)
    assert len(list(path.parent.glob("settings*"))) == 2


def answering(home: Path, user: Path, project: Path, answer: str, *words: str) -> Attempt:
    """The command on a terminal, where somebody answers its question."""
    done = on_terminal(home, *words, env=environment(user), cwd=project, answer=answer)
    return Attempt(done.code, without_style(done.out), done.err)


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04", "yesterday\n"])
def test_answering_no_changes_nothing(home: Path, user: Path, project: Path, answer: str) -> None:
    done = answering(home, user, project, answer, "install", "claude")
    assert done.code == 0, done
    assert "install? [y/N]" in done.out
    assert done.out.endswith("Cancelled; nothing was changed.\n")
    assert not list(user.iterdir())


def test_the_diff_is_shown_before_the_question(home: Path, user: Path, project: Path) -> None:
    path = put(user / FILES["claude"], '{\n  "model": "x",\n  "theme": "dark"\n}\n')
    shown = answering(home, user, project, "n\n", "install", "claude").out.partition("install? [y/N]")[0]
    assert f"+++ {path}" in shown and '+    "SessionStart": [' in shown
    answering(home, user, project, "", "install", "claude", "--yes")
    gone = answering(home, user, project, "n\n", "uninstall", "claude").out.partition("uninstall? [y/N]")[0]
    assert '-    "SessionStart": [' in gone


@pytest.mark.parametrize("agent", ["pi", "opencode"])
def test_an_extension_with_our_path_in_it(install: Install, user: Path, agent: str) -> None:
    install(agent)
    path = user / FILES[agent]
    parts = ["clients/extensions/common.js", f"clients/extensions/{agent}.js"]
    original = "".join((ROOT / part).read_text() for part in parts)
    expected = f"const JOELCLAW = {json.dumps(JOELCLAW)};"
    assert path.read_text() == original.replace('const JOELCLAW = "joelclaw";', expected)
    assert json.dumps(JOELCLAW) in path.read_text()
    assert install(agent)["agents"][0]["changed"] is False
    path.write_text(path.read_text().replace(JOELCLAW, "/old/joelclaw"))
    (again,) = install(agent)["agents"]
    assert again["changed"] is True
    assert "/old/joelclaw" in Path(again["backup"]).read_text()
    assert JOELCLAW in path.read_text()
    path.write_bytes(path.read_bytes() + b"\n// caf\xe9\n")
    (replaced,) = install(agent)["agents"]
    assert f"{path} was edited, and is replaced" in replaced["notes"][0] and replaced["backup"]
    path.write_bytes(path.read_bytes() + b"\n// caf\xe9\n")
    assert install(agent, verb="uninstall")["agents"][0]["changed"] and not path.exists()


def past_session(user: Path) -> None:
    folder = user / ".claude" / "projects" / "p"
    transcript = Transcript(folder / "0198c1d2-0000-7000-8000-00000000aaaa.jsonl", cwd="/p")
    transcript.user("Raise the lease, please.")
    transcript.used("c1", "Bash", "sealed", command="make seal 2>&1 | tail")


@pytest.mark.parametrize(("words", "answer", "taken"), [
    (("install", "claude", "--yes"), "", True), (("install", "claude", "--yes", "--no-archive"), "", False),
    (("install", "claude"), "y\ny\n", True), (("install", "claude"), "y\n\n", True),
    (("install", "claude"), "y\nn\n", False), (("memory", "archive"), "\n", True),
    (("memory", "archive"), "n\n", False),
])  # fmt: skip
def test_past_sessions_are_offered(
    home: Path, user: Path, project: Path, run: Run, words: tuple[str, ...], answer: str, taken: bool
) -> None:
    past_session(user)
    done = answering(home, user, project, answer, *words)
    question = "1 past session found (claude), 925 bytes: archive now? [Y/n]"
    assert (question in done.out) == ("--yes" not in words), done
    assert ("joelclaw memory archive --all" in done.out) == (not taken)
    assert run("recall", "raise the lease").result["count"] == taken
    remaining = run("memory", "archive", env=environment(user)).result
    assert remaining["history"]["sessions"] == (not taken), "in a pipe nothing is asked, and nothing is archived"
