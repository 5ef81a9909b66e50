"""The commands of `joelclaw`, declared with Typer: a module for each group.

A module has an `app`, a `typer.Typer` with the module's commands and groups. To add a command, write a function below
`@app.command("NAME")`: its docstring is the help, its parameters are the options (`cli/shared.py` has those of several
commands), and it returns an `Answer`. To add a group, also list its first word here. Then run `make docs`.

The commands that agents run several times a turn must not import Typer. They are declared here like all others, but the
declared function is empty: those that run are in `recall_hot.py` and `hot.py`, and `make docs` generates
`cli/hot_table.py` for them.
"""

_WORDS = {
    "recall": "recall show how fix search",
    "session": "lost session briefing sessions",
    "memory": "memory note",
    "knowledge": "knowledge vault",
    "otel": "otel o11y",
    "compaction": "checkpoint inject hook compaction idle",
    "setup": "install uninstall off on exclude completion mcp",
    "home": "status doctor project store backup restore",
}
MODULES = {word: module for module, words in _WORDS.items() for word in words.split()}
"""The first word of each command and the module that declares it, in the order of the help."""

HOT_COMMANDS = ("recall", "memory write", "knowledge search", "otel emit", "checkpoint save", "checkpoint flush",
                "inject recovery", "inject memory", "inject refresh", "inject project")  # fmt: skip
"""`hot.py` and `recall_hot.py` have functions of these names, as `memory_write`. `cli/start.py` reads `hook`."""
