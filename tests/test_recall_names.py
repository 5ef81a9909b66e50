"""What stood in a session's tool calls is found by name, with the passage around it and its place (issue 11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run
from faults import attempt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from terminal import on_terminal, without_style

from recall.by_name import passage
from recall.by_name.query_names import QueryNames

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
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


def line(kind: str, content: Any, number: int, session: str, cwd: str, **more: Any) -> str:
    at = f"2026-09-20T10:{number:02}:00.000Z"
    entry = {"type": kind, "uuid": f"{session[:4]}-{number}", "timestamp": at, "sessionId": session, "cwd": cwd}
    return json.dumps({**entry, "message": {"role": kind, "content": content}, **more})


def use(
    number: int, name: str, given: dict[str, Any], returned: str, session: str, cwd: str, failed: bool = False
) -> str:
    call = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": given}]
    back = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": returned, "is_error": failed}]
    return line("assistant", call, number, session, cwd) + "\n" + line("user", back, number + 1, session, cwd)


def transcript(folder: Path, session: str, project: str) -> None:
    cwd = f"/srv/{project}"
    folder.mkdir(exist_ok=True)
    table = {"file_path": f"{cwd}/tides/table.go"}
    said = [{"type": "text", "text": "The gauges fail because springTide is wider now."}]
    lines = [
        line("user", "Please sort the tide tables by harbour before you touch the gauges.", 1, session, cwd),
        use(2, "Read", table, SOURCE, session, cwd),
        use(4, "Bash", {"command": COMMAND}, FAILURE, session, cwd, failed=True),
        use(6, "Edit", {**table, "new_string": "springTide float32"}, "done", session, cwd),
        line("assistant", said, 8, session, cwd),
    ]  # fmt: skip
    (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def archived(home: Path, tmp_path: Path) -> Path:
    transcript(tmp_path / "transcripts", HARBOUR, "harbour")
    assert attempt(home, "memory", "archive", str(tmp_path / "transcripts"), env=NOW).result["transcripts"] == 1
    return home


def ask(home: Path, *words: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = attempt(home, "recall", *words, env=NOW).result["hits"]
    return hits


@pytest.mark.parametrize(
    "name",
    [
        *("TideTable", "springTide", "neap_offset", "table.go", "tides/table.go", "2778490776", "harbour.Tides"),
        *("--dry-run", "4.11.2", "gauge-reader", "build/gauge-reader/out", "secondLine", "of_it", COMMAND),
        "cannot use tideLevel as float64",
    ],
)
def test_a_name_in_a_tool_call_is_found_with_its_passage(archived: Path, name: str) -> None:
    printed = attempt(archived, "recall", "--raw", "--", name, env=NOW).out
    assert name in printed
    assert len(printed) <= 1000
    assert "(session 11111111, prompt 1, call " in printed


def test_a_hit_names_tool_file_session_turn_and_call(archived: Path) -> None:
    hit = ask(archived, "neap_offset")[0]
    assert hit["id"] == f"call:{HARBOUR}:1"
    assert hit["observation"].startswith("Read tides/table.go (session 11111111, prompt 1, call 1): ")
    assert (hit["collection"], hit["type"], hit["path"]) == ("calls", "call", "tides/table.go")
    assert (hit["session"], hit["project"]) == (HARBOUR, "harbour")
    assert hit["timestamp"] == "2026-09-20T10:02:00.000Z"
    assert 0 < hit["score"] <= 1


def test_a_path_from_another_folder_finds_the_file_by_its_end(archived: Path) -> None:
    hits = ask(archived, "/home/anna/src/tides/table.go", "--collection", "calls")
    assert hits and hits[0]["path"] == "tides/table.go"


@pytest.mark.parametrize("name", ["zqNoSuchName", "no_such_name", "nosuch/file.go", "9876543210", "x.NoSuch"])
def test_an_unknown_name_brings_nothing(archived: Path, name: str) -> None:
    assert attempt(archived, "recall", name, "--raw", env=NOW).out == ""
    assert attempt(archived, "recall", name, env=NOW).result["found"] == 0


def test_what_was_said_about_a_name_is_among_the_hits(archived: Path) -> None:
    collections = {hit["collection"] for hit in ask(archived, "springTide")}
    assert collections == {"calls", "episodes"}


def test_an_identifier_beside_a_file_is_found(archived: Path) -> None:
    assert "neap_offset int" in attempt(archived, "recall", "neap_offset table.go", "--raw", env=NOW).out


def test_a_question_in_words_is_answered_by_what_was_said(archived: Path) -> None:
    hits = ask(archived, "what should be sorted before the gauges are touched")
    assert hits[0]["observation"].startswith("user: Please sort the tide tables")
    assert "calls" not in {hit["collection"] for hit in hits}


def test_the_more_words_of_a_line_are_asked_for_the_surer_it_is_meant(archived: Path) -> None:
    def score(query: str) -> float:
        return next(float(hit["score"]) for hit in ask(archived, query, "--collection", "calls"))

    assert score("failed build") == 0.4
    assert score("failed gauges build") == pytest.approx(0.45)
    assert score("failed gauges harbour build") == pytest.approx(0.5)


def test_filters_hold_for_calls(archived: Path) -> None:
    def found(*words: str) -> set[str]:
        return {hit["collection"] for hit in ask(archived, "springTide", *words)}

    assert found("--collection", "calls") == {"calls"}
    assert found("--collection", "episodes") == {"episodes"}
    assert found("--session", HARBOUR) == {"calls", "episodes"}
    assert found("--session", LIGHTHOUSE) == found("--project", "lighthouse") == set()
    assert "calls" in found("--project", "harbour")
    assert "calls" not in found("--category", "ops")
    assert "calls" not in found("--min-score", "0.95")
    assert len(ask(archived, "springTide", "--limit", "1")) == 1
    assert attempt(archived, "memory", "export", "--collection", "calls").code == 2


def test_the_project_that_is_worked_on_goes_first(home: Path, tmp_path: Path, run: Run) -> None:
    for session, project in ((HARBOUR, "harbour"), (LIGHTHOUSE, "lighthouse")):
        transcript(tmp_path / "transcripts", session, project)
    run("memory", "archive", str(tmp_path / "transcripts"))
    for project, session in (("harbour", HARBOUR), ("lighthouse", LIGHTHOUSE)):
        here = tmp_path / project
        (here / ".git").mkdir(parents=True)
        hits = run("recall", "neap_offset", cwd=here).result["hits"]
        assert hits[0]["session"] == session
        passages = [hit["observation"].partition("): ")[2] for hit in hits if hit["collection"] == "calls"]
        assert len(set(passages)) == len(passages)  # a passage is shown once


def test_a_batch_finds_calls_too(archived: Path) -> None:
    lines = attempt(archived, "recall", "--batch", "-", stdin=b"neap_offset\nzqNoSuchName\n", env=NOW).out.splitlines()
    assert [json.loads(one)["result"]["count"] > 0 for one in lines] == [True, False]


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


def test_memory_show_shows_one_call_whole(archived: Path) -> None:
    shown = attempt(archived, "memory", "show", f"call:{HARBOUR}:2").result
    assert (shown["tool"], shown["command"], shown["outcome"], shown["prompt"]) == ("Bash", COMMAND, "failed", 1)
    assert "cannot use tideLevel as float64" in shown["passage"]
    for unknown in ("call:", "call:x", f"call:{HARBOUR}:99", f"call:{HARBOUR}:-1", "call::1"):
        missing = attempt(archived, "memory", "show", unknown)
        assert (missing.code, json.loads(missing.out)["error"]["code"]) == (1, "MEMORY_NOT_FOUND")


def test_the_terminal_shows_place_and_passage(archived: Path) -> None:
    drawn = without_style(on_terminal(archived, "recall", "neap_offset").out)
    assert "Read tides/table.go (session 11111111, prompt 1, call 1)" in drawn
    assert "neap_offset int" in drawn
    assert "Bash " + COMMAND in without_style(on_terminal(archived, "memory", "show", f"call:{HARBOUR}:2").out)


def test_injections_get_no_calls(archived: Path, run: Run) -> None:
    text = run("inject", "memory", "--session", "new", "--query", "springTide neap_offset TideTable", "--raw").out
    assert "call 1" not in text


@pytest.mark.parametrize(
    ("query", "names", "alone"),
    [
        ("TideTable", ["TideTable"], True),
        ("`tides/table.go:12:3`,", ["tides/table.go"], True),
        ("--dry-run", ["--dry-run"], True),
        ("8108", ["8108"], True),
        ("why does TideTable fail in 3 tests", ["TideTable"], False),
        ("the well-known user's question, e.g. this one", [], False),
        ("redis", [], False),
        ("", [], False),
        ("...", [], False),
    ],
)
def test_names_of_a_query(query: str, names: list[str], alone: bool) -> None:
    found = QueryNames(query)
    assert (found.names, found.alone) == (names, alone)


UNHURRIED = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), max_size=8).map("\n".join)


@UNHURRIED
@given(TEXTS, st.text(alphabet="abcXYZ_", min_size=1, max_size=20), TEXTS, st.integers(min_value=24, max_value=200))
def test_a_passage_holds_the_match_and_keeps_its_bounds(before: str, name: str, after: str, room: int) -> None:
    cut = passage.around(f"{before}{name}{after}", [name], room)
    assert name in cut
    assert len(cut) <= room


@UNHURRIED
@given(TEXTS, st.lists(st.text(max_size=20), max_size=4), st.integers(min_value=2, max_value=200))
def test_a_passage_of_anything_keeps_its_bounds(text: str, wanted: list[str], room: int) -> None:
    cut = passage.around(text, wanted, room)
    assert len(cut) <= room or cut == "\n".join(one.strip() for one in text.splitlines() if one.strip())
    assert bool(cut) == bool(text.strip())
