"""What `backup` and `restore` take."""

from __future__ import annotations

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

COMMANDS: tuple[Command, ...] = (
    Command(
        "backup",
        "cli.upkeep.backup:backup",
        "Copy the memory, the sessions and the settings into one file, while agents go on.",
        (
            P("file", (), "the file to write, outside of the home", required=True, metavar="FILE", file=True),
            P("force", ("--force",), "write over a file that is there", kind="flag"),
        ),
        code="BACKUP_INVALID_ARGS",
        view="cli.upkeep.view:backed_up",
    ),
    Command(
        "restore",
        "cli.upkeep.backup:restore",
        "Verify a backup and put it in the place of the home; what was there is kept aside.",
        (
            P("file", (), "a file that `backup` wrote", required=True, metavar="FILE", file=True),
            P("into", ("--into",), "the folder (default: the home)", default="", metavar="DIR", file=True),
            P("force", ("--force",), "also where there is a memory already", kind="flag"),
            P("verify_only", ("--verify-only",), "only say whether the backup is whole", kind="flag"),
        ),
        code="BACKUP_INVALID_ARGS",
        view="cli.upkeep.view:restored",
    ),
)
