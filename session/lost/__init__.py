"""What a compaction dropped: what stood before it and is absent from its summary, each with how to get it back."""
