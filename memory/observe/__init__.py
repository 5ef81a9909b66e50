"""A model notes what a session taught."""
