"""`joelclaw knowledge sync`: folders of markdown into the collection `knowledge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli import progress
from cli.answer import Answer
from core import clock, config
from memory.knowledge import sync
from otel import log
from otel.event import new_event

if TYPE_CHECKING:
    from core.envelope import NextAction
    from memory.knowledge.section_store import Synced

_COUNTS = ("files", "sections", "added", "updated", "removed", "unchanged")


def run(options: dict[str, Any]) -> Answer:
    """Bring the store in step with the folders.

    Raises:
        Failure: KNOWLEDGE_INVALID_ARGS, KNOWLEDGE_NO_FOLDERS, KNOWLEDGE_BUSY; or what the store says.
    """
    settings = config.load()
    with progress.in_items("syncing") as (started, advance):
        report, db = sync.sync_folders(
            options["dirs"], prune=options["prune"], config=settings, now=clock.now_ms(), started=started,
            progress=advance,
        )  # fmt: skip
    about = {name: getattr(report, name) for name in (*_COUNTS, "skipped_count", "ms")}
    made = new_event(
        "knowledge.sync.completed",
        component="knowledge-cli",
        metadata=about,
        duration_ms=report.ms,
        now=clock.now_ms(),
    )
    log.try_append(db, [made], settings)
    return Answer(_result(report), _next_actions(report))


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
