"""What `recall` and `search` take."""

from cli.parameter import ADAPTER, COLLECTIONS_AND_CALLS, HITS, RAW, VERBATIM, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_BUDGETS = ("auto", "lean", "balanced", "deep")
_SESSION = "only of this session (its id, or the beginning)"
_BATCH = "read a query a line from FILE (- is stdin), print a JSON line each"
_TIME = "only what is newer: 2w (h, d, w, mo, y), 2026-05-31, or `last week`"
_COLLECTION = "only vault_notes, memory_observations, run_chunks or otel_events (a beginning will do)"
COMMANDS: tuple[Command, ...] = (
    Command(
        "recall",
        "cli.recall.search:run",
        "Search memory.",
        P("query", (), "what to look for", metavar="QUERY"),
        HITS,
        P("min_score", ("--min-score",), "omit hits below this score", "number", default=0, low=0, high=1),
        RAW,
        VERBATIM,
        P("include_hold", ("--include-hold",), "also what the write gate held back", kind="flag"),
        P("include_discard", ("--include-discard",), "also what the write gate discarded", kind="flag"),
        P("budget", ("--budget",), "how much work to do", default="auto", choices=_BUDGETS),
        P("category", ("--category", "-c"), "only this category (an alias such as `ops` will do)"),
        P("tag", ("--tag",), "only what has all of these tags", many=True),
        P("collection", ("--collection",), COLLECTIONS_AND_CALLS, metavar="NAMES"),
        P("session", ("--session",), _SESSION, metavar="ID"),
        P("project", ("--project",), "only of this project (NAME or OWNER/NAME), and of none"),
        P("everywhere", ("--everywhere",), "rank no project first, not even the folder's", "flag"),
        P("since", ("--since",), _TIME, metavar="TIME"),
        P("until", ("--until",), "only what is older", metavar="TIME"),
        P("by", ("--by",), "only the best hit of each session, and how many more it has", choices=("session",)),
        P("exit_code", ("--exit-code",), "exit 1 if nothing is found", kind="flag"),
        P("batch", ("--batch",), _BATCH, metavar="FILE", file=True),
        ADAPTER,
        view="cli.recall.view:hits",
    ),
    Command(
        "show",
        "cli.recall.show:run",
        "The conversation around a hit of a recall, with its calls.",
        P("id", (), "a hit's number, or the id of a memory, tool call or session", required=True, metavar="N|ID"),
        P("before", ("--before",), "entries before it", kind="whole", default=4, low=0, high=1000),
        P("after", ("--after",), "entries after it", kind="whole", default=8, low=0, high=1000),
        RAW,
        view="cli.recall.view:conversation",
    ),
    *(
        Command(
            name,
            f"cli.recall.past:{name}",
            about,
            P("query", (), what, required=True, metavar="QUERY", takes_flags=True),
            P("limit", ("--limit", "-n"), "how many at most", kind="whole", default=most, low=1, high=100),
            RAW,
            view="cli.recall.view:lines",
        )
        for name, about, what, most in (
            ("how", "Commands that were run here, the latest that worked first.", "a tool, or words of it", 5),
            ("fix", "What was done after an error like this, and what then worked.", "the error, or a part of it", 3),
        )
    ),
    Command(
        "search",
        "cli.recall.everywhere:run",
        "Search everything: synced notes, memories, what sessions said, events.",
        P("query", (), "what to look for", required=True, metavar="QUERY"),
        P("collection", ("--collection", "-c"), _COLLECTION, default="", metavar="NAME"),
        P("limit", ("--limit", "-n"), "most hits of each", kind="whole", default=5, low=1, high=100),
        P("filter", ("--filter", "-f"), "such as type:=adr or source:=[a,b], joined by &&", default=""),
        P("facet", ("--facet",), "also count hits by type, source, project, category or tags", default=""),
        P("semantic", ("--semantic", "-s"), "ignored: search by meaning is always on", kind="flag"),
        view="cli.recall.view:everywhere",
    ),
)
