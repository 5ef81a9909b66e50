"""What `install`, `uninstall`, `mcp`, `status`, `doctor`, `off`, `on`, `exclude` and `completion` take."""

import clients
from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_AGENTS = tuple(clients.NAMES)
_INTO = (
    P("agent", (), ", ".join(_AGENTS), many=True, choices=_AGENTS, metavar="AGENT"),
    P("all", ("--all",), "every agent found here", kind="flag"),
    P("project", ("--project",), "for this folder's project, not the user", kind="flag"),
    P("dry_run", ("--dry-run",), "only show what would change", kind="flag"),
    P("diff", ("--diff",), "show every line that changes", kind="flag"),
    P("yes", ("--yes", "-y"), "answer yes to every question", kind="flag"),
)
_MCP = P("mcp", ("--mcp",), "also add the MCP server, where the client supports it", kind="flag")
_OF_WHAT = (
    P("session", ("--session",), "this session (default: the one that runs this command)", metavar="ID"),
    P("project", ("--project",), "the folder's project (default if no session is known)", kind="flag"),
    P("everywhere", ("--everywhere",), "all sessions", kind="flag"),
)
_CLIENT = "only this client"
_EXCLUDED = (
    P("folder", (), "the folder (default: the current one)", metavar="FOLDER", file=True),
    P("list", ("--list",), "show the folders that are excluded", kind="flag"),
    P("remove", ("--remove",), "archive them again", metavar="FOLDER", file=True),
)
_SHELLS = ("bash", "zsh", "fish")


def _switch(name: str, about: str, parameters: tuple[P, ...], code: str = "SWITCH_INVALID_ARGS") -> Command:
    return Command(name, f"cli.installation.switch:{name}", about, *parameters, code=code)


def _install(name: str, about: str, *parameters: P) -> Command:
    run, view = f"cli.installation.install:{name}", "cli.installation.view:install"
    return Command(name, run, about, *_INTO, *parameters, code="INSTALL_INVALID_ARGS", view=view)


COMMANDS: tuple[Command, ...] = (
    _install(
        "install",
        "Add joelclaw to an agent's settings; offer to archive past sessions.",
        _MCP,
        P("list", ("--list",), "show what is installed where", kind="flag"),
        P("no_archive", ("--no-archive",), "do not archive past sessions", kind="flag"),
    ),
    _install("uninstall", "Remove joelclaw from an agent's settings; the memory stays."),
    Command("mcp", "cli.installation.mcp_server:run", "Serve MCP tools to the agent that starts it.", code="USAGE"),
    Command(
        "status",
        "cli.installation.status:run",
        "Store, counts, versions, sessions and last events. Exits 0 even with `problems`.",
        code="USAGE",
        view="cli.installation.view:overview",
    ),
    Command(
        "doctor",
        "cli.installation.status:doctor",
        "Find out why nothing is remembered. Exit 1 if something does not work.",
        P("client", ("--client",), _CLIENT, many=True, choices=_AGENTS, metavar="NAME"),
        P("project", ("--project",), "this project's hooks instead of the user's", kind="flag"),
        P("fix", ("--fix",), "fix what is safe to fix", kind="flag"),
        view="cli.installation.view:report",
    ),
    _switch(
        "off",
        "Turn joelclaw off for a session, a project or everything: hooks inject, recall, archive and save nothing.",
        _OF_WHAT,
    ),
    _switch("on", "Turn joelclaw on again. What was said while off is never archived.", _OF_WHAT),
    _switch("exclude", "Never archive sessions of a folder or its subfolders.", _EXCLUDED),
    Command(
        "completion",
        "cli.installation.completion:run",
        'Print the completion script of a shell, to be sourced: eval "$(joelclaw completion bash)".',
        P("shell", (), "bash, zsh or fish (default: that of $SHELL)", choices=_SHELLS, metavar="SHELL"),
        P("offer", ("--offer",), "instead print what may be the last of these words", many=True, metavar="WORD"),
    ),
)
