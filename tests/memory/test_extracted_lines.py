"""Which lines of an archived session belong to a topic, and under which heading each is told."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memory.sessions import extraction
from memory.sessions.extraction import extract, inspect, matches
from memory.sessions.transcript import LINE_CHARS, Line, Transcript, folder_key


def session(*lines: Line, folder: str = "/home/u/app") -> Transcript:
    numbered = tuple(
        Line(number, one.role, one.kind, one.text, one.file, one.command, one.failed)
        for number, one in enumerate(lines, 1)
    )
    return Transcript("s1", "claude", "p1", folder, "/t.jsonl", 1_790_000_000_000, numbered)


def said(text: str, role: str = "assistant") -> Line:
    return Line(0, role, "message", text)


def called(text: str, *, file: str = "", command: str = "", failed: bool = False) -> Line:
    return Line(0, "tool", "tool_call", text, file, command, failed)


def numbers(entries: Any) -> list[int]:
    return [entry["line"] for entry in entries]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("The lease TABLE of it", "lease table", True), ("The table of the lease", "lease table", True),
        ("The table of it", "lease table", False), ("a lease", " lease ", True), ("any text", "", False),
        ("any text", "  ", False), ("an is of", "of an", False), ("an abc of", "of abc", True),
        ("an abc", "of abc", True), ("ab", "ab", True),
    ],
)  # fmt: skip
def test_which_texts_hold_a_query(text: str, query: str, found: bool) -> None:
    assert matches(text, query) is found


def test_four_lines_before_a_match_and_ten_behind_it_belong_to_it() -> None:
    lines = [said(f"line {number}") for number in range(1, 31)]
    lines[9] = said("the lease is here", "user")
    made = extract(session(*lines), "lease")
    assert (made["matched"], made["lineCount"], made["query"]) == (True, 30, "lease")
    assert numbers(made["evidence"]) == list(range(6, 21))
    assert numbers(made["userPrompts"]) == [10]
    lines[0], lines[29] = said("a lease"), said("a lease")
    assert numbers(extract(session(*lines), "lease")["evidence"]) == [*range(1, 17)]
    assert extract(session(*lines), "tide")["matched"] is False


def test_without_a_match_the_first_eighty_lines_are_looked_at() -> None:
    lines = [said("a line", "user" if number in (79, 80) else "assistant") for number in range(100)]
    made = extract(session(*lines), "")
    assert numbers(made["userPrompts"]) == [80]
    assert numbers(made["evidence"]) == list(range(1, 17))


@pytest.mark.parametrize(
    ("key", "most", "text"),
    [
        ("decisions", 12, "we decided it"), ("outputsReceipts", 12, "it was written"),
        ("verification", 12, "pytest is green"), ("blockers", 12, "it is stuck"), ("nextActions", 10, "a follow-up"),
        ("evidence", 16, "any line"),
    ],
)  # fmt: skip
def test_how_many_lines_a_part_holds(key: str, most: int, text: str) -> None:
    made = extract(session(*[said(text) for _ in range(20)]), "")
    assert numbers(made[key]) == list(range(1, most + 1))


def test_calls_are_told_by_their_command_their_file_and_that_they_failed() -> None:
    made = extract(
        session(
            called("Bash make", command="make"), called("Read a.py", file="src/a.py"), said("src/b.py, ./c/d.md"),
            called("Edit lib/e.py"), called("Bash boom", command="boom", failed=True), said(""),
            called("Read a.py", file="src/a.py"),
        ),
        "",
    )  # fmt: skip
    assert numbers(made["commandsRun"]) == [1, 5]
    assert numbers(made["blockers"]) == [5]
    assert made["filesTouched"] == ["src/a.py", "src/b.py", "./c/d.md"]
    assert numbers(made["evidence"]) == [1, 2, 3, 4, 5, 7]


def test_of_many_files_eighty_are_named() -> None:
    made = extract(session(*[called("Read", file=f"src/{number}.py") for number in range(79)], said("a/1 a/2 a/3")), "")
    assert made["filesTouched"] == [*[f"src/{number}.py" for number in range(79)], "a/1"]


def test_the_lines_around_a_pattern_and_eight_of_them_at_most() -> None:
    lines = [said("the lease" if number in (1, 5) else "other") for number in range(7)]
    result = inspect(session(*lines), re.compile("LEASE", re.I), 2, 1)
    assert [(one["matchLine"], one["startLine"], one["endLine"]) for one in result["matches"]] == [(2, 1, 3), (6, 4, 7)]
    assert [numbers(one["entries"]) for one in result["matches"]] == [[1, 2, 3], [4, 5, 6, 7]]
    assert (result["around"], result["redacted"], result["sessionId"]) == ("LEASE", False, "s1")
    many = inspect(session(*[said("lease") for _ in range(9)]), re.compile("lease"), 0, 0)
    assert [one["matchLine"] for one in many["matches"]] == list(range(1, 9))


def test_as_markdown_each_part_has_its_heading() -> None:
    shown = extraction.markdown(extract(session(said("two\nlines", "user"), called("Read", file="a/b.py")), "two"))
    assert shown.startswith(
        "# Session extraction\n\n- session: s1\n- client: claude\n- started: 2026-09-21T14:13:20.000Z\n"
        "- folder: /home/u/app\n- query: two\n- lines: 2\n- redacted: –\n\n## User prompts\n\n"
        "- L1 user/message: two lines\n\n## Decisions\n\n- none found\n\n## Commands run\n\n- none found\n\n"
        "## Files touched\n\n- a/b.py\n"
    )
    assert shown.endswith("## Evidence\n\n- L1 user/message: two lines\n- L2 tool/tool_call: Read\n")


def test_a_line_is_shown_cut_and_a_folder_as_pi_names_it() -> None:
    assert said("x" * (LINE_CHARS + 1)).shown() == {
        "line": 0, "role": "assistant", "kind": "message", "text": "x" * LINE_CHARS,
    }  # fmt: skip
    assert (folder_key("/home/u/app/"), folder_key("")) == ("--home-u-app--", "")
    assert session(said("a"), folder="").about()["cwdKey"] == ""
