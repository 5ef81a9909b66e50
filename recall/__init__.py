"""Query to ranked hits: candidates by words and meaning, scores, budgets, the trust pass."""
