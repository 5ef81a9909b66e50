"""Agent sessions: their state, hooks and reactions, compaction, and the installation into clients."""
