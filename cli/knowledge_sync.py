"""`joelclaw knowledge sync`: folders of markdown into the collection `knowledge`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli import progress
from cli.answer import Answer
from core import clock, config, files
from core.errors import Failure, usage
from core.store import sqlite
from memory.knowledge import folder_state, sync
from otel import log
from otel.event import new_event

if TYPE_CHECKING:
    import apsw

    from core.config import Config
    from core.envelope import NextAction
    from memory.knowledge.sync import Synced

_CODE = "KNOWLEDGE_INVALID_ARGS"
_COUNTS = ("files", "sections", "added", "updated", "removed", "unchanged")


def run(options: dict[str, Any]) -> Answer:
    """Bring the store in step with the folders.

    Raises:
        Failure: KNOWLEDGE_INVALID_ARGS, KNOWLEDGE_NO_FOLDERS, KNOWLEDGE_BUSY; or what the store says.
    """
    settings = config.load()
    kept = folder_state.load().folders
    folders = [_folder(given, kept) for given in options["dirs"]]
    if not folders and not kept:
        raise sync.no_folders()
    try:
        with folder_state.lock(settings.whole("store.busy_ms") / 1000):
            # Everything can be made again from the files: commits do not wait for the disk one by one.
            db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=False)
            with progress.in_items("syncing") as (started, advance):
                report = sync.sync(
                    db,
                    folders,
                    prune=options["prune"],
                    now=clock.now_ms(),
                    vectors=sqlite.load_vectors(db),
                    started=started,
                    progress=advance,
                )
            _note(db, report, settings)
    except files.LockTimeout:
        raise Failure("KNOWLEDGE_BUSY", "another sync is under way", "wait until it is done, then try again") from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    except OSError as error:
        where = error.filename or files.home()
        raise Failure(
            "STORE_READ_ONLY",
            f"{where} cannot be used: {error.strerror}",
            "check its permissions, or set JOELCLAW_HOME",
        ) from None
    return Answer(_result(report), _next_actions(report))


def _folder(given: str, kept: list[str]) -> str:
    """The real path of a folder; one that was kept may be gone."""
    folder = os.path.realpath(os.path.expanduser(given)) if given else ""
    if not folder or not (os.path.isdir(folder) or folder in kept):
        what = "is a file" if os.path.isfile(folder) else "is no folder"
        raise usage(_CODE, f"{given!r} {what}", "name a folder that holds markdown files")
    return folder


def _result(report: Synced) -> dict[str, Any]:
    values = {name: getattr(report, name) for name in _COUNTS}
    return {
        "collection": "knowledge",
        "indexed": {
            **values,
            "read": report.read,
            "removedFiles": report.removed_files,
            "redacted": report.redacted,
            "skipped": report.skipped,
            "skippedCount": report.skipped_count,
            "ms": report.ms,
        },
        "folders": report.folders,
        "missing": report.missing,
        "pruned": report.pruned,
    }


def _next_actions(report: Synced) -> list[NextAction]:
    actions: list[NextAction] = []
    if report.missing:
        actions.append(
            {
                "command": "joelclaw knowledge sync --prune",
                "description": "folders are gone or empty, and nothing of them was removed; this takes them out",
            }
        )
    if report.sections:
        actions.append(
            {
                "command": "joelclaw knowledge search <query>",
                "description": "ask what was taken in",
                "params": {"query": {"description": "what to look for", "required": True}},
            }
        )
    return actions


def _note(db: apsw.Connection, report: Synced, settings: Config) -> None:
    about = {name: getattr(report, name) for name in (*_COUNTS, "skipped_count", "ms")}
    made = new_event(
        "knowledge.sync.completed",
        component="knowledge-cli",
        metadata=about,
        duration_ms=report.ms,
        now=clock.now_ms(),
    )
    log.try_append(db, [made], settings)  # the files are in all the same
