"""`joelclaw install`: the server, the skill and the rule that let an agent recall; `uninstall` takes all of it back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from conftest import JOELCLAW
from test_install import FILES, Install, install, project, user

from session.install import entries

__all__ = ["install", "project", "user"]

SERVERS = {"claude": ".claude.json", "codex": ".codex/config.toml", "gemini": FILES["gemini"]}
RULES = {"codex": ".codex/rules/joelclaw.rules", "gemini": ".gemini/policies/joelclaw.toml"}
SKILL = "skills/joelclaw/SKILL.md"
RULE = "Bash(joelclaw recall:*)"
OLD = "/old/bin/joelclaw"


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, and every folder, without the backups."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(folder.rglob("*"))
        if "joelclaw-backup" not in path.name
    }


def server(user: Path, agent: str) -> dict[str, object]:
    path = user / SERVERS[agent]
    if agent == "codex":
        return dict(tomllib.loads(path.read_text())["mcp_servers"]["joelclaw"])
    return dict(json.loads(path.read_text())["mcpServers"]["joelclaw"])


@pytest.mark.parametrize("agent", SERVERS)
def test_the_server_where_the_client_reads_it(install: Install, user: Path, agent: str) -> None:
    (one,) = install(agent, "--mcp")["agents"]
    found = server(user, agent)
    assert (found["command"], found["args"]) == (JOELCLAW, ["mcp"])
    shown = {one["path"], *(other["path"] for other in one["also"])}
    assert str(user / SERVERS[agent]) in shown
    assert (user / SERVERS[agent]).stat().st_mode & 0o777 == 0o600
    assert install(agent, "--mcp")["agents"][0]["changed"] is False


@pytest.mark.parametrize("agent", SERVERS)
def test_only_where_it_is_asked_for_and_then_it_stays(install: Install, user: Path, agent: str) -> None:
    install(agent)
    assert b"mcp" not in b"".join(data for name, data in tree(user).items() if name in SERVERS.values())
    install(agent, "--mcp")
    with_server = tree(user)
    assert install(agent)["agents"][0]["changed"] is False
    assert tree(user) == with_server
    path = user / SERVERS[agent]
    path.write_text(path.read_text().replace(JOELCLAW, OLD))
    assert install(agent)["agents"][0]["changed"] is True
    assert server(user, agent)["command"] == JOELCLAW


JSONS = {
    "servers": '{\n  "numStartups": 7,\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}',
    "no servers": '{"numStartups":7,"permissions":{"allow":["Bash(ls:*)"],"deny":[]}}\n',
    "empty ones": '{ "mcpServers": {  }, "permissions": { "allow": [ ] } }',
    "an empty object": "{}",
    "nothing": "",
    "CRLF, a mark": '\ufeff{\r\n\t"permissions": {\r\n\t\t"allow": [\r\n\t\t\t"Bash(ls)"\r\n\t\t]\r\n\t}\r\n}\r\n',
}
TOMLS = {
    "a table at the end": 'model = "x"\n\n[features]\nhooks = true # yes\n',
    "no line end": 'model = "x"',
    "other servers": '[mcp_servers.other]\ncommand = "x"\n',
    "CRLF": 'model = "x"\r\n[a]\r\nb = 1\r\n',
    "nothing": "",
    "a comment alone": "# mine\n",
}


@pytest.mark.parametrize(
    ("agent", "what"), [*((a, w) for a in ("claude", "gemini") for w in JSONS), *(("codex", w) for w in TOMLS)]
)
def test_uninstall_takes_it_back_to_the_byte(install: Install, user: Path, agent: str, what: str) -> None:
    text = (TOMLS if agent == "codex" else JSONS)[what]
    for file in {SERVERS[agent], FILES[agent]} if agent == "claude" else {SERVERS[agent]}:
        path = user / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o644)
    before = tree(user)
    install(agent, "--mcp")
    assert server(user, agent)["command"] == JOELCLAW if not text.startswith("\ufeff") else True
    install(agent)
    (one,) = install(agent, verb="uninstall")["agents"]
    assert tree(user) == before
    assert (user / SERVERS[agent]).stat().st_mode & 0o777 == 0o644
    assert one["backup"] is None


OWN = {
    "another's": ("npx", ["joelclaw-of-mine"]),
    "joelclaw by its name": ("joelclaw", ["mcp"]),
    "joelclaw by its path": (JOELCLAW, ["mcp"]),
}


@pytest.mark.parametrize("agent", SERVERS)
@pytest.mark.parametrize("whose", OWN)
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_somebodys_own_server_of_that_name_is_left(
    install: Install, user: Path, agent: str, whose: str, first: str
) -> None:
    path, (command, args) = user / SERVERS[agent], OWN[whose]
    if first == "ours":
        install(agent)
    path.parent.mkdir(exist_ok=True)
    mine = {"command": command, "args": args}
    if agent == "claude":
        mine = {"type": "stdio", **mine}
    toml = f"[mcp_servers.joelclaw]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
    kept = json.loads(path.read_text()) if first == "ours" and path.exists() and agent != "codex" else {}
    path.write_text(toml if agent == "codex" else json.dumps({**kept, "mcpServers": {"joelclaw": mine}}))
    if whose != "joelclaw by its path":
        (one,) = install(agent, "--mcp")["agents"]
        assert server(user, agent) == mine
        assert any("already exists" in note for note in one["notes"])
    else:
        return  # it is what an installation writes
    install(agent, verb="uninstall")
    assert server(user, agent) == mine


def test_a_server_of_ours_that_somebody_changed_is_told_when_it_stays(install: Install, user: Path) -> None:
    install("codex", "--mcp")
    path = user / SERVERS["codex"]
    path.write_text(path.read_text().replace('"mcp"', '"mcp", "--verbose"'))
    (one,) = install("codex", verb="uninstall")["agents"]
    assert server(user, "codex")["args"] == ["mcp", "--verbose"]
    assert any("[mcp_servers.joelclaw] was edited" in note for note in one["notes"]), one


def test_claude_runs_recall_without_a_question(install: Install, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def allowed() -> list[str]:
        return list(json.loads((user / FILES["claude"]).read_text())["permissions"]["allow"])

    with monkeypatch.context() as moved:
        moved.setattr(entries, "executable", lambda: OLD)
        install("claude")
        assert allowed() == [RULE, f"Bash({OLD} recall:*)"]
    install("claude", "--mcp")
    tools = [f"mcp__joelclaw__{name}" for name in ("recall", "show", "session")]
    assert allowed() == [RULE, f"Bash({JOELCLAW} recall:*)", *tools]
    install("claude", verb="uninstall")
    assert not (user / FILES["claude"]).exists()


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


def test_a_skill_that_somebody_changed_stays(install: Install, user: Path) -> None:
    install("claude")
    path = user / ".claude" / SKILL
    mine = path.read_text() + "\nAsk me first.\n"
    path.write_text(mine)
    for verb in ("install", "uninstall"):
        (one,) = install("claude", verb=verb)["agents"]
        assert path.read_text() == mine
        assert any("edited" in note for note in one["notes"])
    assert tree(user / ".claude").keys() == {"skills", "skills/joelclaw", SKILL}


@pytest.mark.parametrize(("agent", "text"), [("claude", "{,}"), ("claude", '{"mcpServers": []}'), ("codex", "a = = 1")])
def test_a_file_that_the_client_cannot_read_stops_all(install: Install, user: Path, agent: str, text: str) -> None:
    path = user / SERVERS[agent]
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    before = tree(user)
    failed = install(agent, "--mcp", ok=False)
    assert failed["error"]["code"] == "INSTALL_REFUSED"
    assert str(path) in failed["fix"]
    assert tree(user) == before
    install(agent)
    assert path.read_text() == text, "without --mcp it is none of our business"
