"""What is known about an agent session, and what happens at its hooks: state, reactions, compaction, installation."""
