"""What clients write beside a conversation is found: its title, and outputs that they keep in files of their own."""

import json
from pathlib import Path

import pytest
from claude_transcript import SESSION, Transcript
from codex_rollout import Rollout
from conftest import Run
from pi_session import PiSession

SECRET = "password=Tr0ub4dorQuay"


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    transcript = Transcript(tmp_path / "projects" / f"{SESSION}.jsonl")
    transcript.user("look at the tables")
    transcript.assistant("They look right.")
    return transcript


def titles(run: Run, path: Path) -> set[str]:
    """The title of the only session, wherever it is shown."""
    assert run("memory", "archive", str(path)).code == 0
    listed = run("session", "list", "--json").result["sessions"]
    shown = run("session", "show", listed[0]["sessionId"], "--json").result
    (hit,) = run("recall", "look at the tables", "--by", "session").result["hits"]
    (found,) = run("sessions", "search", "tables", "--raw").result["hits"]
    return {listed[0]["title"], shown["title"], hit["title"], found["title"]}


def test_the_title_that_the_user_gave_is_shown_and_found(run: Run, transcript: Transcript) -> None:
    transcript.write({"type": "ai-title", "aiTitle": "Quarter tables", "sessionId": SESSION})
    transcript.write({"type": "custom-title", "customTitle": "whimbrel-cutover-2", "sessionId": SESSION})
    assert titles(run, transcript.path) == {"whimbrel-cutover-2"}
    transcript.write({"type": "custom-title", "customTitle": "whimbrel-cutover", "sessionId": SESSION})
    transcript.write({"type": "ai-title", "aiTitle": "Quarter tables, checked", "sessionId": SESSION})
    assert titles(run, transcript.path) == {"whimbrel-cutover"}
    assert run("recall", "whimbrel cutover").result["hits"][0]["session"] == SESSION
    assert run("session", "show", SESSION, "--json").result["turnCount"] == 1


def test_a_summary_of_an_earlier_session_is_no_title(run: Run, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "projects" / f"{SESSION}.jsonl")
    transcript.write({"type": "summary", "summary": "Another session", "leafUuid": "x"})
    transcript.user("look at the tables")
    assert titles(run, transcript.path) == {""}
    transcript.write({"type": "summary", "summary": "Look at tables", "leafUuid": "u-00000001"})
    assert titles(run, transcript.path) == {"Look at tables"}


def test_titles_of_other_clients(run: Run, tmp_path: Path) -> None:
    talk = PiSession(tmp_path / "s.jsonl")
    talk.user("look at the tables")
    talk.add("session_info", name="Tables")
    assert titles(run, talk.path) == {"Tables"}


@pytest.mark.parametrize("kind", ["document", "lines"])
def test_the_summary_of_a_chat_of_gemini_is_its_title(run: Run, tmp_path: Path, kind: str) -> None:
    about = {"sessionId": "g-1", "projectHash": "0"}
    message = {"id": "m1", "type": "user", "content": [{"text": "look at the tables"}]}
    path = tmp_path / ("session-1.json" if kind == "document" else "session-1.jsonl")
    document = {**about, "messages": [message], "summary": "Tables"}
    lines = [about, message, {"$set": {"summary": "Tables"}}]
    path.write_text(json.dumps(document) if kind == "document" else "".join(json.dumps(line) + "\n" for line in lines))
    assert titles(run, path) == {"Tables"}


def test_a_session_has_the_name_in_the_index_of_codex(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "codex"
    Rollout(home / "sessions", SESSION).say("user", "look at the tables")
    names = home / "session_index.jsonl"
    for title in ("Tables", "Tables,\u2028again"):
        with names.open("a") as file:
            file.write(f'{{"id": "{SESSION}", "thread_name": "{title}", "updated_at": "2026-09-20T10:00:00Z"}}\n')
            file.write(json.dumps({"id": "unknown", "thread_name": "Chairs"}) + "\n")
        run("memory", "archive", "--all", env={"CODEX_HOME": str(home)})
        (listed,) = run("session", "list").result["sessions"]
        assert listed["title"] == title.replace("\u2028", " ")
    assert run("recall", "tables again").result["hits"][0]["session"] == SESSION
    assert not run("recall", "chairs").result["hits"]


@pytest.mark.parametrize("size", [2_000, 40_000])
@pytest.mark.parametrize(
    "preview",
    [
        "<persisted-output>\nOutput too large. Full output saved to: /elsewhere/tool-results/b1.txt\n\nline 0",
        "Error: result (120,000 characters) exceeds maximum allowed tokens. Output has been saved to"
        " /elsewhere/tool-results/b1.txt.\nFormat: plain text",
    ],
    ids=["of a command", "of an MCP server"],
)
def test_the_rest_of_an_output_that_the_client_keeps_in_a_file_is_found(
    run: Run, home: Path, transcript: Transcript, size: int, preview: str
) -> None:
    kept = transcript.path.with_suffix("") / "tool-results" / "b1.txt"
    kept.parent.mkdir(parents=True)
    lines = [f"line {number} scanning shard {number}" for number in range(size)]
    kept.write_text("\n".join([*lines, SECRET, "ERROR: whimbrel_overflow in shard 1999"]))
    transcript.used("t1", "Bash", preview, command="./scan --all")
    assert run("memory", "archive", str(transcript.path)).code == 0
    assert "whimbrel_overflow in shard" in run("recall", "whimbrel_overflow", "--raw").out
    assert not any(b"Tr0ub4dorQuay" in path.read_bytes() for path in home.rglob("*") if path.is_file())
