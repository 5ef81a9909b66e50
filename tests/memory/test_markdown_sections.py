"""Markdown files are cut at their headings, and nothing that stands in them is lost."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.knowledge import markdown_document, markdown_files
from memory.knowledge.markdown_document import LONGEST, first_heading, front_matter, pieces, split

LONG = "a body that is long enough to be a section of its own, since a short one goes into the one above it."


def shape(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(section.headings, section.text) for section in split(text)]


def test_each_heading_is_a_section_under_those_above_it() -> None:
    text = f"before {LONG}\n\n# One\n\n{LONG}\n\n## Two ##\n{LONG} 2\n\n### Three\n{LONG} 3\n\n## Four\n{LONG} 4\n"
    assert shape(text) == [
        ((), f"before {LONG}"),
        (("One",), LONG),
        (("One", "Two"), f"{LONG} 2"),
        (("One", "Two", "Three"), f"{LONG} 3"),
        (("One", "Four"), f"{LONG} 4"),
    ]


def test_underlined_lines_are_headings_of_the_first_two_levels() -> None:
    assert shape(f"One\n===\n{LONG}\n\nTwo lines\nof it\n---\n{LONG}\n") == [
        (("One",), LONG),
        (("One", "Two lines of it"), LONG),
    ]


@pytest.mark.parametrize(
    ("before", "heading"),
    [
        ("a\nb\nc", True), ("a\nb\nc\nd", False),
        ("x" * 200, True), ("x" * 201, False), ("x" * 100 + "\n" + "y" * 101, False),
    ],
)  # fmt: skip
def test_how_long_an_underlined_heading_may_be(before: str, heading: bool) -> None:
    found = shape(f"# One\n\n{LONG}\n\n{before}\n---\n{LONG}\n")
    assert [headings for headings, _ in found][1:] == ([("One", before.replace("\n", " "))] if heading else [])


@pytest.mark.parametrize(("length", "own"), [(79, False), (80, True)])
def test_how_short_a_section_of_its_own_may_be(length: int, own: bool) -> None:
    found = shape(f"# One\n\n{LONG}\n\n## Two\n\n{'x' * length}\n")
    assert len(found) == (2 if own else 1)


@pytest.mark.parametrize(("length", "parts"), [(1500, [1500]), (1501, [1500, 1])])
def test_how_long_a_section_may_be(length: int, parts: list[int]) -> None:
    assert [len(text) for _, text in shape("x" * length)] == parts


@pytest.mark.parametrize(
    "line",
    ["#hashtag", "####### seven", "    # indented", "\t# indented", "\\# escaped", "text # inside", "- # in a list"],
)
def test_what_looks_like_a_heading_and_is_none(line: str) -> None:
    assert [headings for headings, _ in shape(f"# One\n\n{LONG}\n\n{line}\n\n{LONG}")] == [("One",)]


@pytest.mark.parametrize("before", ["", "- item", "> quote", "| a | b |", "    code", "<div>"])
def test_a_rule_is_no_underline(before: str) -> None:
    assert [headings for headings, _ in shape(f"# One\n\n{LONG}\n\n{before}\n---\n\n{LONG}")] == [("One",)]


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
def test_a_heading_in_a_code_fence_is_none(fence: str) -> None:
    mark = fence.strip()
    text = f"# One\n{LONG}\n{fence}sh\n# comment\n{mark[:2]}\nUnder\n===\n{mark}\n## Two\n{LONG}\n"
    found = shape(text)
    assert [headings for headings, _ in found] == [("One",), ("One", "Two")]
    assert "# comment" in found[0][1]


def test_a_longer_fence_holds_a_shorter_one_and_an_open_one_goes_to_the_end() -> None:
    assert len(split(f"# One\n{LONG}\n````\n```\n# no\n```\n# no\n````\n# Two\n{LONG}")) == 2
    assert len(split(f"# One\n{LONG}\n```\n# no\n{LONG}\n## no\n{LONG}")) == 1
    assert len(split(f"# One\n{LONG}\n``` a `tick` ```\n# Two\n{LONG}")) == 2  # code in a line opens nothing


@pytest.mark.parametrize(
    "inside",
    ["", "~~~", "``", "```` x", "``` x", "  ``` x ", "code", "    ```"],
)
def test_a_long_section_is_not_cut_within_a_code_fence(inside: str) -> None:
    fence = f"```py\nfirst = 1\n\n{inside}\n\nlast = 2\n```"
    for length in range(1440, 1500, 5):
        parts = pieces(f"{'w' * length}\n\n{fence}\n\n{'v' * 40}")
        assert sum(fence in part for part in parts) == 1, length


def test_a_longer_fence_ends_a_code_fence() -> None:
    text = f"```\n{'a' * 700}\n````\n\n{'b' * 700}\n\n{'c' * 700}"
    assert [part[-1] for part in pieces(text)] == ["b", "c"]


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("w" * 1500, [1500]),
        # paragraphs, then lines, are joined while they fit
        ("a" * 749 + "\n\n" + "b" * 749, [1500]), ("a" * 749 + "\n\n" + "b" * 750, [749, 750]),
        ("x" * 700 + "\n" + "y" * 799, [1500]), ("x" * 700 + "\n" + "y" * 800, [700, 800]),
        # a long line is cut at the last blank of its second half
        ("a" * 750 + " " + "b" * 1000, [750, 1000]), ("a" * 749 + " " + "b" * 1000, [1500, 250]),
        ("a" * 1499 + " " + "b" * 10, [1499, 10]), ("a" * 1500 + " " + "b" * 10, [1500, 11]),
        ("a" * 800 + "\t" + "b" * 1000, [800, 1000]), ("a" * 800 + "\t" + "b" * 100 + " " + "c" * 1000, [901, 1000]),
        ("short\n" + "w" * 1600 + "\nlast", [5, 1500, 105]), (" " * 1600, []), ("", []),
    ],
)  # fmt: skip
def test_where_a_long_text_is_cut(text: str, lengths: list[int]) -> None:
    assert [len(part) for part in pieces(text)] == lengths


@pytest.mark.parametrize(
    ("text", "heading"),
    [("# A\nx", "A"), ("text\n# B", "B"), ("## A\n# B", ""), ("A\n===", "A"), ("A\n---", ""), ("", "")],
)
def test_the_first_heading_counts_where_it_is_of_the_first_level(text: str, heading: str) -> None:
    assert first_heading(text) == heading


def test_a_heading_goes_below_the_nearest_one_of_a_lower_level() -> None:
    text = "\n".join(
        f"{'#' * level} L{level}{name}\n{LONG}" for level, name in ((2, "a"), (4, "b"), (3, "c"), (1, "d"))
    )
    assert [headings for headings, _ in shape(text)] == [("L2a",), ("L2a", "L4b"), ("L2a", "L3c"), ("L1d",)]


@pytest.mark.parametrize("close", ["```", "````", "  ``` "])
@pytest.mark.parametrize("inside", ["~~~", "``", "``` x", ""])
def test_a_code_fence_ends_where_one_as_long_of_its_own_kind_stands_alone(close: str, inside: str) -> None:
    text = f"# One\n{LONG}\n```\n{inside}\n# no\n{close}\n# Two\n{LONG}"
    assert [headings for headings, _ in shape(text)] == [("One",), ("Two",)]


@pytest.mark.parametrize(
    ("before", "heading"), [("- item", False), ("text\n  - item", True), ("- item\ntext", False), ("\ntext", True)]
)
def test_in_a_list_no_line_is_underlined(before: str, heading: bool) -> None:
    found = shape(f"# One\n\n{LONG}\n\n{before}\n---\n{LONG}\n")
    assert len(found) == (2 if heading else 1)


def test_line_ends_do_not_matter() -> None:
    text = f"# One\n\n{LONG}\n\nTwo\n---\n{LONG}\n"
    assert shape(text.replace("\n", "\r\n")) == shape(text) == shape(text.replace("\n", "\r"))


def test_a_tiny_section_goes_into_the_one_above_with_its_heading() -> None:
    text = f"# One\n\n{LONG}\n\n## Small\n\nshort.\n\n## Empty\n\n## Two\n\n{LONG}\n"
    assert shape(text) == [(("One",), f"{LONG}\n\nSmall\nshort.\n\nEmpty"), (("One", "Two"), LONG)]


def test_tiny_sections_together_are_one() -> None:
    options = "".join(f"### Option {n}\n\nthe option with the number {n}\n\n" for n in range(5))
    found = shape(f"# One\n\n## Options\n\n{options}")
    assert [headings for headings, _ in found] == [("One", "Options")]
    assert found[0][1].startswith("Option 0\nthe option with the number 0\n\nOption 1\n")


def test_a_heading_over_sections_alone_is_in_their_titles_only() -> None:
    assert [headings for headings, _ in shape(f"# One\n## Two\n### Three\n{LONG}")] == [("One", "Two", "Three")]


def test_a_file_of_headings_is_one_section() -> None:
    assert shape("# One\n## Two\n## Three\n") == [((), "One\nTwo\n\nThree")]
    assert shape("") == shape("\n \n") == []


def test_a_long_section_is_cut_between_paragraphs() -> None:
    paragraphs = [f"{n} " + "word " * 100 for n in range(9)]
    found = split("# One\n\n" + "\n\n".join(paragraphs))
    assert [section.ordinal for section in found] == [1, 2, 3, 4, 5]
    assert all(section.headings == ("One",) and len(section.text) <= LONGEST for section in found)
    assert all(section.text.split(" ", 1)[0].isdigit() for section in found)


def test_sections_of_the_same_name_are_counted() -> None:
    found = split(f"# A\n## B\n{LONG}\n## B\n{LONG}\n# A\n## B\n{LONG}\n")
    assert [(section.headings, section.ordinal) for section in found] == [(("A", "B"), n) for n in (1, 2, 3)]


marks = st.sampled_from(
    [
        *("# One", "## Two ##", "### ", "#", "===", "---", "```", "````", "~~~", "```py", "- item", "> quote", "| t |"),
        *("", "", "", " ", "\t", "    code", "text", LONG, "w" * 2000, "two words " * 300, "\x0b", "\x85", "\u2028"),
    ]
)
lines = st.lists(st.one_of(marks, marks, st.text(max_size=90)), max_size=40)


def bare(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=150, deadline=None)
@given(lines)
@example(["---"])
@example(["a", "===", "```", "# x"])
@example(["# A", "", "w" * 3000, "", "## B", "x"])
def test_no_line_is_lost_and_none_is_too_long(drawn: list[str]) -> None:
    text = "\n".join(drawn).replace("\r", " ")
    found = split(text)
    assert all(section.text.strip() and len(section.text) <= LONGEST for section in found)
    assert len({(section.headings, section.ordinal) for section in found}) == len(found)
    told = bare("\n".join(section.text for section in found))
    titles = bare("\n".join(" ".join(section.headings) for section in found))
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped.strip("#=-"):
            continue  # an underline, or a heading without words
        heading = bare(stripped.strip("#"))
        assert bare(line) in told or heading in told or heading in titles, line


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["# x", "y\n===", "", LONG, "~~", "``", "- a"]), max_size=8))
def test_what_is_fenced_stays_in_one_section(inside: list[str]) -> None:
    text = "\n".join(["# One", LONG, "```", *inside, "```", "## Two", LONG])
    assert [section.headings for section in split(text) if section.ordinal == 1] == [("One",), ("One", "Two")]


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \n\t`~"), max_size=4000))
def test_pieces_hold_every_character_that_shows(text: str) -> None:
    cut = pieces(text)
    assert bare("".join(cut)) == bare(text)
    assert all(piece.strip() and len(piece) <= LONGEST for piece in cut)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.binary(max_size=300), st.text(max_size=30))
@example("---\ntitle: [\n- \n---\n", b"\xff\xfe\x00", "/adr")
@example("---\n---\n", b"\xef\xbb\xbf# x", "SKILL.md")
def test_nothing_raises(text: str, data: bytes, path: str) -> None:
    markdown_document.parse("---\n" + text + "\n---\n" + text, path)
    markdown_document.parse(text, path)
    decoded = markdown_files.decode(data)
    if decoded is not None:
        markdown_document.parse(decoded, path)


def test_front_matter_is_read_as_people_write_it() -> None:
    front, body = front_matter(
        '---\ntitle: "A: b"\nTags: [x, \'y\', "z z"]\nstatus: superseded by ADR-5\n# comment\nsince: 2026-01-01\n'
        "list:\n  - one\n  - 'two'\nabout: >\n  folded\n  text\nempty:\n---\n\n# Body\n"
    )
    assert front == {
        "title": "A: b",
        "tags": ["x", "y", "z z"],
        "status": "superseded by ADR-5",
        "since": "2026-01-01",
        "list": ["one", "two"],
        "about": "folded text",
        "empty": "",
    }
    assert body == "\n# Body\n"


@pytest.mark.parametrize(
    ("text", "front", "body"),
    [
        ("---\n" + "k: v\n" * 398 + "---\nbody", {"k": "v"}, "body"), ("---\na: 1\n...\nb", {"a": "1"}, "b"),
        ("---\n---\nx", {}, "x"),
        ("---\na: 'x'\nb: '\nc: \"\nd: ~\n---\n", {"a": "x", "b": "'", "c": '"', "d": ""}, ""),
        ("---\na: x\n - y\n\tmore\nb: ~\n- item\n---\n", {"a": ["x", "y"], "b": ["item"]}, ""),
        ("---\na: |\n  one\n  two\nb: [x, , 'y']\n---\n", {"a": "one two", "b": ["x", "y"]}, ""),
        ("---\na: one\nnot indented\n---\n", {"a": "one"}, ""),
        ("---\n" + "k: v\n" * 399 + "---\nbody", {}, None),
    ],
)  # fmt: skip
def test_front_matter_and_what_stands_behind_it(text: str, front: dict[str, object], body: str | None) -> None:
    assert front_matter(text) == (front, text if body is None else body)


@pytest.mark.parametrize(
    ("text", "tags", "category", "first"),
    [
        ("---\ntags: a, #b c\n---\n", ["a", "b", "c"], "", None), ("---\ntag: [x, '#y']\n---\n", ["x", "y"], "", None),
        ("---\ntags: [x]\ntag: y\ncategory: Ops\n---\n", ["x"], "Ops", None),
        ("---\ndescription: About it\n---\n# T\nbody", [], "", "About it\n\nT\nbody"),
        ("---\nsummary: Sum\n---\n# T\nbody", [], "", "Sum\n\nT\nbody"),
    ],
)  # fmt: skip
def test_tags_category_and_what_a_file_is_about(text: str, tags: list[str], category: str, first: str | None) -> None:
    file = markdown_document.parse(text, "/v/a.md")
    assert (file.tags, file.category) == (tags, category)
    assert [section.text for section in file.sections] == ([first] if first else [])


@pytest.mark.parametrize(
    "text", ["---\n\nonly a rule\n\n---\n\nx", "---\ntitle: never closed\n\nx", " ---\na: b\n---\n"]
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    assert front_matter(text) == ({}, text)


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("/v/docs/decisions/0203-x.md", "# X", "adr"),
        ("/v/adr/x.md", "# X", "adr"),
        ("/v/ADR-12.md", "# X", "adr"),
        ("/v/x.md", "# ADR-0012: X", "adr"),
        ("/v/x.md", "---\nadr: 12\n---\n", "adr"),
        ("/v/x.md", "---\ntype: Decision\n---\n", "adr"),
        ("/v/skills/deploy/x.md", "# X", "skill"),
        ("/v/deploy/SKILL.md", "# X", "skill"),
        ("/v/lessons/x.md", "# X", "lesson"),
        ("/v/patterns/retros/x.md", "# X", "retro"),
        ("/v/decisions/x.md", "---\ntype: pattern\n---\n", "pattern"),
        ("/v/x.md", "---\ntype: Design Doc\n---\n", "design-doc"),
        ("/patterns/a/b/c/d/x.md", "# X", "note"),
        ("/v/notes/x.md", "# X", "note"),
    ],
)
def test_the_type_is_what_the_file_says_then_what_its_place_says(path: str, text: str, kind: str) -> None:
    assert markdown_document.parse(text, path).type == kind


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("/v/a.md", "---\ntitle: T\n---\n# H", "T"),
        ("/v/a.md", "# H\n## I", "H"),
        ("/v/a.md", "H\n===\n", "H"),
        ("/v/a b.md", "## I\n# H", "a b"),
        ("/v/x/SKILL.md", "---\nname: deploy\n---\n# H", "deploy"),
    ],
)
def test_the_title_of_a_file(path: str, text: str, title: str) -> None:
    assert markdown_document.parse(text, path).title == title


def test_the_title_of_a_section_names_its_place() -> None:
    file = markdown_document.parse(f"# File\n\n{LONG}\n\n## A\n### B\n{LONG}\n\n{'w ' * 740}", "/v/x.md")
    assert [file.section_title(section) for section in file.sections] == ["File", "File › A › B", "File › A › B (2)"]


@pytest.mark.parametrize(
    ("text", "stale"),
    [
        ("---\nstatus: superseded\n---\n# X", True),
        ("---\nstatus: Deprecated since May\n---\n# X", True),
        ("---\nstatus: accepted\n---\n# X\n\nStatus: superseded", False),
        ("# X\n\n* Status: **superseded** by ADR-9", True),
        ("# X\n\n**Status:** Deprecated", True),
        ("# X\n\n## Status\n\nSuperseded by [ADR-9](9.md)", True),
        ("# X\n\n## Status\n\nAccepted. It superseded ADR-1.", False),
        ("# X\n\nStatus\n\nSuperseded", False),
        ("# X\n\n" + "line\n\n" * 28 + "Status: superseded", True),
        ("# X\n\n" + "line\n\n" * 29 + "Status: superseded", False),
    ],
)
def test_a_decision_that_no_longer_holds_is_stale(text: str, stale: bool) -> None:
    assert markdown_document.parse(text, "/v/decisions/0001-x.md").stale is stale


def test_bytes_become_text() -> None:
    assert markdown_files.decode(b"\xef\xbb\xbf# a") == "# a"
    assert markdown_files.decode(b"a\xffb") == "a\ufffdb"
    assert markdown_files.decode("# é".encode("utf-16")) == "# é"
    assert markdown_files.decode(b"PK\x03\x04\0\0") is None
    assert markdown_document.parse("", "/v/a.md").sections == []
