"""What `install`, `uninstall`, `mcp`, `status`, `doctor`, `trust`, `off`, `on`, `exclude` and `completion` take."""

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table
from clients import registry

_AGENTS = tuple(registry.NAMES)
_INTO = (
    P("agent", (), f"{', '.join(_AGENTS)}; one or more", many=True, choices=_AGENTS, metavar="AGENT"),
    P("all", ("--all",), "every agent found on this machine", kind="flag"),
    P("project", ("--project",), "for the project in this folder instead of the user", kind="flag"),
    P("dry_run", ("--dry-run",), "show what would change without changing it", kind="flag"),
    P("diff", ("--diff",), "show every line that changes, also of whole files of ours", kind="flag"),
    P("yes", ("--yes", "-y"), "answer yes to every question", kind="flag"),
)
_MCP = P("mcp", ("--mcp",), "also add the MCP server, where the client supports it", kind="flag")
_OF_WHAT = (
    P("session", ("--session",), "this session (default: the one around the command)", metavar="ID"),
    P("project", ("--project",), "the project of the current folder (default if no session is known)", kind="flag"),
    P("everywhere", ("--everywhere",), "all sessions", kind="flag"),
)
_CLIENT = f"check only this client: {', '.join(_AGENTS)}; repeatable (default: all that are installed)"
_EXCLUDED = (
    P("folder", (), "the folder (default: the current one)", metavar="FOLDER", file=True),
    P("list", ("--list",), "show the folders that are excluded", kind="flag"),
    P("remove", ("--remove",), "archive them again", metavar="FOLDER", file=True),
)
_TRUSTED = (
    P("folder", (), "a folder of the project (default: the current one)", metavar="FOLDER", file=True),
    P("list", ("--list",), "show the folders that are trusted", kind="flag"),
    P("revoke", ("--revoke",), "stop trusting the folder", kind="flag"),
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
        "Add joelclaw to an agent's settings (hooks, an extension or a plugin), and offer to archive past sessions.",
        _MCP,
        P("list", ("--list",), "show what is installed where", kind="flag"),
        P("no_archive", ("--no-archive",), "do not archive past sessions", kind="flag"),
    ),
    _install("uninstall", "Remove joelclaw from an agent's settings; the rest of them, and the memory, stay."),
    Command(
        "mcp",
        "cli.installation.mcp_server:run",
        "Serve MCP tools (recall, remember, how, fix, show, forget, session) to the agent that starts it.",
        code="USAGE",
    ),
    Command(
        "status",
        "cli.installation.status:run",
        "Store, counts, versions, sessions and last events. Exit 0 even if something is wrong: see `problems`.",
        code="USAGE",
        view="cli.installation.view:overview",
    ),
    Command(
        "doctor",
        "cli.installation.status:doctor",
        "Find out why nothing is remembered: runs the hooks and reads the store. Exit 1 if something does not work.",
        P("client", ("--client",), _CLIENT, many=True, choices=_AGENTS, metavar="NAME"),
        P("project", ("--project",), "the hooks of the project in this folder instead of the user's", kind="flag"),
        P("fix", ("--fix",), "fix what is safe to fix: our entries, file modes, leftover files", kind="flag"),
        view="cli.installation.view:report",
    ),
    _switch(
        "trust",
        "Let a project's files choose what is recalled: also from global memories.",
        _TRUSTED,
        "TRUST_INVALID_ARGS",
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
