"""How a recall came to its answer: what the searches said, and what became of each score."""
