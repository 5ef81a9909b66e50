"""What keeps the store whole: copies, deletion that leaves nothing, room given back, signs of what is missing."""
