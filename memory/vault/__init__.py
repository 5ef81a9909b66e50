"""The vault: one folder of notes, read by reference and searched."""
