"""What `store`, `backup` and `restore` take."""

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table


def _store(name: str, what: str, *parameters: P, module: str = "sync") -> Command:
    return Command(f"store {name}", f"cli.store.{module}:{name}", what, *parameters)


COMMANDS: tuple[Command, ...] = (
    _store("init", "Create the cluster's collections, or bring them up to date."),
    _store("push", "Push pending documents and events to the cluster. Runs by itself in the background."),
    _store("pull", "Fill a new home from the cluster."),
    _store(
        "prune",
        "Delete what retention.* calls too old or too much. Runs by itself once a day.",
        P("dry_run", ("--dry-run",), "only say what would be deleted", kind="flag"),
        module="keeping",
    ),
    Command(
        "backup",
        "cli.store.keeping:backup",
        "Copy memory, sessions and settings into one file; agents keep running.",
        P("file", (), "the file to write, outside the home", required=True, metavar="FILE", file=True),
        P("force", ("--force",), "overwrite an existing file", kind="flag"),
    ),
    Command(
        "restore",
        "cli.store.keeping:restore",
        "Verify a backup and replace the home with it; the current data is set aside.",
        P("file", (), "a file that `backup` wrote", required=True, metavar="FILE", file=True),
        P("into", ("--into",), "the folder (default: the home)", default="", metavar="DIR", file=True),
        P("force", ("--force",), "also where a memory already exists", kind="flag"),
        P("verify_only", ("--verify-only",), "only say whether the backup is intact", kind="flag"),
        code="BACKUP_INVALID_ARGS",
    ),
)
