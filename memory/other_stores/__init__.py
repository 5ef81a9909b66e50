"""What other tools remember, taken in: a module for each form of theirs, one that stores what they yield."""
