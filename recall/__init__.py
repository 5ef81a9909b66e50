"""Query to ranked hits: lexical and semantic search, fusion, budgets, the trust pass."""
