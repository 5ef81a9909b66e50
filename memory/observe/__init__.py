"""Lets a model note what a session taught."""
