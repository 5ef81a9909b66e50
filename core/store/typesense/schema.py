"""The collections of the cluster: made and brought up to date by `joelclaw store init`.

Three hold what is recalled, under the mirrored CLI's names and the archive of turns beside them, one the events. What
recall searches are the finished terms and the vector (`mapping`); the texts of observations and knowledge are indexed
as they are, too, for whoever searches the cluster by other means.
"""

from __future__ import annotations

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.store.typesense.cluster import Cluster
    from core.store.typesense.connection import Row

VERSION = 1
COLLECTIONS = {"observations": "memory_observations", "episodes": "episodes", "knowledge": "system_knowledge"}
"""Ours → the server's name, without prefix."""
EVENTS = "otel_events"
DIMENSIONS = 256


def _field(name: str, kind: str, **more: Any) -> Row:
    return {"name": name, "type": kind, "optional": True, **more}


def _stored(name: str, kind: str = "string") -> Row:
    """Kept, not searched: costs no memory on the server."""
    return _field(name, kind, index=False)


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


def _documents(name: str, *, searchable: bool) -> Row:
    return {
        "name": COLLECTIONS[name],
        "default_sorting_field": "timestamp",
        "fields": [
            {"name": "timestamp", "type": "int64"},
            *(_field(one, "string", index=searchable) for one in (TEXT_FIELD[name], "title")),
            *(_field(one, "string") for one in _STRINGS),
            *(_field(one, "string", facet=True) for one in _FACETS),
            *(_field(one, kind) for one, kind in _NUMBERS.items()),
            _field("embedding", "float[]", num_dim=DIMENSIONS),
            _field("tags", "string[]", facet=True),
            *(_stored(one, kind) for one, kind in _KEPT.items()),
        ],
    }


TEXT_FIELD = {"observations": "observation", "episodes": "text", "knowledge": "text"}
"""Under which name a document's text goes."""


def schemas() -> list[Row]:
    """Every collection as this version wants it, names without prefix."""
    return [
        _documents("observations", searchable=True),
        _documents("episodes", searchable=False),
        _documents("knowledge", searchable=True),
        {
            "name": EVENTS,
            "default_sorting_field": "timestamp",
            "fields": [
                {"name": "timestamp", "type": "int64"},
                _field("search_text", "string"),
                *(_field(name, "string", facet=True) for name in ("level", "source", "component", "action")),
                *(_field(name, "string", facet=True) for name in ("sessionId", "systemId")),
                _field("success", "bool"),
                _field("duration_ms", "float"),
                _stored("error"),
                _stored("metadata"),
            ],
        },
    ]


def init(cluster: Cluster) -> list[dict[str, Any]]:
    """Create what is missing and add missing fields; run again, it changes nothing. What was done with each."""
    present = {row["name"]: row for row in cluster.collections()}
    plan = [(wanted, _missing(wanted, present.get(cluster.name(wanted["name"])))) for wanted in schemas()]
    done = []
    for wanted, missing in plan:
        row = present.get(cluster.name(wanted["name"]))
        if row is None:
            cluster.create(wanted)
        elif missing:
            cluster.add_fields(wanted["name"], missing)
        done.append(
            {
                "collection": cluster.name(wanted["name"]),
                "created": row is None,
                "addedFields": [field["name"] for field in missing],
                "documents": 0 if row is None else int(row["num_documents"]),
            }
        )
    return done


def _missing(wanted: Row, row: Row | None) -> list[Row]:
    if row is None:
        return []
    known = {field["name"]: field for field in row["fields"]}
    for field in wanted["fields"]:
        other = known.get(field["name"])
        if other is not None and (other["type"] != field["type"] or other.get("num_dim") != field.get("num_dim")):
            raise Failure(
                "TYPESENSE_SCHEMA_FOREIGN",
                f"the cluster's collection {row['name']} has a field {field['name']} of type {other['type']},"
                f" not {field['type']}",
                "it is another program's: set store.prefix in config.toml, and run `joelclaw store init` again",
            )
    return [field for field in wanted["fields"] if field["name"] not in known]
