"""What `checkpoint`, `inject`, `lost` and `hook` take."""

from __future__ import annotations

from cli.parameter import RAW, SESSION, TOKENS, WINDOW, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table
from clients import registry

_ROLE = P("role", ("--role",), "interactive (default), gateway, or the name of another role; kept for the session")
_NAMED_SESSION = P("id", (), "session id", required=True, metavar="ID")
_PERCENT = P("percent", ("--percent",), "context usage, 0 to 100", kind="number", low=0, high=1000, metavar="P")
_USAGE = (_PERCENT, TOKENS, WINDOW)
_KINDS = ("files", "names", "commands", "errors", "words")
_LIMIT = "most of each kind (default 5 to 8, of names 40)"
_SAID = P("message", ("--message", "-m"), "a user message, oldest first; may be repeated", many=True, metavar="TEXT")
_WRITTEN = "a file that was written or edited; may be repeated"
_EDITED = "the file that is edited; may be repeated"

COMMANDS: tuple[Command, ...] = (
    Command(
        "lost",
        "cli.session.lost:run",
        "What the last compaction dropped, by kind, each with how to get it back.",
        (
            P("session", (), "session id, or its beginning (default: this session, else the last compacted here)"),
            P("limit", ("--limit", "-n"), _LIMIT, kind="whole", low=1, high=1000),
            P("kind", ("--kind", "-k"), "only this kind; may be repeated", many=True, choices=_KINDS, metavar="KIND"),
            RAW,
        ),
        code="LOST_INVALID_ARGS",
        view="cli.session.view:lost",
    ),
    Command(
        "checkpoint save",
        "cli.session.checkpoint:save",
        "Call it at the end of a turn: tracks the task, recalls when the context is warm, remembers when it is hot.",
        (
            SESSION,
            *_USAGE,
            _SAID,
            P("file", ("--file",), _WRITTEN, many=True, metavar="PATH", file=True),
            _ROLE,
            P("stdin", ("--stdin",), "the same fields as a JSON object on stdin; flags beat it", kind="flag"),
        ),
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.terminal:told",
    ),
    Command(
        "checkpoint flush",
        "cli.session.checkpoint:flush",
        "Call it before a compaction: the last checkpoint and its events.",
        (SESSION, *_USAGE, _ROLE),
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.terminal:told",
    ),
    Command(
        "checkpoint show",
        "cli.session.checkpoint:show",
        "What is known of one session.",
        (_NAMED_SESSION,),
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.terminal:told",
    ),
    Command(
        "checkpoint list",
        "cli.session.checkpoint:list_",
        "All sessions with a state file, newest first.",
        (),
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.session.view:list_",
    ),
    Command(
        "checkpoint clear",
        "cli.session.checkpoint:clear",
        "Remove one session's state file.",
        (_NAMED_SESSION,),
        code="CHECKPOINT_INVALID_ARGS",
        view="cli.terminal:told",
    ),
    Command(
        "inject recovery",
        "cli.session.inject:recovery",
        "Call it after a compaction: the recovery note to hand to the agent.",
        (SESSION, _ROLE, RAW),
        code="INJECT_INVALID_ARGS",
        view="cli.session.view:injection",
    ),
    Command(
        "inject memory",
        "cli.session.inject:memory",
        "Call it when a session starts: memories that bear on it, once per session.",
        (
            SESSION,
            _ROLE,
            P("query", ("--query",), "what to recall (default by role, see inject.query)"),
            P("project", ("--project",), "this project's memories (default: that of the folder), and those of none"),
            RAW,
        ),
        code="INJECT_INVALID_ARGS",
        view="cli.session.view:injection",
    ),
    Command(
        "inject refresh",
        "cli.session.inject:refresh",
        "Call it when a message arrives: memories on what is talked about, where that is due.",
        (SESSION, _ROLE, P("message", ("--message", "-m"), "what the user just said", metavar="TEXT"), _PERCENT, RAW),
        code="INJECT_INVALID_ARGS",
        view="cli.session.view:injection",
    ),
    Command(
        "inject project",
        "cli.session.inject:project",
        "Call it when a file is edited: memories on its part of the project, once for each part.",
        (
            SESSION,
            _ROLE,
            P("file", ("--file",), _EDITED, many=True, metavar="PATH", file=True),
            P("cwd", ("--cwd",), "where the agent works (default: the current folder)", metavar="DIR", file=True),
            RAW,
        ),
        code="INJECT_INVALID_ARGS",
        view="cli.session.view:injection",
    ),
    Command(
        "hook",
        "cli.session.hook:run",
        "Take an agent's hook event on stdin and answer it. Always exit 0.",
        (
            P("agent", (), registry.either(registry.CLIENTS), metavar="AGENT"),
            P("event", (), "the event, where stdin does not name it", metavar="EVENT"),
        ),
        code="HOOK_INVALID_ARGS",
    ),
)
