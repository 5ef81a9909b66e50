"""Copilot CLI: a process for each prompt, the later ones with `--continue`."""

from __future__ import annotations

from typing import Any

from harness import KEY, Run, merge_json

PACKAGE, VERSION, COMMAND = "@github/copilot", "1.0.102", "copilot"
LIMITS = {"contextWindow": 64_000, "output": 4000}


def is_compaction(entry: dict[str, Any]) -> bool:
    """Whether an event records a compaction that was not cancelled."""
    return entry.get("type") == "session.compaction_complete" and entry["data"].get("success") is True


def configure(run: Run) -> None:
    config = run.home / ".copilot" / "config.json"
    if not config.exists():  # it adds a comment
        merge_json(config, {"trusted_folders": [str(run.workdir)], "banner": "never"})
    run.set_env(
        COPILOT_OFFLINE="true",
        COPILOT_AUTO_UPDATE="false",
        COPILOT_MODEL="mock-1",
        COPILOT_PROVIDER_BASE_URL=run.url + "/v1",
        COPILOT_PROVIDER_API_KEY=KEY,
        COPILOT_PROVIDER_MAX_PROMPT_TOKENS=str(run.limits["contextWindow"]),
        COPILOT_PROVIDER_MAX_OUTPUT_TOKENS=str(run.limits["output"]),
    )


def drive(run: Run, prompts: list[str]) -> None:
    configure(run)
    base = [run.command, "--allow-all-tools", "--allow-all-paths"]
    try:
        run.each([*base, "-p"], lambda _session: [*base, "--continue", "-p"], prompts)
    finally:
        run.copy_transcripts(".copilot/session-state/*/events.jsonl")
