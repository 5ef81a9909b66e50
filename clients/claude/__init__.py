"""Claude Code."""

from clients import Client


class Claude(Client):
    """What PreCompact prints goes into the summariser's prompt, so nothing is printed there (2.1.329)."""

    name = "claude"
    title = "Claude Code"
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
