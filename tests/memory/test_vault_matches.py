"""How well a reference, a query or a number names a note of the vault: the scores, and what is no match."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memory.vault.search import by_meaning, by_words

from memory.vault import name_match, records, reference


@pytest.mark.parametrize(
    ("words", "name", "score"),
    [
        ("gateway", "gateway.md", 1.0), ("gateway", "gateway-log.md", 0.875), ("gateway", "redis.md", 0.0),
        # one begins the other; neither may be shorter than three letters
        ("gate", "gateway.md", 0.85), ("gatewayed", "gateway.md", 0.85), ("abc", "abcdef.md", 0.85),
        ("ab", "abc.md", 0.0), ("abc", "ab.md", 0.0),
        # misspelt: four fifths of the letters, and at most two more or less of them
        ("gatway", "gateway.md", 0.9231), ("abcde", "abcdx.md", 0.8), ("abcd", "abcx.md", 0.0),
        ("gateway", "agatewayb.md", 0.875), ("gateway", "agatewaybc.md", 0.0),
        # numbers are equal or not; those of a name count for nothing where it has words
        ("7", "007-x.md", 0.75), ("7", "8-x.md", 0.0), ("07", "7.md", 1.0), ("12", "12-voice.md", 0.75),
        ("alpha 7", "7-alpha-beta.md", 0.875),
        # the folder counts six tenths, and two thirds of the words must be there
        ("docs", "docs/x.md", 0.0), ("docs x", "docs/x.md", 0.85), ("alpha beta", "beta/alpha.md", 0.85),
        ("alpha beta", "alpha.md", 0.0), ("gateway redis x", "gateway-redis.md", 0.75),
    ],
)  # fmt: skip
def test_how_well_words_name_a_file(words: str, name: str, score: float) -> None:
    assert name_match.score(name_match.tokens(words), name) == score


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The gateway.md", ["gateway"]), ("the of", ["the", "of"]), ("a.txt", ["txt"]), ("x.MDX", ["x"]),
        ("Gateway gateway", ["gateway"]), ("", []),
    ],
)  # fmt: skip
def test_the_words_of_a_reference(text: str, found: list[str]) -> None:
    assert name_match.tokens(text) == found


def test_of_equal_names_the_shorter_key_is_first_and_no_more_than_asked_for() -> None:
    names = [("k1", "gateway.md"), ("k", "gateway.md"), ("z", "b/gateway.md"), ("a", "x.md"), ("y", "gateway-log.md")]
    assert name_match.best("gateway", names, 4) == [("k", 1.0), ("z", 1.0), ("k1", 1.0), ("y", 0.875)]
    assert name_match.best("gateway", names, 1) == [("k", 1.0)]


@pytest.mark.parametrize(("others", "kept"), [(8, True), (9, False)])
def test_how_little_a_name_may_have_of_what_is_asked_for(others: int, kept: bool) -> None:
    name = "gateway-redis-" + "-".join(f"other{letter * 3}" for letter in "abcdefghi"[:others])
    assert bool(name_match.best("gateway redis xyz", [("k", name)], 1)) is kept


@pytest.mark.parametrize(("count", "found"), [(12, [("k", 1.0)]), (13, [])])
def test_a_reference_of_many_words_is_no_name(count: int, found: list[tuple[str, float]]) -> None:
    text = "-".join(f"x{letter}" for letter in "abcdefghijklm"[:count])
    assert name_match.best(text, [("k", text + ".md")], 3) == found


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("what gateway", True), ("gateway ? ", True), ("gateway", False), ("the why of it", False), ("", False),
        ("Whose", True),
    ],
)  # fmt: skip
def test_what_is_a_question(text: str, asks: bool) -> None:
    assert name_match.is_question(text) is asks


def test_all_words_of_a_question_are_in_the_name_itself() -> None:
    names = [("in name", "docs/why-gateway.md"), ("in folder", "gateway/why.md")]
    assert [key for key, _ in name_match.best("why gateway", names, 3)] == ["in name"]
    assert {key for key, _ in name_match.best("gateway", names, 3)} == {"in name"}


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


def test_a_place_as_it_is_shown(kept: list[records.Record]) -> None:
    (section,) = records.locate(kept, "why it is", 5)
    assert {**section, "path": Path(section["path"]).name} == {
        "id": WHY[0], "kind": "section", "number": "0001", "title": "Why it is", "filename": "0001-one-two.md",
        "path": "0001-one-two.md", "start_line": 8, "end_line": 12, "body": "body b more", "reason": "exact section",
        "score": 950,
    }  # fmt: skip
    assert len(records.locate(kept, "4", 5)) == 2
    assert [one["filename"] for one in records.locate(kept, "4", 1)] == ["0004-in-time.md"]


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


def test_the_best_notes_come_first_and_equal_ones_by_their_path(tmp_path: Path) -> None:
    for name, text in {"c": "beta", "b": "beta", "a": "İ\n\nbeta gamma", "d": "none"}.items():
        (tmp_path / f"{name}.md").write_text(text)
    searched = by_words(str(tmp_path), "beta gamma", limit=2, seconds=60)
    assert [(hit["title"], hit["line"]) for hit in searched.hits] == [("a", 3), ("b", 1)]
    assert (searched.found, searched.files) == (3, 4)
    late = by_words(str(tmp_path), "beta", limit=2, seconds=-1)
    assert (late.found, late.complete) == (0, False)


def test_of_a_long_line_the_part_with_the_words_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("word " * 100 + "beta " + "more " * 100)
    (hit,) = by_words(str(tmp_path), "beta", limit=2, seconds=60).hits
    assert len(hit["snippet"]) <= 200 and " beta " in hit["snippet"]


def test_without_a_store_nothing_is_found_by_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(tmp_path / "home"))
    assert by_meaning(str(tmp_path), "beta", limit=2) == ([], 0, False)


def test_records_of_a_number_in_the_folder_of_decisions_come_first_then_the_nearest_to_the_top() -> None:
    listed = [
        "/v/a/b/adr/7-x.md", "/v/notes/adr-7-q.md", "/v/docs/decisions/0007-y.md", "/v/adr/7-w.md", "/v/ADR-7.md",
        "/v/notes/7-z.md", "/v/adr/70-x.md", "/v/adr/x-7.md",
    ]  # fmt: skip
    assert reference.by_decision("/v", listed, 7) == [
        "/v/docs/decisions/0007-y.md", "/v/ADR-7.md", "/v/adr/7-w.md", "/v/notes/adr-7-q.md", "/v/a/b/adr/7-x.md",
    ]  # fmt: skip


@pytest.mark.parametrize("given", ["[[a]]", "[[a|b]]", "[[ a#b ]]", " a ", "[[a.md]]"])
def test_a_wiki_link_names_its_note(tmp_path: Path, given: str) -> None:
    (tmp_path / "a.md").write_text("x")
    assert reference.resolve(str(tmp_path), given) == [reference.Resolution(str(tmp_path / "a.md"), "path", 1.0)]


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
