"""The state's fields are declared once: the table, the type and the page of the docs name the same ones."""

from __future__ import annotations

import ast
from typing import Any

from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from session.state import state_file


def test_the_type_and_the_page_have_the_fields_of_the_table() -> None:
    tree = ast.parse((ROOT / "session/records.py").read_text(encoding="utf-8"))
    page = (ROOT / "docs/state.md").read_text(encoding="utf-8")
    declared = {
        node.name: [line.target.id for line in node.body if isinstance(line, ast.AnnAssign)]  # type: ignore[union-attr]
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    assert declared["SessionState"] == list(state_file.FIELDS)
    assert [name for name in state_file.FIELDS if f"- `{name}`: " not in page] == []


@given(st.dictionaries(st.sampled_from([*state_file.FIELDS, "later"]), st.none() | st.text() | st.integers()))
def test_what_is_read_fits_its_own_fields(value: dict[str, Any]) -> None:
    try:
        state = state_file.state_of({**value, "version": 1, "sessionId": "s"}, "s")
    except state_file.Damaged:
        return
    assert list(state) == list(state_file.FIELDS)
    assert state_file.bounded(state) == state
