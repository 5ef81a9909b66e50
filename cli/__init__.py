"""The command line: the entry points, the parsers, the output, and in `commands/` one module per command group."""
