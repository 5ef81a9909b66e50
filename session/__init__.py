"""What one agent session knows: its JSON state, zones, checkpoint and injections."""
