"""`joelclaw store init`."""

from __future__ import annotations

from cli.answer import Answer
from core import config
from core.store import sqlite
from core.store.replication import outbox
from core.store.typesense import circuit_breaker, cluster, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction


def init(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Create the cluster's collections and bring them up to date.

    Raises:
        Failure: TYPESENSE_API_KEY_MISSING, TYPESENSE_UNREACHABLE, TYPESENSE_UNAUTHORIZED, TYPESENSE_SCHEMA_TOO_NEW,
            TYPESENSE_SCHEMA_FOREIGN, TYPESENSE_REFUSED.
    """
    settings = config.load()
    there = cluster.connect(settings)
    done = schema.init(there)
    there.close()
    circuit_breaker.clear()
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
    outbox.enable(db)
    db.close()
    actions: list[NextAction] = [
        {"command": "joelclaw store push", "description": "move this machine's memory to the cluster"},
        {"command": "joelclaw store verify", "description": "whether both sides hold the same"},
    ]
    in_force = settings.text("store.backend")
    return Answer(
        {
            "nodes": there.nodes.urls,
            "prefix": there.prefix,
            "schema": schema.VERSION,
            "changed": any(one["created"] or one["addedFields"] for one in done),
            "collections": done,
            "backend": in_force,
        },
        actions,
    )
