"""What `idle` takes."""

from __future__ import annotations

from cli.commands.common import SESSION
from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_CODE = "IDLE_INVALID_ARGS"

COMMANDS: tuple[Command, ...] = (
    Command(
        "idle schedule",
        "cli.idle:schedule",
        "Call it at the end of a turn: from then on the session is idle. Replaces its timer.",
        (
            SESSION,
            P(
                "percent",
                ("--percent",),
                "context usage, 0 to 100 (default the last known)",
                kind="number",
                low=0,
                high=1000,
                metavar="P",
            ),
            P("tokens", ("--tokens",), "context usage in tokens; needs --window", kind="whole", low=0, metavar="N"),
            P("window", ("--window",), "the model's context window in tokens", kind="whole", low=1, metavar="W"),
            P(
                "minutes",
                ("--minutes",),
                "how long (default compaction.idleTriggerMinutes)",
                kind="whole",
                low=1,
                high=525_600,
                metavar="N",
            ),
            P("agent", ("--agent",), "which agent runs it (default the one last known)"),
            P("cwd", ("--cwd",), "where it runs (default the folder last known)", metavar="DIR", file=True),
        ),
        hot=True,
        code=_CODE,
        view="cli.views.idle:scheduled",
    ),
    Command(
        "idle cancel",
        "cli.idle:cancel",
        "Call it when a message arrives: takes the session's timer away.",
        (SESSION,),
        hot=True,
        code=_CODE,
        view="cli.views.idle:cancelled",
    ),
    Command(
        "idle list", "cli.idle:list_", "All timers, the soonest first.", (), code=_CODE, view="cli.views.idle:timers"
    ),
    Command("idle due", "cli.idle:due", "The timers that have come due.", (), code=_CODE, view="cli.views.idle:timers"),
    Command(
        "idle run",
        "cli.idle:run",
        "Wait, and compact the sessions whose timers come due, until Ctrl-C.",
        (
            P("once", ("--once",), "compact what is due now, and end", kind="flag"),
            P("until_empty", ("--until-empty",), "end when no timer is left", kind="flag"),
        ),
        code=_CODE,
        view="cli.views.idle:ran",
    ),
)
