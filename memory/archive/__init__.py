"""Transcripts into episodes."""
