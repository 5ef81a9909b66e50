"""What `compaction` takes."""

from __future__ import annotations

from cli.parameter import RAW, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table
from clients import registry

_CODE = "COMPACTION_INVALID_ARGS"
_TRANSCRIPT = P(
    "transcript",
    (),
    registry.either(f"{row.session_file} of {row.title}" for row in registry.CLIENTS.values() if row.has_entries),
    required=True,
    metavar="TRANSCRIPT",
    file=True,
)
_CLIENT = P(
    "client",
    ("--client",),
    f"whose it is: {', '.join(registry.WITH_ENTRIES)} (default: by its lines)",
    choices=registry.WITH_ENTRIES,
    metavar="NAME",
)
_WINDOW = P(
    "window",
    ("--window",),
    "size of the model's context in tokens (default: as the file or context.window tells it, else by the model)",
    kind="whole",
    low=1,
    metavar="N",
)
_RESERVE = P(
    "reserve",
    ("--reserve",),
    "tokens kept free for the answer (default: compaction.reserve_tokens, else as the client's settings have it)",
    kind="whole",
    low=0,
    metavar="N",
)
_KEEP_RECENT = P(
    "keep_recent",
    ("--keep-recent",),
    "tokens of the newest messages that stay (default: compaction.keep_recent_tokens, else by the client's settings)",
    kind="whole",
    low=0,
    metavar="N",
)
_AT = P(
    "at", ("--at",), "id of the entry that the session stands at (default: the newest)", default="", metavar="ENTRY"
)
_SUMMARY = (
    P("instructions", ("--instructions",), "what the summary should attend to", default="", metavar="TEXT"),
    P(
        "command",
        ("--command",),
        "command that reads a prompt on stdin and writes text (default: model.command)",
        default="",
        metavar="CMD",
    ),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "compaction decide",
        "cli.compaction.steps:decide",
        "Whether a session should be compacted now, and why.",
        (_TRANSCRIPT, _WINDOW, _RESERVE, _AT, _CLIENT),
        code=_CODE,
        view="cli.compaction.view:decide",
    ),
    Command(
        "compaction prepare",
        "cli.compaction.steps:prepare",
        "Where a compaction cuts a session: what it summarises, what it keeps, which files it lists.",
        (_TRANSCRIPT, _KEEP_RECENT, _RESERVE, _WINDOW, _AT, _CLIENT),
        code=_CODE,
        view="cli.compaction.view:prepare",
    ),
    Command(
        "compaction serialize",
        "cli.compaction.steps:serialize",
        "The conversation as flat text, for a model to summarise.",
        (
            _TRANSCRIPT,
            P(
                "part",
                ("--part",),
                "context: what the model sees; branch: all that was said; summarize, prefix: as prepare finds them",
                default="context",
                choices=("context", "branch", "summarize", "prefix"),
                metavar="PART",
            ),
            _KEEP_RECENT,
            _CLIENT,
            RAW,
        ),
        code=_CODE,
        view="cli.compaction.view:serialize",
    ),
    Command(
        "compaction summarize",
        "cli.compaction.steps:summarize",
        "The structured summary: by a model's command, or without one quoted from the transcript.",
        (
            _TRANSCRIPT,
            *_SUMMARY,
            _KEEP_RECENT,
            _RESERVE,
            _WINDOW,
            _AT,
            _CLIENT,
            RAW,
        ),
        code=_CODE,
        view="cli.compaction.view:summarize",
    ),
    Command(
        "compaction branch",
        "cli.compaction.steps:branch",
        "What a session leaves behind when it goes back to an earlier entry: entries, files and a summary.",
        (
            _TRANSCRIPT,
            P("leaf", ("--from",), "id of the entry that is left (default: the newest)", default="", metavar="LEAF"),
            P("to", ("--to",), "id of the entry that the session goes to", default="", metavar="ENTRY"),
            P(
                "budget",
                ("--budget",),
                "most tokens of messages, the newest first; 0 for all (default: the window less the reserve)",
                kind="whole",
                low=0,
                metavar="TOKENS",
            ),
            *_SUMMARY,
            _CLIENT,
        ),
        code=_CODE,
        view="cli.compaction.view:branch",
    ),
)
