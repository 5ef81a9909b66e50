"""`search` asks every collection; `note` and `knowledge note` store from a call."""

from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run
from terminal import on_terminal, without_style

NOTE = ["knowledge", "note", "--source", "gateway", "--agent", "daemon", "--session", "s1", "--turn", "3"]


@pytest.fixture
def filled(run: Run, tmp_path: Path, transcript: Transcript) -> None:
    """A home in which every collection speaks of lanterns."""
    vault = tmp_path / "Vault" / "docs" / "decisions"
    vault.mkdir(parents=True)
    (vault / "0007-lantern.md").write_text("# Lantern colours\n\nStatus: accepted\n\nGreen lanterns to starboard.\n")
    run("knowledge", "sync", str(tmp_path / "Vault"))
    run("memory", "write", "Lanterns are lit before the pilot boards", "-c", "rules", "-s", "harbour")
    transcript.user("which lanterns must be lit at night?")
    run("memory", "archive", str(transcript.path))
    run("otel", "emit", "lantern.lit", "--source", "quay", "--component", "mast")


@pytest.mark.usefixtures("filled")
def test_every_collection_answers(run: Run) -> None:
    result = run("search", "lantern").result
    assert {hit["collection"] for hit in result["hits"]} == {
        "vault_notes", "memory_observations", "run_chunks",
    }  # fmt: skip
    assert (result["query"], result["collection"], result["semantic"]) == ("lantern", None, False)
    assert result["totalFound"] >= 3
    for hit in result["hits"]:
        assert set(hit) == {"collection", "id", "title", "snippet", "path", "score", "type"}
        assert len(hit["title"]) <= 120
        assert "antern" in hit["snippet"] + hit["title"]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("name", "shown"), [
    ("vault_notes", "vault_notes"), ("memory", "memory_observations"),
    ("knowledge", "vault_notes"), ("system_knowledge", "vault_notes"), ("system_k", "vault_notes"),
])  # fmt: skip
def test_one_collection_by_a_name_or_its_beginning(run: Run, name: str, shown: str) -> None:
    result = run("search", "lantern", "-c", name).result
    assert {hit["collection"] for hit in result["hits"]} == {shown}


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("name", ["pi_mono_artifacts", "pi_mono", "blog_posts", "docs", "otel_events"])
def test_a_collection_that_only_the_public_cli_has_answers_nothing_and_says_why(
    run: Run, home: Path, name: str
) -> None:
    result = run("search", "lantern", "-c", name, "--facet", "type").result
    assert (result["totalFound"], result["hits"], result["collection"]) == (0, [], name)
    assert name in result["reason"]
    assert "vault_notes" in result["reason"]
    assert "vault_notes" in without_style(on_terminal(home, "search", "lantern", "-c", name).out)


@pytest.mark.usefixtures("filled")
def test_filtered_and_counted(run: Run) -> None:
    adr = run("search", "lantern", "--filter", "type:=adr", "--semantic").result
    assert [hit["type"] for hit in adr["hits"]] == ["adr"] * len(adr["hits"]) != []
    assert adr["semantic"] is True
    by_source = run("search", "lantern", "--filter", "source:=[harbour,quay]", "--facet", "source").result
    assert by_source["facets"] == {"source": [{"value": "harbour", "count": 1}]}
    assert run("search", "lantern", "-n", "1", "-c", "memory").result["totalFound"] >= 1


def test_a_note_is_an_observation(run: Run) -> None:
    result = run("note", "prefers tabs in Makefiles", "--tags", "style, make", env=NOW).result
    assert (result["text"], result["source"], result["status"]) == ("prefers tabs in Makefiles", "cli", "stored")
    assert (result["tags"], result["createdAt"]) == (["note", "style", "make"], "2026-09-21T14:13:20.000Z")
    assert (result["category"], result["categorySource"]) == ("preferences", "keyword")
    assert run("memory", "show", result["id"]).result["observation"] == "prefers tabs in Makefiles"
    assert run("note", ok=False).json["error"]["code"] == "EMPTY_TEXT"


@pytest.mark.parametrize("text", ["buy milk", "What about a newsletter?", "ok"])
def test_a_note_is_kept_whatever_the_gate_would_say(run: Run, text: str) -> None:
    note = run("note", text, env=NOW).result
    assert note["verdict"] == "allow"
    assert [memory["observation"] for memory in run("memory", "list", env=NOW).result["memories"]] == [text]
    assert [hit["id"] for hit in run("recall", text, env=NOW).result["hits"]] == [note["id"]]


def test_a_turn_is_kept_as_knowledge(run: Run, home: Path) -> None:
    words = ["--summary", "Moved the lantern job to the second runner", "--decision", "one job a runner",
             "--evidence", "a.log,b.log", "--usefulness", "Ops Work,x", "--tools", "bash"]  # fmt: skip
    result = run(*NOTE, *words, env=NOW).result
    assert (result["queued"], result["stored"], result["skipReason"]) == (True, True, None)
    assert result["turnId"] == "gateway:daemon:internal:s1:3"
    [identifier] = result["response"]["ids"]
    [hit] = run("knowledge", "search", "lantern runner", "--type", "turn_note").result["hits"]
    assert (hit["id"], hit["type"]) == (identifier, "turn_note")
    shown = run("memory", "show", identifier).result
    assert "Decision: one job a runner\nEvidence: a.log, b.log" in shown["observation"]
    assert {"turn_note", "gateway", "daemon", "ops-work"} <= set(shown["tags"])
    run(*NOTE, "--summary", "Moved the lantern job back", env=NOW)
    [hit] = run("knowledge", "search", "lantern", "--type", "turn_note").result["hits"]
    assert "back" in hit["title"]
    assert "back" in without_style(on_terminal(home, "knowledge", "search", "lantern").out)


def test_secrets_of_a_turn_are_not_kept(run: Run, home: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    run(*NOTE, "--summary", f"the token is {secret}", "--decision", secret)
    assert not [path for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
