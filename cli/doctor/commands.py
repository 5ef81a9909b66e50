"""What `doctor` takes."""

from __future__ import annotations

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table
from clients import registry

_CLIENTS = tuple(registry.CLIENTS)

COMMANDS: tuple[Command, ...] = (
    Command(
        "doctor",
        "cli.doctor.doctor:run",
        "Find out why nothing is remembered: call the hooks, read the store. Exit 1 where something does not work.",
        (
            P(
                "client",
                ("--client",),
                f"look at this client alone: {', '.join(_CLIENTS)}; repeatable (default: those that are here)",
                many=True,
                choices=_CLIENTS,
                metavar="NAME",
            ),
            P("project", ("--project",), "the hooks of the project in this folder instead of the user's", kind="flag"),
            P("fix", ("--fix",), "mend what is safe: our entries, modes, leftovers, the log", kind="flag"),
        ),
        code="DOCTOR_INVALID_ARGS",
        view="cli.doctor.view:report",
    ),
)
