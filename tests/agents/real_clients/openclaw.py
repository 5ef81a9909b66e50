"""OpenClaw: a process for each prompt, either by itself (`local`) or with a gateway that keeps running (`gateway`).

The mode `compact` is a gateway, too, and compacts by command before the last prompt.
"""

from __future__ import annotations

import queue
import re
import socket
from typing import Any

from harness import KEY, Child, OutOfTime, Run, merge_json, stop

PACKAGE, VERSION, COMMAND = "openclaw", "2026.9.6", "openclaw"
NODE = "24.21.0"  # it needs a newer Node than CI has
LIMITS = {"contextWindow": 64_000, "keepRecentTokens": 300}


def is_compaction(entry: dict[str, Any]) -> bool:
    return entry.get("type") == "compaction"


def configure(run: Run, port: int) -> None:
    """Let OpenClaw use the mock model, and write no summary of its own that quotes the last turns."""
    compaction = {
        "keepRecentTokens": run.limits["keepRecentTokens"], "recentTurnsPreserve": 0,
        "qualityGuard": {"enabled": False},  # it refuses a summary without its headings
    }  # fmt: skip
    model = {
        "id": "mock-1", "name": "Mock 1", "reasoning": False, "input": ["text"], "maxTokens": 2000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": run.limits["contextWindow"],
    }  # fmt: skip
    provider = {"baseUrl": run.url + "/v1", "apiKey": KEY, "api": "openai-completions", "models": [model]}
    defaults = {"model": {"primary": "mock/mock-1"}, "workspace": str(run.workdir), "skipBootstrap": True}
    settings = {
        "agents": {"defaults": {**defaults, "compaction": compaction}},
        "models": {"mode": "merge", "catalogRefresh": {"enabled": False}, "providers": {"mock": provider}},
        "gateway": {"mode": "local", "port": port, "bind": "loopback", "auth": {"mode": "none"}},
        "update": {"checkOnStart": False}, "logging": {"file": str(run.scratch / "openclaw.log")},
    }  # fmt: skip
    merge_json(run.home / ".openclaw" / "openclaw.json", settings, replace=("models", "providers", "mock"))
    off = ("NO_AUTO_UPDATE", "NO_RESPAWN", "SKIP_CHANNELS", "DISABLE_BONJOUR")
    run.set_env(**{f"OPENCLAW_{name}": "1" for name in off})


def drive(run: Run, prompts: list[str]) -> None:
    """One session, whose rows are copied at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configure(run, port)
    has_gateway = run.mode in ("gateway", "compact")
    name = f"run-{run.out.name}"  # another run in the same home is another session
    key = f"agent:main:{name}"
    where = ["--session-key", key] if has_gateway else ["--local", "--session-id", name]
    gateway = Child(run, [run.command, "gateway", "run", "--port", port]) if has_gateway else None
    try:
        if gateway is not None:
            wait_for(gateway, "[gateway] ready")
        for prompt in prompts:
            words = ["sessions", "compact", key] if prompt == "/compact" else ["agent", *where, "-m", prompt]
            child = Child(run, [run.command, *words, "--json"])
            try:
                child.until(lambda _value: False)
            finally:
                child.finish()
    finally:
        if gateway is not None:
            stop(gateway.process)
            gateway.err.close()
        copy_rows(run)


def wait_for(child: Child, end: str) -> None:
    """Wait for a line of a client's output."""
    while True:
        try:
            line = child.lines.get(timeout=child.run.remaining_s())
        except queue.Empty:
            raise OutOfTime from None
        if line is None or re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip().endswith(end):
            return


def copy_rows(run: Run) -> None:
    """The rows of the transcripts' table, one a line."""
    from core.store import sources

    for path in run.home.glob(".openclaw/agents/*/agent/openclaw-agent.sqlite"):
        with open(run.transcripts / "session.jsonl", "ab") as file:
            for source, *_ in sources.sessions_in(str(path)):
                with sources.open_source(source) as rows:
                    file.write(rows.read(rows.size(), 0))
