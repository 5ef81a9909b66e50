"""The texts that an agent is given, and whether it used them."""
