"""What `idle` takes."""

from __future__ import annotations

from cli.parameter import SESSION, TOKENS, WINDOW, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_CODE = "IDLE_INVALID_ARGS"
_USED = "context usage, 0 to 100 (default the last known)"
_LONG = "how long (default compaction.idle_trigger_minutes)"

COMMANDS: tuple[Command, ...] = (
    Command(
        "idle schedule",
        "cli.idle.timers:schedule",
        "Call it at the end of a turn: from then on the session is idle. Replaces its timer.",
        (
            SESSION,
            P("percent", ("--percent",), _USED, kind="number", low=0, high=1000, metavar="P"),
            TOKENS,
            WINDOW,
            P("minutes", ("--minutes",), _LONG, kind="whole", low=1, high=525_600, metavar="N"),
            P("agent", ("--agent",), "which agent runs it (default the one last known)"),
            P("cwd", ("--cwd",), "where it runs (default the folder last known)", metavar="DIR", file=True),
        ),
        code=_CODE,
        view="cli.terminal:told",
    ),
    Command(
        "idle cancel",
        "cli.idle.timers:cancel",
        "Call it when a message arrives: takes the session's timer away.",
        (SESSION,),
        code=_CODE,
        view="cli.terminal:told",
    ),
    Command(
        "idle list",
        "cli.idle.timers:list_",
        "All timers, the soonest first.",
        (),
        code=_CODE,
        view="cli.terminal:told",
    ),
    Command(
        "idle due", "cli.idle.timers:due", "The timers that have come due.", (), code=_CODE, view="cli.terminal:told"
    ),
    Command(
        "idle run",
        "cli.idle.timers:run",
        "Wait, and compact the sessions whose timers come due, until Ctrl-C.",
        (
            P("once", ("--once",), "compact what is due now, and end", kind="flag"),
            P("until_empty", ("--until-empty",), "end when no timer is left", kind="flag"),
        ),
        code=_CODE,
        view="cli.terminal:told",
    ),
)
