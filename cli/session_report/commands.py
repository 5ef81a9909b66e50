"""What `session`, `report` and `briefing` take."""

import clients
from cli.parameter import HOURS, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_OF_CLIENT = "only of this client"

_LIST = (
    P("limit", ("--limit", "-n"), "most sessions to list", kind="whole", default=20, low=1, high=10_000),
    P("project", ("--project",), "only of this project"),
    P("client", ("--client",), _OF_CLIENT, choices=tuple(clients.NAMES), metavar="CLIENT"),
    P("hours", ("--hours",), "only those active in the last N hours", kind="number", low=0, high=876_000),
)
_SHOW = (
    P("id", (), "session id, or its beginning (default: this session, else the newest of this project)"),
    P("full", ("--full",), "every turn, and injected texts in full", kind="flag"),
)


def _command(path: str, function: str, help_: str, parameters: tuple[P, ...]) -> Command:
    run, view = f"cli.session_report.sessions:{function}", f"cli.session_report.view:{function}"
    return Command(path, run, help_, *parameters, view=view)


COMMANDS: tuple[Command, ...] = (
    _command("session list", "list_", "All sessions, the most recently active first.", _LIST),
    _command(
        "session show",
        "show",
        "One session in detail: turns, context, what was injected and used, what the hooks cost.",
        _SHOW,
    ),
    _command(
        "report",
        "report",
        "The sessions of the last hours: what hooks cost, what was injected, found and used, errors.",
        (HOURS,),
    ),
    Command(
        "briefing",
        "cli.session_report.briefing:run",
        "Where a repository was left, and its newest memories.",
        P("repo", ("--repo",), "a folder of it (default: the current one)", metavar="DIR", file=True),
        P("budget", ("--budget", "-n"), "most memories", kind="whole", default=10, low=1, high=100),
        P("format", ("--format",), "json, or text for an agent", default="json", choices=("json", "text")),
    ),
)
