"""`store`: the Typesense cluster."""
