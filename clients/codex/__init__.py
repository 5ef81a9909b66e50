"""Codex."""

from clients import Client
from clients.claude import Claude


class Codex(Client):
    """Its hooks are those of Claude Code (0.169.0)."""

    name = "codex"
    title = "Codex"
    home_variable = "CODEX_HOME"
    home_folder = ".codex"
    settings_file = "hooks.json"
    hook_timeout = 5  # seconds
    edit_tools = "apply_patch|Edit|Write"  # the last two are aliases of the first
    transcripts = "sessions/rollout-*.jsonl"
    events = {name: kind for name, kind in Claude.events.items() if kind != "summary"}
    session_file = "rollout"
    has_entries = True
    window = 272_000
    session_variable = "CODEX_THREAD_ID"
    login_shell = True
