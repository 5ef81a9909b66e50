"""What an import changes of memories that are there, what it counts, and that a preview tells the same beforehand."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from core.store import documents
from memory.import_export import Imported, import_lines

CONFIG: Any = SimpleNamespace(whole=lambda _: 200)
NOW = 5_000
TEXT = "The gateway listens on port 8089"


def lines(*rows: Any) -> list[tuple[int, bytes | None]]:
    return [(number, json.dumps(row).encode()) for number, row in enumerate(rows, 1)]


def taken(db: apsw.Connection, *rows: Any, now: int = NOW) -> Imported:
    """Import the rows, and see that a preview told the same."""
    told = import_lines(db, lines(*rows), preview=True, now=now, config=CONFIG, progress=lambda _: None)
    report = import_lines(db, lines(*rows), now=now, config=CONFIG, progress=lambda _: None)
    assert told == report
    return report


def stored(db: apsw.Connection, identifier: str = "a") -> Any:
    return documents.by_id(db, identifier)


@pytest.mark.parametrize(
    ("row", "changes"),
    [
        ({"tags": ["x"]}, {"tags": ["x"]}), ({"title": "T", "context": "c"}, {"title": "T", "context": "c"}),
        ({"created_at": 7}, {"created_at": 7}),
        ({"created_at": 7, "updated_at": 8}, {"created_at": 7, "updated_at": 8}),
        ({"verdict": "hold"}, {
            "write_verdict": "hold", "write_confidence": 1.0, "write_reason": "imported with this verdict",
            "write_gate_fallback": False,
        }),
        ({"category": "prefs"}, {
            "category_id": "jc:preferences", "category_confidence": 1.0, "category_source": "flag",
        }),
    ],
)  # fmt: skip
def test_only_what_a_line_names_changes(db: apsw.Connection, row: dict[str, Any], changes: dict[str, Any]) -> None:
    taken(db, {"id": "a", "text": TEXT, "source": "cli", "tags": ["old"]})
    before = stored(db)
    report = taken(db, {"id": "a", "text": TEXT, **row}, now=NOW + 9)
    assert (report.updated, report.added, report.unchanged) == (1, 0, 0)
    assert stored(db) == {**before, "updated_at": NOW + 9, **changes}
    assert taken(db, {"id": "a", "text": TEXT, **row}, now=NOW + 99).unchanged == 1


def test_a_new_text_is_judged_and_categorised_anew_and_the_rest_stays(db: apsw.Connection) -> None:
    taken(db, {"id": "a", "text": TEXT, "source": "cli", "tags": ["old"], "category": "prefs", "verdict": "hold"})
    before = stored(db)
    taken(db, {"id": "a", "text": "Let me check the logs first"}, now=NOW + 9)
    after = stored(db)
    assert after == {
        **before, "text": "Let me check the logs first", "updated_at": NOW + 9, "write_verdict": "discard",
        "write_confidence": 0.8, "write_reason": "announces a step instead of stating a fact",
        "write_gate_fallback": True, "category_id": "jc:operations", "category_source": after["category_source"],
        "category_confidence": after["category_confidence"], "fingerprint": after["fingerprint"],
    }  # fmt: skip
    assert after["fingerprint"] != before["fingerprint"] and after["category_source"] != "flag"


def test_of_an_id_that_comes_twice_in_a_file_the_last_line_holds(db: apsw.Connection) -> None:
    report = taken(db, {"id": "a", "text": TEXT}, {"id": "a", "text": TEXT}, {"id": "a", "text": TEXT, "tags": ["x"]})
    assert (report.lines, report.added, report.unchanged, report.updated) == (3, 1, 1, 1)
    assert stored(db)["tags"] == ["x"]


def test_what_is_forgotten_and_what_has_the_id_of_another_collection_stays(db: apsw.Connection) -> None:
    taken(db, {"id": "a", "text": TEXT}, {"id": "b", "text": TEXT, "collection": "episodes"})
    documents.forget(db, stored(db)["rowid"], 9, signatures=False)
    before = stored(db), stored(db, "b")
    report = taken(db, {"id": "a", "text": "Another text of it"}, {"id": "b", "text": "Another text of it"}, [1])
    assert (report.forgotten, report.failed, report.updated, report.unchanged) == (1, 2, 0, 0)
    assert sorted(report.errors, key=lambda one: one["line"]) == [
        {"line": 2, "reason": "its id is that of a document in episodes"}, {"line": 3, "reason": "not a JSON object"},
    ]  # fmt: skip
    assert (stored(db), stored(db, "b")) == before
