"""`joelclaw recall` and `memory search`: ask, answer, and note in the events that it happened."""

from __future__ import annotations

from cli.answer import Answer, write_out
from core import clock, config, json_text
from core.errors import Failure, usage
from core.store.migrations import COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import apsw

    from core.config import Config
    from core.envelope import NextAction
    from recall.engine import RecallResult

_COMPONENT = "recall-cli"
_STDIN = "-"
_NOTED_TOGETHER = 500
_QUERY_READ = 4_000
_QUERY_SHOWN = 200
"""Characters of a query that its events hold."""


def run(options: dict[str, Any]) -> Answer | int:
    """`joelclaw recall QUERY` or `--batch FILE`."""
    names = collections(options["collection"] or "")
    if options["batch"] is not None:
        if options["query"] is not None:
            raise usage("RECALL_INVALID_ARGS", "a query and --batch exclude each other", "give one of them")
        return _batch(options, names)
    if options["query"] is None:
        raise usage(
            "RECALL_INVALID_ARGS", "there is no query", 'give one: joelclaw recall "what was decided about retries"'
        )
    settings = config.load()
    store = _Store()
    result = _ask(store, options, options["query"], names, settings, clock.now_ms())
    store.note(settings, counting=True)
    raw = "\n".join(" ".join(hit["observation"].split()) for hit in result["hits"]) if options["raw"] else None
    return Answer(result, _next_actions(result), raw)


def search(options: dict[str, Any]) -> Answer | int:
    """`joelclaw memory search QUERY`: recall with the automatic budget."""
    from cli.commands.recall import COMMANDS

    return run({**COMMANDS[0].defaults(), **options, "budget": "auto"})


def collections(given: str) -> tuple[str, ...]:
    """The collections that a comma-separated list names.

    Raises:
        Failure: RECALL_INVALID_ARGS for a name that is none.
    """
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        if name not in COLLECTIONS:
            known = ", ".join(COLLECTIONS)
            raise usage("RECALL_INVALID_ARGS", f"there is no collection {name!r}", f"use some of {known}")
    return names


class _Store:
    """The one connection of this process, opened on the first question, and what it will note at the end."""

    __slots__ = ("db", "events", "recalled", "vectors")

    def __init__(self) -> None:
        from core.store import sqlite

        self.db: apsw.Connection | None = sqlite.open_reading()
        self.vectors = self.db is not None and sqlite.load_vectors(self.db)
        self.events: list[Any] = []
        self.recalled: list[str] = []

    def note(self, settings: Config, *, counting: bool) -> None:
        """Store the events, and that the hits were recalled. A store that cannot be written is no reason to fail."""
        from core.store import documents, sqlite
        from otel import log

        try:
            if self.db is None:
                self.db = sqlite.open_writing(busy_ms=settings.whole("otel.busy_ms"), durable=False)
            else:
                sqlite.be_durable(self.db, False, busy_ms=settings.whole("otel.busy_ms"))
            with sqlite.transaction(self.db):
                log.append(self.db, self.events, debug_limit=settings.whole("otel.debug_limit"))
                if counting and self.recalled:
                    documents.count_recall(self.db, self.recalled, clock.now_ms())
        except Failure:
            pass
        self.events.clear()


def _ask(
    store: _Store, options: dict[str, Any], query: str, names: tuple[str, ...], settings: Config, started: int
) -> RecallResult:
    import time

    import apsw

    from core.redaction import redact
    from core.store import sqlite
    from otel.event import new_event
    from recall import engine

    began = time.perf_counter()
    # Redacted before it is cut, since half a secret is not known as one.
    about = {
        "query": redact(query[:_QUERY_READ])[0][:_QUERY_SHOWN],
        "budget": options["budget"],
        "limit": options["limit"],
    }
    session = options["session"] or ""
    store.events.append(
        new_event("memory.recall.started", component=_COMPONENT, level="debug", metadata=about, now=started)
    )
    try:
        result = engine.recall(
            store.db,
            query,
            limit=options["limit"],
            min_score=options["min_score"],
            budget=options["budget"],
            category=options["category"] or "",
            collections=names,
            session=session,
            project=options["project"] or "",
            include_hold=options["include_hold"],
            include_discard=options["include_discard"],
            now=started,
            vectors=store.vectors,
            config=settings,
        )
    except apsw.Error as error:
        failure = sqlite.as_failure(error)
        store.events.append(
            new_event(
                "memory.recall.failed",
                component=_COMPONENT,
                level="error",
                success=False,
                error=failure.message,
                metadata={**about, "code": failure.code},
                now=clock.now_ms(),
            )
        )
        store.note(settings, counting=False)
        raise failure from None
    store.recalled.extend(hit["id"] for hit in result["hits"])
    took = round((time.perf_counter() - began) * 1000, 2)
    store.events.append(
        new_event(
            "memory.recall.completed",
            component=_COMPONENT,
            metadata={
                **about,
                "budget": result["budget"]["applied"],
                "found": result["found"],
                "returned": result["count"],
                "dropped": result["droppedByTrustPass"],
                "backend": result["backend"],
                "rewrite": result["rewrite"]["strategy"],
                "semantic": result["semantic"],
                **({"fallback": result["fallback"]["code"]} if "fallback" in result else {}),
            },
            duration_ms=took,
            now=clock.now_ms(),
        )
    )
    return result


def _next_actions(result: RecallResult) -> list[NextAction]:
    if result["hits"]:
        return [
            {
                "command": "joelclaw memory show <id>",
                "description": "everything known of one memory",
                "params": {
                    "id": {"description": "its id", "value": result["hits"][0]["id"], "required": True},
                },
            }
        ]
    if result["droppedByTrustPass"]:
        return [
            {
                "command": "joelclaw recall <query> --include-hold --include-discard",
                "description": "also what the write gate held back or discarded",
                "params": {
                    "query": {"description": "the same query", "value": result["query"][:200], "required": True}
                },
            }
        ]
    return [{"command": "joelclaw memory stats", "description": "what there is to recall"}]


def _batch(options: dict[str, Any], names: tuple[str, ...]) -> int:
    """One query a line in, one compact envelope a line out. Recalls in bulk do not count as use."""
    from core import envelope

    settings = config.load()
    store = _Store()
    for query in _lines(options["batch"]):
        result = _ask(store, options, query, names, settings, clock.now_ms())
        write_out(json_text.dumps(envelope.done("joelclaw recall", result)) + "\n")
        if len(store.events) >= _NOTED_TOGETHER:
            store.note(settings, counting=False)
    store.note(settings, counting=False)
    return 0


def _lines(where: str) -> Iterator[str]:
    import sys

    from core.words import clean

    try:
        handle = sys.stdin.buffer if where == _STDIN else open(where, "rb")
    except OSError as error:
        raise Failure(
            "RECALL_INVALID_ARGS", f"{where}: {error.strerror}", "name a file with one query a line, or -"
        ) from None
    with handle:
        for line in handle:
            text = clean(line.decode("utf-8", "surrogateescape")).rstrip("\r\n")
            if text.strip():
                yield text
