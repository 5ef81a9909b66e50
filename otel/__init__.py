"""What happened: events, as OpenTelemetry log records."""
