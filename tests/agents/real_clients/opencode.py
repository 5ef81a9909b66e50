"""OpenCode: a process for each prompt, the later ones with `--session`."""

from __future__ import annotations

import subprocess
from typing import Any

from harness import KEY, Run, merge_json

PACKAGE, VERSION, COMMAND = "opencode-ai", "1.18.33", "opencode"
LIMITS = {"contextWindow": 30_000, "output": 2000}


def is_compaction(entry: dict[str, Any]) -> bool:
    return entry.get("role") == "assistant" and entry.get("summary") is True


def configure(run: Run) -> None:
    """Let OpenCode use the mock model, and nothing else from the network."""
    folder = run.home / ".config" / "opencode"
    limit = {"context": run.limits["contextWindow"], "output": run.limits["output"]}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mock",
        "options": {"baseURL": run.url + "/v1", "apiKey": KEY},
        "models": {"mock-1": {"name": "Mock 1", "tool_call": True, "limit": limit}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "mock/mock-1",
        "small_model": "mock/mock-1",
        "permission": {"edit": "allow", "bash": "allow"},
        "provider": {"mock": provider},
    }
    merge_json(folder / "opencode.json", settings, replace=("provider", "mock"))
    off = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    run.set_env(**{f"OPENCODE_DISABLE_{name}": "1" for name in off})


def drive(run: Run, prompts: list[str]) -> None:
    """The session is in a database; export it at the end."""
    configure(run)
    base = [run.command, "run", "--format", "json"]
    session = run.each(base, lambda known: [*base, *(["--session", known] if known else ["--continue"])], prompts)
    if session:
        path = run.transcripts / f"{session}.json"
        with open(path, "wb") as file:  # a pipe would only get the first 64 KiB
            subprocess.run(
                [str(run.command), "export", session],
                cwd=run.workdir,
                env=run.env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.DEVNULL,
                timeout=run.remaining_s(),
            )
        text = path.read_text(encoding="utf-8", errors="replace")
        path.write_text(text[max(text.find("{"), 0) :], encoding="utf-8")
