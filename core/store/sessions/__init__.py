"""What is kept of archived sessions, in SQL: transcripts, calls, segments, how far each was observed."""
