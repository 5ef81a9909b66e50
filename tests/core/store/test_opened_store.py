"""A store that is opened, written, folded, copied and looked at: what its file says, and what its faults are called."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import NOW_MS
from faults import WITHOUT_COLUMNS

from core.errors import Failure
from core.store import sqlite


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store lies; not made yet."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    home.mkdir(mode=0o700)
    return home / "store.db"


@pytest.fixture
def db(store: Path, opened_store: apsw.Connection) -> apsw.Connection:
    sqlite.set_durability(opened_store, False, busy_ms=0)
    return opened_store


def code_of(action: Any) -> str:
    with pytest.raises(Failure) as caught:
        action()
    return caught.value.code


def test_an_older_store_is_migrated_when_read(db: apsw.Connection, store: Path) -> None:
    db.execute("DROP TABLE upkeep;" + WITHOUT_COLUMNS)
    db.execute("PRAGMA user_version = 9")
    reading = sqlite.open_reading()
    assert reading is not None and reading.execute("PRAGMA user_version").get == sqlite.SCHEMA
    assert reading.execute("SELECT count(*) FROM upkeep").get == 0
    reading.close()


@pytest.mark.parametrize(("error", "code"), [
    (apsw.NotADBError("x"), "STORE_DAMAGED"), (apsw.CorruptError("x"), "STORE_DAMAGED"),
        (apsw.FullError("x"), "STORE_FULL"),
    (apsw.BusyError("x"), "STORE_BUSY"), (apsw.LockedError("x"), "STORE_BUSY"),
    (apsw.ReadOnlyError("x"), "STORE_READ_ONLY"), (apsw.SQLError("no such table: x"), "STORE_FOREIGN"),
    (apsw.SQLError("there is no such table"), "STORE_UNREADABLE"), (apsw.IOError("x"), "STORE_IO"),
    (apsw.CantOpenError("x"), "STORE_UNREADABLE"), (apsw.PermissionsError("x"), "STORE_UNREADABLE"),

])  # fmt: skip
def test_database_errors_have_codes(store: Path, error: apsw.Error, code: str) -> None:
    for exists in (False, True):
        if exists:
            store.write_bytes(b"x")
        failure = sqlite.as_failure(error)
        assert failure.code == code and failure.fix and str(store) in failure.message
