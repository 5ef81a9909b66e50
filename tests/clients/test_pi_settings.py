"""pi's `settings.json` applies if our settings do not say how much a compaction keeps."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run, put
from pi_session import PiSession


class Folders:
    """Where pi's settings lie, and a session of pi in a repository."""

    def __init__(self, run: Run, home: Path, folder: Path) -> None:
        self.run, self.agent, self.repo = run, folder / "agent", folder / "repo"
        self.config = home / "config.toml"
        self.env = {"PI_CODING_AGENT_DIR": str(self.agent)}
        (self.repo / ".git").mkdir(parents=True)
        self.session = PiSession(folder / "session.jsonl", cwd=str(self.repo))
        self.session.user("Mend the tide tables.")
        self.session.answer("They are mended.", tokens=900)

    def own(self, **compaction: Any) -> None:
        put(self.agent / "settings.json", json.dumps({"theme": "dark", "compaction": compaction}))

    def ask(self, command: str, *words: str, **env: str) -> Any:
        return self.run("compaction", command, str(self.session.path), *words, env={**self.env, **env}).result

    def tokens(self, *words: str, **env: str) -> tuple[int, int]:
        settings = self.ask("prepare", *words, **env)["settings"]
        return settings["reserveTokens"], settings["keepRecentTokens"]


@pytest.fixture
def pi(run: Run, home: Path, tmp_path: Path) -> Folders:
    return Folders(run, home, tmp_path)


def test_precedence_is_flags_our_settings_pis(pi: Folders) -> None:
    assert pi.tokens() == (16_384, 20_000)
    pi.own(reserveTokens=9_000, keepRecentTokens=7_000)
    assert pi.tokens() == (9_000, 7_000)
    put(pi.config, "[compaction]\nkeep_recent_tokens = 6000\n")
    assert pi.tokens() == (9_000, 6_000)
    assert pi.tokens(JOELCLAW_COMPACTION_RESERVE_TOKENS="5000") == (5_000, 6_000)
    assert pi.tokens("--reserve", "4000", "--keep-recent", "3000") == (4_000, 3_000)


def test_compactions_can_be_switched_off(pi: Folders) -> None:
    put(pi.repo / ".pi" / "settings.json", json.dumps({"compaction": {"enabled": False, "reserveTokens": 7}}))
    decided = pi.ask("decide")
    assert (decided["enabled"], decided["reserve"]) == (True, 16_384), "a repository decides nothing"
    pi.own(enabled=False)
    assert pi.ask("decide")["enabled"] is False


@pytest.mark.parametrize("text", ["{", "[]", '{"compaction": 7}', '{"compaction": {"reserveTokens": "many"}}'])
def test_faulty_settings_are_ignored(pi: Folders, text: str) -> None:
    put(pi.agent / "settings.json", text)
    assert pi.tokens() == (16_384, 20_000)


def hook(pi: Folders, event: str) -> None:
    payload = {"session_id": "s", "cwd": str(pi.repo), "messages": ["Mend it."], "percent": 80}
    pi.run("hook", "pi", event, stdin=json.dumps(payload), env={**pi.env, **NOW})


@pytest.mark.parametrize("enabled", [True, False])
def test_an_idle_session_is_not_compacted_if_pi_switched_it_off(pi: Folders, enabled: bool) -> None:
    pi.own(enabled=enabled)
    put(pi.config, "[compaction]\nidle_trigger_minutes = 5\n")
    hook(pi, "turn_end")
    assert len(pi.run("idle", "list", env={**pi.env, **NOW}).result["timers"]) == enabled
    scheduled = pi.run(
        "idle", "schedule", "--session", "s", "--percent", "80", "--cwd", str(pi.repo), "--agent", "pi",
        env={**pi.env, **NOW},
    ).result  # fmt: skip
    assert (scheduled["scheduled"], scheduled["reason"]) == (enabled, "scheduled" if enabled else "switched-off")
    other = pi.run("idle", "schedule", "--session", "t", "--percent", "80", "--agent", "claude", env={**pi.env, **NOW})
    assert other.result["scheduled"]
