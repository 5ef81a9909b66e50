"""The home: `joelclaw status`, `doctor`, `store …`, `backup` and `restore`."""

import os
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from cli import shared
from cli.output import Answer, runnable, step, wrong_usage
from core import background, config, files, switches
from core.errors import FAILED, Failure
from core.store import folders, sqlite
from otel import log
from session.known_states import expire_states

app = typer.Typer()
store = shared.group(app, "store", "Prune the local store; set up, fill and read a Typesense cluster.")

_ABSENT = {"ok": None, "detail": "not part of this joelclaw, which starts no service; `healthy` is its own verdict"}
"""A service in the `status` of the mirrored CLI. None of them exists here."""


@app.command("status")
def status(canary: Annotated[bool, Option("--agent-dispatch-canary", help="Has no effect")] = False) -> Answer:
    """Show the store, versions and problems. Exits 0 even with problems."""
    from session.doctor import run

    found = run(reads_all=False)
    problems = [
        {name: runnable(finding[name]) for name in ("severity", "code", "subject", "message", "fix")}
        for finding in found["findings"]
        if finding["severity"] in ("error", "warning")
    ]
    result: dict[str, Any] = {"healthy": found["healthy"], "problems": problems, **found["facts"]}
    result |= dict.fromkeys(("server", "worker", "agent_mail"), _ABSENT) | {"latestAgentDispatchCanary": None}
    result["k8s"] = {**_ABSENT, "status": "absent", "hostname": log.host(), "hostedOn": None}
    result["agentDispatchCanary"] = {"enabled": canary, "ok": None, "summary": _ABSENT["detail"]}
    lanes = ["flowing-reflections", "flowing-observations", "curated-pages"]  # of `recall_composed`
    result["recall"] = {"adapter": "flowing-memory-recall", "requestedLanes": lanes, "answeringLanes": lanes}
    archive = step("joelclaw memory archive", "archive the sessions that your clients already have")
    return Answer(result, [archive] * (not result["store"]["exists"]), view="cli.views:status")


@app.command("doctor")
def doctor(
    client: Annotated[list[str] | None, Option(metavar=shared.CLIENTS, help="Only this client")] = None,
    project: shared.FolderProject = False,
    fix: Annotated[bool, Option("--fix", help="Make safe repairs")] = False,
) -> Answer:
    """Check the hooks and the memory. Exits 1 if something does not work."""
    from session.doctor import FIXABLE, run

    result = run(client or [], project=project, fix=fix)
    del result["facts"]
    for finding in result["findings"]:
        finding["fix"] = runnable(finding["fix"])
    actions = []
    if not result["clients"]:
        actions.append(step("joelclaw install --list", "no client was found; this lists those that joelclaw knows"))
    if not fix and FIXABLE & {finding["code"] for finding in result["findings"]}:
        actions.append(step("joelclaw doctor --fix", "make the repairs that are safe"))
    return Answer(result, actions, view="cli.views:doctor", exit_code=0 if result["healthy"] else FAILED)


@app.command("project")
def project(
    verb: Annotated[Literal["list", "rename"], Argument(metavar="VERB", help="list or rename")] = "list",
    former: Annotated[str | None, Argument(metavar="OLD", help="Its present name")] = None,
    name: Annotated[str | None, Argument(metavar="NEW", help="Its new name")] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask")] = False,
) -> Answer:
    """List projects, or rename or merge one."""
    from cli.terminal import agrees
    from memory.write import clean_name

    rows = {str(row["project"]): row for row in folders.listed(sqlite.open_or_empty())}
    if verb == "list" and former is None:
        return Answer({"count": len(rows), "projects": list(rows.values())})
    new = clean_name(name or "", [])
    if verb != "rename" or not former or not new or former == new:
        raise wrong_usage("give a project and a different name", "run: joelclaw project rename OLD NEW")
    if former not in rows:
        raise Failure("PROJECT_NOT_FOUND", f"there is no project {former[:80]!r}", "see joelclaw project list")
    result: dict[str, Any] = {**rows[former], "renamedTo": new, "merged": new in rows}
    if not yes and not agrees(Answer(result), f"{'merge it into' if new in rows else 'rename it to'} {new}?"):
        return Answer({}, message="Cancelled; nothing was renamed.")
    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=True)
    with sqlite.transaction(db):
        staying = folders.rename(db, former, new)
    is_kept = bool(staying or not rows[former]["folders"])  # not every folder is noted
    result |= {"switches": switches.rename_project(former, new, is_kept=is_kept), "keptIn": staying}
    about = f"New memories still go to {former} in {', '.join(staying)}: the remote or the folder has that name."
    return Answer(result, message=about if staying else "")


# store …, backup, restore


@store.command("init")
def init() -> Answer:
    """Create the cluster's collections."""
    from core.store import cluster_sync

    result = cluster_sync.initialise(config.load())
    return Answer(result, [step("joelclaw store push", "copy this machine's memory to the cluster")])


@store.command("push")
def push() -> Answer | int:
    """Push pending documents to the cluster. Runs by itself, too."""
    from core.store import cluster_sync

    in_background = background.obey_limit()
    settings = config.load()
    log.store_spooled()
    if in_background:
        cluster_sync.push_in_background(settings)
        return 0
    with shared.progress_bar("push") as (_, advance):
        return Answer(cluster_sync.push(settings, advance))


@store.command("pull")
def pull() -> Answer:
    """Fill a new home from the cluster."""
    from core.store import cluster_sync

    with shared.progress_bar("pull") as (_, advance):
        return Answer(cluster_sync.pull(config.load(), advance))


@store.command("prune")
def prune(confirmed: shared.Confirmed = None) -> Answer | int:
    """Permanently delete old data (settings retention.*). Runs by itself, too."""
    from cli.terminal import agrees
    from core.store import deletion

    in_background = background.obey_limit()
    settings = config.load()
    log.store_spooled()  # what hooks recorded is in the store before the state of their session goes
    if sqlite.open_reading() is None:
        raise Failure("STORE_EMPTY", "nothing is stored yet", "see joelclaw status")
    db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=False)
    expiry = deletion.expiry(settings, "retention.sessions_days")
    preview = {} if in_background or confirmed else deletion.prune(db, settings, background=False, dry_run=True)
    if confirmed is False:
        preview["sessionStates"] = expire_states(expiry, dry_run=True)
        return Answer(preview, [step("joelclaw store prune --yes", "delete it")])
    # States go without a question: what they led to is in the store.
    expired = preview and preview["events"]["byAge"]
    if expired and not agrees(Answer(preview, message="Would be deleted permanently:")):
        return Answer({}, message="Cancelled; nothing was deleted.")
    result = deletion.prune(db, settings, background=in_background, dry_run=False)
    return Answer(result | {"sessionStates": expire_states(expiry, dry_run=False)})


@app.command("backup")
def backup(
    file: Annotated[str, Argument(metavar="FILE", help="The file to write")],
    force: Annotated[bool, Option("--force", help="Overwrite an existing file")] = False,
) -> Answer:
    """Copy memory, sessions and settings into one file."""
    from session import backup as backups  # loads readers of tar and gzip

    return Answer(backups.write(file, force=force))


@app.command("restore")
def restore(
    file: Annotated[str, Argument(metavar="FILE", help="What `backup` wrote")],
    into: Annotated[str, Option(metavar="DIR", help="The folder (default: the home)")] = "",
    force: Annotated[bool, Option("--force", help="Replace an existing home")] = False,
    verify_only: Annotated[bool, Option("--verify-only", help="Only report whether it is intact")] = False,
) -> Answer:
    """Verify a backup, and replace the home with it."""
    from session import backup as backups

    return Answer(backups.restore(file, os.path.expanduser(into) or files.home(), force=force, verify_only=verify_only))
