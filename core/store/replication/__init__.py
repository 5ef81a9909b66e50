"""Copies of the store: what waits for a cluster, pushing and pulling it, comparing both."""
