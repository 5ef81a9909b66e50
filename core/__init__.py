"""What every room stands on: time, ids, JSON, errors, configuration, files and the store."""
