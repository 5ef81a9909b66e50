"""Where a segment ends, what of a turn is in it, and what a segment says of a question, to the figure."""

from __future__ import annotations

import itertools

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.store import documents, progress, search, sqlite

TURN = 1_000
FULL = 4_000


def say(db: apsw.Connection, text: str, session: str = "s", collection: str = "episodes") -> int:
    one = documents.blank(collection, f"{session}-{db.total_changes()}", text, 1)
    one["session_id"] = session
    return documents.insert(db, one, b"", signatures=False)


def first_turns(db: apsw.Connection, session: str = "s") -> list[int]:
    return [row for (row,) in db.execute("SELECT first FROM segment WHERE session_id = ? ORDER BY first", (session,))]


@given(st.lists(st.integers(1, 1_500), min_size=1, max_size=30))
def test_each_turn_is_in_one_segment_and_none_but_the_last_is_short(lengths: list[int]) -> None:
    db = sqlite.open_in_memory()
    rows = [say(db, "z" * length) for length in lengths]
    progress.renew_segments(db, "s")
    starts = first_turns(db)
    assert starts[0] == rows[0] and set(starts) <= set(rows)
    for start, end in itertools.pairwise(starts):
        held = [min(length, TURN) for row, length in zip(rows, lengths, strict=True) if start <= row < end]
        assert sum(held) >= FULL > sum(held[:-1])
    last = [min(length, TURN) for row, length in zip(rows, lengths, strict=True) if row >= starts[-1]]
    assert sum(last[:-1]) < FULL
    db.close()


def test_what_came_before_a_change_is_not_indexed_anew(db: apsw.Connection) -> None:
    for _ in range(6):
        say(db, "x" * TURN)
    progress.renew_segments(db, "s")
    before = list(db.execute("SELECT rowid, first FROM segment ORDER BY first"))
    assert not progress.renew_segments(db, "s")  # nothing has changed
    say(db, "x" * TURN)
    assert progress.renew_segments(db, "s")
    after = list(db.execute("SELECT rowid, first FROM segment ORDER BY first"))
    assert after[0] == before[0] and len(after) == 2 and after[1][1] == before[1][1]
    assert db.execute("SELECT count(*) FROM segment_lexicon").get == 2


def test_what_a_segment_says_of_a_question(db: apsw.Connection) -> None:
    crane = say(db, "the crane is painted blue", "a")
    rust = say(db, "there is rust on it", "a")
    for number in range(20):
        say(db, "boats lie here, and there is rust" if number == 0 else "boats lie here", f"other-{number}")
    stray = say(db, "the crane has rust", "")
    note = say(db, "the crane has rust", "a", "observations")
    bare = say(db, "boats and nothing else", "b")
    progress.renew_due_segments(db)
    around = search.LocalCandidates(db, vectors=False).around
    said = around([crane, rust, stray, note, bare], ["crane", "rust", "parrot"])
    assert set(said) == {crane, rust, bare}  # what is in no session, and what is no episode, has no segment
    assert said[crane] == said[rust] and said[bare] == (0.0, 0.0)
    score, share = said[crane]
    assert share == pytest.approx(1.0) and score > 0
    only = around([crane], ["crane"])[crane]
    both = around([crane], ["crane", "rust"])[crane]
    assert both[0] > only[0] and both[1] == only[1] == 1.0


def indexed(db: apsw.Connection) -> int:
    return search.LocalCandidates(db, vectors=False).segments()
