"""`vault ls`, `tree` and `adr`: what lies in the vault, and its decision records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Run


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "Vault"
    for name, text in {
        "docs/decisions/0203-signpost.md": "---\nstatus: Accepted\ndate: 2026-03-01\n---\n# ADR-0203: Signpost\n\n"
        "## Context\n\nA compaction drops it.\n\n## Decision\n\nInject one.\n",
        "docs/decisions/0007-queue.md": "# 7. Redis queue\n\n- **Status**: shipped\n\nbody\n",
        "docs/decisions/0007-again.md": "# Again\n",
        "docs/decisions/README.md": "# Index\n",
        "Projects/09-gateway/index.md": "---\nstatus: active\n---\n# Gateway\n",
        "Projects/12-voice/notes.md": "# no index\n",
        "inbox/a.md": "a", "inbox/b.txt": "b", "inbox/.hidden": "c",
        "Resources/books/x.md": "x",
        ".obsidian/app.json": "{}",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "outside").mkdir()
    (folder / "linked").symlink_to(tmp_path / "outside")
    return folder


@pytest.fixture
def ask(run: Run, vault: Path) -> Any:
    return lambda *words: run("vault", *words, env={"VAULT_PATH": str(vault)}).result


def test_how_much_each_part_holds(ask: Any, vault: Path) -> None:
    result = ask("ls")
    assert result["vault_root"] == str(vault)
    assert result["sections"] == {"projects": 1, "decisions": 4, "inbox": 2, "resources": 1}


def test_the_entries_of_a_part(ask: Any, vault: Path) -> None:
    projects = ask("ls", "Projects")
    assert (projects["section"], projects["count"]) == ("projects", 1)
    assert projects["items"] == [{"path": str(vault / "Projects/09-gateway/index.md"), "status": "active"}]
    assert {Path(one["path"]).name: one["status"] for one in ask("ls", "decisions")["items"]} == {
        "0007-again.md": None, "0007-queue.md": "shipped", "0203-signpost.md": "accepted", "README.md": None,
    }  # fmt: skip
    assert ask("ls", "inbox")["items"] == [str(vault / "inbox/a.md"), str(vault / "inbox/b.txt")]
    assert ask("ls", "resources")["items"] == [str(vault / "Resources/books")]


def test_the_folders_two_deep(ask: Any) -> None:
    assert set(ask("adr")["subcommands"]) == {"list", "locate", "collisions", "rank"}
    result = ask("tree")
    assert result["max_depth"] == 2
    assert [(one["path"], one["depth"]) for one in result["directories"]] == [
        (".", 0), ("Projects", 1), ("Projects/09-gateway", 2), ("Projects/12-voice", 2), ("Resources", 1),
        ("Resources/books", 2), ("docs", 1), ("docs/decisions", 2), ("inbox", 1),
    ]  # fmt: skip


def test_the_records(ask: Any) -> None:
    result = ask("adr", "list")
    assert (result["total"], result["filtered"], result["limit"], result["collisions"]) == (3, 3, 200, 1)
    assert result["items"][1:] == [
        {"number": "0007", "title": "Redis queue", "status": "shipped", "date": None, "filename": "0007-queue.md"},
        {"number": "0203", "title": "Signpost", "status": "accepted", "date": "2026-03-01",
         "filename": "0203-signpost.md"},
    ]  # fmt: skip
    only = ask("adr", "list", "--status", "accepted", "--limit", "1")
    assert (only["status_filter"], [one["number"] for one in only["items"]]) == ("accepted", ["0203"])
    assert ask("adr", "collisions")["collisions"] == [{"number": "0007", "files": ["0007-again.md", "0007-queue.md"]}]


@pytest.mark.parametrize(
    ("query", "identifier", "reason", "lines"),
    [
        ("203", "0203-signpost", "exact ADR", (1, 13)),
        ("ADR-0203", "0203-signpost", "exact ADR", (1, 13)),
        ("0203-signpost", "0203-signpost", "exact ADR", (1, 13)),
        ("0203-signpost#Decision", "0203-signpost#Decision", "exact section", (11, 13)),
        ("redis queue", "0007-queue", "title", (1, 5)),
    ],
)
def test_a_record_or_a_section_is_located(
    ask: Any, query: str, identifier: str, reason: str, lines: tuple[int, int]
) -> None:
    result = ask("adr", "locate", query)
    best = result["matches"][0]
    assert (result["query"], result["total_matches"]) == (query, len(result["matches"]))
    assert (best["id"], best["reason"], (best["start_line"], best["end_line"])) == (identifier, reason, lines)


def test_open_records_are_ranked_by_the_score_that_they_declare(ask: Any, vault: Path) -> None:
    for number, status, fields in (
        ("0301", "accepted", "priority-score: 85\npriority-need: 5\npriority-readiness: 4\npriority-interest: 2\n"),
        ("0302", "proposed", "priority-score: 90.5\npriority-band: park\npriority-reviewed: 2026-03-01\n"),
        ("0303", "shipped", "priority-score: 99\n"),
        ("0304", "accepted", "priority-score: 61\npriority-need: none\n"),
        ("0305", "accepted", "priority-score: soon\n"),
    ):
        path = vault / f"docs/decisions/{number}-x.md"
        path.write_text(f"---\ntitle: T{number}\nstatus: {status}\n{fields}---\n# T\n")
    result = ask("adr", "rank")
    rows = [(one["number"], one["score"], one["band"]) for one in result["ranked"]]
    assert rows == [("0302", 90.5, "park"), ("0301", 85, "do-now"), ("0304", 61, "do-next")]
    first = result["ranked"][1]
    assert [first[key] for key in ("title", "need", "readiness", "confidence", "novelty", "reviewed")] == [
        "T0301", 5, 4, None, 2, None,
    ]  # fmt: skip
    assert (result["ranked"][0]["reviewed"], result["ranked"][2]["need"]) == ("2026-03-01", None)
    assert [one["number"] for one in result["missing_scores"]] == ["0203", "0305"]
    assert (result["total_open"], result["scored"], result["unscored"]) == (5, 3, 2)
    assert [one["number"] for one in ask("adr", "rank", "--band", "next")["ranked"]] == ["0304"]
    assert ask("adr", "rank", "--unscored")["ranked"] == []
    assert ask("adr", "rank", "--all")["ranked"][0]["number"] == "0303"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["ls", "attic"], "INVALID_SECTION"), (["adr", "list", "--status", "done"], "INVALID_ADR_STATUS"),
        (["adr", "list", "203"], "VAULT_INVALID_ARGS"), (["adr", "locate"], "VAULT_INVALID_ARGS"),
        (["adr", "locate", "nothing like it"], "NO_MATCH"), (["adr", "audit"], "NOT_MIRRORED"),
        (["adr", "polish"], "VAULT_INVALID_ARGS"), (["adr", "rank", "--band", "soon"], "VAULT_INVALID_ARGS"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(run: Run, vault: Path, words: list[str], code: str) -> None:
    refused = run("vault", *words, env={"VAULT_PATH": str(vault)}, ok=False)
    assert refused.json["error"]["code"] == code
    assert refused.json["fix"]
