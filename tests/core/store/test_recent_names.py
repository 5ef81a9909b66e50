"""Of a long session the names of its last calls are read, and all of them only for what a compaction dropped."""

from __future__ import annotations

import apsw
import pytest

from core.store import migrations
from core.store.sessions import name_rows, session_rows


@pytest.fixture
def db() -> apsw.Connection:
    made = apsw.Connection(":memory:")
    for step in migrations.STEPS:
        made.execute(step)
    session_rows.save_session(made, {
        "id": "s", "client": "claude", "project": "p", "folder": "/p", "updated_at": 1, "prompts": 1, "calls": 1000,
        "plan": [],
    })  # fmt: skip
    name_rows.save_names(made, "s", [
        {"name": f"name_{last}", "first": 1, "last": last, "calls": 2, "weight": weight, "place": "", "written": 0}
        for last, weight in ((1, 3.0), (600, 1.0), (601, 1.0), (1000, 2.0), (999, 0.0))
    ])  # fmt: skip
    return made


def test_names_of_the_last_calls(db: apsw.Connection) -> None:
    assert {one["name"] for one in name_rows.names(db, "s")} == {"name_601", "name_1000"}


def test_every_name(db: apsw.Connection) -> None:
    every = {one["name"] for one in name_rows.names(db, "s", every=True)}
    assert every == {
        "name_1",
        "name_600",
        "name_601",
        "name_1000",
    }


def test_none_of_an_unknown_session(db: apsw.Connection) -> None:
    assert name_rows.names(db, "t") == []
