"""What `off`, `on` and `exclude` take."""

from __future__ import annotations

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_CODE = "SWITCH_INVALID_ARGS"
_OF_WHAT = (
    P("session", ("--session",), "this session (default: the one around the command)", metavar="ID"),
    P("project", ("--project",), "the project of the current folder (default where no session is known)", kind="flag"),
    P("everywhere", ("--everywhere",), "all sessions", kind="flag"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "off",
        "cli.switch.switch:off",
        "Leave a session, a project or everything alone: hooks inject, recall, archive and save nothing.",
        _OF_WHAT,
        code=_CODE,
        view="cli.terminal:told",
    ),
    Command(
        "on",
        "cli.switch.switch:on",
        "Take it up again; what was said meanwhile is not archived later either.",
        _OF_WHAT,
        code=_CODE,
        view="cli.terminal:told",
    ),
    Command(
        "exclude",
        "cli.switch.switch:exclude",
        "Never archive sessions of a folder, nor of those below it.",
        (
            P("folder", (), "the folder (default: the current one)", metavar="FOLDER", file=True),
            P("list", ("--list",), "show the folders that are excluded", kind="flag"),
            P("remove", ("--remove",), "archive them again", metavar="FOLDER", file=True),
        ),
        code=_CODE,
        view="cli.terminal:told",
    ),
)
