"""The command line: the two front ends, and one folder per command group: `commands` declares it, `view` draws it."""
