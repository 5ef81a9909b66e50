"""The SQLite store: all SQL of the product, in a module per topic."""
