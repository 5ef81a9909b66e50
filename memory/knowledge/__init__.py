"""Folders of markdown: decision records, skills, notes, and the vault."""
