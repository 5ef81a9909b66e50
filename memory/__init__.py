"""Memory: writing and correcting observations, import and export, reports; in folders: archive and knowledge."""
