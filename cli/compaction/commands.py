"""What `compaction` takes."""

import clients
from cli.parameter import RAW, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_FILES = clients.either(f"{row.session_file} of {row.title}" for row in clients.rows() if row.has_entries)
_TRANSCRIPT = P("transcript", (), _FILES, required=True, metavar="TRANSCRIPT", file=True)
_WHOSE = "which client wrote it (default: by its lines)"
_CLIENT = P("client", ("--client",), _WHOSE, choices=clients.with_entries(), metavar="NAME")
_ROOM = "the window in tokens (default: the file's, context.window, the model's)"
_WINDOW = P("window", ("--window",), _ROOM, kind="whole", low=1, metavar="N")
_KEPT_FREE = "tokens to keep free (default: compaction.reserve_tokens, else the client's)"
_RESERVE = P("reserve", ("--reserve",), _KEPT_FREE, kind="whole", low=0, metavar="N")
_STAYS = "recent tokens to keep (default: compaction.keep_recent_tokens, else the client's)"
_KEEP_RECENT = P("keep_recent", ("--keep-recent",), _STAYS, kind="whole", low=0, metavar="N")
_STANDS = "id of the current entry (default: the newest)"
_AT = P("at", ("--at",), _STANDS, default="", metavar="ENTRY")
_PARTS = "what the model sees, the whole branch, or a part that `prepare` finds"
_PART_NAMES = ("context", "branch", "summarize", "prefix")
_PART = P("part", ("--part",), _PARTS, default="context", choices=_PART_NAMES, metavar="PART")
_PROGRAM = "a command that runs the model: prompt on stdin, text on stdout (default: model.command)"
_SUMMARY = (
    P("instructions", ("--instructions",), "what the summary should focus on", default="", metavar="TEXT"),
    P("command", ("--command",), _PROGRAM, default="", metavar="CMD"),
)
_FROM = P("leaf", ("--from",), "id of the entry to leave (default: the newest)", default="", metavar="LEAF")
_TO = P("to", ("--to",), "id of the entry to go back to", default="", metavar="ENTRY")
_MOST = "most tokens, newest first; 0: all (default: window minus reserve)"
_BUDGET = P("budget", ("--budget",), _MOST, kind="whole", low=0, metavar="TOKENS")


def _command(name: str, what: str, parameters: tuple[P, ...], view: str = "told") -> Command:
    return Command(f"compaction {name}", f"cli.compaction.steps:{name}", what, *parameters, view=f"cli.terminal:{view}")


COMMANDS: tuple[Command, ...] = (
    _command(
        "decide", "Whether a session should be compacted now, and why.", (_TRANSCRIPT, _WINDOW, _RESERVE, _AT, _CLIENT)
    ),
    _command(
        "prepare",
        "Where a compaction cuts a session: what it summarises and keeps, which files it lists.",
        (_TRANSCRIPT, _KEEP_RECENT, _RESERVE, _WINDOW, _AT, _CLIENT),
    ),
    _command(
        "serialize",
        "The conversation as flat text, for a model to summarise.",
        (_TRANSCRIPT, _PART, _KEEP_RECENT, _CLIENT, RAW),
        "text_first",
    ),
    _command(
        "summarize",
        "The structured summary, by your model command, or without one from the transcript.",
        (_TRANSCRIPT, *_SUMMARY, _KEEP_RECENT, _RESERVE, _WINDOW, _AT, _CLIENT, RAW),
        "text_first",
    ),
    _command(
        "branch",
        "What a session leaves behind when it goes back to an earlier entry, with a summary.",
        (_TRANSCRIPT, _FROM, _TO, _BUDGET, *_SUMMARY, _CLIENT),
        "text_first",
    ),
)
