"""What keeps the store whole."""
