"""What `checkpoint`, `inject`, `lost` and `hook` take."""

import clients
from cli.parameter import RAW, SESSION, TOKENS, WINDOW, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_ROLE = P("role", ("--role",), "interactive (default), gateway or another; kept for the session")
_NAMED_SESSION = P("id", (), "session id", required=True, metavar="ID")
_PERCENT = P("percent", ("--percent",), "context usage, 0 to 100", kind="number", low=0, high=1000, metavar="P")
_USAGE = (_PERCENT, TOKENS, WINDOW)
_KINDS = ("files", "names", "commands", "errors", "words")
_LIMIT = "how many of each kind (default 5 to 8, names 40)"
_SAID = P("message", ("--message", "-m"), "a prompt, oldest first", many=True, metavar="TEXT")
_WRITTEN = "a file that was edited"
_EDITED = "the file that is edited"


def _checkpoint(name: str, about: str, *parameters: P, view: str = "cli.terminal:told") -> Command:
    run = f"cli.session.checkpoint:{'list_' if name == 'list' else name}"
    return Command(f"checkpoint {name}", run, about, *parameters, view=view)


def _inject(name: str, about: str, *parameters: P) -> Command:
    given = (SESSION, _ROLE, *parameters, RAW)
    return Command(f"inject {name}", f"cli.session.inject:{name}", about, *given, view="cli.session.view:injection")


COMMANDS: tuple[Command, ...] = (
    Command(
        "lost",
        "cli.session.lost:run",
        "What the last compaction dropped, and how to get each back.",
        P("session", (), "session id, or its beginning (default: this session, else the last compacted here)"),
        P("limit", ("--limit", "-n"), _LIMIT, kind="whole", low=1, high=1000),
        P("all", ("--all",), "all of each kind", kind="flag"),
        P("kind", ("--kind", "-k"), "only this kind", many=True, choices=_KINDS, metavar="KIND"),
        RAW,
        view="cli.session.view:lost",
    ),
    _checkpoint(
        "save",
        "Call it at the end of a turn: saves the task, recalls in the warm zone, remembers in the hot one.",
        SESSION,
        *_USAGE,
        _SAID,
        P("file", ("--file",), _WRITTEN, many=True, metavar="PATH", file=True),
        _ROLE,
        P("stdin", ("--stdin",), "read a JSON object of the same names; flags beat it", kind="flag"),
    ),
    _checkpoint("flush", "Call it before a compaction: saves the last checkpoint.", SESSION, *_USAGE, _ROLE),
    _checkpoint("show", "What is known of one session.", _NAMED_SESSION, view="cli.session.view:show"),
    _checkpoint("list", "All sessions with a state file, newest first.", view="cli.session.view:list_"),
    _checkpoint("clear", "Remove one session's state file.", _NAMED_SESSION),
    _inject("recovery", "Call it after a compaction: the recovery note to hand to the agent."),
    _inject(
        "memory",
        "Call it when a session starts: memories that fit it, once.",
        P("query", ("--query",), "what to recall (default: inject.query)"),
        P("project", ("--project",), "its project (default: the folder's)"),
    ),
    _inject(
        "refresh",
        "Call it when a message arrives: memories about the topic, when due.",
        P("message", ("--message", "-m"), "what the user just said", metavar="TEXT"),
        _PERCENT,
    ),
    _inject(
        "project",
        "Call it when a file is edited: memories that name it, once.",
        P("file", ("--file",), _EDITED, many=True, metavar="PATH", file=True),
        P("cwd", ("--cwd",), "where the agent works (default: here)", metavar="DIR", file=True),
    ),
    Command(
        "hook",
        "cli.session.hook:run",
        "Your agent calls this, with an event on stdin. Always exits 0. To test it, run `joelclaw doctor`.",
        P("agent", (), clients.either(clients.NAMES), metavar="AGENT"),
        P("event", (), "the event, if stdin does not name it", metavar="EVENT"),
    ),
)
