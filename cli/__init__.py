"""The command line: one declaration of every command, two front ends, and one module per command group."""
