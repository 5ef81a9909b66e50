"""What a turn came to is one piece of knowledge: what it is made of, and that the last that was told holds."""

from __future__ import annotations

from typing import Any

import pytest

from core.store import documents, migrate
from memory.knowledge import turn_note
from memory.knowledge.turn_note import TurnNote

NOTE: dict[str, Any] = {
    "source": "gateway", "agent": "pi", "session": "s1", "turn": 3, "turn_id": "gateway:pi:internal:s1:3",
    "summary": "The lease table was mended",
}  # fmt: skip


def test_a_turn_without_an_id_gets_one_of_where_it_was() -> None:
    assert turn_note.turn_id("gateway", "pi", "", "s1", 3) == "gateway:pi:internal:s1:3"
    assert turn_note.turn_id("gateway", "pi", "telegram", "s1", 3) == "gateway:pi:telegram:s1:3"


@pytest.mark.parametrize(
    ("text", "most", "entries"),
    [("a, b,,a ", 9, ("a", "b")), ("a,b,c", 2, ("a", "b")), (" , ", 9, ()), ("a,a,b", 2, ("a", "b"))],
)
def test_the_entries_of_a_list(text: str, most: int, entries: tuple[str, ...]) -> None:
    assert turn_note.listed(text, most) == entries


def test_how_much_evidence_and_how_many_tags_are_taken() -> None:
    text = ",".join(f"Name {number}" for number in range(40))
    assert turn_note.evidence(text) == tuple(f"Name {number}" for number in range(30))
    assert turn_note.tags(text) == tuple(f"name-{number}" for number in range(20))


def test_a_note_is_stored_once_a_turn_and_what_was_learnt_of_it_stays() -> None:
    db = migrate.in_memory()
    identifier, kinds = turn_note.store(
        db,
        TurnNote(
            **NOTE, channel="telegram", decision="keep it", project="p1", evidence=("a.py", "b.py"), tags=("ops",),
            tools=("Bash", "Read"), about={"Run": "7", "Nothing": ""},
        ),
        now=100,
        vectors=False,
    )  # fmt: skip
    first = documents.by_id(db, identifier)
    assert first is not None and kinds == []
    assert first == {
        **documents.blank("knowledge", identifier, first["text"], 100),
        "rowid": first["rowid"], "title": "The lease table was mended", "source": "turn-note",
        "observation_type": "turn_note", "session_id": "s1", "project": "p1",
        "tags": ["turn_note", "gateway", "pi", "telegram", "ops"], "fingerprint": first["fingerprint"],
        "write_confidence": 1.0, "write_reason": "a turn's note", "write_gate_version": "v1",
        "category_id": first["category_id"], "category_confidence": first["category_confidence"],
        "category_source": first["category_source"],
    }  # fmt: skip
    assert first["text"] == (
        "The lease table was mended\nDecision: keep it\nEvidence: a.py, b.py\nTools: Bash, Read\nRun: 7"
    )
    again, _ = turn_note.store(db, TurnNote(**{**NOTE, "summary": "s " * 100}), now=200, vectors=False)
    second = documents.by_id(db, again)
    assert again == identifier and second is not None
    assert (second["title"], second["created_at"], second["updated_at"]) == (("s " * 60).strip(), 100, 200)
    assert (second["rowid"], second["tags"]) == (first["rowid"], ["turn_note", "gateway", "pi"])
    other, _ = turn_note.store(db, TurnNote(**{**NOTE, "turn_id": "another"}), now=300, vectors=False)
    assert other != identifier
    db.close()
