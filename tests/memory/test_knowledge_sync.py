"""`knowledge sync` and `search`: the collection says what the files say, best sections first."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import Run
from faults import paused, stopped

BODY = "Sessions write a checkpoint every turn, so that a compaction cannot take what the agent was doing with it."


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder with two decisions, a skill and a note; old enough not to be looked at twice."""
    folder = tmp_path / "vault"
    put(
        folder / "decisions/0203-recovery.md",
        f"# ADR-0203: Recovery\n\n## Context\n\n{BODY}\n\n## Zebra\n\n{BODY} Zebra.\n",
    )
    put(folder / "decisions/0204-context.md", f"# Seamless context\n\n{BODY} Telegram.\n")
    put(folder / "skills/deploy/SKILL.md", "---\nname: deploy\ndescription: How the worker gets to staging\n---\n# D\n")
    put(folder / "note.markdown", f"{BODY} Kangaroo.\n")
    return folder


def put(path: Path, text: str | bytes, *, age_s: int = 3600) -> None:
    """Write a file as if some time ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    then = time.time() - age_s
    os.utime(path, (then, then))


def synced(run: Run, *words: str | Path) -> dict[str, Any]:
    return run("knowledge", "sync", *map(str, words)).result


def counts(result: dict[str, Any]) -> tuple[int, int, int, int]:
    indexed = result["indexed"]
    return indexed["added"], indexed["updated"], indexed["removed"], indexed["unchanged"]


def rows(home: Path) -> list[dict[str, Any]]:
    """The documents of the collection, forgotten ones too, in order of their titles."""
    db = apsw.Connection(str(home / "store.db"))
    names = ("id", "title", "text", "path", "observation_type", "stale", "tags", "recall_count", "forgotten_at")
    sections = [
        dict(zip(names, row, strict=True))
        for row in db.execute(f"SELECT {', '.join(names)} FROM document WHERE rowid >> 40 = 3 ORDER BY title, rowid")
    ]
    # Whatever is searched says the same as the table.
    live = {row[0] for row in db.execute("SELECT rowid FROM document WHERE rowid >> 40 = 3 AND forgotten_at IS NULL")}
    assert {row[0] for row in db.execute("SELECT rowid FROM lexicon")} == live
    assert {row[0] for row in db.execute("SELECT document FROM vector")} == live
    db.close()
    return sections


def titles(home: Path) -> list[str]:
    return [row["title"] for row in rows(home) if row["forgotten_at"] is None]


def recalled(run: Run, query: str) -> list[str]:
    return [hit["path"] for hit in run("recall", query, "--collection", "knowledge").result["hits"]]


def test_a_sync_of_only_decisions_or_skills(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "Vault/docs/decisions/0203-recovery.md", f"# ADR-0203: Recovery\n\n{BODY}\n")
    put(tmp_path / "Vault/note.md", f"{BODY} Kangaroo.\n")
    put(tmp_path / "skills/deploy/SKILL.md", "---\nname: deploy\ndescription: How the worker gets there\n---\n# D\n")
    env = {"VAULT_PATH": str(tmp_path / "Vault")}
    result = run("knowledge", "sync", "--adrs-only", env=env).result
    assert (result["created"], result["folders"]) == (True, [str(tmp_path / "Vault/docs/decisions")])
    assert (result["indexed"]["adrs"], result["indexed"]["skills"]) == (1, 0)
    refused = run("knowledge", "sync", "--skills-only", env=env, ok=False)
    assert (refused.code, refused.json["error"]["code"]) == (2, "KNOWLEDGE_NO_FOLDERS")
    assert "JOELCLAW_SKILLS_DIR" in refused.json["error"]["message"]
    env["JOELCLAW_SKILLS_DIR"] = str(tmp_path / "skills")
    result = run("knowledge", "sync", "--adrs-only", "--skills-only", env=env).result
    assert (result["created"], result["indexed"]["files"]) == (False, 2)
    assert (result["indexed"]["adrs"], result["indexed"]["skills"]) == (1, 1)


def test_every_section_is_a_document(run: Run, home: Path, vault: Path) -> None:
    result = synced(run, vault)
    assert result["collection"] == "knowledge"
    assert result["folders"] == [str(vault)]
    assert counts(result) == (5, 0, 0, 0)
    assert result["indexed"]["files"] == 4
    assert result["indexed"]["sections"] == 5
    assert result["indexed"]["skipped"] == []
    assert [(row["title"], row["observation_type"]) for row in rows(home)] == [
        ("ADR-0203: Recovery › Context", "adr"), ("ADR-0203: Recovery › Zebra", "adr"), ("Seamless context", "adr"),
        ("deploy", "skill"), ("note", "note"),
    ]  # fmt: skip
    assert recalled(run, "zebra") == [str(vault / "decisions/0203-recovery.md")]


def test_nothing_changed_means_nothing_read(run: Run, home: Path, vault: Path) -> None:
    synced(run, vault)
    before = rows(home)
    again = synced(run)
    assert again["indexed"]["read"] == 0
    assert counts(again) == (0, 0, 0, 5)
    assert again["indexed"]["sections"] == 5
    assert rows(home) == before


def test_only_changed_sections_are_replaced_and_usage_is_kept(run: Run, home: Path, vault: Path) -> None:
    synced(run, vault)
    run("recall", "zebra", "--collection", "knowledge")
    before = {row["title"]: row for row in rows(home)}
    assert before["ADR-0203: Recovery › Zebra"]["recall_count"] == 1
    path = vault / "decisions/0203-recovery.md"
    put(path, path.read_text().replace("Zebra.", "Zebra and giraffe."), age_s=10)
    assert counts(synced(run, vault)) == (0, 1, 0, 4)
    after = {row["title"]: row for row in rows(home)}
    changed = after.pop("ADR-0203: Recovery › Zebra")
    assert changed["id"] == before.pop("ADR-0203: Recovery › Zebra")["id"]
    assert changed["recall_count"] == 1
    assert after == before
    assert recalled(run, "giraffe") == [str(path)]


def test_removed_sections_and_files_are_out_of_recall(run: Run, home: Path, vault: Path) -> None:
    synced(run, vault)
    put(vault / "decisions/0203-recovery.md", f"# ADR-0203: Recovery\n\n## Context\n\n{BODY}\n", age_s=10)
    (vault / "note.markdown").unlink()
    result = synced(run)
    assert counts(result) == (0, 0, 2, 3)
    assert recalled(run, "zebra") == recalled(run, "kangaroo") == []
    assert titles(home) == ["ADR-0203: Recovery › Context", "Seamless context", "deploy"]
    assert b"Kangaroo" not in (home / "knowledge.json").read_bytes()


def test_other_folders_and_other_memories_are_left_alone(run: Run, home: Path, vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    put(other / "a.md", f"{BODY} Walrus.")
    line = json.dumps({"collection": "knowledge", "text": BODY, "path": str(vault / "x.md")})
    run("memory", "import", "-", stdin=line)
    synced(run, vault)
    synced(run, other)
    (other / "a.md").unlink()
    put(other / "b.md", f"{BODY} Walrus too.")
    (vault / "note.markdown").unlink()
    assert counts(synced(run, other)) == (1, 0, 1, 0)
    assert len(rows(home)) == 5 + 1 + 1
    assert counts(synced(run)) == (0, 0, 1, 5)  # all kept folders


@pytest.mark.parametrize("gone", ["removed", "empty"])
def test_a_folder_that_vanished_takes_nothing_with_it_unless_pruned(
    run: Run, home: Path, vault: Path, gone: str
) -> None:
    synced(run, vault)
    shutil.move(vault, vault.with_name("elsewhere"))
    if gone == "empty":
        vault.mkdir()  # what a disk leaves that is not mounted
    for words in ([], [vault]):
        spawned = run("knowledge", "sync", *map(str, words))
        assert spawned.result["missing"] == [str(vault)]
        assert spawned.result["indexed"]["sections"] == 5
        assert counts(spawned.result) == (0, 0, 0, 0)
        offered = [action["command"] for action in spawned.json["next_actions"]]
        assert offered == ["joelclaw knowledge sync --prune"]
    assert recalled(run, "zebra")
    result = synced(run, "--prune")
    assert (result["pruned"], result["missing"]) == ([str(vault)], [])
    assert counts(result) == (0, 0, 5, 0)
    assert rows(home) == []
    assert run("knowledge", "sync", ok=False).json["error"]["code"] == "KNOWLEDGE_NO_FOLDERS"


@pytest.mark.parametrize("change", ["stays", "vanishes"])
def test_a_synced_folder_in_another_keeps_its_sections(run: Run, vault: Path, change: str) -> None:
    put(vault / ".private/x.md", f"{BODY} Walrus.")
    synced(run, vault, vault / ".private")
    if change == "vanishes":
        shutil.rmtree(vault / ".private")
    assert counts(synced(run, vault)) == (0, 0, 0, 6 if change == "stays" else 5)
    assert recalled(run, "walrus") == [str(vault / ".private/x.md")]


def test_a_folder_that_cannot_be_listed_keeps_its_sections(
    run: Run, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(run, vault)
    scan = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("/decisions"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    for words in ([], ["--prune"]):
        result = synced(run, *words)
        assert (counts(result)[2], result["missing"]) == (0, [str(vault / "decisions")])
    assert recalled(run, "zebra")


def test_a_forgotten_section_stays_forgotten(run: Run, home: Path, vault: Path) -> None:
    synced(run, vault)
    zebra = next(row["id"] for row in rows(home) if row["title"].endswith("Zebra"))
    run("memory", "forget", zebra)
    assert counts(synced(run)) == (0, 0, 0, 4)
    path = vault / "decisions/0203-recovery.md"
    put(path, path.read_text().replace("Zebra.", "Zebra again."), age_s=10)
    assert counts(synced(run)) == (0, 0, 0, 4)
    saved = path.read_bytes()
    path.unlink()
    synced(run)
    put(path, saved)
    synced(run)
    assert recalled(run, "zebra") == []
    run("memory", "forget", zebra, "--undo")
    assert recalled(run, "zebra") == [str(path)]


def test_a_lost_state_or_store_is_rebuilt(run: Run, home: Path, vault: Path) -> None:
    synced(run, vault)
    (home / "knowledge.json").write_text("{")
    assert counts(synced(run, vault)) == (0, 0, 0, 5)
    assert list(home.glob("knowledge.json.damaged-*"))
    for path in home.glob("store.db*"):
        path.unlink()
    assert counts(synced(run)) == (5, 0, 0, 0)


def test_binary_files_are_reported(run: Run, home: Path, vault: Path, tmp_path: Path) -> None:
    put(vault / "binary.md", b"PK\0\0" + b"\xff" * 50)
    put(vault / "huge.md", (f"{BODY} Mammoth." + (" " * 999 + "\n") * 3_000).encode())
    os.mkfifo(vault / "pipe.md")
    put(tmp_path / "outside/x.md", f"{BODY} Outside.")
    (vault / "out").symlink_to(tmp_path / "outside")
    (vault / "out.md").symlink_to(tmp_path / "outside/x.md")
    (vault / "loop").symlink_to(vault)
    (vault / "again.md").symlink_to(vault / "note.markdown")
    (vault / "broken.md").symlink_to("nowhere.md")
    put(vault / ".hidden/x.md", f"{BODY} Hidden.")
    put(vault / "node_modules/x/readme.md", f"{BODY} Module.")
    put(vault / ".git/x.md", f"{BODY} Git.")
    put(vault / "other.txt", f"{BODY} Text.")
    result = synced(run, vault)
    reasons = {Path(file["path"]).name: file["reason"] for file in result["indexed"]["skipped"]}
    assert reasons.keys() == {"binary.md", "huge.md"}
    assert {Path(row["path"]).name for row in rows(home)} == {
        *("0203-recovery.md", "0204-context.md", "SKILL.md", "note.markdown")
    }
    assert synced(run)["indexed"]["skippedCount"] == 2, "the next time, when nothing has changed"


def test_secrets_do_not_reach_the_disk(run: Run, home: Path, vault: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    put(vault / f"{secret}.md", f"# About {secret}\n\n{BODY} {secret}\n")
    result = synced(run, vault)
    assert "secret" in result["indexed"]["skipped"][0]["reason"]
    put(vault / "about.md", f"# About {secret}\n\n{BODY} {secret}\n")
    assert synced(run, vault)["indexed"]["redacted"]
    assert secret not in json.dumps(result)
    assert counts(synced(run)) == (0, 0, 0, 6)
    for path in home.iterdir():
        assert secret.encode() not in path.read_bytes(), path


def test_a_sync_that_is_killed_is_completed_by_the_next(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for number in range(120):
        put(folder / f"{number}.md", f"# N{number}\n\n" + "\n\n".join(f"## S{n}\n\n{BODY} {n}" for n in range(10)))
    for commit in (4, 6, 4):  # some of which make the store and its marks
        stopped(paused(home, "knowledge", "sync", str(folder), commit=commit))
    assert 0 < len(rows(home)) < 1200
    run("knowledge", "sync", str(folder))
    assert sorted({row["path"] for row in rows(home)}) == sorted(map(str, folder.iterdir()))
    assert len({row["id"] for row in rows(home)}) == len(rows(home)) == 1200
    assert counts(synced(run)) == (0, 0, 0, 1200)


@pytest.fixture
def synced_notes(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    put(
        folder / "decisions/0203-recovery.md",
        "# Recovery\n\n" + "".join(f"## P{n}\n\n{BODY} {n}\n\n" for n in range(5)),
    )
    put(folder / "skills/deploy/SKILL.md", f"# Deploy\n\nThe worker writes a checkpoint to staging. {BODY[:60]}\n")
    put(folder / "retros/march.md", f"# March\n\nThe compaction took a checkpoint with it. {BODY[:60]}\n")
    put(
        folder / "walrus.md",
        "# Walrus\n\n" + "Nothing of note happens in this sentence. " * 12 + "A walrus appears here.\n",
    )
    run("knowledge", "sync", str(folder))
    return folder


def hits(run: Run, *words: str) -> list[dict[str, Any]]:
    return run("knowledge", "search", *words, "--json").result["hits"]


def test_the_shape_is_the_mirrored_one(run: Run, synced_notes: Path) -> None:
    result = run("knowledge", "search", "walrus").result
    assert list(result) == ["query", "found", "hits", "backend"]
    assert result["query"] == "walrus"
    assert result["found"] >= 1
    hit = result["hits"][0]
    assert list(hit) == ["id", "type", "title", "score", "snippet", "path"]
    assert (hit["type"], hit["title"], hit["path"]) == ("note", "Walrus", str(synced_notes / "walrus.md"))
    assert 0 < hit["score"] <= 1


def test_hits_are_sorted_and_no_file_has_more_than_two(run: Run, synced_notes: Path) -> None:
    ranked = hits(run, "checkpoint compaction agent")
    paths = [hit["path"] for hit in ranked]
    assert paths.count(str(synced_notes / "decisions/0203-recovery.md")) == 2
    assert {Path(path).name for path in paths} >= {"0203-recovery.md", "SKILL.md", "march.md"}
    assert [hit["score"] for hit in ranked] == sorted((hit["score"] for hit in ranked), reverse=True)


@pytest.mark.parametrize(
    ("type_", "types"),
    [("adr", {"adr"}), ("Decisions", {"adr"}), ("skills, retro", {"skill", "retro"}), ("pattern", set())],
)
def test_types(run: Run, synced_notes: Path, type_: str, types: set[str]) -> None:
    assert {hit["type"] for hit in hits(run, "checkpoint", "--type", type_)} == types
    unknown = run("knowledge", "search", "checkpoint", "--type", "pattern,zzz", ok=False)
    assert unknown.code == 2 and "skill" in unknown.envelope["fix"]


def test_a_search_is_noted_and_counts_as_use(run: Run, synced_notes: Path) -> None:
    identifier = hits(run, "walrus")[0]["id"]
    assert run("memory", "show", identifier).result["recallCount"] == 1
    events = run("otel", "search", "knowledge.search.completed").result["events"]
    assert [event["metadata"]["query"] for event in events] == ["walrus"]


def test_without_a_store_nothing_is_found_or_created(run: Run, home: Path) -> None:
    spawned = run("knowledge", "search", "anything at all")
    assert spawned.result == {"query": "anything at all", "found": 0, "hits": [], "backend": "sqlite"}
    assert not home.exists()
