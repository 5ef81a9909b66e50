"""Observing sessions: one when it is asked for, and by themselves those that were compacted or have ended."""
