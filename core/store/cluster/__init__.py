"""A Typesense cluster as a copy of the store: the outbox, syncing both ways, and recall from it."""
