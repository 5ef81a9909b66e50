"""`joelclaw install`: the MCP server, the skill and the rule that let an agent recall; `uninstall` removes them."""

import json
import tomllib
from pathlib import Path

import pytest
from conftest import JOELCLAW, put
from test_install import FILES, FOREIGN, Install, install, project, user

from session.install import own_entries
from session.install.settings_text import parsed

__all__ = ["install", "project", "user"]

SERVERS = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": FILES["gemini"],
    "qwen": FILES["qwen"],
    "copilot": ".copilot/mcp-config.json",
    "pi": ".pi/agent/mcp.json",
}
RULES = {"codex": ".codex/rules/joelclaw.rules", "gemini": ".gemini/policies/joelclaw.toml"}
SKILL = "skills/joelclaw/SKILL.md"
RULE = "Bash(joelclaw recall:*)"
OLD = "/old/bin/joelclaw"


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, and every folder, without the backups."""
    paths = [path for path in sorted(folder.rglob("*")) if "joelclaw-backup" not in path.name]
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/" for path in paths}


def server(user: Path, agent: str) -> dict[str, object]:
    path = user / SERVERS[agent]
    if agent == "codex":
        return dict(tomllib.loads(path.read_text())["mcp_servers"]["joelclaw"])
    return dict(parsed(path.read_text())["mcpServers"]["joelclaw"])


@pytest.mark.parametrize("agent", SERVERS)
def test_mcp_adds_a_server_which_is_only_updated_without_mcp(install: Install, user: Path, agent: str) -> None:
    install(agent)
    assert b"mcp" not in b"".join(data for name, data in tree(user).items() if name in SERVERS.values())
    (result,) = install(agent, "--mcp")["agents"]
    assert (server(user, agent)["command"], server(user, agent)["args"]) == (JOELCLAW, ["mcp"])
    assert str(user / SERVERS[agent]) in {result["path"], *(other["path"] for other in result["also"])}
    assert (user / SERVERS[agent]).stat().st_mode & 0o777 == 0o600
    with_server = tree(user)
    assert install(agent)["agents"][0]["changed"] is False
    assert tree(user) == with_server
    path = user / SERVERS[agent]
    path.write_text(path.read_text().replace(JOELCLAW, OLD))
    assert install(agent)["agents"][0]["changed"] is True
    assert server(user, agent)["command"] == JOELCLAW


JSONS = {
    "servers": '{\n  "numStartups": 7,\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}',
    "rules": '{"numStartups":7,"permissions":{"allow":["Bash(ls:*)"],"deny":[]}}\n',
    "empty ones": '{ "hooks": {  }, "mcpServers": {  }, "permissions": { "allow": [ ] } }',
    "an empty object": "{}",
    "nothing": "",
    "foreign hooks and comments": FOREIGN,
    "spaces in it": "{ \n\n }\n",
    "an empty event": '{"hooks": {"Stop": [ ], "Other": []}, "x": []}',
    "a comment in an empty event": '{\n\t"hooks": {\n\t\t"SessionEnd": [ // none yet\n\t\t]\n\t}\n}',
    "CRLF, a mark": '\ufeff{\r\n\t"permissions": {\r\n\t\t"allow": [\r\n\t\t\t"Bash(ls)"\r\n\t\t]\r\n\t}\r\n}\r\n',
}
TOMLS = {
    "a table at the end": 'model = "x"\n\n[features]\nhooks = true # yes\n',
    "no line end": 'model = "x"',
    "other servers": '[mcp_servers.other]\ncommand = "x"\n',
    "CRLF": 'model = "x"\r\n[a]\r\nb = 1\r\n',
    "nothing": "",
    "a comment": "# mine\n",
}


@pytest.mark.parametrize("mcp", [False, True])
@pytest.mark.parametrize(
    ("agent", "what"), [*((a, w) for a in ("claude", "gemini") for w in JSONS), *(("codex", w) for w in TOMLS)]
)
def test_uninstall_restores_the_bytes(install: Install, user: Path, agent: str, what: str, mcp: bool) -> None:
    for file in {SERVERS[agent], FILES[agent]} if agent == "claude" else {SERVERS[agent]}:
        put(user / file, (TOMLS if agent == "codex" else JSONS)[what].encode(), 0o644)
    before = tree(user)
    install(agent, *["--mcp"] * mcp)
    install(agent)
    assert not mcp or server(user, agent)["command"] == JOELCLAW
    (result,) = install(agent, verb="uninstall")["agents"]
    assert tree(user) == before
    assert (user / SERVERS[agent]).stat().st_mode & 0o777 == 0o644
    assert result["backup"] is None


@pytest.mark.parametrize("what", TOMLS)
def test_uninstall_removes_the_server_from_toml_that_was_edited_since(install: Install, user: Path, what: str) -> None:
    path = put(user / SERVERS["codex"], TOMLS[what].encode())
    install("codex", "--mcp")
    mine = '\n# mine\n[profiles.quick]\nmodel = "y"\n'
    with path.open("a", newline="") as file:
        file.write(mine)
    install("codex", verb="uninstall")
    assert path.read_bytes().decode().split() == (TOMLS[what] + mine).split()


@pytest.mark.parametrize("agent", SERVERS)
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_a_server_of_the_user_with_our_name_stays(install: Install, user: Path, agent: str, first: str) -> None:
    if first == "ours":
        install(agent)
    path = user / SERVERS[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = {"command": "npx", "args": ["joelclaw-of-mine"]}
    if agent == "codex":
        path.write_text('[mcp_servers.joelclaw]\ncommand = "npx"\nargs = ["joelclaw-of-mine"]\n')
    else:
        settings = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**settings, "mcpServers": {"joelclaw": mine}}))
    (result,) = install(agent, "--mcp")["agents"]
    assert server(user, agent) == mine
    assert any("was not added by joelclaw" in note for note in result["notes"])
    install(agent, verb="uninstall")
    assert server(user, agent) == mine


def test_a_server_of_ours_that_was_edited_stays(install: Install, user: Path) -> None:
    install("codex", "--mcp")
    path = user / SERVERS["codex"]
    path.write_text(path.read_text().replace('"mcp"', '"mcp", "--verbose"'))
    (result,) = install("codex", verb="uninstall")["agents"]
    assert server(user, "codex")["args"] == ["mcp", "--verbose"]
    assert any(str(path) in note and "was edited" in note for note in result["notes"])


@pytest.mark.parametrize(("agent", "text"), [("claude", "{,}"), ("claude", '{"mcpServers": []}'), ("codex", "a = = 1")])
def test_a_file_that_the_client_cannot_read_stops_all(install: Install, user: Path, agent: str, text: str) -> None:
    path = put(user / SERVERS[agent], text)
    before = tree(user)
    failed = install(agent, "--mcp", ok=False)
    assert failed["error"]["code"] == "INSTALL_REFUSED"
    assert str(path) in failed["fix"]
    assert tree(user) == before
    install(agent)
    assert path.read_text() == text, "without --mcp the file is not read"


def test_claude_runs_recall_without_a_question(install: Install, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def allowed() -> list[str]:
        return list(json.loads((user / FILES["claude"]).read_text())["permissions"]["allow"])

    with monkeypatch.context() as moved:
        moved.setattr(own_entries, "executable", lambda: OLD)
        install("claude")
        assert allowed() == [RULE, f"Bash({OLD} recall:*)"]
    install("claude", "--mcp")
    tools = [f"mcp__joelclaw__{name}" for name in ("recall", "show")]
    assert allowed() == [RULE, f"Bash({JOELCLAW} recall:*)", *tools]
    install("claude", verb="uninstall")
    assert not (user / FILES["claude"]).exists()


@pytest.mark.parametrize("agent", ["claude", "qwen"])
def test_a_repository_gets_no_rules(install: Install, project: Path, agent: str) -> None:
    install(agent, "--project", "--mcp")
    assert "hooks" in json.loads((project / FILES[agent]).read_text())
    assert not [path for path in project.rglob("*.json") if '"permissions"' in path.read_text()]


@pytest.mark.parametrize("agent", RULES)
def test_codex_and_gemini_have_a_file_of_rules(install: Install, user: Path, project: Path, agent: str) -> None:
    install(agent)
    text = (user / RULES[agent]).read_text()
    if agent == "gemini":
        (rule,) = tomllib.loads(text)["rule"]
        assert rule["commandPrefix"] == ["joelclaw recall", f"{JOELCLAW} recall"]
        assert (rule["toolName"], rule["decision"]) == ("run_shell_command", "allow")
    else:
        assert 'prefix_rule(pattern = ["joelclaw", "recall"], decision = "allow")\n' in text
        assert f'["{JOELCLAW}", "recall"]' in text
    install(agent, "--project")
    assert not [path for path in project.rglob("*") if path.parent.name in ("rules", "policies")], "not a repository's"


def test_a_changed_skill_stays(install: Install, user: Path) -> None:
    install("claude")
    path = user / ".claude" / SKILL
    mine = path.read_text() + "\nAsk me first.\n"
    path.write_text(mine)
    for verb in ("install", "uninstall"):
        (row,) = install("claude", verb=verb)["agents"]
        assert path.read_text() == mine
        assert any("edited" in note for note in row["notes"])
    assert tree(user / ".claude").keys() == {"skills", "skills/joelclaw", SKILL}
