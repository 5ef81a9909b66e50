"""`joelclaw backup`, `restore` and `store prune`: what the home holds, copied, put back, and kept small."""

import os
from typing import Any

from cli.answer import Answer, quoted, step
from core import clock, config, files
from core.errors import Failure
from core.process import background
from core.store import sqlite
from core.store.retention import Retention
from otel import log
from otel.event import new_event
from session.backup import archive


def backup(options: dict[str, Any]) -> Answer:
    """Write a backup."""
    made = archive.write(options["file"], force=options["force"])
    del made["members"], made["format"]
    check = step(f"joelclaw restore {quoted(made['file'])} --verify-only", "whether the file is intact")
    elsewhere = step(f"joelclaw restore {quoted(made['file'])}", "on another machine: put it in place")
    return Answer(made, [check, elsewhere])


def restore(options: dict[str, Any]) -> Answer:
    """Verify a backup, and put it in place unless it is only to be verified."""
    into = os.path.expanduser(options["into"]) or files.home()
    done = archive.restore(options["file"], into, force=options["force"], verify_only=options["verify_only"])
    if not done["restored"]:
        return Answer(done, [step(f"joelclaw restore {quoted(options['file'])}", "put it in place")])
    here = done["home"] == os.path.realpath(files.home())
    at = "" if here else f"JOELCLAW_HOME={quoted(done['home'])} "
    look = step(f"{at}joelclaw status", "the state of the restored memory")
    hooks = step("joelclaw install --all", "on another machine: the hooks of its agents")
    return Answer(done, [look, hooks] if here else [look])


def prune(options: dict[str, Any]) -> Answer | int:
    """Drop what is old or too much, or say what would be dropped."""
    in_background = background.obey_limit()
    settings = config.load()
    if sqlite.open_reading() is None:
        raise Failure("STORE_EMPTY", "nothing is stored yet", "see joelclaw status")
    try:
        db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=False)
        pruning = Retention(db, settings, background=in_background)
        if options["dry_run"]:
            return Answer(pruning.look(), [step("joelclaw store prune", "drop it")])
        result = pruning.run()
    except Failure:
        if in_background:
            return 0
        raise
    about = {"events": result["events"]["byAge"] + result["events"]["bySize"]}
    about |= {name: result[name] for name in ("episodes", "toolCalls", "hooksAndInjections")}
    freed = result["bytes"]["before"] - result["bytes"]["after"]
    if any(about.values()) or freed > 0:
        event = new_event("store.pruned", component="store", metadata={**about, "bytes": freed}, now=clock.now_ms())
        log.store_spooled([event], db)
    return 0 if in_background else Answer(result, [step("joelclaw status", "what is left")])
