"""Ranking within a session: requests, steps and results of a turn."""

import json
from pathlib import Path

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run
from terminal import on_terminal, without_style

FILLER = " And so on, boat by boat." * 12


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    """A session in which something was asked for, guessed, done and told."""
    session = Transcript(tmp_path / "s" / "s.jsonl")
    session.user("the sluice gate leaks at spring tide" + FILLER)
    session.assistant("The sluice gate leaks at spring tide, perhaps since its hinge is bent." + FILLER)
    session.used("c1", "Bash", "sealed", command="make seals")
    session.assistant("The sluice gate leaked at spring tide since its seal was cut short." + FILLER)
    session.user("thank you, and now to the lamps of the lighthouse, which nobody has cleaned since the winter")
    session.assistant("The lamps are clean.")
    return session


def test_the_end_of_a_turn_comes_before_its_steps(run: Run, transcript: Transcript) -> None:
    run("memory", "archive", str(transcript.path), env=NOW)
    first = run("recall", "why did the sluice gate leak at spring tide", env=NOW).result["hits"][0]
    passages = [line for line in first["observation"].splitlines() if "sluice" in line]
    assert ["cut short" in passage for passage in passages] == [True, False, False]
    assert sorted(passage.split(":")[0] for passage in passages) == ["agent", "agent", "prompt"]


def test_a_message_that_is_only_a_secret_is_not_found(run: Run, transcript: Transcript) -> None:
    transcript.user("lighthouse token: [redacted:github-token]")
    transcript.user("token: [REDACTED GITHUB TOKEN]")
    run("memory", "archive", str(transcript.path), env=NOW)
    hits = run("recall", "redacted github token", env=NOW).result["hits"]
    found = [text for hit in hits if "redacted" in (text := hit["observation"].lower())]
    assert found == ["prompt: lighthouse token: [redacted:github-token]"]


def test_an_extract_says_who_speaks(run: Run, transcript: Transcript) -> None:
    transcript.assistant(
        "\n".join(["The lamps are clean, too. " * 4] * 60 + ["The sluice gate is shut at spring tide."])
    )
    run("memory", "archive", str(transcript.path), env=NOW)
    raw = run("recall", "is the sluice gate shut at spring tide", "--raw", env=NOW).out.splitlines()
    extract = next(line for line in raw if "is shut" in line)
    assert extract.startswith("agent: "), extract


def test_messages_and_calls_of_an_exchange_are_a_single_hit(run: Run, tmp_path: Path) -> None:
    session = Transcript(tmp_path / "w" / "w.jsonl")
    session.user("which pump drains the sluice gate")
    session.used("c1", "Bash", "7", command="grep sluice pump_of_gate.txt")
    session.user("paint the sluice gate and its pump red")
    session.assistant("The sluice gate and its pump are red." + FILLER)
    run("memory", "archive", str(session.path), env=NOW)
    query = ["recall", "which pump has the sluice gate"]
    hits = run(*query, env=NOW).result["hits"]
    assert len(hits) == 2
    lines = next(hit for hit in hits if "red" not in hit["observation"])["observation"].splitlines()
    assert any(line.startswith("[tool] Bash grep sluice pump_of_gate.txt") for line in lines), lines
    assert sorted(line.split(":")[0] for line in lines if "[tool]" not in line) == ["prompt"]
    assert len(run(*query, "--raw", env=NOW).out.splitlines()) == 2
    whole = run(*query, "--verbatim", env=NOW).out.splitlines()
    assert "The sluice gate and its pump are red." + FILLER in "".join(whole)
    assert len(whole) == 4, "verbatim, each text is a hit of its own"


def test_an_answer_comes_before_its_question(run: Run, tmp_path: Path) -> None:
    session = Transcript(tmp_path / "u" / "u.jsonl")
    session.user("the gauge of the sluice gate shows neap tide at noon and spring tide at six, make it right" + FILLER)
    session.used("c1", "Bash", "gauges", command="make gauges")
    session.assistant("The gauge of the sluice gate shows spring tide at noon now: its hand was bent." + FILLER)
    session.user("thanks" + FILLER)
    session.assistant("It was nothing, the gauge of the sluice gate is an old one." + FILLER)
    run("memory", "archive", str(session.path), env=NOW)
    hits = run("recall", "gauge of the sluice gate shows neap tide at noon", env=NOW).result["hits"]
    assert [hit["origin"] for hit in hits[:2]] == ["agent", "prompt"]
    assert "hand was bent" in hits[0]["observation"]


def test_repetitions_within_a_session_are_a_single_hit(run: Run, tmp_path: Path) -> None:
    session = Transcript(tmp_path / "v" / "v.jsonl")
    for number in range(10):
        session.user(f"please read out part {number} of the page about the port to me")
        session.assistant(
            f"Question {number}: why does the sluice gate leak? Answer: buy the seals of our shop." + FILLER
        )
    session.user("why does the sluice gate leak, in truth?")
    session.assistant("The sluice gate leaks since a beam of it is rotten.")
    run("memory", "archive", str(session.path), env=NOW)
    others = [{"text": f"pilot {number} reads the chart", "collection": "knowledge"} for number in range(60)]
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, others)))
    hits = run("recall", "why does the sluice gate leak", env=NOW).result["hits"]
    assert [hit["more"] for hit in hits if "our shop" in hit["observation"]] == [9]
    assert any("rotten" in hit["observation"] for hit in hits)


@pytest.mark.parametrize(("mark", "session"), [("?", "s"), ("？", "s"), ("?", ""), (".", "s")])
def test_in_a_conversation_a_reply_comes_before_its_question(run: Run, mark: str, session: str) -> None:
    messages = [
        "Ada: Which colour has the new lamp of the sluice gate at the harbour" + mark,
        "Ben: The new lamp of the sluice gate at the harbour is red, a good colour." + FILLER,
        "Ada: Fine, and now for the boats, which lie on land since autumn." + FILLER,
    ]
    lines = [
        {"id": f"t{at}", "collection": "episodes", "text": text, **({"session": session} if session else {})}
        for at, text in enumerate(messages)
    ]
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in lines), env=NOW)
    hits = run("recall", "which colour has the new lamp of the sluice gate at the harbour", env=NOW).result["hits"]
    assert [hit["id"] for hit in hits][:2] == (["t0", "t1"] if mark == "." else ["t1", "t0"]), hits


def test_by_session_each_session_is_returned_once_with_a_count(run: Run, home: Path, tmp_path: Path) -> None:
    for session, turns in (("one", 6), ("other", 1)):
        transcript = Transcript(tmp_path / f"{session}.jsonl", first=100 * turns)
        for number in range(turns):
            transcript.user(f"why does the harbour gauge of pier {number} stall in session {session}?")
        run("memory", "archive", str(transcript.path), env=NOW)
    query = ("recall", "harbour gauge stall", "--by", "session")
    assert sorted((hit["session"], hit["more"]) for hit in run(*query, env=NOW).result["hits"]) == [
        ("one", 5), ("other", 0),
    ]  # fmt: skip
    assert "5 more in this session" in without_style(on_terminal(home, *query, env=NOW).out)
    assert run("recall", "--batch", "-", "--by", "session", env=NOW, ok=False).code == 2
