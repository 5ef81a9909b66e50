"""What `otel` takes."""

from cli.parameter import ADAPTER, HOURS, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_WHERE = (
    P("source", ("--source",), "sources, comma-separated", metavar="CSV"),
    P("component", ("--component",), "components, comma-separated", metavar="CSV"),
)
_FOLLOW = P("follow", ("--follow", "-f"), "print new events, until Ctrl-C", kind="flag")
_QUERY = (
    P("query", (), "all words must match; a|b means either", metavar="QUERY"),
    P("invert", ("-v", "--invert"), "only events that do not match the query", kind="flag"),
)
_LAST_MS = 253_402_300_799_999

COMMANDS: tuple[Command, ...] = (
    Command(
        "otel emit",
        "cli.otel.emit:run",
        "Record an event. Without ACTION, stdin holds it as a JSON object.",
        P("action_word", (), "what happened, as dotted words", metavar="ACTION"),
        P("action", ("--action",), "the same; beats the word"),
        P("source", ("--source",), "where it comes from (default cli)"),
        P("component", ("--component",), "which part (default otel-cli)"),
        P("level", ("--level",), "severity (default info)", choices=("debug", "info", "warn", "error", "fatal")),
        P("success", ("--success",), "whether it succeeded (default true)", kind="truth"),
        P("metadata", ("--metadata",), "a JSON object", metavar="JSON"),
        P("id", ("--id",), "its id; a second event with it is not stored"),
        P("timestamp", ("--timestamp",), "when, in ms since the epoch", kind="whole", low=0, high=_LAST_MS),
        P("error", ("--error",), "what went wrong"),
        P("duration_ms", ("--duration-ms",), "how long it took, in ms", kind="number", low=0),
        P("session", ("--session",), "session id (default: from the environment)", metavar="ID"),
        P("stdin", ("--stdin",), "read stdin all the same; flags beat it", kind="flag"),
        ADAPTER,
    ),
    *(
        Command(
            f"otel {name}",
            f"cli.otel.search:{name}",
            what,
            *(_QUERY if name == "search" else ()),
            P("level", ("--level",), "severities, comma-separated", metavar="CSV"),
            *_WHERE,
            P("session", ("--session",), "only this session", metavar="ID"),
            P("system", ("--system",), "only this machine", metavar="ID"),
            P("success", ("--success",), "only successes, or only failures", kind="truth"),
            P("action", ("--action",), "actions, comma-separated", metavar="CSV"),
            P("since", ("--since",), "since when: 2w (h, d, w, mo, y), or a day", metavar="TIME"),
            HOURS,
            P("limit", ("--limit", "-n"), "most events to show", kind="whole", default=30, low=1, high=200),
            P("page", ("--page",), "which page of them", kind="whole", default=1, low=1, high=1_000_000),
            ADAPTER,
            *((_FOLLOW,) if name == "search" else ()),
            view="cli.otel.view:events",
        )
        for name, what in (("list", "The newest events."), ("search", "Find events by their words."))
    ),
    Command(
        "otel stats",
        "cli.otel.search:stats",
        "How many events and errors, in the window and in the last 15 minutes.",
        *_WHERE,
        HOURS,
        ADAPTER,
        view="cli.otel.view:stats",
    ),
    Command(
        "otel prune",
        "cli.otel.search:prune",
        "Delete old events.",
        P("days", ("--days",), "days to keep (default: retention.events_days)", kind="number", low=0, high=36_500),
    ),
    Command(
        "otel export",
        "cli.otel.search:export",
        "Send pending events to an OTLP collector (the OTEL_* variables): logs, traces and metrics.",
        P("status", ("--status",), "only say what is pending, and how it went", kind="flag"),
    ),
    *(
        Command(
            f"o11y {name}",
            f"cli.otel.search:of_{name}",
            f"Show the events of one {what}.",
            P("id", (), f"the {what}'s id", required=True, metavar="ID"),
            HOURS,
            P("limit", ("--limit", "-n"), "most events to show", kind="whole", default=50, low=1, high=200),
            code="OTEL_INVALID_ARGS",
            view="cli.otel.view:events",
        )
        for name, what in (("session", "session"), ("system", "machine"))
    ),
)
