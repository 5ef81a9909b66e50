"""`make recall-bench`: sessions and turns found, on made-up conversations and sessions with figures counted by hand.

The command that is measured is a stand-in that knows the answers; the last test takes the real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, ROOT

BENCH = ROOT / "bench"
sys.path.append(str(BENCH))

import one_home  # noqa: E402
from code_questions import Corpus, read  # noqa: E402

TALKS: dict[str, Any] = {
    "sessions": [
        {"id": "ann-s1", "at": "2024-05-08T13:00:00.000Z", "turns": [
            ["D1:1", "user", "I bought a boat"], ["D1:2", "assistant", "What is the boat called?"],
        ]},
        {"id": "ann-s2", "at": "2024-06-08T13:00:00.000Z", "turns": [
            ["D2:1", "user", "The boat is leaking"], ["D2:2", "assistant", "Then it needs tar"],
        ]},
        {"id": "bob-s1", "at": "2024-07-08T13:00:00.000Z", "turns": [["D1:1", "user", "My dog ran away"]]},
        {"id": "cat-s1", "at": "2024-07-09T13:00:00.000Z", "turns": [["D1:1", "user", "We moved to a farm"]]},
    ],
    "qa": [
        {"conversation": "ann", "question": "what was bought", "evidence": ["D1:1"], "category": 1},
        {"conversation": "ann", "question": "what leaks", "evidence": ["D2:1", "D1:2"], "category": 1},
        {"conversation": "bob", "question": "who ran away", "evidence": ["D1:1"], "category": 1},
        {"conversation": "bob", "question": "nobody knows", "evidence": [], "category": 5},
    ],
}  # fmt: skip
HITS = {
    "what was bought": [("bob-s1", 0, 0.9), ("ann-s1", 0, 0.4)],
    "what leaks": [("ann-s2", 0, 0.2), ("ann-s2", 1, 0.1)],
    "who ran away": [],
}
STAND_IN = """#!{python} -IS
import json, os, pathlib, sys
words = sys.argv[1:]
home = pathlib.Path(os.environ["HOME"])
log = pathlib.Path({log!r})
with log.open("a") as file:
    file.write(json.dumps([words, oct(home.stat().st_mode & 0o777), sorted(map(str, home.rglob("*.jsonl")))]) + "\\n")
if words[0] == "recall":
    times = {{}}
    for path in home.rglob("*.jsonl"):
        times[path.stem] = [json.loads(line)["timestamp"] for line in path.read_text().splitlines()]
    for query in sys.stdin.read().splitlines():
        hits = [
            {{"session": session, "timestamp": times[session][turn], "score": score}}
            for session, turn, score in json.loads({hits!r}).get(query, []) if session in times
        ]
        print(json.dumps({{"ok": True, "result": {{"hits": hits}}}}))
elif words[0] == "fail":
    print("no such thing", file=sys.stderr)
    sys.exit(1)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    path = tmp_path / "joelclaw"
    path.write_text(STAND_IN.format(python=sys.executable, hits=json.dumps(HITS), log=str(tmp_path / "log")))
    path.chmod(0o700)
    return path


def test_sessions_turns_and_scores_are_those_counted_by_hand(stand_in: Path) -> None:
    table = one_home.measure(TALKS, str(stand_in), "lean")
    ours = table["one home"]["joelclaw lean"]
    assert ours["tuned on"] == {
        "questions": 2, "any@1": 0.5, "any@5": 1.0, "any@10": 1.0, "turns@10": 0.75, "likely": 0.5,
    }  # fmt: skip
    assert ours["not tuned on"] == {
        "questions": 1, "any@1": 0, "any@5": 0, "any@10": 0, "turns@10": 0, "likely": 0,
    }  # fmt: skip
    assert table["one home"]["joelclaw lean, the newest session today"] == ours
    assert table["one conversation a home"]["joelclaw lean"]["tuned on"]["any@1"] == 1.0
    plain = table["one home"]["FTS5 only"]["all"]
    assert plain == {"questions": 3, "any@1": 1.0, "any@5": 1.0, "any@10": 1.0, "turns@10": pytest.approx(0.8333)}
    assert (table["sessions"], table["turns"], table["unanswered"]) == (4, 6, {"questions": 64, "likely": 0})


def test_transcripts_are_archived_and_all_questions_asked_at_once_in_a_home_that_is_removed(
    stand_in: Path, tmp_path: Path
) -> None:
    one_home.measure(TALKS, str(stand_in), "balanced")
    calls = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [words[:2] for words, _, _ in calls] == [["memory", "archive"], ["recall", "--batch"]] * 4
    assert calls[1][0][2:] == ["-", "--limit", "50", "--budget", "balanced", "--everywhere"]
    assert {mode for _, mode, _ in calls} == {"0o700"}
    assert [len(files) for _, _, files in calls] == [4] * 4 + [2] * 2 + [1] * 2
    assert not any(Path(path).exists() for _, _, files in calls for path in files)


def coding(folder: Path) -> Path:
    """Two sessions: one decides, asks, fails; the other says the same words elsewhere."""
    made = Transcript(folder / "a.jsonl", session=SESSION)
    made.user("Please make the harbour importer wait longer between two requests for tides")
    made.assistant("Sure. We keep the pause in retry_policy because the gauge reader needs the harbour pause too.")
    made.call("c1", "Bash", command="make check")
    made.outcome("c1", "building\ngauge.go:4: undefined: tideLevel while linking the ferry module\n", failed=True)
    made.user("Then mend the ferry module first, quickly")
    other = Transcript(folder / "b.jsonl", first=100, session=SESSION)
    other.write({**other.entry("user", "the harbour is busy, and so is the gauge"), "sessionId": "other"})
    return folder


def test_questions_are_made_of_what_was_said_and_what_failed(tmp_path: Path) -> None:
    corpus = Corpus(read([coding(tmp_path)]))
    found = {(one.kind, one.text): corpus.answers(one) for one in corpus.questions()}
    assert {kind for kind, _ in found} == {"decision", "prompt", "error", "spread"}
    assert found["prompt", "make importer longer two tides"] == {SESSION}
    assert found["decision", "because keep needs pause reader"] == {SESSION}
    assert found["error", "undefined linking ferry module"] == {SESSION}
    (spread,) = [text for kind, text in found if kind == "spread"]
    assert len(spread.split()) == 6


@pytest.mark.spawned
def test_the_installed_command_is_measured_from_data_and_sessions(tmp_path: Path) -> None:
    data = tmp_path / "talks.json"
    data.write_text(json.dumps(TALKS))
    old = [{
        "sample_id": "ann", "observations": [{"text": "Ann bought a red boat", "evidence": ["D1:1"], "session": 1}],
        "turns": [
            {"id": "D1:1", "session": 1, "speaker": "Ann", "text": "I bought a red boat"},
            {"id": "D1:2", "session": 1, "speaker": "Bo", "text": "How nice"},
        ],
        "qa": [{"question": "which boat was bought", "evidence": ["D1:1"]}],
    }]  # fmt: skip
    (tmp_path / "old.json").write_text(json.dumps(old))
    out = tmp_path / "figures.json"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = [
        str(data),
        str(tmp_path / "old.json"),
        "--sessions",
        str(coding(tmp_path / "sessions")),
        "--json",
        str(out),
    ]
    done = subprocess.run(
        [sys.executable, str(BENCH / "recall_quality.py"), *words, "--command", JOELCLAW],
        capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(temporary.iterdir())
    figures = json.loads(out.read_text())
    assert figures["sessions"]["one home"]["joelclaw lean"]["all"]["any@5"] == 1.0
    assert figures["conversations"]["turns"]["joelclaw lean"]["R@1"] == 1.0
    assert figures["code"]["all"]["joelclaw"]["any@1"] == 1.0
    assert figures["drift"]["knowledge"]["found@10"] > 0.5
    assert figures["drift"]["unanswered"]["questions"] == 64
    assert done.stdout.startswith("4 sessions, 6 turns\ntuned on: ann\nnot tuned on: bob\n\none home, tuned on\n")
