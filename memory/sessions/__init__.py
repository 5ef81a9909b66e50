"""Archived sessions, read back: as lines, searched, and boiled down to what matters for a topic."""
