"""Calls that name no command to run: overviews, help in a pipe, mistakes, and what is outside of what we do."""
