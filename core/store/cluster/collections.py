"""The cluster's collections, through the official client: create, upgrade, write, read whole."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import httpx
import typesense
from typesense.exceptions import TypesenseClientError

from core import json_text
from core.errors import Failure
from core.store.cluster import client
from core.store.cluster.client import SearchClient
from core.store.cluster.mapping import COLLECTIONS, EVENTS, TEXT_FIELD

Row = dict[str, Any]
VERSION = 1
_DIMENSIONS = 256


def _field(name: str, kind: str, **more: Any) -> Row:
    return {"name": name, "type": kind, "optional": True, **more}


_FACETS = ("session_id", "project", "source", "observation_type", "category_id", "write_verdict", "sync_origin")
_STRINGS = ("lexicon", "lexicon_context", "path", "fingerprint", "superseded_by")
_NUMBERS = {"updated_at": "int64", "forgotten_at": "int64", "sync_batch": "int64", "terms": "int32", "stale": "bool"}
_KEPT = {
    **dict.fromkeys(("context", "history", "privacy", "taxonomy_version", "sync_content", "supersedes"), "string"),
    **dict.fromkeys(("category_source", "write_reason", "write_gate_version"), "string"),
    **dict.fromkeys(("category_confidence", "write_confidence", "retrieval_priority"), "float"),
    **dict.fromkeys(("recall_count", "merged_count", "last_used_at"), "int64"),
    "write_gate_fallback": "bool",
}
"""Not searched: needs no memory on the server."""


def schemas() -> list[Row]:
    """Every collection in this version's schema, names without prefix."""
    made = []
    for name, remote in COLLECTIONS.items():
        searchable = name != "episodes"
        fields = [
            *(_field(one, "string", index=searchable) for one in (TEXT_FIELD[name], "title")),
            *(_field(one, "string") for one in _STRINGS),
            *(_field(one, "string", facet=True) for one in _FACETS),
            *(_field(one, kind) for one, kind in _NUMBERS.items()),
            _field("embedding", "float[]", num_dim=_DIMENSIONS),
            _field("tags", "string[]", facet=True),
            *(_field(one, kind, index=False) for one, kind in _KEPT.items()),
        ]
        made.append((remote, fields))
    facets = ("level", "source", "component", "action", "sessionId", "systemId")
    of_events = [
        _field("search_text", "string"),
        *(_field(one, "string", facet=True) for one in facets),
        _field("success", "bool"),
        _field("duration_ms", "float"),
        *(_field(one, "string", index=False) for one in ("error", "metadata")),
    ]
    time = {"name": "timestamp", "type": "int64"}
    return [
        {"name": name, "default_sorting_field": "timestamp", "fields": [time, *fields]}
        for name, fields in (*made, (EVENTS, of_events))
    ]


class Cluster:
    """The cluster's collections and documents; `limit_s`: seconds that the nodes may be silent in total."""

    def __init__(self, nodes: Sequence[str], key: str, *, prefix: str = "", limit_s: float = 120.0) -> None:
        self.nodes = list(nodes)
        self.prefix = prefix
        self._searches = SearchClient(nodes, key, prefix=prefix, limit_s=limit_s, patient=True)
        self.documents = self._searches.documents
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

    def collections(self) -> list[Row]:
        """Every collection of the server, with its fields and `num_documents`."""
        with self._faults():
            return list(self._client.collections.retrieve())

    def create(self, schema: Mapping[str, Any]) -> None:
        """Create a collection; `schema["name"]` is without prefix."""
        with self._faults():
            self._client.collections.create({**schema, "name": self.prefix + schema["name"]})

    def init(self) -> list[dict[str, Any]]:
        """Create missing collections and fields, and say what was done. Raises Failure: TYPESENSE_SCHEMA_FOREIGN."""
        present = {row["name"]: row for row in self.collections()}
        plan = []
        for wanted in schemas():
            row = present.get(self.prefix + wanted["name"])
            plan.append((wanted, row, _missing(wanted, row) if row else []))
        for wanted, row, missing in plan:
            if row is None:
                self.create(wanted)
            elif missing:
                with self._faults():
                    self._client.collections[row["name"]].update({"fields": missing})
        return [
            {
                "collection": self.prefix + wanted["name"],
                "created": row is None,
                "addedFields": [field["name"] for field in missing],
                "documents": 0 if row is None else int(row["num_documents"]),
            }
            for wanted, row, missing in plan
        ]

    def search(self, collection: str, parameters: Mapping[str, Any]) -> Row:
        """The answer to one search."""
        return self._searches.multi_search([{**parameters, "collection": collection}])[0]

    def import_(self, collection: str, rows: Sequence[Row]) -> list[Row]:
        """Write whole documents; for each, in order: `{"success": true}` or `{"success": false, "error", "code"}`."""
        body = "\n".join(json_text.dumps(row) for row in rows)
        with self._faults():
            text = self._client.collections[self.prefix + collection].documents.import_(
                body, {"action": "upsert", "dirty_values": "coerce_or_reject", "batch_size": 200}
            )
            # Not `splitlines`: a refused document is quoted there, and may hold U+2028.
            results: list[Row] = [json_text.loads(line) for line in text.split("\n") if line.strip()]
        if len(results) != len(rows):  # what became of the others is not known
            raise client.unreachable(
                self.nodes, f"{len(rows)} documents were sent, but the answer has {len(results)} results"
            )
        return results

    def export(self, collection: str, *, include: str = "", exclude: str = "") -> Iterator[Row]:
        """Every document as it comes (the official client would hold them all); fields are comma-separated."""
        fields = urlencode({"include_fields": include} if include else {"exclude_fields": exclude})
        for line in self._searches.lines(f"/collections/{self.prefix}{collection}/documents/export?{fields}"):
            if line.strip():
                yield json_text.loads(line)

    def close(self) -> None:
        """Close the connections."""
        self._searches.close()
        self._client.api_call.close()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of parts of the client that are not used here
                yield
        except TypesenseClientError as error:
            status = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            raise client.refusal(self.nodes, status, str(error.args[-1]) if error.args else "") from None
        except httpx.HTTPError as error:
            raise client.unreachable(self.nodes, str(error) or type(error).__name__) from None
        except ValueError:
            raise client.unreachable(self.nodes, "the server there is not Typesense") from None


def _missing(wanted: Row, row: Row) -> list[Row]:
    known = {field["name"]: field for field in row["fields"]}
    for field in wanted["fields"]:
        other = known.get(field["name"])
        if other is not None and (other["type"] != field["type"] or other.get("num_dim") != field.get("num_dim")):
            raise Failure(
                "TYPESENSE_SCHEMA_FOREIGN",
                f"the cluster's collection {row['name']} has a field {field['name']} of type {other['type']},"
                f" not {field['type']}",
                "another program uses it: set store.prefix in config.toml, and run `joelclaw store init` again",
            )
    return [field for field in wanted["fields"] if field["name"] not in known]
