"""`checkpoint`, `inject` and `hook`: one agent's session."""
