"""Gemini CLI."""
