"""Where documents, vectors and events are kept: one SQLite file, behind the interfaces of `core.records`."""
