"""`memory import` and `export`: idempotent by id, exact in the round trip, patient with bad lines and a full disk."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, NOW_MS, Run, at_ms, attempt

from core.store import sqlite
from memory import transfer

LONG = "the gateway daemon restarts its telegram channel when the broker drops for longer than a short while"


def _lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _exported(run: Run, **more: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("memory", "export", **more).out.splitlines()]


def test_a_preview_of_lines_reports_what_the_import_then_does(run: Run, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl"
    path.write_text('{"id": "one", "text": "the ferry leaves at noon"}\n{"memory": 3}\n{"text": "ok"}\n')
    preview = run("memory", "import", str(path), "--preview", env=NOW).result
    assert not home.exists()
    assert (preview["added"], preview["failed"], preview["errors"][0]["line"]) == (2, 1, 2)
    result = run("memory", "import", str(path), env=NOW, ok=False).result
    assert {**preview, "preview": None} == {**result, "preview": None}
    piped = run("memory", "import", "-", "--preview", stdin=path.read_text(), env=NOW).result
    assert (piped["added"], piped["unchanged"]) == (0, 2)


@pytest.fixture
def exported(run: Run) -> str:
    """The export of a store with a bit of everything."""
    about = ("-t", "a,b", "--session", "s1", "--project", "p", "-c", "arch")
    run("memory", "write", LONG, *about, env=NOW)
    later = at_ms(1234)
    run("memory", "write", LONG + " indeed", "-s", "other", "--project", "p", env=later)
    run("memory", "write", "Let me check the logs first", env=NOW)
    rows: tuple[dict[str, Any], ...] = (
        {"id": "é1", "collection": "episodes", "text": "two\nlines  and 🦓", "context": "before\nafter",
         "created_at": 1},
        {"id": "k1", "collection": "knowledge", "text": "Body", "title": "A title", "path": "docs/two  blanks.md",
         "type": "adr"},
    )  # fmt: skip
    run("memory", "import", "-", env=NOW, stdin=_lines(*rows))
    run("recall", "telegram", env=NOW)
    return run("memory", "export").out


def test_an_export_holds_everything(exported: str) -> None:
    rows = [json.loads(line) for line in exported.splitlines()]
    assert [row["collection"] for row in rows] == ["observations", "observations", "episodes", "knowledge"]
    assert (rows[0]["text"], rows[0]["merged_count"], rows[0]["recall_count"]) == (LONG + " indeed", 1, 1)
    assert rows[0]["history"] == [{"text": LONG, "at": "2026-09-21T14:13:20.000Z", "source": "cli"}]
    assert (rows[0]["category"], rows[0]["tags"], rows[0]["project"]) == ("jc:system-architecture", ["a", "b"], "p")


def test_an_export_makes_the_same_store_again(run: Run, tmp_path: Path, exported: str) -> None:
    elsewhere = {"JOELCLAW_HOME": str(tmp_path / "elsewhere"), "JOELCLAW_NOW_MS": str(NOW_MS + 99_000_000)}
    assert run("memory", "import", "-", stdin=exported, env=elsewhere).result["added"] == 4
    assert run("memory", "export", env=elsewhere).out == exported
    assert run("memory", "import", "-", stdin=exported, env=elsewhere).result["unchanged"] == 4
    assert run("recall", "telegram", env=elsewhere).result["count"] == 1


def test_collections_are_exported_one_by_one(run: Run) -> None:
    assert run("memory", "export").out == ""
    rows = _lines({"text": "The fact of the day"}, {"text": "said", "collection": "episodes"})
    run("memory", "import", "-", stdin=rows)
    assert [row["collection"] for row in _exported(run)] == ["observations", "episodes"]
    (episode,) = run("memory", "export", "--collection", "episodes").out.splitlines()
    assert json.loads(episode)["text"] == "said"


def test_a_new_kind_of_memory_needs_a_row_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sqlite.COLLECTIONS, "letters", sqlite.Collection(4, "letters", "text"))
    monkeypatch.setitem(sqlite.NAME_OF, 4, "letters")
    run("memory", "import", "-", stdin=_lines({"text": "the ferry leaves at noon", "collection": "letters"}))
    (hit,) = run("recall", "when does the ferry leave", "--collection", "letters").result["hits"]
    assert run("memory", "stats").result["collections"]["letters"] == 1
    assert [row["collection"] for row in _exported(run)] == ["letters"]
    assert run("memory", "show", hit["id"]).result["origin"] == "import"
    run("memory", "forget", hit["id"])
    assert run("recall", "when does the ferry leave").result["hits"] == []


MANY = 2_000
FULL = {"STORE_FULL", "STORE_IO"}
LIMIT = 1_100_000
"""Bytes that a file may grow to: some batches of 500 lines fit in."""


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Many memories, half of them without an id, a blank line and a bad one among them."""
    path = tmp_path / "lines.jsonl"
    rows = [
        {"text": f"Worker {i} listens on port {9000 + i} and logs to /var/log/w{i}.log", "verdict": "allow"}
        | ({"id": f"n{i}"} if i % 2 else {})
        for i in range(MANY)
    ]
    path.write_text("not JSON\n\n" + "".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts(home: Path) -> list[str]:
    return [json.loads(line)["text"] for line in attempt(home, "memory", "export").out.splitlines()]


def test_an_interrupted_import_goes_on_where_it_was(home: Path, lines: Path) -> None:
    attempt(home, "status")
    done = attempt(home, "memory", "import", str(lines), largest_file=LIMIT)
    assert done.assert_failed() in FULL and done.envelope["fix"]
    stored = len(texts(home))
    assert 0 < stored < MANY and stored % transfer.LINES_PER_COMMIT == 0
    again = attempt(home, "memory", "import", str(lines)).envelope["result"]
    assert (again["added"], again["unchanged"], again["failed"]) == (MANY - stored, stored, 1)
    assert len(set(texts(home))) == len(texts(home)) == MANY
