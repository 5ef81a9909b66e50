"""Where pi looks for extensions."""

from __future__ import annotations

from clients.settings import Settings

SETTINGS = Settings(
    "pi",
    "PI_CODING_AGENT_DIR",
    ".pi/agent",
    "extensions/joelclaw.ts",
    "takes effect in the next pi, or after /reload",
    local_folder=".pi",
    transcripts="sessions/**/*.jsonl",
)
