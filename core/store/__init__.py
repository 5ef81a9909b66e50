"""The SQLite store: all SQL of the product."""
