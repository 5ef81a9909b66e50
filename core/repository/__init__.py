"""What a repository brings along that somebody else wrote: its files, read with care, and whether it is trusted."""
