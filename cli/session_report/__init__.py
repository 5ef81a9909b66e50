"""`session list`, `session show` and `report`: what became of sessions."""
