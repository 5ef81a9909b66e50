"""`joelclaw search`: one question to all that is kept."""

from __future__ import annotations

from typing import Any

from cli.answer import Answer, quoted, step
from core import clock, config
from core.errors import usage
from otel import log
from session import search_everything


def run(options: dict[str, Any]) -> Answer:
    """The best hits of each collection, by its own scores.

    `--semantic` changes nothing: words and meaning are always searched together.

    Raises:
        Failure: INVALID_COLLECTION, SEARCH_INVALID_ARGS, or what the store says.
    """
    query, facet, collection = options["query"], options["facet"] or "", options["collection"] or ""
    if facet and facet not in search_everything.FIELDS:
        known = ", ".join(search_everything.FIELDS)
        raise usage(search_everything.CODE, f"--facet {facet[:80]!r} is not known", f"use one of {known}")
    log.store_waiting()
    found = search_everything.search(
        query,
        search_everything.collections(collection),
        limit=options["limit"],
        wanted=search_everything.conditions(options["filter"] or ""),
        facet=facet,
        now=clock.now_ms(),
        config=config.load(),
    )
    actions = [step(f"joelclaw recall {quoted(query)}", "memories and tool calls alone, with what bears on them")]
    shown = [hit for hit in found["hits"] if hit["collection"] != "otel_events"]
    if shown:
        actions.insert(0, step(f"joelclaw memory show {quoted(shown[0]['id'])}", "the first, whole"))
    elif found["hits"]:
        actions.insert(0, step(f"joelclaw otel search {quoted(query)}", "the events, with all that they tell"))
    return Answer({"query": query, "collection": collection or None, "semantic": options["semantic"], **found}, actions)
