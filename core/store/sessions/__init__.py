"""Archived sessions in SQL: transcripts, calls, places, segments, how far each was observed."""
