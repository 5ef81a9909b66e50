"""What happened in sessions: every hook call, and the text of every injection."""
