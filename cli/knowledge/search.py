"""`joelclaw knowledge search`: ask the synced files. Agents spawn it when a session starts."""

from __future__ import annotations

from cli.answer import Answer
from core import clock, config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.config import Config
    from core.envelope import NextAction
    from memory.knowledge.search import KnowledgeResult

_COMPONENT = "knowledge-cli"


def search(options: dict[str, Any]) -> Answer:
    """The sections of synced files that bear on a query.

    Raises:
        Failure: KNOWLEDGE_SEARCH_FAILED.
    """
    from memory.knowledge import search as knowledge

    settings = config.load()
    now = clock.now_ms()
    result, db = knowledge.search(
        options["query"], limit=options["limit"], types=knowledge.parse_types(options["type"]), now=now, config=settings
    )
    if db is not None:
        _note(db, result, settings, now)
    return Answer(result, _next_actions(result))


def _note(db: apsw.Connection, result: KnowledgeResult, settings: Config, now: int) -> None:
    """Store the event, and that the hits were recalled. A store that cannot be written is no reason to fail."""
    from otel import log
    from otel.event import new_event, query_excerpt

    about = {
        "query": query_excerpt(result["query"]),
        "found": result["found"],
        "returned": len(result["hits"]),
    }
    made = new_event("knowledge.search.completed", component=_COMPONENT, metadata=about, now=now)
    log.try_append(db, [made], settings, recalled=[hit["id"] for hit in result["hits"]], now=now)


def _next_actions(result: KnowledgeResult) -> list[NextAction]:
    if not result["hits"]:
        return [
            {
                "command": "joelclaw knowledge sync <dir>",
                "description": "take in a folder of markdown",
                "params": {"dir": {"description": "a folder; without one, those synced before"}},
            }
        ]
    about = {"description": "its id", "value": result["hits"][0]["id"], "required": True}
    return [
        {"command": "joelclaw memory show <id>", "description": "the whole section", "params": {"id": about}},
    ]
