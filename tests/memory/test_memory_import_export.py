"""`memory import` and `export`: idempotent by id, exact in the round trip, patient with bad lines."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, NOW_MS, Run, at_ms

from core.store import sqlite

LONG = "the gateway daemon restarts its telegram channel when the broker drops for longer than a short while"


def _lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


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


def test_an_export_may_be_of_a_collection(run: Run, exported: str) -> None:
    of_one = [line + "\n" for line in exported.splitlines() if json.loads(line)["collection"] == "episodes"]
    assert run("memory", "export", "--collection", "episodes").out == "".join(of_one) != ""


def test_an_export_makes_the_same_store_again(run: Run, tmp_path: Path, exported: str) -> None:
    elsewhere = {"JOELCLAW_HOME": str(tmp_path / "elsewhere"), "JOELCLAW_NOW_MS": str(NOW_MS + 99_000_000)}
    assert run("memory", "import", "-", stdin=exported, env=elsewhere).result["added"] == 4
    assert run("memory", "export", env=elsewhere).out == exported
    assert run("memory", "import", "-", stdin=exported, env=elsewhere).result["unchanged"] == 4
    assert run("recall", "telegram", env=elsewhere).result["count"] == 1


def test_a_new_kind_of_memory_needs_a_row_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sqlite.COLLECTIONS, "letters", sqlite.Collection(4, "letters", "text"))
    monkeypatch.setitem(sqlite.NAME_OF, 4, "letters")
    run("memory", "import", "-", stdin=_lines({"text": "the ferry leaves at noon", "collection": "letters"}))
    (hit,) = run("recall", "when does the ferry leave", "--collection", "letters").result["hits"]
    assert run("memory", "stats").result["collections"]["letters"] == 1
    assert json.loads(run("memory", "export").out)["collection"] == "letters"
    assert run("memory", "show", hit["id"]).result["origin"] == "import"
    run("memory", "forget", hit["id"])
    assert run("recall", "when does the ferry leave").result["hits"] == []
