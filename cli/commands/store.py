"""`joelclaw store …`, `backup` and `restore`: the cluster, retention, and copies of the home."""

import os
from typing import Annotated, Any

import typer

from cli.declarations import Commands
from cli.output import Answer, quoted, step
from core import clock, config, files
from core.errors import Failure

app = Commands()
store = Commands("Prune the local store; set up, fill and read a Typesense cluster.")
app.add_typer(store, name="store")


def _status_step() -> Any:
    return step("joelclaw status", "what waits to be pushed, and the last error")


@store.command("init")
def init() -> Answer:
    """Create the cluster's collections or upgrade them."""
    from core.store.cluster import sync

    settings = config.load()
    result = sync.initialise(settings)
    about = "copy this machine's memory to the cluster"
    if settings.get_str("store.backend") != "typesense":
        about += '; recall reads it after you set backend = "typesense" in the table [store]'
    return Answer(result, [step("joelclaw store push", about), _status_step()])


@store.command("push")
def push() -> Answer | int:
    """Push pending documents and events to the cluster. Runs by itself in the background."""
    from cli.progress import progress_bar
    from core import background
    from core.store.cluster import sync
    from otel import log

    in_background = background.obey_limit()
    settings = config.load()
    log.store_spooled()
    if in_background:
        sync.push_in_background(settings)
        return 0
    with progress_bar("push") as (_, advance):
        return Answer(sync.push(settings, advance), [_status_step()])


@store.command("pull")
def pull() -> Answer:
    """Fill a new home from the cluster."""
    from cli.progress import progress_bar
    from core.store.cluster import sync

    with progress_bar("pull") as (_, advance):
        return Answer(sync.pull(config.load(), advance), [_status_step()])


@store.command("prune")
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be deleted")] = False,
) -> Answer | int:
    """Delete old data by the settings retention.*. Runs by itself once a day."""
    from core import background
    from core.store import sqlite
    from core.store.deletion import Retention
    from otel import log
    from otel.log import new_event

    in_background = background.obey_limit()
    settings = config.load()
    if sqlite.open_reading() is None:
        raise Failure("STORE_EMPTY", "nothing is stored yet", "see joelclaw status")
    try:
        db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=False)
        pruning = Retention(db, settings, background=in_background)
        if dry_run:
            return Answer(pruning.look(), [step("joelclaw store prune", "delete it")])
        result = pruning.run()
    except Failure:
        if in_background:
            return 0
        raise
    metadata = {"events": result["events"]["byAge"] + result["events"]["bySize"]}
    metadata |= {name: result[name] for name in ("episodes", "toolCalls")}
    freed = result["bytes"]["before"] - result["bytes"]["after"]
    if any(metadata.values()) or freed > 0:
        metadata["bytes"] = freed
        event = new_event("store.pruned", component="store", metadata=metadata, now=clock.now_ms())
        log.store_spooled([event], db)
    return 0 if in_background else Answer(result, [step("joelclaw status", "what is left")])


@app.command("backup")
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write, outside the home")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file")] = False,
) -> Answer:
    """Copy memory, sessions and settings into one file; agents keep running."""
    from session import backup as backups

    result = backups.write(file, force=force)
    del result["members"], result["format"]
    check = step(f"joelclaw restore {quoted(result['file'])} --verify-only", "whether the file is intact")
    elsewhere = step(f"joelclaw restore {quoted(result['file'])}", "on another machine: restore it")
    return Answer(result, [check, elsewhere])


@app.command("restore")
def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file that `backup` wrote")],
    into: Annotated[str, typer.Option(metavar="DIR", help="The folder (default: the home)")] = "",
    force: Annotated[bool, typer.Option("--force", help="Also if a memory already exists there")] = False,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Only report whether the backup is intact")
    ] = False,
) -> Answer:
    """Verify a backup and replace the home with it; the current data is set aside."""
    from session import backup as backups

    folder = os.path.expanduser(into) or files.home()
    result = backups.restore(file, folder, force=force, verify_only=verify_only)
    if not result["restored"]:
        return Answer(result, [step(f"joelclaw restore {quoted(file)}", "restore it")])
    is_home = result["home"] == os.path.realpath(files.home())
    variable = "" if is_home else f"JOELCLAW_HOME={quoted(result['home'])} "
    steps = [step(f"{variable}joelclaw status", "the state of the restored memory")]
    if is_home:
        steps.append(step("joelclaw install --all", "on another machine: the hooks of its agents"))
    return Answer(result, steps)
