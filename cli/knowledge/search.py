"""`joelclaw knowledge search`: ask the synced files. Agents spawn it when a session starts."""

from __future__ import annotations

from cli.answer import Answer, step
from core import TYPE_CHECKING, clock, config
from memory.knowledge import search as knowledge
from otel import log
from otel.event import new_event, query_excerpt

if TYPE_CHECKING:
    from typing import Any


def search(options: dict[str, Any]) -> Answer:
    """The sections of synced files that bear on a query; the event is noted, and that the hits were recalled."""
    settings = config.load()
    now = clock.now_ms()
    query, types = options["query"], tuple(filter(None, map(knowledge.parse_type, options["type"].split(","))))
    result, db = knowledge.search(query, limit=options["limit"], types=types, now=now, config=settings)
    hits = result["hits"]
    if db is not None:  # a store that cannot be written is no reason to fail
        about = {"query": query_excerpt(query), "found": result["found"], "returned": len(hits)}
        made = new_event("knowledge.search.completed", component="knowledge-cli", metadata=about, now=now)
        made["recalled"] = [hit["id"] for hit in hits]
        log.store_spooled([made], db)
    if not hits:
        folder = {"dir": {"description": "a folder; without one, those synced before"}}
        return Answer(result, [step("joelclaw knowledge sync <dir>", "import a folder of markdown", folder)])
    first = {"id": {"description": "its id", "value": hits[0]["id"], "required": True}}
    return Answer(result, [step("joelclaw memory show <id>", "the whole section", first)])
