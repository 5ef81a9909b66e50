"""A Typesense cluster as the second store: imported only where `store.backend` or a `store` command asks for it."""
