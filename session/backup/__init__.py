"""Backup and restore of a home, and permanent deletion."""
