"""What is printed of stored text."""
