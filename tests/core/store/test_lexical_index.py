"""After many memories at once the lexical index is in one part, and finds what it found."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
from conftest import Run


def parts(home: Path) -> int:
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    found = db.execute("SELECT count(DISTINCT segid) FROM lexicon_idx").get
    assert isinstance(found, int)
    return found


def lines(count: int, first: int = 0) -> str:
    return "\n".join(
        json.dumps({"text": f"Worker {n} listens on port {9000 + n}"}) for n in range(first, first + count)
    )


def test_an_import_of_many_leaves_one_part(run: Run, home: Path) -> None:
    run("memory", "import", "-", stdin=lines(1_600))
    assert parts(home) == 1
    assert run("recall", "worker 1234 port").result["hits"][0]["observation"] == "Worker 1234 listens on port 10234"


def test_an_import_of_a_few_leaves_the_parts(run: Run, home: Path) -> None:
    run("memory", "import", "-", stdin=lines(1_600))
    for number in range(3):
        run("memory", "import", "-", stdin=lines(3, 5_000 + 3 * number))
    assert parts(home) > 1
