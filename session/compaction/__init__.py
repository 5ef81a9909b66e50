"""What a compaction of a transcript should do: where to cut, what to say of the rest."""
