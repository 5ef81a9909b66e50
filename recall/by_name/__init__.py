"""What a query names: files, folders, programs, identifiers; what holds them, and what is shown of it."""
