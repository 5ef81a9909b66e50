"""OTLP: events sent to collectors, written to files and read from them."""
