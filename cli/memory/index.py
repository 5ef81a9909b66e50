"""`joelclaw memory index`: give memories the vectors of the contextual tier, which `recall --budget deep` reads."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli import progress
from cli.answer import Answer
from core import config
from core.store import sqlite
from recall import index

if TYPE_CHECKING:
    from core.envelope import NextAction


def run(options: dict[str, Any]) -> Answer:
    """Embed what lacks a contextual vector. Ctrl-C loses nothing that was stored; the next run goes on.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without the extra `contextual`; or what the store says.
    """
    index.require()
    settings = config.load()
    # The vectors can be made again: no commit needs to wait for the disk.
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=False)
    with progress.in_items("embedding") as (started, advance):
        done = index.index(
            db, limit=options["limit"], budget_s=options["budget_seconds"], started=started, progress=advance
        )
    more: NextAction = {"command": "joelclaw memory index", "description": "embed the remaining ones"}
    deep: NextAction = {"command": "joelclaw recall <query> --budget deep", "description": "recall by meaning"}
    return Answer(asdict(done), [more if done.remaining else deep])
