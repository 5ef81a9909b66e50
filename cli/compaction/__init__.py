"""`compaction`: what a compaction does, outside the client."""
