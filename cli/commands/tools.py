"""What `status` and `completion` take."""

from __future__ import annotations

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

COMMANDS: tuple[Command, ...] = (
    Command(
        "status",
        "cli.status:run",
        "Store, counts, versions, sessions and last events. Exit 0 even if `healthy` is false: see `problems`.",
        view="cli.views.status:overview",
    ),
    Command(
        "completion",
        "cli.completion:run",
        "Print the completion script of a shell.",
        (P("shell", (), "bash, zsh or fish", required=True, choices=("bash", "zsh", "fish"), metavar="SHELL"),),
    ),
)
