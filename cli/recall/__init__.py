"""`recall`, and `memory search`."""
