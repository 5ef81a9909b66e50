"""One search over all that is kept: memories, knowledge, sessions, events."""
