"""What each form of another tool's memories yields: items as values, what is left out and why, and whose form it is."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.store import documents, migrate
from memory.other_stores import basic_memory, form, taking_in
from memory.other_stores.item import Item, LeftOut, moment, tags_of


def told(tmp_path: Path, reader: str, text: str, name: str = "note.md") -> list[Any]:
    """Each item without its key, and each piece that is left out."""
    (tmp_path / name).write_text(text)
    pieces = form.READERS[reader](str(tmp_path / name))
    return [
        (one.text, one.where, one.tags, one.context, one.category, one.project, one.created_at)
        if isinstance(one, Item)
        else one
        for one in pieces
    ]


def texts(found: list[Any]) -> list[str]:
    return [one.reason if isinstance(one, LeftOut) else one[0] for one in found]


@pytest.mark.parametrize(
    ("values", "tags"),
    [
        ((" a  b ", 7, None, "", "a b", "c"), ("a b", "c")), (("x" * 60, "y" * 61), ("x" * 60,)),
        ([str(number) for number in range(17)], tuple(str(number) for number in range(16))),
    ],
)  # fmt: skip
def test_which_values_can_be_tags(values: Any, tags: tuple[str, ...]) -> None:
    assert tags_of(values) == tags


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("1970-01-01T00:00:01Z", 1000), ("never", None), (True, None), (None, None), (0, None), (-1, None), (1, 1000),
        (1.5, 1500), (100_000_000_000, 100_000_000_000_000), (100_000_000_001, 100_000_000_001), (1e15, None),
        (999_999_999_999_999, 999_999_999_999_999), (float("nan"), None),
    ],
)  # fmt: skip
def test_seconds_milliseconds_and_iso_times_are_moments(value: object, at: int | None) -> None:
    assert moment(value) == at


NOTE = "---\ntitle: Coffee\npermalink: coffee\ntags:\n- one\n- 'two'\n---\n"
TAGS = ("basic-memory", "one", "two")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- [method] Pour over", ("Pour over", (*TAGS, "method"), "Coffee", "")),
        ("* [Rule] Pour #slow over #hot #thin", ("Pour #slow over", (*TAGS, "Rule", "slow", "hot", "thin"), "Coffee",
                                                "rules")),
        ("- [person] Ana brews (at noon)", ("Ana brews (at noon)", (*TAGS, "person"), "Coffee", "people")),
        ("- [tip] Grind #fine (by hand)", ("Grind (by hand)", (*TAGS, "tip", "fine"), "Coffee", "")),
        ("- [tip] #fine #hot", ("#fine #hot", (*TAGS, "tip", "fine", "hot"), "Coffee", "")),
        ("- [tip] (all of it)", ("(all of it)", (*TAGS, "tip"), "Coffee", "")),
        ("- [y] yes", ("yes", (*TAGS, "y"), "Coffee", "")),
        ("- goes_with [[Cake]]", ("Coffee goes with Cake", (*TAGS, "relation"), "", "")),
        ('- "goes with" [[Cake|the cake]] (late)', ("Coffee goes with Cake (late)", (*TAGS, "relation"), "", "")),
        ("- 'goes with' [[Cake]]", ("Coffee goes with Cake", (*TAGS, "relation"), "", "")),
        *[(line, None) for line in ("- [ ] open", "- [x] done", "- [X] done", "- [-] off", "- [00:01] spoken",
                                    "- [1:02:03,5 - A] spoken", "- [link](url) text", "- see [[Cake]] there",
                                    "[method] no bullet", "- [method]")],
    ],
)  # fmt: skip
def test_lines_of_a_note(tmp_path: Path, line: str, expected: Any) -> None:
    text = NOTE + f"prose\n{line}\n"
    found = told(tmp_path, "basic-memory", text)
    if expected is None:
        assert [type(one) for one in found] == [LeftOut]
        assert not basic_memory.is_note(text)
    else:
        said, tags, context, category = expected
        assert found == [(said, "note.md, line 9", tags, context, category, "", None)]
        assert basic_memory.is_note(text)


def test_what_stands_in_code_is_no_observation_and_a_note_without_front_matter_has_its_name(tmp_path: Path) -> None:
    text = "- [a] one\n```\n- [b] two\n~~~\n````\n- [c] three\n~~~~\n- [d] four\n~~~\n- [e] five\n~~~~\n- [f] six\n"
    found = told(tmp_path, "basic-memory", text)
    assert texts(found) == ["one", "three", "six"]
    assert found[0][2:4] == (("basic-memory", "a"), "note")
    assert not basic_memory.is_note(text)
    assert texts(told(tmp_path, "basic-memory", "---\ntitle: never closed\n- [a] one\n")) == ["one"]


def test_notes_in_a_folder_come_by_name_and_hidden_ones_and_links_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b.md", "a.md", "sub/c.md", ".hidden/d.md", "e.txt"):
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(f"- [x1] text of {name}\n")
    (tmp_path / "notes/link.md").symlink_to(tmp_path / "notes/a.md")
    whole = list(basic_memory.items(str(tmp_path / "notes")))
    assert [one.where for one in whole] == ["a.md, line 1", "b.md, line 1", "sub/c.md, line 1"]
    assert form.of(str(tmp_path / "notes")) == "basic-memory"
    monkeypatch.setattr(basic_memory, "MOST_FILES", 2)
    assert list(basic_memory.items(str(tmp_path / "notes")))[2:] == [
        LeftOut("sub/c.md", "over 2 notes: import its folders one by one")
    ]


def test_entities_and_relations(tmp_path: Path) -> None:
    rows = (
        '{"type": "entity", "name": " Anna ", "entityType": "person",'
        ' "observations": ["Speaks Danish", " anna  leads", 7, " "]}\n'
        '\n{"type": "relation", "from": " Anna", "to": "Tech", "relationType": "works_at"}\n'
        '{"type": "relation", "from": "Anna", "to": " ", "relationType": "works_at"}\n'
        '{"type": "entity", "name": " ", "observations": []}\n{"type": "entity", "name": "A", "observations": 1}\n'
        '{"type": "entity", "name": "Empty", "observations": []}\n{"type": "other"}\nno json\n'
    )
    assert told(tmp_path, "mcp-memory", rows, "memory.json") == [
        ("Anna: Speaks Danish", "line 1, observation 1", ("mcp-memory", "person"), "", "", "", None),
        ("anna  leads", "line 1, observation 2", ("mcp-memory", "person"), "", "", "", None),
        LeftOut("line 1, observation 3", "an observation that is no text"),
        LeftOut("line 1, observation 4", "an observation that is no text"),
        ("Anna works at Tech", "line 3", ("mcp-memory", "relation"), "", "", "", None),
        LeftOut("line 4", "a relation without its two ends or its type"),
        LeftOut("line 5", "an entity without a name or observations"),
        LeftOut("line 6", "an entity without a name or observations"),
        LeftOut("line 7", "an entity of which nothing was observed", "Empty"),
        LeftOut("line 8", "neither an entity nor a relation"),
        LeftOut("line 9", "neither an entity nor a relation"),
    ]
    graph = '{"entities": [{"name": "Bo", "observations": ["Bo swims"]}, 3], "relations": 4}'
    assert texts(told(tmp_path, "mcp-memory", graph, "memory.json")) == ["Bo swims", "neither an entity nor a relation"]


def test_memories_of_mem0(tmp_path: Path) -> None:
    rows = (
        '{"memories": [{"id": 1, "memory": " Dev works ", "metadata": {"category": "job", "type": 4, "tags": ["t", 5]},'
        ' "categories": ["work"], "created_at": 1767323045},'
        ' {"memory": "No id", "metadata": 3, "categories": "x"}, {}]}'
    )
    assert told(tmp_path, "mem0", rows, "m.json") == [
        ("Dev works", "memory 1", ("mem0", "work", "job", "t"), "", "", "", 1_767_323_045_000),
        ("No id", "memory 2", ("mem0",), "", "", "", None),
        LeftOut("memory 3", "has no text in `memory`"),
    ]
    (tmp_path / "m.json").write_text(rows)
    keys = [one.key for one in form.READERS["mem0"](str(tmp_path / "m.json")) if isinstance(one, Item)]
    assert keys == ["1", "No id"]


CLAUDE_MEM = (
    "CREATE TABLE observations (id, project, type, title, subtitle, text, facts, narrative, concepts, content_hash,"
    " created_at, created_at_epoch); CREATE TABLE session_summaries (id, project, request, learned, completed, notes,"
    " created_at, created_at_epoch)"
)


def test_observations_and_summaries_of_claude_mem(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "x.db")
    db.executescript(CLAUDE_MEM)
    rows: list[tuple[Any, ...]] = [
        (1, "p", "fix", "T", "S", "text", '["f1", " ", 3, "f2"]', "story", '["c"]', "hash", "", 1_767_323_045_000),
        (2, "p", "fix", "T", "S", "text", "[]", " a  story ", "", "", "2026-01-02T03:04:05Z", None),
        (3, "p", "fix", "T", "S", "text", None, None, None, None, None, None),
        (4, "p", "fix", "T", "S", None, "", None, "word", None, None, None),
        (5, "p", "fix", "T", None, None, None, None, None, None, None, None),
        (6, "p", "fix", None, "S", None, "no json", None, None, None, None, None),
        (7, "p", "fix", None, None, None, None, None, None, None, None, None),
    ]
    db.executemany(f"INSERT INTO observations VALUES ({', '.join('?' * 12)})", rows)
    db.execute("INSERT INTO session_summaries VALUES (8, 'p', 'asked', 'learnt', '', 'noted', '', 1767323045000)")
    db.execute("INSERT INTO session_summaries VALUES (9, 'p', 'asked', '', NULL, ' ', '', 5)")
    db.commit()
    db.close()
    found = [
        (one.text, one.where, one.tags, one.context, one.created_at) if isinstance(one, Item) else one
        for one in form.READERS["claude-mem"](str(tmp_path / "x.db"))
    ]
    at = 1_767_323_045_000
    own = ("claude-mem", "fix")
    assert found == [
        ("f1", "observation 1, fact 1", (*own, "c"), "T", at), ("f2", "observation 1, fact 2", (*own, "c"), "T", at),
        ("a story", "observation 2", own, "T", at), ("text", "observation 3", own, "T", None),
        ("T – S", "observation 4", (*own, "word"), "T", None), ("T", "observation 5", own, "", None),
        ("no json", "observation 6", own, "", None), LeftOut("observation 7", "says nothing"),
        ("learnt", "summary 8, learned", ("claude-mem", "summary", "learned"), "asked", at),
        ("noted", "summary 8, notes", ("claude-mem", "summary", "notes"), "asked", at),
        LeftOut("summary 9", "says nothing"),
    ]  # fmt: skip
    assert form.of(str(tmp_path / "x.db")) == "claude-mem"


@pytest.mark.parametrize(
    ("name", "text", "whose"),
    [
        ("a.md", "- text\n", "markdown"), ("a.MDC", "- text\n", "markdown"),
        ("a.md", NOTE + "- [a] b\n", "basic-memory"),
        ("a.txt", "- text\n", "ours"), ("a.json", "", "ours"), ("a.json", "[]", "ours"), ("a.json", "[1]", "ours"),
        ("a.json", '{"text": "x"}\n', "ours"), ("a.json", '{"text": "x", "memory": "y"}\n', "ours"),
        ("a.json", '\ufeff {"memory": "y"}\n', "mem0"), ("a.json", '[{"a": 1},\n {"memory": "y"}]', "mem0"),
        ("a.json", '{"results":\n [{"memory": "y"}]}', "mem0"), ("a.json", '{"results": []}', "ours"),
        ("a.json", '{"type": "entity", "name": "x"}\n', "mcp-memory"), ("a.json", '{"type": "relation", "from": "x"}\n',
                                                                     "mcp-memory"),
        ("a.json", '{"type": "entity"}\n', "ours"), ("a.json", '{"entities": []}', "mcp-memory"),
        ("a.json", '{"entities": 3}', "ours"),
    ],
)  # fmt: skip
def test_whose_form_a_file_has(tmp_path: Path, name: str, text: str, whose: str) -> None:
    (tmp_path / name).write_text(text)
    assert form.of(str(tmp_path / name)) == whose


def test_whose_form_a_folder_has(tmp_path: Path) -> None:
    assert form.of(str(tmp_path)) == form.of(str(tmp_path / "missing")) == "ours"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.md").write_text("x")
    assert form.of(str(tmp_path)) == "basic-memory"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- a:\n- b", ["a:", "b"]), ("- a:", ["a:"]), ("- a:\n\n  - b\n- c", ["a: b", "c"]),
        ("- a:\n\t- b\n\t\t- c", ["a: b", "a: c"]), ("intro:\n\n- b", ["b"]), ("intro:\n\nmore", ["intro:", "more"]),
        ("- [ ] open\n- [x] done\n- [-] off", ["open", "done", "off"]), ("1. a\n2) b\n1234. c", ["a", "b 1234. c"]),
        ("**bold** and __more__ ** no **", ["bold and more ** no **"]), ("> > quoted", ["quoted"]),
        ("@docs/a.md", ["names another file: import that one too"]), ("@docs/a.md and b", ["@docs/a.md and b"]),
        ("x" * 600, ["x" * 600]), ("x" * 601, ["a long paragraph; `knowledge sync` takes whole documents"]),
        ("- " + "x" * 601, ["x" * 601]), ("- a\nb\n\nc", ["a b", "c"]), ("- a\n\n  b\n\n c", ["a b", "c"]),
        ("- a\n\n    b", ["a b"]), ("text\n\n    code", ["text"]), ("text\n    goes on", ["text goes on"]),
        ("a\n| t | u |\nb", ["a", "b"]), ("a\n---\nb", ["a", "b"]),
        ("<!-- no\n- no -->yes", ["yes"]), ("---\n- no\n...\n- yes", ["yes"]), ("---\n- yes", ["yes"]),
        ("```\n- no\n``` x\n- no\n````\n- yes", ["yes"]), ("# T ##\n- a", ["a"]),
    ],
)  # fmt: skip
def test_bullets_and_paragraphs(tmp_path: Path, text: str, found: list[str]) -> None:
    assert texts(told(tmp_path, "markdown", text)) == found


def test_a_bullet_knows_its_line_its_headings_and_its_file(tmp_path: Path) -> None:
    text = "---\na: b\n---\n# **One**\n## Two\n\nUse:\n\n- a\n- b\n## Three\n- c\n"
    headings = {one[0]: (one[1], one[2], one[3]) for one in told(tmp_path, "markdown", text)}
    assert headings == {
        "a": ("line 9", ("note.md",), "One > Two > Use:"), "b": ("line 10", ("note.md",), "One > Two > Use:"),
        "c": ("line 12", ("note.md",), "One > Three"),
    }  # fmt: skip


NOW = 1_790_000_000_000


def taken_in(path: Path, db: Any, *, preview: bool = False, progress: Any = lambda _: None) -> Any:
    config: Any = SimpleNamespace(whole=lambda _: 300)
    return taking_in.take_in(
        str(path), "markdown", reading=db if preview else None, writing=None if preview else lambda: db, now=NOW,
        config=config, progress=progress,
    )  # fmt: skip


def test_what_is_taken_in_is_counted_and_the_first_twenty_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = migrate.in_memory()
    path = tmp_path / "a.md"
    names = (
        "alba brik cora dora enno fina gero hila imke jana kuno lars mona nils olga pina quin rosa sven tina".split()
    )
    path.write_text(
        "".join(f"- Station {name.title()} has a gauge\n" for name in [*names, "uwe", "vera"]) + "- ok\n" * 21
    )
    done: list[int] = []
    report = taken_in(path, db, progress=done.append)
    assert (report.items, report.added, report.left_out_count) == (43, 22, 21)
    assert (len(report.first), len(report.left_out), done) == (20, 20, [20, 20, 3])
    assert report.verdicts == {"allow": 22} and sum(report.categories.values()) == 22
    assert report.left_out[0] == {
        "where": "line 23", "reason": "the write gate discards it: too short to say anything", "text": "ok",
    }  # fmt: skip
    again = taken_in(path, db)
    assert (again.added, again.unchanged, again.merged, again.verdicts) == (0, 22, 0, {})
    monkeypatch.setattr(taking_in, "MOST_ITEMS", 2)
    bounded = taken_in(path, db)
    assert (bounded.items, bounded.unchanged, bounded.left_out_count) == (2, 2, 1)
    assert bounded.left_out[0]["reason"] == "only the first 2 are taken in: split the file"
    db.close()


@pytest.mark.parametrize(("length", "shown"), [(160, "x" * 160), (161, "x" * 159 + "…")])
def test_of_a_long_text_the_beginning_is_shown(length: int, shown: str) -> None:
    report = taking_in.TakenIn("markdown", preview=True)
    report.leave_out("line 1", "why", "x" * length)
    assert report.to_result()["leftOut"] == [{"where": "line 1", "reason": "why", "text": shown}]


def test_a_memory_that_says_the_same_gets_the_tags_and_in_a_preview_would_get_them(tmp_path: Path) -> None:
    db = migrate.in_memory()
    one = documents.blank("observations", "own", "The gauge of Alba is old", 1)
    one["tags"] = ["mine"]
    path = tmp_path / "a.md"
    path.write_text("- The gauge of Alba is old\n- the gauge of alba is old.\n")
    from memory.near_duplicate import fingerprint

    one["fingerprint"] = fingerprint(one["text"])
    documents.insert(db, one, b"", signatures=False)
    for preview in (True, False):
        report = taken_in(path, db, preview=preview)
        assert (report.merged, report.unchanged, report.added) == (1, 1, 0)
        stored = documents.by_id(db, "own")
        assert stored is not None
        assert (stored["tags"], stored["text"]) == (["mine"] if preview else ["mine", "a.md"], one["text"])
    db.close()
