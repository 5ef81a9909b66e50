"""`joelclaw install`: the skill and the rule that let an agent recall; `uninstall` takes them back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from conftest import JOELCLAW
from test_install import FILES, Install, install, project, user

from session.install import entries

__all__ = ["install", "project", "user"]

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


def test_claude_runs_recall_without_a_question(install: Install, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def allowed() -> list[str]:
        return list(json.loads((user / FILES["claude"]).read_text())["permissions"]["allow"])

    with monkeypatch.context() as moved:
        moved.setattr(entries, "executable", lambda: OLD)
        install("claude")
        assert allowed() == [RULE, f"Bash({OLD} recall:*)"]
    install("claude")
    assert allowed() == [RULE, f"Bash({JOELCLAW} recall:*)"]
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


JSONS = {
    "rules": '{"numStartups":7,"permissions":{"allow":["Bash(ls:*)"],"deny":[]}}\n',
    "empty ones": '{ "hooks": {  }, "permissions": { "allow": [ ] } }',
    "an empty object": "{}",
    "nothing": "",
    "CRLF, a mark": '\ufeff{\r\n\t"permissions": {\r\n\t\t"allow": [\r\n\t\t\t"Bash(ls)"\r\n\t\t]\r\n\t}\r\n}\r\n',
}


@pytest.mark.parametrize("agent", ["claude", "gemini"])
@pytest.mark.parametrize("what", JSONS)
def test_uninstall_takes_it_back_to_the_byte(install: Install, user: Path, agent: str, what: str) -> None:
    path = user / FILES[agent]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(JSONS[what].encode())
    path.chmod(0o644)
    before = tree(user)
    install(agent)
    install(agent)
    (one,) = install(agent, verb="uninstall")["agents"]
    assert tree(user) == before
    assert path.stat().st_mode & 0o777 == 0o644
    assert one["backup"] is None
