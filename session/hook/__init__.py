"""One hook call: payload, pipeline, answer, events."""
