"""What became of sessions: one session in detail, a list of them, a report over all; as records and as pages."""
