"""A cluster in memory, for what is carried to one and fetched from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from core.errors import Failure
from core.store.typesense import schema


class Cluster:
    """Rows by collection and id; answers the filters that are asked here."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {name: {} for name in [*schema.COLLECTIONS.values(), schema.EVENTS]}
        self.batches: list[list[str]] = []
        self.searches = 0
        self.results: Callable[[str], Any] = lambda _: {"success": True}
        self.down: Failure | None = None
        self.closed = 0

    def search(self, collection: str, asked: Any) -> Any:
        rows = self.rows[collection]
        if "facet_by" in asked:
            found = {row["sync_origin"] for row in rows.values() if "sync_origin" in row}
            return {"facet_counts": [{"counts": [{"value": value} for value in sorted(found)]}]}
        self.searches += 1
        by_id = re.fullmatch(r"id:\[(.*)\]", asked["filter_by"])
        if by_id:
            hits = [rows[one] for one in re.findall("`(.*?)`", by_id[1]) if one in rows]
        else:
            told = re.fullmatch("sync_origin:=`(.*)` && sync_batch:>=([0-9]+)", asked["filter_by"])
            assert told and asked["sort_by"] == "sync_batch:asc"
            hits = [one for one in rows.values() if one["sync_origin"] == told[1] and one["sync_batch"] >= int(told[2])]
            hits.sort(key=lambda row: row["sync_batch"])
        kept = asked.get("include_fields", "").split(",")
        shown = [{k: v for k, v in row.items() if k in kept} if kept != [""] else row for row in hits]
        return {"hits": [{"document": row} for row in shown[: asked["per_page"]]]}

    def export(self, collection: str, *, include: str = "", exclude: str = "") -> Iterator[Any]:
        for row in self.rows[collection].values():
            yield {
                name: value
                for name, value in row.items()
                if name not in exclude.split(",") and (not include or name in include.split(","))
            }

    def close(self) -> None:
        self.closed += 1

    def retrieve(self, collection: str, identifier: str) -> Any:
        return self.rows[collection].get(identifier)

    def import_(self, collection: str, rows: list[Any]) -> list[Any]:
        if self.down:
            raise self.down
        self.batches.append([row["id"] for row in rows])
        results = [self.results(row["id"]) for row in rows]
        for row, result in zip(rows, results, strict=True):
            if result["success"]:
                self.rows[collection][row["id"]] = row
        return results
