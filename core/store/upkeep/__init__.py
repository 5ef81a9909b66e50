"""What keeps the store whole: what is wrong with it, copies, deletion that leaves nothing, room given back."""
