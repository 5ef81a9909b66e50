"""Qwen Code: a process for each prompt, the later ones with `--resume`."""

from __future__ import annotations

from typing import Any

from harness import KEY, Run, merge_json

PACKAGE, VERSION, COMMAND = "@qwen-code/qwen-code", "0.24.4", "qwen"
NODE = "24.21.0"
LIMITS = {"contextWindow": 100_000}


def is_compaction(entry: dict[str, Any]) -> bool:
    return entry.get("subtype") == "chat_compression"


def configure(run: Run) -> None:
    model = {"name": "mock-1", "generationConfig": {"contextWindowSize": run.limits["contextWindow"]}}
    settings = {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "model": model,
    }
    merge_json(run.home / ".qwen" / "settings.json", settings)
    run.set_env(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=run.url + "/v1", OPENAI_MODEL="mock-1")


def drive(run: Run, prompts: list[str]) -> None:
    configure(run)
    base = [run.command, "--yolo", "--output-format", "stream-json"]
    try:
        run.each([*base, "-p"], lambda session: [*base, "--resume", session or "", "-p"], prompts)
    finally:
        run.copy_transcripts(".qwen/projects/*/chats/*.jsonl")
