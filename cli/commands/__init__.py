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
    "setup": "install uninstall off on exclude completion",
    "mcp_server": "mcp",
    "home": "status doctor project store backup restore",
}
MODULES = {word: module for module, words in _WORDS.items() for word in words.split()}
"""The first word of each command and the module that declares it, in the order of the help."""

HOT_FUNCTIONS = {
    "recall": "recall_hot:recall",
    "memory write": "hot:write_memory",
    "knowledge search": "hot:search_knowledge",
    "otel emit": "hot:emit",
    "checkpoint save": "hot:save",
    "checkpoint flush": "hot:flush",
    "inject recovery": "hot:inject_recovery",
    "inject memory": "hot:inject_memory",
    "inject refresh": "hot:inject_refresh",
    "inject project": "hot:inject_project",
}
"""The hot commands and the functions that run them. `hook` is read in `cli/start.py`."""
