"""`backup` and `restore`."""
