"""What `store`, `backup` and `restore` take."""

from cli.parameter import Command
from cli.parameter import Parameter as P  # noqa: N817  # this file is a table

_PARAMETERS = {
    "pull": (
        P("events", ("--events",), "every machine's events too", kind="flag"),
        P("leave", ("--leave",), "afterwards queue nothing for the cluster any more", kind="flag"),
    ),
    "prune": (P("dry_run", ("--dry-run",), "only say what would be deleted", kind="flag"),),
}

COMMANDS: tuple[Command, ...] = (
    *(
        Command(
            f"store {name}",
            f"cli.store.{'keeping' if name == 'prune' else 'sync'}:{name}",
            what,
            *_PARAMETERS.get(name, ()),
        )
        for name, what in (
            ("init", "Create the cluster's collections, or bring them up to date. Run again, it changes nothing."),
            ("sync", "Push pending documents to the cluster, and pull what other machines wrote."),
            ("push", "Copy the whole memory of this machine to the cluster."),
            ("pull", "Copy the whole memory of the cluster into the local file."),
            ("verify", "Compare the local file with the cluster, document by document."),
            (
                "prune",
                "Drop what the settings retention.* say is old or too much, and give its room back. Runs once a"
                " day by itself.",
            ),
        )
    ),
    Command(
        "backup",
        "cli.store.keeping:backup",
        "Copy the memory, the sessions and the settings into one file, while agents keep running.",
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
