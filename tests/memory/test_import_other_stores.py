"""`memory import` of what other tools remember: Mem0, MCP's memory server, claude-mem; our own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
MEM0 = {"results": [
    {"id": "a1", "memory": "Dev works at TechCorp as a senior engineer", "created_at": "2024-07-26T08:29:36.0209-07:00",
     "metadata": {"category": "professional"}, "categories": ["work", 3]},
    {"id": "a2", "memory": "Prefers morning meetings and async communication", "metadata": None},
    {"id": "a3"}, "no object",
]}  # fmt: skip
GRAPH = [
    {"type": "entity", "name": "Anna", "entityType": "person",
     "observations": ["Speaks Danish and German fluently", "Anna leads the tide table team", 7]},
    {"type": "relation", "from": "Anna", "to": "TechCorp", "relationType": "works_at"},
    {"type": "entity", "name": "Empty", "entityType": "person", "observations": []},
    {"type": "relation", "from": "Anna", "to": "TechCorp"},
]  # fmt: skip

COLUMNS = (
    "id integer primary key autoincrement, memory_session_id text not null, project text not null, text text,"
    " type text not null, title text, subtitle text, facts text, narrative text, concepts text,"
    " created_at text not null, created_at_epoch integer not null"
)
AT = 1_767_323_045_000


def claude_mem(path: Path, *, old: bool = False) -> Path:
    db = sqlite3.connect(path)
    if old:
        db.execute(
            "CREATE TABLE observations (id integer primary key, sdk_session_id text, project text, text text,"
            " type text, created_at text, created_at_epoch integer)"
        )
        db.execute("INSERT INTO observations VALUES (1, 's', 'quay', 'The crane lifts forty tons', 'x', 'x', ?)", (AT,))
    else:
        db.execute(f"CREATE TABLE observations ({COLUMNS})")
        db.execute(
            "CREATE TABLE session_summaries (id integer primary key, memory_session_id text, project text,"
            " request text, learned text, completed text, next_steps text, notes text, created_at text,"
            " created_at_epoch integer)"
        )
        facts = json.dumps(["The importer takes a file lock since two writers raced", "The lock lies in /run/importer"])
        rows = [
            ("harbour", None, "bugfix", "Race in the importer", "two writers", facts, "a long story", '["gotcha"]'),
            ("harbour", None, "decision", "Chose SQLite", "over Postgres for the gauges", None, None, None),
            ("harbour", None, "note", None, None, "[]", "The pier is closed in winter because of ice", "broken ["),
            ("harbour", None, "note", None, None, None, None, None),
        ]
        for row in rows:
            db.execute(
                "INSERT INTO observations (memory_session_id, project, text, type, title, subtitle, facts, narrative,"
                " concepts, created_at, created_at_epoch) VALUES ('s', ?, ?, ?, ?, ?, ?, ?, ?, 'x', ?)", (*row, AT),
            )  # fmt: skip
        learned = "File locks are advisory on Linux and need O_CLOEXEC"
        db.execute("INSERT INTO session_summaries VALUES (1, 's', 'harbour', 'fix it', ?, '', 'next', null, 'x', ?)",
                   (learned, AT))  # fmt: skip
    db.commit()
    db.close()
    return path


def made(tmp_path: Path, form: str) -> Path:
    if form == "mem0":
        path = tmp_path / "mem0.json"
        path.write_text(json.dumps(MEM0, indent=1))
    elif form == "mem0 lines":
        path = tmp_path / "mem0.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in MEM0["results"]))
    elif form == "mcp-memory":
        path = tmp_path / "memory.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in GRAPH) + "not JSON\n")
    elif form == "mcp-memory graph":
        path = tmp_path / "graph.json"
        entities = [{k: v for k, v in row.items() if k != "type"} for row in GRAPH if row["type"] == "entity"]
        relations = [{k: v for k, v in row.items() if k != "type"} for row in GRAPH if row["type"] == "relation"]
        path.write_text(json.dumps({"entities": entities, "relations": relations}))
    elif form == "claude-mem":
        path = claude_mem(tmp_path / "claude-mem.db")
    elif form == "claude-mem old":
        path = claude_mem(tmp_path / "old.db", old=True)
    return path


WANTED: dict[str, tuple[str, list[str], int]] = {
    "mem0": ("mem0", [MEM0["results"][0]["memory"], MEM0["results"][1]["memory"]], 2),  # type: ignore[index]
    "mcp-memory": (
        "mcp-memory",
        ["Anna: Speaks Danish and German fluently", "Anna leads the tide table team", "Anna works at TechCorp"], 4,
    ),
    "claude-mem": (
        "claude-mem",
        ["The importer takes a file lock since two writers raced", "The lock lies in /run/importer",
         "Chose SQLite – over Postgres for the gauges", "The pier is closed in winter because of ice",
         "File locks are advisory on Linux and need O_CLOEXEC"], 1,
    ),
    "claude-mem old": ("claude-mem", ["The crane lifts forty tons"], 0),
}  # fmt: skip
WANTED["mem0 lines"] = WANTED["mem0"]
WANTED["mcp-memory graph"] = ("mcp-memory", WANTED["mcp-memory"][1], 3)


def exported(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("memory", "export").out.splitlines()]


@pytest.mark.parametrize("form", WANTED)
def test_its_form_is_told_and_its_memories_are_stored_once(run: Run, home: Path, tmp_path: Path, form: str) -> None:
    path = made(tmp_path, form)
    name, texts, left_out = WANTED[form]
    preview = run("memory", "import", str(path), "--preview", env=NOW).result
    assert not home.exists()
    result = run("memory", "import", str(path), env=NOW).result
    assert (result["form"], result["added"], result["leftOutCount"]) == (name, len(texts), left_out), result["leftOut"]
    assert [row["observation"] for row in result["first"]] == texts
    for key in ("added", "first", "leftOut"):
        assert preview[key] == result[key]
    stored = exported(run)
    assert [memory["text"] for memory in stored] == texts
    assert all(memory["source"] == "import" for memory in stored)
    again = run("memory", "import", str(path), env=NOW).result
    assert (again["added"], again["unchanged"]) == (0, len(texts))
    assert exported(run) == stored
    hit = run("recall", texts[0], "--everywhere", env=NOW).result["hits"][0]
    assert (hit["observation"], hit["origin"]) == (texts[0], "import")


def test_what_is_known_of_a_memory_comes_with_it(run: Run, tmp_path: Path) -> None:
    for form in ("mem0", "claude-mem", "mcp-memory"):
        run("memory", "import", str(made(tmp_path, form)), env=NOW)
    by_text = {memory["text"]: memory for memory in exported(run)}
    mem0 = by_text["Dev works at TechCorp as a senior engineer"]
    assert mem0["tags"] == ["mem0", "work", "professional"]
    assert mem0["created_at"] == "2024-07-26T15:29:36.020Z"
    fact = by_text["The lock lies in /run/importer"]
    assert (fact["project"], fact["context"]) == ("harbour", "Race in the importer")
    assert fact["tags"] == ["claude-mem", "bugfix", "gotcha"]
    assert by_text["Anna works at TechCorp"]["tags"] == ["mcp-memory", "relation"]


def test_a_memory_that_is_too_long_is_left_out_and_told(run: Run, tmp_path: Path) -> None:
    longer = "Prefers morning meetings " * 8
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [{"id": "a1", "memory": longer}, MEM0["results"][0]]}))
    done = run("memory", "import", str(tmp_path / "mem0.json"), env={**NOW, "JOELCLAW_MEMORY_MAX_CHARS": "150"})
    (left,) = done.result["leftOut"]
    assert done.result["added"] == 1 and left["text"].startswith("Prefers morning meetings")
    assert left["where"] == "memory 1" and "the limit is 150" in left["reason"], left


def test_a_memory_that_changed_there_changes_here(run: Run, tmp_path: Path) -> None:
    path = made(tmp_path, "mem0")
    run("memory", "import", str(path), env=NOW)
    path.write_text(path.read_text().replace("TechCorp", "HarbourCorp"))
    result = run("memory", "import", str(path), env=NOW).result
    assert (result["updated"], result["unchanged"]) == (1, 1)
    (changed,) = [memory for memory in exported(run) if "HarbourCorp" in memory["text"]]
    assert [entry["text"] for entry in changed["history"]] == ["Dev works at TechCorp as a senior engineer"]


def test_our_own_lines_are_taken_as_before_and_previewed(run: Run, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl"
    path.write_text('{"id": "one", "text": "the ferry leaves at noon"}\n{"memory": 3}\n{"text": "ok"}\n')
    preview = run("memory", "import", str(path), "--preview", env=NOW).result
    assert not home.exists()
    assert (preview["added"], preview["failed"], preview["errors"][0]["line"]) == (2, 1, 2)
    result = run("memory", "import", str(path), env=NOW, ok=False).result
    assert {**preview, "preview": None} == {**result, "preview": None}
    again = run("memory", "import", str(path), "--preview", env=NOW).result
    assert (again["added"], again["unchanged"]) == (0, 2)
    piped = run("memory", "import", "-", "--preview", stdin=path.read_text(), env=NOW).result
    assert piped["unchanged"] == 2


@pytest.mark.parametrize(
    ("name", "data", "words", "code"),
    [
        ("x.db", b"SQLite format 3\0" + b"\1" * 200, [], "IMPORT_FAILED"),
        ("x.json", b"[]", ["--format", "mem0"], "IMPORT_FAILED"),
        ("x.md", b"a\0b", [], "IMPORT_FAILED"),
        ("x.json", b"[1, 2]", ["--format", "mcp-memory"], "IMPORT_FAILED"),
        ("x.md", b"# only a heading", [], "IMPORT_FAILED"),
        ("missing.md", None, ["--format", "markdown"], "IMPORT_FAILED"),
    ],
)
def test_what_cannot_be_read_fails_with_a_way_out(
    run: Run, home: Path, tmp_path: Path, name: str, data: bytes | None, words: list[str], code: str
) -> None:
    if data is not None and name != "-":
        (tmp_path / name).write_bytes(data)
    given = name if name == "-" else str(tmp_path / name)
    failed = run("memory", "import", given, *words, env=NOW, ok=False)
    assert (failed.json["error"]["code"], bool(failed.json["fix"])) == (code, True)
    assert not (home / "store.db").exists() or run("memory", "export").out == ""


def test_claude_mem_s_file_is_left_as_it_is(run: Run, tmp_path: Path) -> None:
    path = made(tmp_path, "claude-mem")
    (tmp_path / "claude-mem.db-wal").write_bytes(b"x" * 100)
    before = path.read_bytes()
    result = run("memory", "import", str(path), env=NOW).result
    assert "stop claude-mem" in result["leftOut"][0]["reason"]
    assert path.read_bytes() == before
