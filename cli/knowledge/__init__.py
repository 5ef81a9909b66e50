"""`knowledge` and `vault`: folders of markdown."""
