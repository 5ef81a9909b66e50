"""The five clients. Each module has PACKAGE and VERSION (npm), COMMAND, LIMITS, drive() and is_compaction().

LIMITS say when the client compacts; a script's "client" object stands above them. drive() writes the least
configuration that the client needs into HOME (what is there stays) and sends the prompts, one after the other, in one
session. is_compaction() tells a compaction in an entry of the client's own transcript.
"""

from __future__ import annotations

from typing import Any

from real_clients import claude, codex, gemini, opencode, pi

CLIENTS: dict[str, Any] = {"pi": pi, "claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}
