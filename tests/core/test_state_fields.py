"""The state's fields are declared once: the table, the type and the page of the docs name the same ones."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from session.state import field, schema

TABLES = {
    "SessionState": schema.FIELDS,
    "TaskCheckpoint": schema.CHECKPOINT,
    "Recalled": schema.RECALLED,
    "Memory": schema.MEMORY,
    "Pending": schema.PENDING,
    "InFlight": schema.IN_FLIGHT,
    "IdleTimer": schema.IDLE_TIMER,
    "Signpost": schema.SIGNPOST,
}


@pytest.mark.parametrize("name", TABLES)
def test_the_type_has_the_fields_of_the_table(name: str) -> None:
    tree = ast.parse((ROOT / "session/state/schema.py").read_text(encoding="utf-8"))
    (declared,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name]
    annotated = [node.target.id for node in declared.body if isinstance(node, ast.AnnAssign)]  # type: ignore[union-attr]
    assert annotated == list(TABLES[name])


def test_the_page_has_every_field() -> None:
    page = (ROOT / "docs/state.md").read_text(encoding="utf-8")
    for fields in TABLES.values():
        for name, one in fields.items():
            assert f"| `{name}` | {one.about}" in page


@pytest.mark.parametrize(
    ("kind", "right", "kept", "wrong"),
    [
        (field.text(3, ""), "abcd", "abc", 1),
        (field.texts(2, 3, ""), ["a", "bcde", "f"], ["bcd", "f"], ["a", 1]),
        (field.flag(""), True, True, 1),
        (field.whole(""), 7, 7, True),
        (field.whole(""), 7, 7, 7.0),
        (field.number(""), 7, 7, True),
        (field.maybe_number(""), None, None, "7"),
        (field.maybe_number(""), 7.5, 7.5, False),
        (field.times(1, 2, ""), {"abc": 1, "def": 2}, {"de": 2}, {"a": "b"}),
        (field.one({"a": field.whole("")}, ""), {"b": 1}, {"a": 0}, []),
        (field.maybe_one({"a": field.whole("")}, ""), {"a": 1}, {"a": 1}, {}),
        (field.many(1, {"a": field.whole("")}, ""), [{"a": 1}, {"a": 2}], [{"a": 2}], [{}]),
        (field.many(1, {"a": field.whole("")}, "", first_ones=True), [{"a": 1}, {"a": 2}], [{"a": 1}], {}),
    ],
)
def test_a_kind_keeps_what_fits_and_refuses_the_rest(kind: field.Field, right: Any, kept: Any, wrong: Any) -> None:
    assert kind.read(right) == kept
    with pytest.raises(field.Damaged):
        kind.read(wrong)


@given(st.dictionaries(st.sampled_from([*schema.FIELDS, "later"]), st.none() | st.text() | st.integers()))
def test_what_is_read_fits_its_own_fields(value: dict[str, Any]) -> None:
    try:
        state = schema.read({**value, "version": 1, "sessionId": "s"}, "s")
    except field.Damaged:
        return
    assert list(state) == list(schema.FIELDS)
    assert schema.bounded(state) == state
