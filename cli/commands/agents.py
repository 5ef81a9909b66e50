"""What `install`, `uninstall` and `hook` take."""

from __future__ import annotations

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table
from clients import registry

_AGENTS = tuple(registry.CLIENTS)
_INTO = (
    P(
        "agent",
        (),
        f"{', '.join(_AGENTS)}; several may be named",
        many=True,
        choices=_AGENTS,
        metavar="AGENT",
    ),
    P("all", ("--all",), "every agent that is found here", kind="flag"),
    P("project", ("--project",), "for the project in this folder instead of the user", kind="flag"),
    P("dry_run", ("--dry-run",), "show what would change, and change nothing", kind="flag"),
    P("yes", ("--yes", "-y"), "do not ask", kind="flag"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "hook",
        "cli.hook:run",
        "Take an agent's hook event on stdin and answer it. Always exit 0.",
        (
            P("agent", (), registry.either(_AGENTS), metavar="AGENT"),
            P("event", (), "the event, where stdin does not name it", metavar="EVENT"),
        ),
        hot=True,
        code="HOOK_INVALID_ARGS",
    ),
    Command(
        "install",
        "cli.install:install",
        "Enter joelclaw in an agent's own configuration: hooks, an extension or a plugin.",
        (*_INTO, P("list", ("--list",), "show what is installed where", kind="flag")),
        code="INSTALL_INVALID_ARGS",
        view="cli.views.install:install",
    ),
    Command(
        "uninstall",
        "cli.install:uninstall",
        "Take joelclaw out of an agent's configuration; all else in it stays.",
        _INTO,
        code="INSTALL_INVALID_ARGS",
        view="cli.views.install:changes",
    ),
)
