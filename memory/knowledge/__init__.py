"""Folders of markdown (decision records, skills, notes) become knowledge, and are searched."""
