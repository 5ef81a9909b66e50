"""The counts of `memory stats` and `status` are updated with each write and match the documents."""

from collections import Counter
from typing import Any

import apsw
import pytest
from conftest import NOW_MS
from hypothesis import given
from hypothesis import strategies as st

from core.store import documents, sqlite, store_file
from core.store.sqlite import COLLECTIONS
from memory import curate

kinds = st.fixed_dictionaries(
    {
        "category_id": st.sampled_from(["", "jc:ops", "jc:people"]),
        "source": st.sampled_from(["", "cli", "claude"]),
        "project": st.sampled_from(["", "p", "own/p"]),
        "write_verdict": st.sampled_from(["allow", "hold", "discard"]),
        "merged_count": st.integers(0, 3),
        "created_at": st.integers(NOW_MS, NOW_MS + 9),
    }
)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.sampled_from(list(COLLECTIONS)), kinds),
        st.tuples(st.just("replace"), st.integers(0, 9), kinds),
        st.tuples(
            st.sampled_from(["forget", "bring back", "remove", "use", "take back"]), st.integers(0, 9), st.none()
        ),
    ),
    max_size=25,
)


def act(db: apsw.Connection, what: str, which: Any, kind: Any) -> None:
    """One write; `which` counts the documents that are there."""
    if what == "insert":
        number = db.execute("SELECT count(*) FROM document").get
        name = f"d{number}-{db.total_changes()}"
        documents.insert(db, {**documents.blank(which, name, "a text", NOW_MS), **kind}, b"")
        return
    rows = [int(row) for (row,) in db.execute("SELECT rowid FROM document ORDER BY rowid")]
    if not rows:
        return
    row = rows[which % len(rows)]
    (document,) = documents.by_rowids(db, [row])
    if what == "replace":
        documents.replace(db, {**document, **kind}, b"")
    elif what == "bring back":
        documents.replace(db, {**document, "forgotten_at": None}, b"")
    elif what == "forget":
        documents.forget(db, row, NOW_MS)
    elif what == "remove":
        documents.remove(db, row)
    elif what == "use":
        documents.count_recall(db, [document["id"]], NOW_MS)
    else:  # a transaction that did not come to its end
        with pytest.raises(RuntimeError), db:
            documents.remove(db, row)
            raise RuntimeError


def assert_exact(db: apsw.Connection) -> None:
    every = list(documents.every(db, forgotten=True))
    visible = [row for row in every if row["forgotten_at"] is None]
    stats = curate.stats(db)
    assert (stats["total"], stats["forgotten"]) == (len(visible), len(every) - len(visible))
    assert stats["merged"] == sum(row["merged_count"] for row in visible)
    for group, name in (("categories", "category_id"), ("sources", "source"), ("projects", "project")):
        named = Counter(row[name] for row in visible if row[name])  # type: ignore[literal-required]
        assert stats[group] == named  # type: ignore[literal-required]
        assert list(stats[group].values()) == sorted(named.values(), reverse=True)  # type: ignore[literal-required]
    assert stats["collections"] == {name: sum(row["collection"] == name for row in visible) for name in COLLECTIONS}
    assert stats["verdicts"] == {
        name: sum(row["write_verdict"] == name for row in visible) for name in ("allow", "hold", "discard")
    }
    gone = Counter(row["collection"] for row in every if row["forgotten_at"] is not None)
    assert {name: entry["forgotten"] for name, entry in store_file.counts(db).items()} == {
        name: gone[name] for name in COLLECTIONS
    }
    times = [row["created_at"] for row in visible]
    ends = store_file.span(db)
    assert (ends["oldest"], ends["newest"]) == (min(times, default=None), max(times, default=None))


@given(given_acts=acts)
def test_the_counts_match_the_documents(given_acts: list[tuple[str, Any, Any]]) -> None:
    db = sqlite.open_in_memory()
    for act_ in given_acts:
        act(db, *act_)
    assert_exact(db)
    db.close()
