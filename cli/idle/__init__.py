"""`idle`: sessions that are compacted while nobody talks to them."""
