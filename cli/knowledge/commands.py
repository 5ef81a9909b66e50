"""What `knowledge` and `vault` take."""

from cli.parameter import RAW, VERBATIM, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_ADR_VERBS = ("list", "locate", "refs", "prompt", "collisions", "audit", "rank", "next")
_ADR_WHAT = "list, locate, refs, prompt, collisions, audit, rank or next"
_BANDS = ("do-now", "do-next", "next", "de-risk", "park")
_REASONS = ("routine-heartbeat", "duplicate-signal", "no-new-information")
_TOLD, _HITS = "cli.terminal:told", "cli.knowledge.view:hits"
_LIMIT = P("limit", ("--limit", "-n"), "most hits", kind="whole", default=10, low=1, high=100)


def _knowledge(verb: str, run: str, help: str, *parameters: P, code: str = "", view: str = _TOLD) -> Command:
    return Command(f"knowledge {verb}", f"cli.knowledge.{run}", help, *parameters, code=code, view=view)


def _vault(verb: str, help: str, *parameters: P, view: str = _TOLD) -> Command:
    return Command(f"vault {verb}", f"cli.knowledge.vault:{verb}", help, *parameters, view=view)


COMMANDS: tuple[Command, ...] = (
    _knowledge(
        "sync",
        "sync:run",
        "Import folders of markdown. What was deleted there is deleted from memory.",
        P("dirs", (), "folders (default: those synced before)", many=True, metavar="DIR", file=True),
        P("adrs_only", ("--adrs-only",), "the decision records of the vault", kind="flag"),
        P("skills_only", ("--skills-only",), "the folder in JOELCLAW_SKILLS_DIR", kind="flag"),
        P("prune", ("--prune",), "also remove folders that no longer exist", kind="flag"),
    ),
    _knowledge(
        "search",
        "search:search",
        "Find sections of the synced files.",
        P("query", (), "what to look for", required=True, metavar="QUERY"),
        P("type", ("--type", "-t"), "only adr, skill, lesson, pattern, retro, note ...", default="", metavar="CSV"),
        _LIMIT,
        view=_HITS,
    ),
    _knowledge(
        "note",
        "sync:note",
        "Store the result of one turn of an agent, as knowledge of type turn_note.",
        P("source", ("--source", "-s"), "where it is from, such as gateway"),
        P("agent", ("--agent", "-a"), "which agent or component"),
        P("session", ("--session",), "its session", metavar="ID"),
        P("turn", ("--turn",), "the number of the turn", kind="whole", low=0, high=1_000_000_000),
        P("turn_id", ("--turn-id",), "its id (default: made from the four above)", metavar="ID"),
        P("channel", ("--channel",), "where it was said, such as slack"),
        P("summary", ("--summary",), "its result; required without --skip-reason", metavar="TEXT"),
        P("decision", ("--decision",), "what was decided", metavar="TEXT"),
        P("evidence", ("--evidence",), "what shows it, comma-separated", metavar="CSV"),
        P("usefulness", ("--usefulness",), "tags, comma-separated", metavar="CSV"),
        P("skip_reason", ("--skip-reason",), "why nothing is stored: only an event is", choices=_REASONS),
        P("project", ("--project",), "the project it is about"),
        P("loop_id", ("--loop-id",), "an id to store with it", metavar="ID"),
        P("story_id", ("--story-id",), "likewise", metavar="ID"),
        P("run_id", ("--run-id",), "likewise", metavar="ID"),
        P("tools", ("--tools",), "tools used, comma-separated", metavar="CSV"),
        code="INVALID_KNOWLEDGE_NOTE",
    ),
    _vault(
        "read",
        "Print a note by path, ADR-n, project n, name or topic.",
        P("ref", (), "what to read", many=True, required=True, metavar="REF"),
        RAW,
        VERBATIM,
        view="cli.knowledge.view:notes",
    ),
    _vault(
        "search",
        "Find notes by name and words, or with --semantic by meaning.",
        P("query", (), "what to look for", required=True, metavar="QUERY"),
        P("semantic", ("--semantic",), "search the synced sections of the vault", kind="flag"),
        _LIMIT,
        view=_HITS,
    ),
    _vault(
        "ls",
        "List the sections of the vault, or the notes of one (projects, decisions, inbox, resources).",
        P("section", (), "the part", metavar="SECTION"),
    ),
    _vault("tree", "The folders of the vault, two levels deep."),
    Command(
        "vault adr",
        "cli.knowledge.vault:adr",
        "The decision records of the vault.",
        P("verb", (), _ADR_WHAT, metavar="VERB", choices=_ADR_VERBS),
        P("query", (), "a number, a name or words; with prompt: a text with [[links]]", metavar="QUERY"),
        P("status", ("--status",), "with list: only with this status", default=""),
        P("limit", ("--limit",), "how many at most (default 200; locate: 10)", kind="whole", low=1, high=500),
        P("band", ("--band",), "with rank: only this band", choices=_BANDS, metavar="BAND"),
        P("unscored", ("--unscored",), "with rank: only without a score", kind="flag"),
        P("all", ("--all",), "with rank: also those that are not open", kind="flag"),
        P("count", ("--count",), "with next: how many", kind="whole", default=3, low=1, high=20),
    ),
)
