"""`vault ls`, `tree` and `adr` list the vault and its decision records."""

from pathlib import Path
from typing import Any

import pytest
from conftest import Run, put


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
        put(folder / name, text)
    (tmp_path / "outside").mkdir()
    (folder / "linked").symlink_to(tmp_path / "outside")
    return folder


@pytest.fixture
def ask(run: Run, vault: Path) -> Any:
    return lambda *words: run("vault", *words, env={"VAULT_PATH": str(vault)}).result


def test_the_entries_of_a_part(ask: Any, vault: Path) -> None:
    projects = ask("ls", "Projects")
    assert (projects["section"], projects["count"]) == ("projects", 1)
    assert projects["items"] == [{"path": str(vault / "Projects/09-gateway/index.md"), "status": "active"}]
    assert {Path(item["path"]).name: item["status"] for item in ask("ls", "decisions")["items"]} == {
        "0007-again.md": None, "0007-queue.md": "shipped", "0203-signpost.md": "accepted", "README.md": None,
    }  # fmt: skip
    assert ask("ls", "inbox")["items"] == [str(vault / "inbox/a.md"), str(vault / "inbox/b.txt")]
    assert ask("ls", "resources")["items"] == [str(vault / "Resources/books")]


def test_the_records(ask: Any) -> None:
    result = ask("adr", "list")
    assert (result["total"], result["filtered"], result["limit"], result["collisions"]) == (3, 3, 200, 1)
    assert result["items"][1:] == [
        {"number": "0007", "title": "Redis queue", "status": "shipped", "date": None, "filename": "0007-queue.md"},
        {"number": "0203", "title": "Signpost", "status": "accepted", "date": "2026-03-01",
         "filename": "0203-signpost.md"},
    ]  # fmt: skip
    only = ask("adr", "list", "--status", "accepted", "--limit", "1")
    assert (only["status_filter"], [item["number"] for item in only["items"]]) == ("accepted", ["0203"])
    assert ask("adr", "collisions")["collisions"] == [{"number": "0007", "files": ["0007-again.md", "0007-queue.md"]}]


@pytest.mark.parametrize(("query", "identifier", "reason", "lines"), [
    ("203", "0203-signpost", "exact ADR", (1, 13)),
    ("ADR-0203", "0203-signpost", "exact ADR", (1, 13)),
    ("0203-signpost", "0203-signpost", "exact ADR", (1, 13)),
    ("0203-signpost#Decision", "0203-signpost#Decision", "exact section", (11, 13)),
    ("redis queue", "0007-queue", "title", (1, 5)),
])  # fmt: skip
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
    rows = [(record["number"], record["score"], record["band"]) for record in result["ranked"]]
    assert rows == [("0302", 90.5, "park"), ("0301", 85, "do-now"), ("0304", 61, "do-next")]
    first = result["ranked"][1]
    assert [first[key] for key in ("title", "need", "readiness", "confidence", "novelty", "reviewed")] == [
        "T0301", 5, 4, None, 2, None,
    ]  # fmt: skip
    assert (result["ranked"][0]["reviewed"], result["ranked"][2]["need"]) == ("2026-03-01", None)
    assert [record["number"] for record in result["missing_scores"]] == ["0203", "0305"]
    assert (result["total_open"], result["scored"], result["unscored"]) == (5, 3, 2)
    assert [record["number"] for record in ask("adr", "rank", "--band", "next")["ranked"]] == ["0304"]
    assert ask("adr", "rank", "--unscored")["ranked"] == []
    assert ask("adr", "rank", "--all")["ranked"][0]["number"] == "0303"


def test_refs_lists_the_links_to_a_record(ask: Any, vault: Path) -> None:
    decisions = vault / "docs/decisions"
    (decisions / "0301-x.md").write_text("# X\n\nAs [[0203-signpost]] says, and [[ADR-0203#Decision|there]].\n")
    (decisions / "0302-y.md").write_text("# Y\n\n[[0007-queue]] and [[https://h.test/0203]]\n")
    result = ask("adr", "refs", "203")
    assert (result["target"]["id"], result["count"]) == ("0203-signpost", 2)
    assert [(link["source_filename"], link["line"], link["target"]) for link in result["refs"]] == [
        ("0301-x.md", 3, "0203-signpost"), ("0301-x.md", 3, "ADR-0203#Decision"),
    ]  # fmt: skip
    assert [link["target"] for link in ask("adr", "refs", "0203-signpost#Decision")["refs"]] == ["ADR-0203#Decision"]


def test_a_prompt_with_links_is_expanded(ask: Any) -> None:
    result = ask("adr", "prompt", "compare [[203|the note]] with [[0007-queue]]")
    assert result["expanded_text"] == "compare 0203-signpost with 0007-queue"
    assert [link["resolved"] for link in result["refs"]] == ["0203-signpost", "0007-queue"]
    assert result["context"].startswith("<adr-context>") and "A compaction drops it." in result["context"]
    assert ask("adr", "prompt", "nothing linked")["context"] == ""


def test_audit_lists_the_faults_of_the_records(run: Run, vault: Path) -> None:
    decisions = vault / "docs/decisions"
    (decisions / "0301-x.md").write_text(
        "---\nstatus: done\nsuperseded-by: 0999\n---\n# X\n\n[[0203-signpost]] [[0203#Nowhere]] [[notes]]\n"
        "[[0007]] [[tts said]] [[gone]] [[../decisions/0203-old-name]]\n"
    )
    (vault / "notes-2024-plan.md").write_text("# Plan\n")
    (decisions / "0302-y.md").write_text("---\nstatus: accepted\n---\n# Y\n\n[[notes-2024-plan]]\n")
    (decisions / "README.md").write_text(
        "| [0302](0302-y.md) | y |\n| [0203](0203-signpost.md) | a |\n| [0404](0404-none.md) | b |\n"
    )
    done = run("vault", "adr", "audit", env={"VAULT_PATH": str(vault)}, ok=False)
    result = done.result
    assert (done.code, done.json["ok"], result["ok"], result["total"]) == (1, False, False, 5)
    assert result["missing_status"] == ["0007-again.md"]
    assert result["non_canonical_status"] == [{"filename": "0301-x.md", "status": "done"}]
    assert result["status_counts"] == {"shipped": 1, "accepted": 2, "done": 1}
    assert result["superseded_by_missing_targets"] == [{"from": "0301-x.md", "target": "0999"}]
    links = result["wiki_links"]
    assert [(link["line"], link["target"]) for link in links["broken"]] == [(7, "0203#Nowhere"), (8, "gone")]
    assert [(link["target"], len(link["candidates"])) for link in links["ambiguous"]] == [("0007", 2)]
    assert links["skipped_custom"] == 1
    assert result["index"] == {
        "exists": True, "rows": 3, "missing_from_index": ["0007-again.md", "0007-queue.md", "0301-x.md"],
        "extra_in_index": ["0404-none.md"],
    }  # fmt: skip


def test_next_recommends_the_record_with_the_best_score(ask: Any, vault: Path) -> None:
    assert ask("adr", "next") == {
        "recommendation": None, "actionable_count": 1, "scored_count": 0, "candidates": [],
    }  # fmt: skip
    for number, status, parts in (
        ("0301", "accepted", (5, 4, 4, 2)), ("0302", "proposed", (5, 5, 4, 4)), ("0303", "accepted", (2, 2, 2, 3)),
        ("0304", "shipped", (5, 5, 5, 5)), ("0305", "accepted", (9, 1, 1, 1)),
    ):  # fmt: skip
        fields = "".join(
            f"priority-{name}: {value}\n"
            for name, value in zip(("need", "readiness", "confidence", "novelty"), parts, strict=True)
        )
        text = f"---\ntitle: T{number}\nstatus: {status}\npriority-score: 85\npriority-band: do-now\n{fields}---\n# T\n"
        (vault / f"docs/decisions/{number}-x.md").write_text(text)
    result = ask("adr", "next")
    assert [(row["rank"], row["number"], row["score"], row["band"]) for row in result["candidates"]] == [
        (1, "0302", 100, "do-now"), (2, "0301", 85, "do-now"), (3, "0303", 40, "de-risk"),
    ]  # fmt: skip
    assert result["candidates"][0]["issues"] == ["priority-score says 85, its parts make 100"]
    assert result["candidates"][2]["issues"][1] == "priority-band says do-now, the score makes de-risk"
    assert (result["actionable_count"], result["scored_count"]) == (5, 3)
    assert result["recommendation"] == "ADR-0302 (T0302) — score 100, band do-now, readiness 5/5"


@pytest.mark.parametrize(("words", "code"), [
    (["ls", "attic"], "INVALID_SECTION"), (["adr", "list", "--status", "done"], "INVALID_ADR_STATUS"),
    (["adr", "list", "203"], "VAULT_INVALID_ARGS"), (["adr", "locate"], "VAULT_INVALID_ARGS"),
    (["adr", "locate", "nothing like it"], "NO_MATCH"), (["adr", "refs", "nothing like it"], "NO_MATCH"),
    (["adr", "refs", "7"], "ADR_REF_AMBIGUOUS"), (["adr", "refs", "queue again"], "ADR_REF_AMBIGUOUS"),
    (["adr", "prompt", "see [[0999]]"], "ADR_PROMPT_REF_MISSING"),
    (["adr", "prompt"], "VAULT_INVALID_ARGS"), (["adr", "next", "0203"], "VAULT_INVALID_ARGS"),
    (["adr", "polish"], "VAULT_INVALID_ARGS"), (["adr", "rank", "--band", "soon"], "INVALID_ADR_PRIORITY_BAND"),
])  # fmt: skip
def test_wrong_usage_is_refused_with_a_fix(run: Run, vault: Path, words: list[str], code: str) -> None:
    refused = run("vault", *words, env={"VAULT_PATH": str(vault)}, ok=False)
    assert refused.json["error"]["code"] == code
    assert refused.json["fix"]
