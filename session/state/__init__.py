"""The JSON state of one session: schema, file, and the rules that change it."""
