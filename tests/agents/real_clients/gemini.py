"""Gemini CLI: a process for each prompt, the later ones with `--resume latest`."""

from __future__ import annotations

from typing import Any

from harness import KEY, Run, merge_json

PACKAGE, VERSION, COMMAND = "@google/gemini-cli", "0.61.0", "gemini"
LIMITS = {"compressionThreshold": 0.02}  # of the model's 1,048,576 tokens


def is_compaction(_entry: dict[str, Any]) -> bool:
    """Never: harness.py counts requests for a summary instead."""
    return False


def drive(run: Run, prompts: list[str]) -> None:
    settings = {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "hooksConfig": {"enabled": True},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "model": {"name": "gemini-2.5-flash", "compressionThreshold": run.limits["compressionThreshold"]},
    }
    merge_json(run.home / ".gemini" / "settings.json", settings)
    run.set_env(GEMINI_API_KEY=KEY, GOOGLE_GEMINI_BASE_URL=run.url)
    base = [run.command, "--yolo", "--output-format", "json"]
    try:
        run.each([*base, "-p"], lambda _session: [*base, "--resume", "latest", "-p"], prompts)
    finally:
        run.copy_transcripts(".gemini/tmp/*/chats/*")
