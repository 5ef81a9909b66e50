"""A Typesense cluster as a copy of the store: what waits for it, carrying it both ways, and recall from it."""
