"""How well a reference, a query or a number names a note of the vault: the scores, and what is no match."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory.vault import records, reference
from memory.vault.notes import by_words

RECORDS = {
    "0001-one-two.md": "Status: *Accepted*\nDate: 2026-01-01\n\n# ADR-0001: First thing here ##\n\nbody a\n\n"
    "## Why it is\n\nbody b\nmore\n\n### Then\nlast\n",
    "0002-queue.md": "---\ntitle: The queue\nstatus: Proposed\n---\n\n# Another\n\ntext\n",
    "0003-x-y.md": "",
    "0004-late.md": "z\n" * 30 + "Status: accepted\n",
    "0004-in-time.md": "z\n" * 29 + "Status: accepted\nStatus: rejected\n",
    "x-1.md": "# no number",
    "0006-b.txt": "no markdown",
}


@pytest.fixture
def kept(tmp_path: Path) -> list[records.Record]:
    folder = tmp_path / "docs/decisions"
    folder.mkdir(parents=True)
    for name, text in RECORDS.items():
        (folder / name).write_text(text)
    (folder / "0007-folder.md").mkdir()
    (folder / "0008-link.md").symlink_to(folder / "0003-x-y.md")
    return records.every(str(tmp_path))


def test_what_a_record_says_of_itself(kept: list[records.Record]) -> None:
    assert [(one.number, one.filename, one.title, one.status, one.date) for one in kept] == [
        ("0001", "0001-one-two.md", "First thing here", "accepted", "2026-01-01"),
        ("0002", "0002-queue.md", "The queue", "proposed", None),
        ("0003", "0003-x-y.md", "x y", None, None),
        ("0004", "0004-in-time.md", "in time", "accepted", None),
        ("0004", "0004-late.md", "late", None, None),
    ]
    assert records.collisions(kept) == [{"number": "0004", "files": ["0004-in-time.md", "0004-late.md"]}]


FIRST = ("0001-one-two", 1, 14)
WHY = ("0001-one-two#Why it is", 8, 12)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("1", [(*FIRST, 1000, "exact ADR")]), ("ADR 0001", [(*FIRST, 1000, "exact ADR")]),
        ("0001-one-two.md ", [(*FIRST, 1000, "exact ADR")]), ("0001-ONE-two", [(*FIRST, 1000, "exact ADR")]),
        ("why it is", [(*WHY, 950, "exact section")]),
        ("0001-one-two#why it is", [(*WHY, 950, "exact section"), (*FIRST, 400, "title")]),
        ("then", [("0001-one-two#Then", 13, 14, 950, "exact section")]),
        ("first thing", [(*FIRST, 700, "title")]), ("first two", [(*FIRST, 700, "title")]),
        ("first other", [(*FIRST, 400, "title")]), ("first other more", []),
        ("why other", [(*WHY, 300, "heading")]), ("queue", [("0002-queue", 1, 8, 700, "title")]),
        ("3", [("0003-x-y", 1, 1, 1000, "exact ADR")]), ("9", []), ("", []), ("99999", []),
    ],
)  # fmt: skip
def test_which_record_or_section_a_query_means(
    kept: list[records.Record], query: str, found: list[tuple[Any, ...]]
) -> None:
    assert [
        (one["id"], one["start_line"], one["end_line"], one["score"], one["reason"])
        for one in records.locate(kept, query, 5)
    ] == found


@pytest.mark.parametrize(
    ("query", "score", "line", "snippet"),
    [
        ("beta", 0.7, 1, "beta gamma"), ("beta delta", 0.7, 2, "beta delta"), ("the beta", 0.7, 1, "beta gamma"),
        ("alpha", 0.72, 0, ""), ("alpha beta", 0.71, 1, "beta gamma"), ("gamma delta", 0.56, 1, "beta gamma"),
        ("delta zulu", 0.28, 2, "beta delta"), ("delta zulu yankee", None, 0, ""), ("zulu", None, 0, ""),
    ],
)  # fmt: skip
def test_how_well_a_note_answers_words(
    tmp_path: Path, query: str, score: float | None, line: int, snippet: str
) -> None:
    note = tmp_path / "alpha-note.md"
    note.write_text("beta gamma\nbeta delta\n")
    searched = by_words(str(tmp_path), query, limit=5, seconds=60)
    wanted = {"path": str(note), "title": "alpha-note", "score": score, "snippet": snippet, "line": line}
    assert searched.hits == ([] if score is None else [wanted])
    assert (searched.found, searched.files, searched.complete) == (len(searched.hits), 1, True)


def test_records_of_a_number_in_the_folder_of_decisions_come_first_then_the_nearest_to_the_top() -> None:
    listed = [
        "/v/a/b/adr/7-x.md", "/v/notes/adr-7-q.md", "/v/docs/decisions/0007-y.md", "/v/adr/7-w.md", "/v/ADR-7.md",
        "/v/notes/7-z.md", "/v/adr/70-x.md", "/v/adr/x-7.md",
    ]  # fmt: skip
    assert reference.by_decision("/v", listed, 7) == [
        "/v/docs/decisions/0007-y.md", "/v/ADR-7.md", "/v/adr/7-w.md", "/v/notes/adr-7-q.md", "/v/a/b/adr/7-x.md",
    ]  # fmt: skip


def test_a_project_is_a_folder_below_projects_or_a_note_there(tmp_path: Path) -> None:
    names = ["Projects/07-gateway/x.md", "Projects/07-gateway/readme.md", "Projects/7.md", "Projects/12-voice/a.md",
             "Projects/12-voice/voice.md", "Projects/13-tide/deep/tide.md", "other/07-none/index.md"]  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    listed = [str(tmp_path / name) for name in names]

    def found(wanted: str) -> list[tuple[str, float]]:
        return [
            (str(Path(path).relative_to(tmp_path)), score)
            for path, score in reference.by_project(str(tmp_path), listed, wanted)
        ]

    assert found(" 7 ") == [("Projects/07-gateway/readme.md", 1.0), ("Projects/7.md", 1.0)]
    assert found("voice") == [("Projects/12-voice/voice.md", 1.0)]
    assert found("tide") == [("Projects/13-tide/deep/tide.md", 1.0)]
    assert found("8") == found("redis") == []
