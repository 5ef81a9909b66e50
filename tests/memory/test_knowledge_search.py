"""`knowledge search`: sections of synced files, best first, as the callers of the mirrored CLI read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

BODY = "Sessions write a checkpoint every turn, so that a compaction cannot take what the agent was doing with it."


@pytest.fixture
def synced(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    write(
        folder / "decisions/0203-recovery.md",
        "# Recovery\n\n" + "".join(f"## P{n}\n\n{BODY} {n}\n\n" for n in range(5)),
    )
    write(folder / "skills/deploy/SKILL.md", f"# Deploy\n\nThe worker writes a checkpoint to staging. {BODY[:60]}\n")
    write(folder / "retros/march.md", f"# March\n\nThe compaction took a checkpoint with it. {BODY[:60]}\n")
    write(
        folder / "walrus.md",
        "# Walrus\n\n" + "Nothing of note happens in this sentence. " * 12 + "A walrus appears here.\n",
    )
    run("knowledge", "sync", str(folder))
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def hits(run: Run, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run("knowledge", "search", *words, "--json").result["hits"]
    return found


def test_the_shape_is_the_mirrored_one(run: Run, synced: Path) -> None:
    result = run("knowledge", "search", "walrus").result
    assert list(result) == ["query", "found", "hits", "backend"]
    assert result["query"] == "walrus"
    assert result["found"] >= 1
    hit = result["hits"][0]
    assert list(hit) == ["id", "type", "title", "score", "snippet", "path"]
    assert (hit["type"], hit["title"], hit["path"]) == ("note", "Walrus", str(synced / "walrus.md"))
    assert 0 < hit["score"] <= 1


def test_hits_are_sorted_and_no_file_has_more_than_two(run: Run, synced: Path) -> None:
    found = hits(run, "checkpoint compaction agent")
    paths = [hit["path"] for hit in found]
    assert paths.count(str(synced / "decisions/0203-recovery.md")) == 2
    assert {Path(path).name for path in paths} >= {"0203-recovery.md", "SKILL.md", "march.md"}
    assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)


@pytest.mark.parametrize(
    ("given", "types"),
    [("adr", {"adr"}), ("Decisions", {"adr"}), ("skills, retro", {"skill", "retro"}), ("zzz", set())],
)
def test_types(run: Run, synced: Path, given: str, types: set[str]) -> None:
    assert {hit["type"] for hit in hits(run, "checkpoint", "--type", given)} == types


def test_knowledge_does_not_age(run: Run, synced: Path) -> None:
    def score(days: int) -> float:
        found = run("knowledge", "search", "walrus", env={"JOELCLAW_NOW_MS": str(NOW_MS + days * 86_400_000)})
        value: float = found.result["hits"][0]["score"]
        return value

    first = score(0)
    assert score(900) >= first  # a little more, since it was recalled


def test_a_search_is_noted_and_counts_as_use(run: Run, home: Path, synced: Path) -> None:
    identifier = hits(run, "walrus")[0]["id"]
    assert run("memory", "show", identifier).result["recallCount"] == 1
    events = run("otel", "search", "knowledge.search.completed").result["events"]
    assert [event["metadata"]["query"] for event in events] == ["walrus"]


def test_without_a_store_nothing_is_found_and_nothing_made(run: Run, home: Path) -> None:
    spawned = run("knowledge", "search", "anything at all")
    assert spawned.result == {"query": "anything at all", "found": 0, "hits": [], "backend": "sqlite"}
    assert spawned.json["next_actions"][0]["command"] == "joelclaw knowledge sync <dir>"
    assert not home.exists()
