"""What `idle` takes."""

from cli.parameter import SESSION, TOKENS, WINDOW, Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_USED = "context usage, 0 to 100 (default: the last known)"
_LONG = "idle minutes (default: compaction.idle_trigger_minutes)"

_SCHEDULED = (
    SESSION,
    P("percent", ("--percent",), _USED, kind="number", low=0, high=1000, metavar="P"),
    TOKENS,
    WINDOW,
    P("minutes", ("--minutes",), _LONG, kind="whole", low=1, high=525_600, metavar="N"),
    P("agent", ("--agent",), "which client runs it (default: the last known)"),
    P("cwd", ("--cwd",), "the folder it runs in (default: the last known)", metavar="DIR", file=True),
)
_RUN = (
    P("once", ("--once",), "compact what is due now, then stop", kind="flag"),
    P("until_empty", ("--until-empty",), "stop when no timer is left", kind="flag"),
)


def _command(name: str, help_: str, parameters: tuple[P, ...] = (), run: str = "") -> Command:
    """`run`: what handles it, where that is not called as the command."""
    return Command(f"idle {name}", f"cli.idle.timers:{run or name}", help_, *parameters)


COMMANDS: tuple[Command, ...] = (
    _command("schedule", "Set the session's idle timer. Call it at the end of a turn.", _SCHEDULED),
    _command("cancel", "Remove the session's idle timer. Call it when a message arrives.", (SESSION,)),
    _command("list", "All timers, the soonest first.", run="list_"),
    _command("due", "The timers that are due."),
    _command("run", "Wait, and compact sessions when their timers are due, until Ctrl-C.", _RUN),
)
