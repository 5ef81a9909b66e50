"""Compacting sessions while nobody talks to them."""
