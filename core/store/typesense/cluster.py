"""A cluster through the official client, for `store init`, `push`, `pull`, `verify` and `sync`. Off the hot path."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import httpx
import typesense
from typesense.exceptions import TypesenseClientError

from core import json_text
from core.errors import Failure
from core.store.typesense import connection
from core.store.typesense.search_client import SearchClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from core.store.typesense.connection import Row


class Cluster:
    """The collections and documents of a cluster. Its methods raise Failure as `SearchClient`.

    Args:
        nodes: see `connection.nodes`.
        limit_s: seconds that the nodes may be silent in all.
    """

    def __init__(self, nodes: Sequence[str], key: str, *, prefix: str = "", limit_s: float = 120.0) -> None:
        self.nodes = list(nodes)
        self.prefix = prefix
        self._key = key
        self._limit_s = limit_s
        settings: Any = {
            "nodes": self.nodes,
            "api_key": key,
            "connection_timeout_seconds": limit_s / len(self.nodes),
            "num_retries": len(self.nodes) - 1,
            "retry_interval_seconds": 0,
            "suppress_deprecation_warnings": True,
        }
        with self._faults():
            self._client: Any = typesense.Client(settings)

    def name(self, collection: str) -> str:
        """The collection's name on the server."""
        return self.prefix + collection

    def collections(self) -> list[Row]:
        """Every collection of the server, with its fields and `num_documents`."""
        with self._faults():
            return list(self._client.collections.retrieve())

    def create(self, schema: Mapping[str, Any]) -> None:
        """Create a collection; `schema["name"]` is without prefix."""
        with self._faults():
            self._client.collections.create({**schema, "name": self.name(schema["name"])})

    def add_fields(self, collection: str, fields: Sequence[Mapping[str, Any]]) -> None:
        """Add fields to a collection; the server is busy with it till it answers."""
        with self._faults():
            self._client.collections[self.name(collection)].update({"fields": list(fields)})

    def search(self, collection: str, parameters: Mapping[str, Any]) -> Row:
        """The answer to one search, sent as a body: a query may be longer than a URL."""
        named = {**parameters, "collection": self.name(collection)}
        with self._faults():
            result: Row = self._client.multi_search.perform({"searches": [named]}, {})["results"][0]
        if "error" in result:
            raise connection.refusal(self.nodes, int(result.get("code", 400)), str(result["error"]))
        return result

    def values(self, collection: str, field: str) -> list[str]:
        """The values that a field of a collection has now."""
        asked = {"q": "*", "per_page": 0, "facet_by": field, "max_facet_values": 250}
        facets = self.search(collection, asked)["facet_counts"]
        return [count["value"] for facet in facets for count in facet["counts"]]

    def retrieve(self, collection: str, identifier: str) -> Row | None:
        """A document by its id, None where there is none."""
        documents = self._client.collections[self.name(collection)].documents
        try:
            with self._faults():
                return dict(documents[quote(identifier, safe="")].retrieve())
        except Failure as failure:
            if "Could not find a document" in failure.message:
                return None
            raise

    def import_(self, collection: str, rows: Sequence[Row]) -> list[Row]:
        """Write whole documents; for each, in order: `{"success": true}` or `{"success": false, "error", "code"}`."""
        if not rows:
            return []
        body = "\n".join(json_text.dumps(row) for row in rows)
        with self._faults():
            text = self._client.collections[self.name(collection)].documents.import_(
                body, {"action": "upsert", "dirty_values": "coerce_or_reject", "batch_size": 200}
            )
            # Not `splitlines`: a refused document is quoted there, and may hold U+2028.
            results: list[Row] = [json_text.loads(line) for line in text.split("\n") if line.strip()]
        if len(results) != len(rows):  # what became of the others is not known
            raise connection.unreachable(self.nodes, f"{len(rows)} documents were sent, and it spoke of {len(results)}")
        return results

    def export(self, collection: str, *, include: str = "", exclude: str = "") -> Iterator[Row]:
        """Every document of a collection as they come; the official client would hold them all in memory.

        Args:
            include, exclude: field names, comma-separated.
        """
        fields = urlencode({"include_fields": include} if include else {"exclude_fields": exclude})
        client = SearchClient(self.nodes, self._key, limit_s=self._limit_s)
        for line in client.lines(f"/collections/{self.name(collection)}/documents/export?{fields}"):
            if line.strip():
                yield json_text.loads(line)

    def close(self) -> None:
        """Close the connections."""
        self._client.api_call.close()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of parts of the client that are not used here
                yield
        except TypesenseClientError as error:
            status = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            raise connection.refusal(self.nodes, status, str(error.args[-1]) if error.args else "") from None
        except httpx.HTTPError as error:
            raise connection.unreachable(self.nodes, str(error) or type(error).__name__) from None
        except ValueError:
            raise connection.unreachable(self.nodes, "what answers there is no Typesense") from None
