"""The clients. Each module has PACKAGE and VERSION (npm), COMMAND, LIMITS, drive() and is_compaction().

LIMITS say when the client compacts; a script's "client" object overrides them. drive() writes the minimal configuration
into HOME, which uses the mock as model and allows every tool, keeps what is there, and sends the prompts one after the
other in one session. is_compaction() says whether an entry of a transcript records a compaction.
"""

from __future__ import annotations

from typing import Any

from real_clients import claude, codex, copilot, gemini, openclaw, opencode, pi, qwen

CLIENTS: dict[str, Any] = {
    module.COMMAND: module for module in (pi, claude, codex, gemini, qwen, copilot, opencode, openclaw)
}
