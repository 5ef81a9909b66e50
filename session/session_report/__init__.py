"""What became of sessions: one session's life, a list of them, a report over all; as records and as pages."""
