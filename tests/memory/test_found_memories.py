"""Which memory an id means, and what goes, and comes back, with all of a session."""

from __future__ import annotations

import apsw
import pytest

from core.errors import Failure
from core.store import documents
from core.store.sessions import session_rows
from memory import forget


def kept(db: apsw.Connection, *identifiers: str, session: str = "") -> None:
    for identifier in identifiers:
        one = documents.blank("observations", identifier, f"text of {identifier}", 1)
        one["session_id"] = session
        documents.insert(db, one, b"", signatures=False)


def refused(db: apsw.Connection | None, identifier: str) -> tuple[str, str]:
    with pytest.raises(Failure) as told:
        forget.find(db, identifier)
    return told.value.code, told.value.message


def test_eight_characters_of_an_id_are_enough_where_no_other_begins_so(db: apsw.Connection) -> None:
    kept(db, "abcdefgh-1", "short", "bcdefghi-1", "bcdefghi-2")
    assert forget.find(db, "abcdefgh")["id"] == "abcdefgh-1"
    assert forget.find(db, "short")["id"] == "short"
    assert refused(db, "abcdefg")[0] == refused(db, "shor")[0] == refused(None, "short")[0] == "MEMORY_NOT_FOUND"
    assert refused(db, "abcdefgh-2")[0] == "MEMORY_NOT_FOUND"
    assert refused(db, "bcdefghi") == (
        "MEMORY_AMBIGUOUS", "several ids begin with bcdefghi: bcdefghi-1, bcdefghi-2",
    )  # fmt: skip


@pytest.mark.parametrize(("count", "more"), [(10, False), (11, True)])
def test_ten_ids_that_begin_so_are_named(db: apsw.Connection, count: int, more: bool) -> None:
    names = [f"abcdefgh-{number:02}" for number in range(count)]
    kept(db, *names)
    _, message = refused(db, "abcdefgh")
    assert message.partition(": ")[2] == ", ".join(names[:10]) + (" and more" if more else "")


def test_forgetting_is_of_all_or_none_and_keeps_its_first_time(db: apsw.Connection) -> None:
    kept(db, "one", "two")

    def times() -> list[int | None]:
        return [forget.find(db, name)["forgotten_at"] for name in ("one", "two")]

    with pytest.raises(Failure) as told:
        forget.forget(db, ["one", "three", "four"], now=5, vectors=False)
    assert told.value.message.endswith("; nothing was changed") and times() == [None, None]
    assert [one["id"] for one in forget.forget(db, ["one", "one"], now=5, vectors=False)] == ["one"]
    forget.forget(db, ["one", "two"], now=6, vectors=False)
    assert times() == [5, 6]
    assert [one["forgotten_at"] for one in forget.bring_back(db, ["two"], now=9, vectors=False)] == [6]
    assert times() == [5, None]
    assert (forget.find(db, "two")["updated_at"], forget.find(db, "one")["updated_at"]) == (9, 5)


def test_what_was_purged_does_not_come_back(db: apsw.Connection) -> None:
    kept(db, "one", "two", "three")
    forget.forget(db, ["one", "two", "three"], now=5, vectors=False)
    db.execute("UPDATE document SET write_reason = 'purged' WHERE id <> 'three'")
    db.execute("UPDATE document SET text = '' WHERE id <> 'two'")
    for name, code in (("one", "MEMORY_PURGED"), ("two", ""), ("three", "")):
        try:
            forget.bring_back(db, [name], now=9, vectors=False)
        except Failure as failure:
            assert failure.code == code
        else:
            assert not code


def test_with_a_session_all_of_it_goes(db: apsw.Connection) -> None:
    kept(db, "one", "two", session="session-one")
    kept(db, "three", session="session-two")
    session_rows.save_session(db, {
        "id": "session-one", "client": "pi", "project": "p", "folder": "/w", "updated_at": 1, "prompts": 1, "calls": 3,
        "plan": [],
    })  # fmt: skip
    assert forget.forget_session(db, "session-one", now=7, vectors=False) == (["one", "two"], 3)
    assert [forget.find(db, name)["forgotten_at"] for name in ("one", "two", "three")] == [7, 7, None]
    assert forget.forget_session(db, "session-two", now=7, vectors=False) == (["three"], 0)
    with pytest.raises(Failure) as told:
        forget.forget_session(db, "session-three", now=7, vectors=False)
    assert told.value.code == "SESSION_NOT_FOUND"
