"""What is wrong with the way from a client to its memory, and what mends it."""
