"""Compaction outside a client: what a session file holds, whether to compact it, where to cut it, what it says."""
