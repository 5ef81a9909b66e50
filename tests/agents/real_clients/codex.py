"""Codex: a process for each prompt, the later ones with `exec resume`."""

from __future__ import annotations

from typing import Any

from harness import KEY, Run

PACKAGE, VERSION, COMMAND = "@openai/codex", "0.171.0", "codex"
LIMITS = {"contextWindow": 20_000, "autoCompactAt": 8000}

PROFILE = """\
model = "mock-1"
model_provider = "mock"
model_context_window = {window}
model_auto_compact_token_limit = {limit}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
hooks = true
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
"""A profile of our own, on top of config.toml."""


def is_compaction(entry: dict[str, Any]) -> bool:
    return entry.get("type") == "compacted"


FLAGS = ("--skip-git-repo-check", "--json", "--dangerously-bypass-hook-trust")


def configure(run: Run) -> None:
    (run.home / ".codex").mkdir(exist_ok=True)
    window, limit = run.limits["contextWindow"], run.limits["autoCompactAt"]
    profile = PROFILE.format(window=window, limit=limit, url=run.url)
    (run.home / ".codex" / "mock.config.toml").write_text(profile, encoding="utf-8")
    run.set_env(MOCK_KEY=KEY)


def drive(run: Run, prompts: list[str]) -> None:
    """Bypass the trust question for hooks."""
    configure(run)
    first = [run.command, "exec", "--profile", "mock"]
    try:
        run.each([*first, *FLAGS], lambda session: [*first, "resume", *FLAGS, session or "--last"], prompts)
    finally:
        run.copy_transcripts(".codex/sessions/**/rollout-*.jsonl")
