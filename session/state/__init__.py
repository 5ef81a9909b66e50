"""The JSON state of one session: its fields and file, and the rules that change it."""
