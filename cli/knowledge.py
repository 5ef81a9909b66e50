"""`joelclaw knowledge search`: ask the synced files. Agents spawn it when a session starts."""

from __future__ import annotations

from cli.answer import Answer
from core import clock, config
from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.config import Config
    from core.envelope import NextAction
    from memory.knowledge.search import KnowledgeResult

FAILED = "KNOWLEDGE_SEARCH_FAILED"
_COMPONENT = "knowledge-cli"
_QUERY_READ = 4_000
_QUERY_SHOWN = 200
"""Characters of a query that its events hold."""


def search(options: dict[str, Any]) -> Answer:
    """The sections of synced files that bear on a query.

    Raises:
        Failure: KNOWLEDGE_SEARCH_FAILED.
    """
    from core.store import sqlite
    from memory.knowledge import search

    settings = config.load()
    now = clock.now_ms()
    try:
        db = sqlite.open_reading()
        vectors = db is not None and sqlite.load_vectors(db)
        result = search.search(
            db,
            options["query"],
            limit=options["limit"],
            types=types(options["type"]),
            now=now,
            vectors=vectors,
            config=settings,
        )
    except Failure as failure:
        raise failed(failure) from None
    except sqlite.StoreError as error:
        raise failed(sqlite.as_failure(error)) from None
    if db is not None:
        _note(db, result, settings, now)
    return Answer(result, _next_actions(result))


def types(given: str) -> tuple[str, ...]:
    """The types that a comma-separated list names, as they are stored."""
    from memory.knowledge import knowledge_type

    return tuple(kind for kind in map(knowledge_type.named, given.split(",")) if kind)


def failed(failure: Failure) -> Failure:
    """What the store says, under the code that callers of a knowledge search know."""
    return Failure(FAILED, f"{failure.message} ({failure.code})", failure.fix)


def _note(db: apsw.Connection, result: KnowledgeResult, settings: Config, now: int) -> None:
    """Store the event, and that the hits were recalled. A store that cannot be written is no reason to fail."""
    from core.redaction import redact
    from core.store import documents, sqlite
    from otel import log
    from otel.event import new_event

    about = {
        # Redacted before it is cut, since half a secret is not known as one.
        "query": redact(result["query"][:_QUERY_READ])[0][:_QUERY_SHOWN],
        "found": result["found"],
        "returned": len(result["hits"]),
    }
    made = new_event("knowledge.search.completed", component=_COMPONENT, metadata=about, now=now)
    try:
        sqlite.be_durable(db, False, busy_ms=settings.whole("otel.busy_ms"))
        with sqlite.transaction(db):
            log.append(db, [made], debug_limit=settings.whole("otel.debug_limit"))
            if result["hits"]:
                documents.count_recall(db, [hit["id"] for hit in result["hits"]], now)
    except (Failure, sqlite.StoreError):
        pass


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
