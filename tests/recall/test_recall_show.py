"""`recall show N`, or `show ID`: the conversation around a hit, with its calls."""

import re
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import NOW, NOW_MS, Run, attempt
from faults import read_only
from terminal import on_terminal, without_style

from core import clock

SESSION = "5a3e7c11-2222-4333-8444-555566667777"


@pytest.fixture
def talked(home: Path, run: Run, tmp_path: Path) -> Path:
    """A home with one session: ten turns before a question, a call, the answer, and ten turns after it."""
    transcript = Transcript(tmp_path / f"work/{SESSION}.jsonl")
    for number in range(10):
        transcript.user(f"step {number} of the migration, please")
    transcript.user("why does the harbour gauge stall at night?")
    transcript.used("c", "Bash", "watchdog fired: gauge stalled", command="tail -n 50 gauge.log")
    transcript.assistant("The harbour gauge stalls because its watchdog fires before the tide table is read.")
    for number in range(10):
        transcript.user(f"chore {number} of the release, please")
    run("memory", "archive", str(transcript.path), env=NOW)
    return home


def entries(home: Path, *words: str) -> list[dict[str, Any]]:
    return attempt(home, *words, env=NOW).result["entries"]


def test_a_hit_is_shown_by_number_with_the_turns_and_calls_around_it(talked: Path) -> None:
    recalled = on_terminal(talked, "recall", "why", "does", "the", "gauge", "stall", env=NOW)
    assert "Bash tail -n 50 gauge.log" in without_style(recalled.out).replace("\r", "")
    assert without_style(recalled.out).splitlines()[-1].startswith("→ joelclaw recall show 1")
    rows = without_style(on_terminal(talked, "recall", "show", "1", env=NOW).out).splitlines()
    assert rows[0].startswith("5a3e7c11")
    text = "\n".join(rows)
    for part in ("step 9", "Bash tail -n 50 gauge.log", "its watchdog fires before", "chore 0"):
        assert part in text
    assert "step 0" not in text and "chore 9" not in text
    assert [row for row in rows if row.startswith("▌")]
    assert "joelclaw session show 5a3e7c11 --full" in rows[-1]
    full = without_style(on_terminal(talked, "session", "show", "5a3e7c11", "--full", env=NOW).out)
    assert all(f"step {number} of" in full and f"chore {number} of" in full for number in range(10))
    part = without_style(on_terminal(talked, "session", "show", "5a3e7c11", env=NOW).out)
    assert "step 5 of" not in part and "→ joelclaw session show 5a3e7c11-2222-4333-8444-555566667777 --full" in part
    assert "--full" not in full


def test_a_call_a_session_and_a_memory_are_shown_by_their_ids(talked: Path, run: Run) -> None:
    [called] = [entry for entry in entries(talked, "recall", "show", "call:5a3e7c11:1") if entry["match"]]
    assert called["text"].splitlines()[1:2] == ["tail -n 50 gauge.log"]
    assert "chore 9" in entries(talked, "show", "5a3e7c11")[-1]["text"]
    noted = run("memory", "write", "The gauge is read at noon", "--session", SESSION, env=NOW).json["result"]["id"]
    [match] = [entry for entry in entries(talked, "show", noted) if entry["match"]]
    assert match["text"] == "The gauge is read at noon"
    alone = run("memory", "write", "Ports open at six in summer", "--global", env=NOW).json["result"]["id"]
    assert [entry["text"] for entry in entries(talked, "show", alone)] == ["Ports open at six in summer"]


def test_exit_code_flag_reports_whether_something_was_found(talked: Path) -> None:
    nothing = attempt(talked, "recall", "zqNoSuchName", "--exit-code", env=NOW)
    assert (nothing.code, nothing.envelope["ok"]) == (1, False)
    assert attempt(talked, "recall", "zqNoSuchName", env=NOW).code == 0
    assert attempt(talked, "recall", "harbour gauge", "--raw", "--exit-code", env=NOW).code == 0
    assert attempt(talked, "recall", "", env=NOW).result["hits"] == []  # as the mirrored CLI answers a script
    assert on_terminal(talked, "recall", "", env=NOW).code == 2
    outcome = on_terminal(talked, "recall", "zqNoSuchName", "--exit-code", env=NOW)
    assert (outcome.code, without_style(outcome.out).splitlines()[0]) == (1, "No results for 'zqNoSuchName'.")


def test_a_number_means_the_last_recall_and_says_which(talked: Path, tmp_path: Path) -> None:
    for query in ("gauge stall", "migration step"):
        attempt(talked, "recall", query, "--raw", env=NOW, cwd=tmp_path)
    shown = attempt(talked, "show", "1", env=NOW)
    assert shown.result["recall"] == {"query": "migration step", "at": clock.iso(NOW_MS), "folder": str(tmp_path)}
    for told in (attempt(talked, "show", "1", "--raw", env=NOW), on_terminal(talked, "show", "1", env=NOW)):
        assert told.err.startswith("hit 1 of: recall migration step (") and str(tmp_path) in told.err


@pytest.mark.parametrize("piped", [["zqNoSuchName"], ["zqNoSuchName", "--raw"], ["zqNoSuchName", "--verbatim"]])
def test_a_recall_without_hits_leaves_no_number_of_an_earlier_one(talked: Path, piped: list[str]) -> None:
    on_terminal(talked, "recall", "gauge", "stall", env=NOW)
    attempt(talked, "recall", *piped, env=NOW)
    assert attempt(talked, "show", "1", env=NOW).assert_failed() == "NO_SUCH_HIT"
    assert attempt(talked, "recall", "show", "zqNoSuchId", env=NOW).assert_failed() == "MEMORY_NOT_FOUND"
    assert "zqNoSuchName" in attempt(talked, "show", "1", "--raw", env=NOW).err


def test_a_hit_has_no_number_where_nothing_can_be_written(talked: Path) -> None:
    with read_only(talked):
        rows = on_terminal(talked, "recall", "gauge", env=NOW).out.splitlines()
    (hint,) = [row for row in map(without_style, rows) if "recall show" in row]
    assert "recall show 1 " not in hint


def test_numbers_are_not_written_where_a_link_leads_and_bear_the_rest_of_a_longer_list(
    talked: Path, tmp_path: Path
) -> None:
    (talked / "cache").mkdir(exist_ok=True)
    last, other = talked / "cache/last-recalls.json", tmp_path / "other"
    other.write_text("kept")
    last.symlink_to(other)
    attempt(talked, "recall", "gauge", env=NOW)
    assert other.read_text() == "kept"
    last.write_text(f'{last.read_text()}"end of a longer list"]}}\n')  # as two recalls at once may leave it
    assert attempt(talked, "show", "1", env=NOW).code == 0


@pytest.mark.parametrize("content", ["", "[]", "[{}]", "{}", "\x00"])
def test_damaged_numbers_count_as_none(talked: Path, content: str) -> None:
    attempt(talked, "recall", "gauge", env=NOW)
    (talked / "cache/last-recalls.json").write_text(content)
    assert attempt(talked, "show", "1", env=NOW).assert_failed() == "NO_SUCH_HIT"


def test_on_a_terminal_a_hit_is_shown_around_the_words_of_the_query_and_its_neighbours_in_a_line_each(
    home: Path, run: Run, tmp_path: Path
) -> None:
    def printed(name: str) -> str:
        return "\n".join(f"{name} {number} of the shed" for number in range(60))

    transcript = Transcript(tmp_path / f"work/{SESSION}.jsonl")
    for number in range(6):
        transcript.user(f"chore {number} of the release: " + "tidy the shed and the quay " * 20)
    transcript.user("what about the gauge at night?")
    transcript.assistant(f"{printed('plank')}\nThe harbour gauge stalls: its fuse is wet.\n{printed('brick')}")
    for number in range(6):
        transcript.user(f"later chore {number}: " + "paint the shed and the quay " * 20)
    run("memory", "archive", str(transcript.path), env=NOW)
    query = "why does the harbour gauge stall".split()
    on_terminal(home, "recall", *query, env=NOW)
    hits = run("recall", *query, env=NOW).result["hits"]
    number = next(rank for rank, hit in enumerate(hits, 1) if "its fuse is wet" in hit["observation"])
    colours = {**NOW, "NO_COLOR": "", "FORCE_COLOR": "1"}
    for reference in (str(number), hits[number - 1]["id"]):
        out = on_terminal(home, "recall", "show", reference, rows=30, env=colours).out
        rows = without_style(out).splitlines()
        assert len(rows) <= 60 and next(row for row in rows if row.startswith("▌")).split()[-1] == "agent"
        at = next(at for at, row in enumerate(rows) if "its fuse is wet" in row)
        assert re.findall(r"\x1b\[[0-9;]*m([a-z]+)\x1b\[0m", out.splitlines()[at])[:2] == ["harbour", "gauge"]
        neighbours = [row for row in rows if "chore" in row]
        assert len(neighbours) >= 3 and all("  prompt  " in row for row in neighbours)
    assert "agent: plank 0" in run("recall", "show", str(number), "--raw", env=NOW).out
