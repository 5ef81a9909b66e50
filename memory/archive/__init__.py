"""Transcripts become episodes."""
