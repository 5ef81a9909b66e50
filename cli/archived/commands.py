"""What `sessions` takes: the mirrored CLI's options, of which those for other machines change nothing here."""

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_WHICH = P("session", (), "its id, its beginning, or its transcript file", required=True, metavar="SESSION", file=True)
_MIRRORED = "ignored: only this machine's archive is searched"
_MARKDOWN = "markdown also puts the same text into `markdown`"

COMMANDS: tuple[Command, ...] = (
    Command(
        "sessions search",
        "cli.archived.read:search",
        "Find archived sessions by what was said, done and noted in them.",
        P("query", (), "what to look for", required=True, metavar="QUERY"),
        P("limit", ("--limit", "-n"), "most sessions", kind="whole", default=8, low=1, high=100),
        P("extract", ("--extract",), "with each, what it holds about the query", kind="flag"),
        P("raw", ("--raw",), "without what was noted about a session", kind="flag"),
        P("runtime", ("--runtime",), "only sessions of this client", default=""),
        P("source", ("--source",), _MIRRORED, default="both", choices=("typesense", "ssh", "local", "both")),
        P("machine", ("--machine",), "likewise", default="", metavar="NAME"),
        P("ssh_target", ("--ssh-target",), "likewise", default="", metavar="HOST"),
        P("max_files", ("--max-files",), "likewise", kind="whole", default=2000, low=1, high=1_000_000),
        view="cli.archived.view:search",
    ),
    Command(
        "sessions extract",
        "cli.archived.read:extract",
        "What an archived session holds about a topic: requests, decisions, commands, files, what was left open.",
        _WHICH,
        P("query", ("--query",), "the topic (default: the session's beginning)", default=""),
        P("format", ("--format",), _MARKDOWN, default="json", choices=("json", "markdown")),
        view="cli.archived.view:extract",
    ),
    Command(
        "sessions inspect",
        "cli.archived.read:inspect",
        "The lines of an archived session around a regular expression.",
        _WHICH,
        P("around", ("--around",), "the expression; case is ignored", default="", metavar="REGEX"),
        P("before", ("--before",), "lines before a match", kind="whole", default=20, low=0, high=1000),
        P("after", ("--after",), "lines after a match", kind="whole", default=80, low=0, high=1000),
        view="cli.archived.view:inspect",
    ),
)
