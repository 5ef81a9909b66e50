"""`otel`: emit, search and export events."""
