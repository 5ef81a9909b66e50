"""The counts of `memory stats` and `status` are kept while documents are written: they are what the documents say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw
import pytest
from conftest import NOW_MS
from hypothesis import given
from hypothesis import strategies as st

from core.store import documents, sqlite, store_file
from core.store.rows import COLLECTIONS
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


@contextmanager
def store(steps: Sequence[str] = sqlite.migrations()) -> Iterator[apsw.Connection]:
    db = apsw.Connection(":memory:")
    for step in steps:
        db.execute(step)
    yield db
    db.close()


def act(db: apsw.Connection, what: str, which: Any, kind: Any) -> None:
    """One write; `which` counts the documents that are there."""
    if what == "insert":
        number = db.execute("SELECT count(*) FROM document").get
        name = f"d{number}-{db.total_changes()}"
        documents.insert(db, {**documents.blank(which, name, "a text", NOW_MS), **kind}, b"", signatures=False)
        return
    rows = [int(row) for (row,) in db.execute("SELECT rowid FROM document ORDER BY rowid")]
    if not rows:
        return
    row = rows[which % len(rows)]
    (one,) = documents.by_rowids(db, [row])
    if what == "replace":
        documents.replace(db, {**one, **kind}, b"", signatures=False)
    elif what == "bring back":
        documents.replace(db, {**one, "forgotten_at": None}, b"", signatures=False)
    elif what == "forget":
        documents.forget(db, row, NOW_MS, signatures=False)
    elif what == "remove":
        documents.remove(db, row, signatures=False)
    elif what == "use":
        documents.count_recall(db, [one["id"]], NOW_MS)
    else:  # a transaction that did not come to its end
        with pytest.raises(RuntimeError), db:
            documents.remove(db, row, signatures=False)
            raise RuntimeError


def assert_exact(db: apsw.Connection) -> None:
    every = list(documents.every(db, forgotten=True))
    kept = [one for one in every if one["forgotten_at"] is None]
    said = curate.stats(db)
    assert (said["total"], said["forgotten"]) == (len(kept), len(every) - len(kept))
    assert said["merged"] == sum(one["merged_count"] for one in kept)
    for group, name in (("categories", "category_id"), ("sources", "source"), ("projects", "project")):
        named = Counter(one[name] for one in kept if one[name])  # type: ignore[literal-required]
        assert said[group] == named  # type: ignore[literal-required]
        assert list(said[group].values()) == sorted(named.values(), reverse=True)  # type: ignore[literal-required]
    assert said["collections"] == {name: sum(one["collection"] == name for one in kept) for name in COLLECTIONS}
    assert said["verdicts"] == {
        name: sum(one["write_verdict"] == name for one in kept) for name in ("allow", "hold", "discard")
    }
    gone = Counter(one["collection"] for one in every if one["forgotten_at"] is not None)
    assert {name: entry["forgotten"] for name, entry in store_file.counts(db).items()} == {
        name: gone[name] for name in COLLECTIONS
    }
    times = [one["created_at"] for one in kept]
    ends = store_file.span(db)
    assert (ends["oldest"], ends["newest"]) == (min(times, default=None), max(times, default=None))


@given(given_acts=acts)
def test_the_counts_are_what_the_documents_say(given_acts: list[tuple[str, Any, Any]]) -> None:
    with store() as db:
        for one in given_acts:
            act(db, *one)
        assert_exact(db)
