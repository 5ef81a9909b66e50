"""Searches the events that every machine sends to the cluster.

A word is found as a whole, the last one of a query by its beginning too: the server has no search for a part of a word.
"""

from __future__ import annotations

from core.store.typesense import mapping
from core.store.typesense.schema import EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from core.records import Event
    from core.store.typesense.connection import Row
    from core.store.typesense.search_client import SearchClient

    class Page(TypedDict):
        """Events that a search found, and how many there are of each level, source, component and action."""

        found: int
        events: list[Event]
        counts: dict[str, dict[str, int]]


FACETS = ("level", "source", "component", "action")


def search(
    client: SearchClient, words: Sequence[str], filters: Sequence[str], *, limit: int, page: int, values: int
) -> list[Page]:
    """The newest events for each of several filters, in one request; `limit` 0 counts only.

    Args:
        words: must all occur; none for any event.
        filters: in the server's notation.
        values: most values of a facet.

    Raises:
        Failure: as `SearchClient`.
    """
    query: Row = {
        "collection": EVENTS,
        "q": " ".join(words) or "*",
        "query_by": "search_text",
        "num_typos": 0,
        "prefix": True,
        "drop_tokens_threshold": 0,
        "split_join_tokens": "off",
        "sort_by": "timestamp:desc",
        "facet_by": ",".join(FACETS),
        "max_facet_values": values,
        "exclude_fields": "search_text",
        "highlight_fields": "none",
        "highlight_full_fields": "none",
        "enable_highlight_v1": False,
        "page": page,
        "per_page": limit,
    }
    answers = client.multi_search([{**query, "filter_by": filter_by} for filter_by in filters])
    return [
        {
            "found": int(answer["found"]),
            "events": [mapping.event_from_remote(hit["document"]) for hit in answer.get("hits", ())],
            "counts": {
                facet["field_name"]: {one["value"]: int(one["count"]) for one in facet["counts"]}
                for facet in answer.get("facet_counts", ())
            },
        }
        for answer in answers
    ]
