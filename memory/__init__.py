"""Text → stored observation: gate, category, near duplicates; import, export and the scorecard."""
