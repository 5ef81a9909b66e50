"""The command line: the reader of words, and one folder per command group: `commands` declares it, `view` draws it."""
