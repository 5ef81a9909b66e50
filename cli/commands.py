"""Every command of `joelclaw`. The only place where a name, a flag, a default or a help text is written."""

from __future__ import annotations

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_COLLECTIONS = "observations, episodes, knowledge (comma-separated; default all)"

_SESSION = P("session", ("--session",), "session id", metavar="ID")
_ROLE = P("role", ("--role",), "interactive (default), gateway, or the name of another role; kept for the session")
_NAMED_SESSION = P("id", (), "session id", required=True, metavar="ID")
_USAGE = (
    P("percent", ("--percent",), "context usage, 0 to 100", kind="number", low=0, high=1000, metavar="P"),
    P("tokens", ("--tokens",), "context usage in tokens; needs --window", kind="whole", low=0, metavar="N"),
    P("window", ("--window",), "the model's context window in tokens", kind="whole", low=1, metavar="W"),
)
_HITS = P("limit", ("--limit", "-n"), "most hits to return (default 5, at most 100)", kind="whole", low=1, high=100)
_RAW = P("raw", ("--raw",), "print the text alone, no JSON", kind="flag")
_HOURS = P("hours", ("--hours",), "how far back, in hours", kind="number", default=24, low=0, high=876_000)

COMMANDS: tuple[Command, ...] = (
    Command(
        "recall",
        "cli.recall:run",
        "Search memory for what bears on a query.",
        (
            P("query", (), "what to look for", metavar="QUERY"),
            _HITS,
            P(
                "min_score",
                ("--min-score",),
                "drop hits below this score, 0 to 1",
                kind="number",
                default=0,
                low=0,
                high=1,
            ),
            _RAW,
            P("include_hold", ("--include-hold",), "also memories that the write gate held back", kind="flag"),
            P("include_discard", ("--include-discard",), "also memories that the write gate discarded", kind="flag"),
            P(
                "budget",
                ("--budget",),
                "how much work to do",
                default="auto",
                choices=("auto", "lean", "balanced", "deep"),
            ),
            P("category", ("--category", "-c"), "only this category (an alias such as `ops` will do)"),
            P("collection", ("--collection",), _COLLECTIONS, metavar="NAMES"),
            P("session", ("--session",), "only this session's memories", metavar="ID"),
            P("project", ("--project",), "only this project's memories"),
            P(
                "batch",
                ("--batch",),
                "one query a line from FILE (- is stdin), one JSON line each",
                metavar="FILE",
                file=True,
            ),
        ),
        hot=True,
        code="RECALL_INVALID_ARGS",
        view="cli.views.recall:hits",
    ),
    Command(
        "memory write",
        "cli.memory_write:run",
        "Store an observation; it can be recalled when the command returns.",
        (
            P("text", (), "the observation (- reads it from stdin)", metavar="TEXT"),
            P("category", ("--category", "-c"), "its category", default="ops"),
            P("tags", ("--tags", "-t"), "comma-separated tags", default="", metavar="CSV"),
            P("source", ("--source", "-s"), "who says so", default="cli"),
            P("session", ("--session",), "the session it was learnt in", default="", metavar="ID"),
            P("project", ("--project",), "the project it is about", default=""),
        ),
        hot=True,
        code="MEMORY_INVALID_ARGS",
        view="cli.views.memory:write",
    ),
    Command(
        "memory search",
        "cli.recall:search",
        "Recall with the automatic budget.",
        (
            P("query", (), "what to look for", metavar="QUERY"),
            _HITS,
            P("category", ("--category", "-c"), "only this category"),
            _RAW,
        ),
        code="RECALL_INVALID_ARGS",
        view="cli.views.recall:hits",
    ),
    Command(
        "memory recent",
        "cli.memory:recent",
        "The newest observations.",
        (P("count", ("--count", "-n"), "how many", kind="whole", default=10, low=1, high=1000), _HOURS),
        view="cli.views.memory:recent",
    ),
    Command(
        "memory scorecard",
        "cli.memory:scorecard",
        "How well memory does: fallbacks, yield, coverage, skips.",
        (_HOURS,),
        code="SCORECARD_FAILED",
        view="cli.views.memory:scorecard",
    ),
    Command(
        "memory show",
        "cli.memory:show",
        "One memory with everything known of it.",
        (P("id", (), "its id", required=True, metavar="ID"),),
        view="cli.views.memory:show",
    ),
    Command(
        "memory forget",
        "cli.memory:forget",
        "Take memories out of recall and export, for good unless undone.",
        (
            P("ids", (), "their ids", many=True, required=True, metavar="ID"),
            P("undo", ("--undo",), "bring them back", kind="flag"),
        ),
        view="cli.views.memory:forget",
    ),
    Command(
        "memory import",
        "cli.memory_bulk:import_",
        "Take in JSON lines: {text, id?, collection?, context?, category?, tags?, source?, session?, project?, ...}.",
        (P("file", (), "the file (- is stdin)", required=True, metavar="FILE", file=True),),
        view="cli.views.memory:import_",
    ),
    Command(
        "memory export",
        "cli.memory_bulk:export",
        "Print every memory as JSON lines that `memory import` takes.",
        (P("collection", ("--collection",), _COLLECTIONS, metavar="NAMES"),),
    ),
    Command(
        "memory stats",
        "cli.memory:stats",
        "How many memories there are, by collection, verdict, category and source.",
        (),
        view="cli.views.memory:stats",
    ),
    Command(
        "memory index",
        "cli.memory_index:run",
        "Give memories contextual vectors, which `recall --budget deep` reads; needs the extra `contextual`.",
        (
            P(
                "limit",
                ("--limit", "-n"),
                "most memories to embed (default all)",
                kind="whole",
                low=1,
                high=100_000_000,
            ),
            P(
                "budget_seconds",
                ("--budget-seconds",),
                "begin no further ones after this many seconds",
                kind="number",
                low=0,
                high=1_000_000,
            ),
        ),
        code="MEMORY_INVALID_ARGS",
    ),
    Command(
        "otel emit",
        "cli.otel_emit:run",
        "Record an event. Without an action in the words, stdin holds it as a JSON object.",
        (
            P("action_word", (), "what happened, as dotted words", metavar="ACTION"),
            P("action", ("--action",), "the same, as a flag; it wins over the word"),
            P("source", ("--source",), "what kind of session (default cli)"),
            P("component", ("--component",), "which part (default otel-cli)"),
            P("level", ("--level",), "severity (default info)", choices=("debug", "info", "warn", "error", "fatal")),
            P("success", ("--success",), "true or false (default true)", kind="truth"),
            P("metadata", ("--metadata",), "a JSON object", metavar="JSON"),
            P("id", ("--id",), "event id; a second event with the same id is not stored"),
            P(
                "timestamp",
                ("--timestamp",),
                "when, in ms since the epoch",
                kind="whole",
                low=0,
                high=253_402_300_799_999,
            ),
            P("error", ("--error",), "what went wrong"),
            P("duration_ms", ("--duration-ms",), "how long it took, in ms", kind="number", low=0),
            P("session", ("--session",), "session id (default from the environment)", metavar="ID"),
            P("stdin", ("--stdin",), "read the event from stdin even so; flags beat it", kind="flag"),
        ),
        hot=True,
        code="OTEL_INVALID_ARGS",
        view="cli.views.otel:emitted",
    ),
    *(
        Command(
            f"otel {name}",
            f"cli.otel:{name}",
            what,
            (
                *((P("query", (), "words that must all occur", metavar="QUERY"),) if name == "search" else ()),
                P("level", ("--level",), "severities, comma-separated", metavar="CSV"),
                P("source", ("--source",), "sources, comma-separated", metavar="CSV"),
                P("component", ("--component",), "components, comma-separated", metavar="CSV"),
                P("session", ("--session",), "only this session", metavar="ID"),
                P("system", ("--system",), "only this machine", metavar="ID"),
                P("success", ("--success",), "only successes (true) or failures (false)", kind="truth"),
                _HOURS,
                P("limit", ("--limit", "-n"), "most events to show", kind="whole", default=30, low=1, high=200),
                P("page", ("--page",), "which page of them", kind="whole", default=1, low=1, high=1_000_000),
                *(
                    (P("follow", ("--follow", "-f"), "print new events as they come, until Ctrl-C", kind="flag"),)
                    if name == "search"
                    else ()
                ),
            ),
            code="OTEL_INVALID_ARGS",
            view="cli.views.otel:events",
        )
        for name, what in (("list", "The newest events."), ("search", "Events that hold all the words."))
    ),
    Command(
        "otel stats",
        "cli.otel:stats",
        "How many events and errors, in the window and in the last 15 minutes.",
        (
            P("source", ("--source",), "sources, comma-separated", metavar="CSV"),
            P("component", ("--component",), "components, comma-separated", metavar="CSV"),
            _HOURS,
        ),
        code="OTEL_INVALID_ARGS",
        view="cli.views.otel:stats",
    ),
    Command(
        "otel prune",
        "cli.otel:prune",
        "Drop old events.",
        (
            P(
                "days",
                ("--days",),
                "keep this many days (default otel.retention_days, 90)",
                kind="number",
                low=0,
                high=36_500,
            ),
        ),
        code="OTEL_INVALID_ARGS",
        view="cli.views.otel:pruned",
    ),
    Command(
        "checkpoint save",
        "cli.checkpoint:save",
        "Call it at the end of a turn: tracks the task, recalls when the context is warm, remembers when it is hot.",
        (
            _SESSION,
            *_USAGE,
            P(
                "message",
                ("--message", "-m"),
                "a user message, oldest first; may be repeated",
                many=True,
                metavar="TEXT",
            ),
            P(
                "file",
                ("--file",),
                "a file that was written or edited; may be repeated",
                many=True,
                metavar="PATH",
                file=True,
            ),
            _ROLE,
            P("stdin", ("--stdin",), "the same fields as a JSON object on stdin; flags beat it", kind="flag"),
        ),
        hot=True,
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.views.session:save",
    ),
    Command(
        "checkpoint flush",
        "cli.checkpoint:flush",
        "Call it before a compaction: the last checkpoint and its events.",
        (
            _SESSION,
            *_USAGE,
            _ROLE,
        ),
        hot=True,
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.views.session:save",
    ),
    Command(
        "checkpoint show",
        "cli.checkpoint:show",
        "What is known of one session.",
        (_NAMED_SESSION,),
        hot=True,
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.views.session:show",
    ),
    Command(
        "checkpoint list",
        "cli.checkpoint:list_",
        "All sessions with a state file, newest first.",
        (),
        hot=True,
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.views.session:list_",
    ),
    Command(
        "checkpoint clear",
        "cli.checkpoint:clear",
        "Remove one session's state file.",
        (_NAMED_SESSION,),
        hot=True,
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.views.session:clear",
    ),
    Command(
        "inject recovery",
        "cli.inject:recovery",
        "Call it after a compaction: the signpost to hand to the agent.",
        (_SESSION, _ROLE, _RAW),
        hot=True,
        code="INJECT_INVALID_ARGS",
        view="cli.views.session:injection",
    ),
    Command(
        "inject memory",
        "cli.inject:memory",
        "Call it when a session starts: memories that bear on it, once per session.",
        (
            _SESSION,
            _ROLE,
            P("query", ("--query",), "what to recall (default by role, see inject.query)"),
            P("project", ("--project",), "only this project's memories"),
            _RAW,
        ),
        hot=True,
        code="INJECT_INVALID_ARGS",
        view="cli.views.session:injection",
    ),
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

GROUPS = {
    "memory": "Write, find, move and forget memories.",
    "otel": "What happened: emit, search and follow events.",
    "checkpoint": "What one session is doing, kept while its context fills.",
    "inject": "Short texts to hand to an agent.",
}

BY_PATH = {command.path: command for command in COMMANDS}
