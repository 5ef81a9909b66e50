"""The commands of `joelclaw`, declared with Typer: a module for each topic.

A module has an `app`, a `typer.Typer` with the module's commands and groups. To add a command, write a function below
`@app.command("NAME")`: its docstring is the help, its parameters are the options (`cli/shared.py` has those of several
commands), and it returns an `Answer`. Then run `make docs`, and add the row that `tests/core/test_one_way_out.py`
misses.

The commands that agents run several times a turn must not import Typer. They are declared like all others, but return
None, and the declared function is empty: the function that runs is in `hot.py` (that of `recall` in `recall_hot.py`),
named like `memory_write`, and takes the same options. `make docs` writes what the parser must know of them into
`cli/hot_table.py`.
"""

MODULES = ("recall", "session", "memory", "knowledge", "otel", "compaction", "setup", "home")
"""The modules with commands, in the order of the help."""
