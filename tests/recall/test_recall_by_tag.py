"""`recall --tag`: only what has all of these tags, in small stores and in large ones."""

from __future__ import annotations

import json

import pytest
from conftest import Run


@pytest.fixture(params=[0, 300], ids=["small", "over 64"])
def filled(run: Run, request: pytest.FixtureRequest) -> Run:
    lines = [
        {"id": "both", "text": "the crane of berth nine lifts forty tons", "tags": ["crane", "berth"]},
        {"id": "one", "text": "the crane of berth four lifts thirty tons", "tags": ["crane"]},
        {"id": "none", "text": "the crane of berth two lifts twenty tons"},
    ]
    lines += [{"id": f"n{n}", "text": f"note {n} tells of the lighthouse keeper {n * 7}"} for n in range(request.param)]
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in lines))
    return run


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [((), {"both", "one", "none"}), (("crane",), {"both", "one"}), (("crane", "berth"), {"both"}), (("cran",), set())],
)
def test_only_what_has_all_tags(filled: Run, tags: tuple[str, ...], wanted: set[str]) -> None:
    words = [word for tag in tags for word in ("--tag", tag)]
    result = filled("recall", "crane lifts tons", *words).result
    assert {hit["id"] for hit in result["hits"]} == wanted
    assert [name for name in result["filtersApplied"] if name.startswith("tag:")] == [f"tag:{tag}" for tag in tags]


def test_a_tag_goes_with_other_filters_and_with_a_name(filled: Run) -> None:
    assert [hit["id"] for hit in filled("recall", "berth", "--tag", "berth", "--category", "ops").result["hits"]] in (
        ["both"], [],
    )  # fmt: skip
    filled("memory", "write", "craneDriver holds the licence of the berth", "--tags", "crane")
    (hit,) = filled("recall", "craneDriver", "--tag", "crane").result["hits"]
    assert "craneDriver" in hit["observation"]
    assert filled("recall", "craneDriver", "--tag", "berth").result["hits"] == []
