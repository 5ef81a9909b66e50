"""Claude Code: one process, prompts as stream-json on stdin."""

from __future__ import annotations

from typing import Any

from harness import KEY, Child, Run, merge_json

PACKAGE, VERSION, COMMAND = "@anthropic-ai/claude-code", "2.1.332", "claude"
LIMITS = {"autoCompactWindow": 100_000}


def is_compaction(entry: dict[str, Any]) -> bool:
    return entry.get("subtype") == "compact_boundary"


ARGUMENTS = ("-p", "--verbose", "--model", "claude-sonnet-4-5", "--allowedTools", "Agent,Bash,Edit,Read,Write")


def configure(run: Run) -> None:
    """Use the mock as model, and nothing else from the network."""
    merge_json(run.home / ".claude.json", {"hasCompletedOnboarding": True})
    run.set_env(
        ANTHROPIC_BASE_URL=run.url,
        ANTHROPIC_API_KEY=KEY,
        CLAUDE_CODE_TMPDIR=str(run.scratch),
        CLAUDE_CODE_AUTO_COMPACT_WINDOW=str(run.limits["autoCompactWindow"]),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_TELEMETRY="1",
        DISABLE_ERROR_REPORTING="1",
    )


def drive(run: Run, prompts: list[str]) -> None:
    """Send each prompt after the previous result; an earlier prompt would join the running turn."""
    configure(run)
    argv = [run.command, *ARGUMENTS, "--input-format", "stream-json", "--output-format", "stream-json"]
    child = Child(run, argv, stdin=True)
    try:
        for prompt in prompts:
            child.send({"type": "user", "message": {"role": "user", "content": prompt}})
            if child.until(lambda value: value.get("type") == "result") is None:
                break
    finally:
        child.finish(grace=30)
        run.copy_transcripts(".claude/projects/*/*.jsonl")
