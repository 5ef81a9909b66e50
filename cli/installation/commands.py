"""What `install`, `uninstall`, `status`, `doctor`, `trust` and `completion` take."""

from __future__ import annotations

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table
from clients import registry

_AGENTS = tuple(registry.CLIENTS)
_INTO = (
    P("agent", (), f"{', '.join(_AGENTS)}; several may be named", many=True, choices=_AGENTS, metavar="AGENT"),
    P("all", ("--all",), "every agent that is found here", kind="flag"),
    P("project", ("--project",), "for the project in this folder instead of the user", kind="flag"),
    P("dry_run", ("--dry-run",), "show what would change, and change nothing", kind="flag"),
    P("diff", ("--diff",), "show whole files of ours line by line, too", kind="flag"),
    P("yes", ("--yes", "-y"), "do not ask", kind="flag"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "install",
        "cli.installation.install:install",
        "Enter joelclaw in an agent's own configuration: hooks, an extension or a plugin.",
        (
            *_INTO,
            P("mcp", ("--mcp",), "also our MCP server, in a client that starts such", kind="flag"),
            P("list", ("--list",), "show what is installed where", kind="flag"),
        ),
        code="INSTALL_INVALID_ARGS",
        view="cli.installation.view:install",
    ),
    Command(
        "uninstall",
        "cli.installation.install:uninstall",
        "Take joelclaw out of an agent's configuration; all else in it stays.",
        _INTO,
        code="INSTALL_INVALID_ARGS",
        view="cli.installation.view:changes",
    ),
    Command(
        "status",
        "cli.installation.status:run",
        "Store, counts, versions, sessions and last events. Exit 0 even if `healthy` is false: see `problems`.",
        view="cli.installation.view:overview",
    ),
    Command(
        "doctor",
        "cli.installation.status:doctor",
        "Find out why nothing is remembered: call the hooks, read the store. Exit 1 where something does not work.",
        (
            P(
                "client",
                ("--client",),
                f"look at this client alone: {', '.join(_AGENTS)}; repeatable (default: those that are here)",
                many=True,
                choices=_AGENTS,
                metavar="NAME",
            ),
            P("project", ("--project",), "the hooks of the project in this folder instead of the user's", kind="flag"),
            P("fix", ("--fix",), "mend what is safe: our entries, modes, leftovers, the log", kind="flag"),
        ),
        code="DOCTOR_INVALID_ARGS",
        view="cli.installation.doctor_view:report",
    ),
    Command(
        "trust",
        "cli.installation.trust:run",
        "Let a project's files choose what is recalled, also from memories of no project.",
        (
            P("folder", (), "a folder of the project (default: the current one)", metavar="FOLDER", file=True),
            P("list", ("--list",), "show the folders that are trusted", kind="flag"),
            P("revoke", ("--revoke",), "trust the folder no more", kind="flag"),
        ),
        code="TRUST_INVALID_ARGS",
        view="cli.installation.view:trust",
    ),
    Command(
        "completion",
        "cli.installation.completion:run",
        "Print the completion script of a shell, or put it where the shell looks.",
        (
            P(
                "shell",
                (),
                "bash, zsh or fish (default: that of $SHELL)",
                choices=("bash", "zsh", "fish"),
                metavar="SHELL",
            ),
            P("install", ("--install",), "put it where this user's shell looks for completions", kind="flag"),
            P("uninstall", ("--uninstall",), "take it away from there", kind="flag"),
        ),
        code="COMPLETION_INVALID_ARGS",
        view="cli.terminal:told",
    ),
)
