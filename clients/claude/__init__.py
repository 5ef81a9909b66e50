"""Claude Code."""

from clients import Client


class Claude(Client):
    """What PreCompact prints goes into the summariser's prompt, so nothing is printed there (2.1.329)."""

    name = "claude"
    title = "Claude Code"
    home_variable = "CLAUDE_CONFIG_DIR"
    home_folder = ".claude"
    settings_file = "settings.json"
    hook_timeout = 5  # seconds
    edit_tools = "Edit|Write|MultiEdit|NotebookEdit"
    transcripts = "projects/*.jsonl"
    events = {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "PostToolUse": "tool",
        "Stop": "turn",
        "PreCompact": "before_compaction",
        "SubagentStop": "summary",
        "SessionEnd": "end",
    }
    session_file = "transcript"
    has_entries = True
    named_by_file = True
    window_variable = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
    long_window = 1_000_000
    compact_command = 'claude -p "/compact" --resume {session}'  # seen to work with 2.1.329
    session_variable = "CLAUDE_CODE_SESSION_ID"
