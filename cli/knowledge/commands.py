"""What `knowledge` and `vault` take."""

from __future__ import annotations

from cli.parameter import RAW, VERBATIM, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_LIMIT = P("limit", ("--limit", "-n"), "most hits to return", kind="whole", default=10, low=1, high=100)

COMMANDS: tuple[Command, ...] = (
    Command(
        "knowledge sync",
        "cli.knowledge.sync:run",
        "Take in folders of markdown: decision records, skills, notes. What is gone from them goes from memory.",
        (
            P("dirs", (), "folders (default: those synced before)", many=True, metavar="DIR", file=True),
            P("prune", ("--prune",), "take out folders that have vanished, too", kind="flag"),
        ),
        code="KNOWLEDGE_INVALID_ARGS",
        view="cli.terminal:told",
    ),
    Command(
        "knowledge search",
        "cli.knowledge.search:search",
        "Find sections of the synced files.",
        (
            P("query", (), "what to look for", required=True, metavar="QUERY"),
            P("type", ("--type", "-t"), "only adr, skill, lesson, pattern, retro, note ...", default="", metavar="CSV"),
            _LIMIT,
        ),
        code="KNOWLEDGE_INVALID_ARGS",
        view="cli.knowledge.view:hits",
    ),
    Command(
        "knowledge note",
        "cli.knowledge.sync:note",
        "Keep what one turn of an agent came to, as knowledge of type turn_note.",
        (
            P("source", ("--source", "-s"), "where it is from, such as gateway"),
            P("agent", ("--agent", "-a"), "which agent or component"),
            P("session", ("--session",), "its session", metavar="ID"),
            P("turn", ("--turn",), "the number of the turn in the session", kind="whole", low=0, high=1_000_000_000),
            P("turn_id", ("--turn-id",), "an id of the turn (default made of the four)", metavar="ID"),
            P("channel", ("--channel",), "where it was spoken, such as slack"),
            P("summary", ("--summary",), "what came of it; needed unless it is skipped", metavar="TEXT"),
            P("decision", ("--decision",), "what was decided", metavar="TEXT"),
            P("evidence", ("--evidence",), "what shows it, comma-separated", metavar="CSV"),
            P("usefulness", ("--usefulness",), "tags, comma-separated", metavar="CSV"),
            P(
                "skip_reason",
                ("--skip-reason",),
                "why there is nothing to keep: only an event is",
                choices=("routine-heartbeat", "duplicate-signal", "no-new-information"),
            ),
            P("project", ("--project",), "the project it is about"),
            P("loop_id", ("--loop-id",), "an id to keep with it", metavar="ID"),
            P("story_id", ("--story-id",), "likewise", metavar="ID"),
            P("run_id", ("--run-id",), "likewise", metavar="ID"),
            P("tools", ("--tools",), "the tools that were used, comma-separated", metavar="CSV"),
        ),
        code="INVALID_KNOWLEDGE_NOTE",
        view="cli.terminal:told",
    ),
    Command(
        "vault read",
        "cli.knowledge.vault:read",
        "Print a note by path, ADR-n, project n, name, or what it is about.",
        (
            P("ref", (), "what to read; several words are one reference", many=True, required=True, metavar="REF"),
            RAW,
            VERBATIM,
        ),
        code="VAULT_INVALID_ARGS",
        view="cli.knowledge.view:notes",
    ),
    Command(
        "vault search",
        "cli.knowledge.vault:search",
        "Find notes by their names and words, or with --semantic by meaning.",
        (
            P("query", (), "what to look for", required=True, metavar="QUERY"),
            P("semantic", ("--semantic",), "ask the synced sections of the vault", kind="flag"),
            _LIMIT,
        ),
        code="VAULT_INVALID_ARGS",
        view="cli.knowledge.view:hits",
    ),
    Command(
        "vault ls",
        "cli.knowledge.vault:ls",
        "What the parts of the vault hold, or the entries of one: projects, decisions, inbox, resources.",
        (P("section", (), "the part", metavar="SECTION"),),
        code="VAULT_INVALID_ARGS",
        view="cli.terminal:told",
    ),
    Command(
        "vault tree",
        "cli.knowledge.vault:tree",
        "The folders of the vault, two deep.",
        (),
        code="VAULT_INVALID_ARGS",
        view="cli.terminal:told",
    ),
    Command(
        "vault adr",
        "cli.knowledge.vault:adr",
        "The decision records of the vault: list them, locate one, or see which share a number.",
        (
            P("verb", (), "list, locate or collisions", metavar="VERB", choices=("list", "locate", "collisions")),
            P("query", (), "with locate, a number, a name, or words of a title or heading", metavar="QUERY"),
            P("status", ("--status",), "with list, only those with this status", default=""),
            P("limit", ("--limit",), "most of them (default 200, with locate 10)", kind="whole", low=1, high=500),
        ),
        code="VAULT_INVALID_ARGS",
        view="cli.terminal:told",
    ),
)
