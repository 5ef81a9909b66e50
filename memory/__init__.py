"""Memory: writing observations, import and export, reports; in folders: archive, observe, knowledge, vault."""
