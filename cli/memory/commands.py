"""What `memory` takes."""

from __future__ import annotations

from cli.parameter import COLLECTIONS, HITS, HOURS, RAW, VERBATIM, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table
from clients import registry

COMMANDS: tuple[Command, ...] = (
    Command(
        "memory write",
        "cli.memory.write:run",
        "Store an observation; it can be recalled when the command returns.",
        (
            P("text", (), "the observation (- reads it from stdin)", metavar="TEXT"),
            P("category", ("--category", "-c"), "its category (default: told by its words, else ops)", default=""),
            P("tags", ("--tags", "-t"), "comma-separated tags", default="", metavar="CSV"),
            P("source", ("--source", "-s"), "who says so", default="cli"),
            P("session", ("--session",), "the session it was learnt in", default="", metavar="ID"),
            P(
                "project",
                ("--project",),
                "the project it is about (default: the session's, else that of the repository of the current folder)",
                default="",
            ),
            P(
                "type",
                ("--type",),
                "what it is; other than observation it becomes a tag",
                default="observation",
                choices=("observation", "lesson", "pattern", "failed_target"),
            ),
            P("for_all", ("--global",), "of no project and no session: seen in every project", kind="flag"),
        ),
        hot=True,
        code="MEMORY_INVALID_ARGS",
        view="cli.memory.view:write",
    ),
    Command(
        "note",
        "cli.memory.write:note",
        "Keep a thought: an observation with the tag note.",
        (
            P("text", (), "the thought (- reads it from stdin)", metavar="TEXT"),
            P("source", ("--source",), "who says so", default="cli"),
            P("tags", ("--tags",), "comma-separated tags", default="", metavar="CSV"),
        ),
        code="MEMORY_INVALID_ARGS",
        view="cli.memory.view:note",
    ),
    Command(
        "memory search",
        "cli.recall.search:search",
        "Recall with the automatic budget.",
        (
            P("query", (), "what to look for", metavar="QUERY"),
            HITS,
            P("category", ("--category", "-c"), "only this category"),
            RAW,
        ),
        code="RECALL_INVALID_ARGS",
        view="cli.recall.view:hits",
    ),
    Command(
        "memory recent",
        "cli.memory.reports:recent",
        "The newest observations.",
        (P("count", ("--count", "-n"), "how many", kind="whole", default=10, low=1, high=1000), HOURS),
        view="cli.memory.view:recent",
    ),
    Command(
        "memory scorecard",
        "cli.memory.reports:scorecard",
        "How well memory does: fallbacks, yield, coverage, skips.",
        (HOURS,),
        code="SCORECARD_FAILED",
        view="cli.memory.view:scorecard",
    ),
    Command(
        "memory show",
        "cli.memory.reports:show",
        "One memory with everything known of it.",
        (P("id", (), "its id", required=True, metavar="ID"), VERBATIM),
        view="cli.memory.view:show",
    ),
    Command(
        "memory forget",
        "cli.memory.reports:forget",
        "Take memories out of recall and export, for good unless undone.",
        (
            P("ids", (), "their ids; a tool call's (call:...) goes for good", many=True, metavar="ID"),
            P("session", ("--session",), "all that is kept of a session; its tool calls for good", metavar="ID"),
            P("undo", ("--undo",), "bring them back", kind="flag"),
        ),
        view="cli.memory.view:forget",
    ),
    Command(
        "memory import",
        "cli.memory.bulk:import_",
        "Take in JSON lines: {text, id?, collection?, context?, category?, tags?, source?, session?, project?, ...}.",
        (P("file", (), "the file (- is stdin)", required=True, metavar="FILE", file=True),),
        view="cli.memory.view:import_",
    ),
    Command(
        "memory export",
        "cli.memory.bulk:export",
        "Print every memory as JSON lines that `memory import` takes.",
        (P("collection", ("--collection",), COLLECTIONS, metavar="NAMES"),),
    ),
    Command(
        "memory archive",
        "cli.memory.archive:run",
        "Take in transcripts that agents left on disk, every message as an episode.",
        (
            P("paths", (), "transcripts, or folders of them", many=True, metavar="PATH", file=True),
            P("all", ("--all",), "every transcript where its client keeps it", kind="flag"),
            P("index", ("--index",), "then begin `memory index` in the background", kind="flag"),
            P(
                "agent",
                ("--agent",),
                "who wrote them (default: told by the file)",
                choices=registry.KEEPING_FILES,
                metavar="NAME",
            ),
        ),
        code="MEMORY_INVALID_ARGS",
        view="cli.memory.view:archive",
    ),
    Command(
        "memory observe",
        "cli.memory.observe:run",
        "Let a model note what a session said that is worth keeping.",
        (
            P("transcript", (), "a transcript, archived first", metavar="TRANSCRIPT", file=True),
            P("session", ("--session",), "a session whose turns are archived", default="", metavar="ID"),
            P(
                "command",
                ("--command",),
                "what reads a prompt on stdin and writes text (default: model.command)",
                default="",
                metavar="CMD",
            ),
            P("detach", ("--detach",), "return at once and do it in the background, for hooks", kind="flag"),
        ),
        code="MEMORY_INVALID_ARGS",
        view="cli.memory.view:observe",
    ),
    Command(
        "memory stats",
        "cli.memory.reports:stats",
        "How many memories there are, by collection, verdict, category and source.",
        (),
        view="cli.memory.view:stats",
    ),
    Command(
        "memory index",
        "cli.memory.bulk:index",
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
)
