"""Names in a session's tool calls are found with their passage and place."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW, Run, attempt

HARBOUR = "11111111-2222-4333-8444-555555555555"
LIGHTHOUSE = "99999999-2222-4333-8444-555555555555"
COMMAND = "make gauges 2>&1 | tail -5"
SOURCE = """   12→// TideTable holds the tides of a harbour.
   13→type TideTable struct {
   14→\tspringTide float64
   15→\tneap_offset int // see harbour.Tides and --dry-run, release 4.11.2
   16→}
"""
FAILURE = """gauges/read.go:41:7: cannot use tideLevel as float64
stations: 2778490776 of 31
the log is in build/gauge-reader/out and says {"body":"first\\nsecondLine of_it"}
FAIL harbour/gauges [build failed]"""


def transcript(folder: Path, session: str, project: str) -> None:
    cwd = f"/srv/{project}"
    written = Transcript(folder / f"{session}.jsonl", first=50 * (session == LIGHTHOUSE), cwd=cwd)
    table = {"file_path": f"{cwd}/tides/table.go"}
    written.user("Please sort the tide tables by harbour before you touch the gauges.")
    written.used("t2", "Read", SOURCE, **table)
    written.used("t4", "Bash", FAILURE, failed=True, command=COMMAND)
    written.used("t6", "Edit", "done", **table, new_string="springTide float32")
    written.assistant("The gauges fail because springTide is wider now.")


@pytest.fixture
def archived(home: Path, tmp_path: Path) -> Path:
    transcript(tmp_path / "transcripts", HARBOUR, "harbour")
    assert attempt(home, "memory", "archive", str(tmp_path / "transcripts"), env=NOW).result["transcripts"] == 1
    return home


def ask(home: Path, *words: str) -> list[dict[str, Any]]:
    return attempt(home, "recall", *words, env=NOW).result["hits"]


@pytest.mark.parametrize("name", [
    *("TideTable", "springTide", "neap_offset", "table.go", "tides/table.go", "2778490776", "harbour.Tides"),
    *("--dry-run", "4.11.2", "gauge-reader", "build/gauge-reader/out", "secondLine", "of_it", COMMAND),
    "cannot use tideLevel as float64",
])  # fmt: skip
def test_a_name_in_a_tool_call_is_found_with_its_passage(archived: Path, name: str) -> None:
    printed = attempt(archived, "recall", "--raw", "--", name, env=NOW).out
    assert name in printed
    assert len(printed) <= 1000
    assert "(session 11111111, prompt 1, call " in printed


def test_a_hit_names_tool_file_session_turn_and_call(archived: Path) -> None:
    place, hit, *_ = ask(archived, "neap_offset")
    assert place["id"] == f"work:{HARBOUR}:1", "the call in which its first place was seen"
    assert place["observation"].splitlines()[1] == "tides/table.go: neap_offset:15"
    assert (place["collection"], place["path"], place["score"]) == ("work", "tides/table.go", 1.0)
    assert hit["id"] == f"call:{HARBOUR}:1"
    assert hit["observation"].startswith("Read tides/table.go (session 11111111, prompt 1, call 1): ")
    assert (hit["collection"], hit["type"], hit["path"]) == ("calls", "call", "tides/table.go")
    assert (hit["session"], hit["project"]) == (HARBOUR, "harbour")
    assert hit["timestamp"] == "2026-09-20T10:00:02.000Z"
    assert 0 < hit["score"] <= 1


def test_the_next_action_names_a_hit_that_can_be_shown(archived: Path) -> None:
    for words, run_next, value in (
        (("--collection", "calls"), "joelclaw recall show <id>", f"call:{HARBOUR}:1"),
        (("--limit", "1"), "joelclaw recall show <id>", f"work:{HARBOUR}:1"),
    ):
        [step] = attempt(archived, "recall", "neap_offset", *words, env=NOW).envelope["next_actions"]
        assert (step["command"], step["params"]["id"]["value"]) == (run_next, value)
        shown = attempt(archived, *step["command"].replace("<id>", value).split()[1:], env=NOW).result["entries"]
        [match] = [entry for entry in shown if entry["match"]]
        assert match["id"] == f"call:{HARBOUR}:1" and "neap_offset" in match["text"]


@pytest.mark.parametrize("name", ["zqNoSuchName", "no_such_name", "nosuch/file.go", "9876543210", "x.NoSuch"])
def test_an_unknown_name_brings_nothing(archived: Path, name: str) -> None:
    assert attempt(archived, "recall", name, "--raw", env=NOW).out == ""
    assert attempt(archived, "recall", name, env=NOW).result["found"] == 0


def test_a_question_in_words_finds_turns_before_calls(archived: Path) -> None:
    hits = ask(archived, "what should be sorted before the gauges are touched")
    assert any(hit["observation"].startswith("prompt: Please sort the tide tables") for hit in hits[:2])


def test_filters_hold_for_calls(archived: Path) -> None:
    def names_of(*words: str) -> set[str]:
        return {hit["collection"] for hit in ask(archived, "springTide", *words)}

    assert names_of("--collection", "calls") == {"calls"}
    assert names_of("--collection", "episodes") == {"episodes"}
    assert names_of("--session", HARBOUR) == {"work", "calls", "episodes"}
    assert names_of("--session", LIGHTHOUSE) == names_of("--project", "lighthouse") == set()
    assert "calls" in names_of("--project", "harbour")
    assert "calls" not in names_of("--category", "ops")
    assert "calls" not in names_of("--min-score", "0.95")
    assert len(ask(archived, "springTide", "--limit", "1")) == 1
    assert attempt(archived, "memory", "export", "--collection", "calls").code == 2


def test_a_passage_that_two_sessions_saw_is_shown_once(tmp_path: Path, run: Run) -> None:
    for session, project in ((HARBOUR, "harbour"), (LIGHTHOUSE, "lighthouse")):
        transcript(tmp_path / "transcripts", session, project)
    run("memory", "archive", str(tmp_path / "transcripts"))
    hits = run("recall", "neap_offset").result["hits"]
    passages = [hit["observation"].partition("): ")[2] for hit in hits if hit["collection"] == "calls"]
    assert len(set(passages)) == len(passages) > 0


def episodes(run: Run, count: int) -> None:
    lines = [
        {
            "id": f"e{number}",
            "text": f"assistant: the TideTable of harbour {number} holds its rows",
            "collection": "episodes",
        }
        for number in range(count)
    ]
    lines += [
        {"text": f"pilot {number} of the northern gauge reads the chart {number * 3} at noon"} for number in range(40)
    ]
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in lines), env=NOW)


@pytest.mark.parametrize(
    ("messages", "query", "limit", "documents"),
    [(9, "TideTable", 5, 2), (9, "TideTable", 10, 4), (1, "TideTable", 5, 1)],
)
def test_documents_and_calls_share_an_answer(
    run: Run, tmp_path: Path, messages: int, query: str, limit: int, documents: int
) -> None:
    episodes(run, messages)
    for number in range(12):
        transcript = Transcript(tmp_path / "calls" / f"{number}.jsonl", first=100 * number)
        row = f"row {number}: TideTable of harbour {number} holds its rows, {number * 7} of them"
        transcript.used(f"c{number}", "Bash", row, command=f"./poll {number}")
    run("memory", "archive", str(tmp_path / "calls"), env=NOW)
    hits = run("recall", query, "--limit", str(limit), env=NOW).result["hits"]
    assert len(hits) == limit
    assert sum(hit["collection"] == "episodes" for hit in hits) == documents


def test_a_long_memory_is_cut_around_the_name(home: Path) -> None:
    text = "\n".join(f"line {n} about ropes and anchors" for n in range(200))
    text = text.replace("line 150 about", "line 150 moorTheBoat about")
    written = json.dumps({"id": "long", "collection": "knowledge", "text": text})
    assert attempt(home, "memory", "import", "-", stdin=written.encode(), env=NOW).result["added"] == 1
    lean = ask(home, "moorTheBoat", "--budget", "lean")[0]["observation"]
    assert "moorTheBoat" in lean
    assert len(lean) <= 1000
    assert len(attempt(home, "recall", "moorTheBoat", "--raw", env=NOW).out) <= 1000
    assert ask(home, "moorTheBoat")[0]["observation"] == text


def test_memory_show_prints_the_whole_call(archived: Path) -> None:
    shown = attempt(archived, "memory", "show", f"call:{HARBOUR}:2").result
    assert (shown["tool"], shown["command"], shown["outcome"], shown["prompt"]) == ("Bash", COMMAND, "failed", 1)
    assert "cannot use tideLevel as float64" in shown["passage"]
    for unknown in ("call:", "call:x", f"call:{HARBOUR}:99", f"call:{HARBOUR}:-1", "call::1"):
        missing = attempt(archived, "memory", "show", unknown)
        assert (missing.code, json.loads(missing.out)["error"]["code"]) == (1, "MEMORY_NOT_FOUND")


@pytest.mark.parametrize(("then", "expected"), [
    ([("mise exec -- seal-lint run ./...", False)], "then ok (call 2): mise exec -- seal-lint run ./..."),
    ([("ls", False), ("seal-lint run ./...", False)], "then ok (call 3): the same"),
    ([("seal-lint run --all", True), ("cat seal-lint", True)], ""),
    ([("make", False)] * 10 + [("seal-lint run ./...", False)], ""),
])  # fmt: skip
def test_a_failed_command_is_followed_by_its_working_form(
    run: Run, tmp_path: Path, then: list[tuple[str, bool]], expected: str
) -> None:
    transcript = Transcript(tmp_path / "s.jsonl")
    for number, (command, failed) in enumerate([("seal-lint run ./...", True), *then]):
        output = "command not found: seal-lint" if failed else "0 issues"
        transcript.used(f"c{number}", "Bash", output, failed=failed, command=command)
    run("memory", "archive", str(transcript.path), env=NOW)
    hits = run("recall", "seal-lint command not found", "--collection", "calls", env=NOW).result["hits"]
    [first] = [hit["observation"] for hit in hits if hit["id"].endswith(":1")]
    assert "failed" in first and first.partition("then ok")[1:] == expected.partition("then ok")[1:]
