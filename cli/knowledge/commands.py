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
        view="cli.knowledge.view:sync",
    ),
    Command(
        "knowledge search",
        "cli.knowledge.search:search",
        "Find sections of the synced files.",
        (
            P("query", (), "what to look for", required=True, metavar="QUERY"),
            P("type", ("--type", "-t"), "only adr, skill, lesson, pattern, retro, note", default="", metavar="CSV"),
            _LIMIT,
        ),
        hot=True,
        code="KNOWLEDGE_INVALID_ARGS",
        view="cli.knowledge.view:search",
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
        view="cli.knowledge.view:vault_read",
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
        view="cli.knowledge.view:vault_search",
    ),
)
