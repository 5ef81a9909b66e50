"""`vault read` and `search`: which note a reference means; nothing outside the vault is read."""

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, put

SECRET = "what lies outside must not be shown"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "Vault"
    put(
        folder / "docs/decisions/0203-signpost.md",
        "# Recovery\n\nAfter a compaction the agent gets a signpost of its task.\n",
    )
    put(folder / "docs/decisions/0007-queue.md", "# Queue\n\nRedis carries the messages of the gateway.\n")
    put(folder / "Projects/07-gateway/README.md", "# Gateway\n\nThe daemon that talks to telegram.\n")
    put(folder / "Projects/07-gateway/log.md", "# Log\n")
    put(folder / "Projects/12-voice-agent/index.md", "# Voice\n")
    put(folder / "Projects/notes.md", "# Notes on projects\n")
    put(folder / "Resources/typesense-cluster-setup.md", "# Typesense\n\nThree nodes.\n")
    put(folder / "daily/2026-03-04.md", "".join(f"line {n}\n" for n in range(1200)))
    put(folder / ".obsidian/hidden.md", "hidden\n")
    put(tmp_path / "outside.md", SECRET)
    put(tmp_path / "Vault-twin/x.md", SECRET)
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "linked").symlink_to(tmp_path / "Vault-twin")
    return folder


@pytest.fixture
def read(run: Run, notes: Path) -> Any:
    def ask(*words: str) -> Any:
        return run("vault", "read", *words, env={"VAULT_PATH": str(notes)}).result

    return ask


def names(result: Any) -> list[tuple[str, str]]:
    """The notes, relative to the vault, each with its reason."""
    root = result["vault_root"]
    assert [step["path"] for step in result["resolved"]] == [step["path"] for step in result["resolution"]]
    return [(os.path.relpath(step["path"], root), step["reason"]) for step in result["resolution"]]


RECOVERY, QUEUE = "docs/decisions/0203-signpost.md", "docs/decisions/0007-queue.md"


@pytest.mark.parametrize(("reference", "note", "reason"), [
    (RECOVERY, RECOVERY, "path"),
    ("docs/decisions/0203-signpost", RECOVERY, "path"),
    ("./docs/../docs/decisions/0203-signpost.md", RECOVERY, "path"),
    ("[[docs/decisions/0203-signpost#Context|the signpost]]", RECOVERY, "path"),
    ("Projects/07-gateway", "Projects/07-gateway/README.md", "path"),
    ("ADR-203", RECOVERY, "adr"), ("adr-0203", RECOVERY, "adr"), ("see ADR-0203 please", RECOVERY, "adr"),
    ("project 7", "Projects/07-gateway/README.md", "project"),
    ("Project gateway", "Projects/07-gateway/README.md", "project"),
    ("project voice agent", "Projects/12-voice-agent/index.md", "project"),
    ("typesense cluster", "Resources/typesense-cluster-setup.md", "fuzzy"),
    ("typesence cluster setup", "Resources/typesense-cluster-setup.md", "fuzzy"),
    ("2026-03-04", "daily/2026-03-04.md", "fuzzy"),
])  # fmt: skip
def test_a_path_a_number_or_a_name_means_a_note(read: Any, notes: Path, reference: str, note: str, reason: str) -> None:
    put(notes / "About/this vault.md", "# A note that stands before all projects\n")
    result = read(*reference.split())
    assert names(result)[0] == (note, reason)
    assert len(names(result)) == 1 or reason in ("project", "fuzzy")
    assert 0 < result["resolution"][0]["score"] <= 1


@pytest.mark.parametrize(
    "reference",
    "../outside.md ../outside /etc/passwd docs/../../outside.md link.md linked/x.md ~/../../etc/passwd"
    " ../Vault-twin/x.md ~ .. / link linked ~/Vault/../outside".split(),
)
def test_nothing_outside_is_read(run: Run, notes: Path, reference: str) -> None:
    spawned = run("vault", "read", reference, env={"VAULT_PATH": str(notes), "HOME": str(notes.parent)}, ok=False)
    error = spawned.json["error"]
    outside = "is outside the vault" in error["message"]
    assert (error["code"], outside) == ("NO_MATCH", not reference.startswith("link")), "a name is looked for inside"
    assert SECRET not in spawned.out
    assert "root:" not in spawned.out


def test_a_question_finds_a_synced_section(run: Run, read: Any, notes: Path) -> None:
    run("knowledge", "sync", str(notes / "docs"))
    result = read("What decisions about compaction?")
    assert names(result)[0] == (RECOVERY, "semantic")
    assert result["resolved"][0]["content"] == (notes / RECOVERY).read_text()
    assert len(result["resolved"]) <= 3
    assert names(read("ADR-203"))[0] == (RECOVERY, "adr")  # names go first


def test_a_section_from_outside_the_vault_is_shown_as_synced(run: Run, read: Any, tmp_path: Path) -> None:
    text = "A capybara sits beside the build cache and keeps it warm for the nightly job of the team."
    put(tmp_path / "skills/cache.md", f"# Cache\n\n{text}\n")
    run("knowledge", "sync", str(tmp_path / "skills"))
    put(tmp_path / "skills/cache.md", SECRET)
    result = read("why does the capybara sit there?")
    assert result["resolution"][0]["reason"] == "semantic"
    assert result["resolved"][0]["content"] == text


@pytest.mark.parametrize("words", [["read", "x"], ["search", "x"], ["search", "x", "--semantic"]])
def test_a_missing_vault_has_a_fix(run: Run, tmp_path: Path, words: list[str]) -> None:
    for env in ({"HOME": str(tmp_path)}, {"VAULT_PATH": str(tmp_path / "nowhere")}):
        envelope = run("vault", *words, env=env, ok=False).json
        assert envelope["error"]["code"] == "CAPABILITY_NOT_CONFIGURED"
        assert "VAULT_PATH" in envelope["fix"]


def search(run: Run, notes: Path, *words: str) -> Any:
    return run("vault", "search", *words, env={"VAULT_PATH": str(notes)}).result


def test_search_finds_words_in_names_and_texts(run: Run, notes: Path) -> None:
    result = search(run, notes, "GATEWAY redis")
    assert result["mode"] == "text"
    best = result["hits"][0]
    assert best["path"] == str(notes / QUEUE)
    assert (best["line"], best["snippet"]) == (3, "Redis carries the messages of the gateway.")
    by_name = search(run, notes, "typesense cluster setup")["hits"]
    assert [Path(hit["path"]).name for hit in by_name] == ["typesense-cluster-setup.md"]
    assert search(run, notes, "hidden")["hits"] == []
    assert search(run, notes, "outside must not")["found"] == 0
    assert search(run, notes, "?!")["hits"] == []


def test_semantic_search_is_of_the_vault(run: Run, notes: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/x.md", "# X\n\nAfter a compaction the agent gets a signpost of its task, elsewhere.\n")
    run("knowledge", "sync", str(notes), str(tmp_path / "elsewhere"))
    result = search(run, notes, "compaction signpost", "--semantic")
    assert result["mode"] == "semantic"
    assert result["hits"][0]["path"] == str(notes / RECOVERY)
    assert all(hit["path"].startswith(f"{notes}/") for hit in result["hits"])
    assert "fallback" not in result
