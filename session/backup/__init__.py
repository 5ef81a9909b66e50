"""A home kept, moved and emptied: backup and restore, purge, retention."""
