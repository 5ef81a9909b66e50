"""The texts about a session and what they are made of: requests, runs of commands, places, the recovery note."""
