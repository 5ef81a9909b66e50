"""The command line: the entry points, the parsers, the output, and in `commands/` a module for each command group."""
