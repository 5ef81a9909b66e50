"""`memory`: write, import, report, archive and observe."""
