"""`memory import CLAUDE.md`: bullets and short paragraphs become memories; what is left out is reported."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run

from memory.knowledge.markdown import items

PAGE = """\
---
name: not a memory
---
# Harbour service

Harbour keeps the tide tables of **forty** stations
and answers over HTTP.

@docs/more.md

## Commands

Use these:

- `make test` runs all tests before each commit
- Never run `make deploy` by hand; the pipeline deploys
  on Friday and only then
- Databases:
  - staging is restored every night at four
  - production is backed up to the vault each hour

```bash
- rm -rf is no memory
```

<!-- a comment
- is no memory
-->
## Style

1. Prefer tabs over spaces in Go files
2. [x] Use pnpm instead of npm in all packages
3. ok

| a | table |
|---|---|
"""
MEMORIES = [
    "Harbour keeps the tide tables of forty stations and answers over HTTP.",
    "`make test` runs all tests before each commit",
    "Never run `make deploy` by hand; the pipeline deploys on Friday and only then",
    "Databases: staging is restored every night at four",
    "Databases: production is backed up to the vault each hour",
    "Prefer tabs over spaces in Go files",
    "Use pnpm instead of npm in all packages",
]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "harbour" / "CLAUDE.md"
    (path.parent / ".git").mkdir(parents=True)
    path.write_text(PAGE)
    return path


def test_each_bullet_and_short_paragraph_is_a_memory(run: Run, page: Path) -> None:
    result = run("memory", "import", str(page), env=NOW).result
    assert (result["form"], result["items"], result["added"], result["leftOutCount"]) == ("markdown", 9, 7, 2)
    stored = [json.loads(line) for line in run("memory", "export").out.splitlines()]
    assert [memory["text"] for memory in stored] == MEMORIES
    assert {(memory["source"], *memory["tags"], memory["project"]) for memory in stored} == {
        ("import", "CLAUDE.md", "harbour")
    }
    assert stored[1]["context"] == "Harbour service > Commands > Use these:"
    assert stored[5]["category"] == "jc:preferences"
    (hit, *_) = run("recall", "tabs or spaces in Go", "--project", "harbour", env=NOW).result["hits"]
    assert (hit["observation"], hit["origin"]) == (MEMORIES[5], "import")
    left_out = {entry["text"]: entry["reason"] for entry in result["leftOut"]}
    assert list(left_out) == ["@docs/more.md", "ok"]
    assert "write gate" in left_out["ok"]


def test_a_preview_stores_nothing_and_reports_the_import(run: Run, home: Path, page: Path) -> None:
    preview = run("memory", "import", str(page), "--preview", env=NOW)
    assert not home.exists()
    assert (preview.result["preview"], preview.result["added"]) == (True, 7)
    assert [row["observation"] for row in preview.result["first"]] == MEMORIES
    assert [row["where"] for row in preview.result["first"]][:3] == ["line 6", "line 15", "line 16"]
    run("memory", "write", MEMORIES[5], "--global", env=NOW)
    before = run("memory", "export").out
    result = run("memory", "import", str(page), "--preview", env=NOW).result
    assert (result["added"], result["merged"]) == (6, 1)
    assert run("memory", "export").out == before
    assert run("memory", "import", str(page), env=NOW).result["added"] == 6


def test_edited_and_forgotten_memories_are_not_imported_again(run: Run, page: Path) -> None:
    ids = [row["id"] for row in run("memory", "import", str(page), env=NOW).result["first"]]
    run("memory", "forget", ids[0])
    run("memory", "edit", ids[1], "`make check` runs the tests nearest to a change")
    run("memory", "supersede", ids[5], "Prefer spaces over tabs in Go files, as gofumpt has it")
    before = run("memory", "export").out
    again = run("memory", "import", str(page), env=NOW).result
    assert (again["added"], again["forgotten"], again["unchanged"]) == (0, 1, 6)
    assert run("memory", "export").out == before


def test_secrets_are_redacted_and_reserved_tags_do_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pinned"
    path.write_text("- the token of the registry is ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8 for all\n")
    result = run("memory", "import", str(path), "--format", "markdown", env=NOW).result
    assert (sum(result["redacted"].values()), result["first"][0]["tags"]) == (1, [])
    assert "a1B2c3" not in run("memory", "export").out


@pytest.mark.parametrize(("text", "expected"), [
    ("- one\n- two\n", [("", "one"), ("", "two")]), ("# A\n## B\n- b\n# C\n- c\n", [("A > B", "b"), ("C", "c")]),
    ("- parent\n  - child\n", [("", "parent"), ("", "child")]),
    ("- parent:\n  - child:\n    - leaf\n- next\n", [("", "parent: child: leaf"), ("", "next")]),
    ("~~~\n- no\n```\n- no\n~~~\n- yes\n", [("", "yes")]),
    ("para\nof two lines\n\nanother\n", [("", "para of two lines"), ("", "another")]), ("    indented code\n", []),
    ("> quoted words\n", [("", "quoted words")]), ("---\n\n***\n", []),
    ("", []), ("```\nnever closed\n- no\n", []),
])  # fmt: skip
def test_bullets_and_paragraphs_become_items(text: str, expected: list[Any]) -> None:
    assert [(item.context, item.text) for item in items(text)] == expected


@pytest.mark.parametrize("data", [b"a\0b", b"# only a heading"])
def test_a_file_without_readable_items_fails_with_a_fix(run: Run, home: Path, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.md").write_bytes(data)
    failed = run("memory", "import", str(tmp_path / "x.md"), env=NOW, ok=False)
    assert (failed.json["error"]["code"], bool(failed.json["fix"])) == ("IMPORT_FAILED", True)
    assert not (home / "store.db").exists()
