"""Markdown files are split at their headings, and no text is lost."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.knowledge import markdown
from memory.knowledge.markdown import MAX_SECTION_CHARS, Section, front_matter, parse

LONG = "a body that is long enough to be a section of its own, since a short one goes into the one above it."


def split(text: str) -> list[Section]:
    return parse(text, "/v/x.md").sections


def shape(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(section.headings, section.text) for section in split(text)]


def test_each_heading_is_a_section_under_those_above_it() -> None:
    text = f"before {LONG}\n\n# One\n\n{LONG}\n\n## Two ##\n{LONG} 2\n\n### Three\n{LONG} 3\n\n## Four\n{LONG} 4\n"
    assert shape(text) == [
        ((), f"before {LONG}"), (("One",), LONG), (("One", "Two"), f"{LONG} 2"),
        (("One", "Two", "Three"), f"{LONG} 3"), (("One", "Four"), f"{LONG} 4"),
    ]  # fmt: skip


def test_a_long_section_is_cut_between_paragraphs() -> None:
    paragraphs = [f"{n} " + "word " * 100 for n in range(9)]
    sections = split("# One\n\n" + "\n\n".join(paragraphs))
    assert [section.ordinal for section in sections] == [1, 2, 3, 4, 5]
    assert all(section.headings == ("One",) and len(section.text) <= MAX_SECTION_CHARS for section in sections)
    assert all(section.text.split(" ", 1)[0].isdigit() for section in sections)


marks = st.sampled_from(
    [
        *("# One", "## Two ##", "### ", "#", "===", "---", "```", "````", "~~~", "```py", "- item", "> quote", "| t |"),
        *("", "", "", " ", "\t", "    code", "text", LONG, "w" * 2000, "two words " * 300, "\x0b", "\x85", "\u2028"),
    ]
)
lines = st.lists(st.one_of(marks, marks, st.text(max_size=90)), max_size=40)


def bare(text: str) -> str:
    return "".join(text.split())


@given(lines)
@example(["---"])
@example(["---", "# One", "---"])
@example(["a", "===", "```", "# x"])
@example(["# A", "", "w" * 3000, "", "## B", "x"])
def test_no_line_is_lost_and_none_is_too_long(drawn: list[str]) -> None:
    text = "\n".join(drawn).replace("\r", " ").replace("\0", " ")
    sections = split(text)
    assert all(section.text.strip() and len(section.text) <= MAX_SECTION_CHARS for section in sections)
    assert len({(section.headings, section.ordinal) for section in sections}) == len(sections)
    joined = bare("\n".join(section.text for section in sections))
    titles = bare("\n".join(" ".join(section.headings) for section in sections))
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped.strip("#=-"):
            continue  # an underline, or a heading without words
        heading = bare(stripped.strip("#"))
        assert bare(line) in joined or heading in joined or heading in titles, line


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


@pytest.mark.parametrize(("path", "text", "kind"), [
    ("/v/docs/decisions/0203-x.md", "# X", "adr"), ("/v/ADR-12.md", "# X", "adr"),
    ("/v/x.md", "# ADR-0012: X", "adr"), ("/v/x.md", "---\ntype: Decision\n---\n", "adr"),
    ("/v/x.md", "---\ntype: Failed Target\n---\n", "failed_target"),
    ("/v/deploy/SKILL.md", "# X", "skill"), ("/v/lessons/x.md", "# X", "lesson"),
    ("/v/patterns/retros/x.md", "# X", "retro"), ("/v/decisions/x.md", "---\ntype: pattern\n---\n", "pattern"),
    ("/patterns/a/b/c/d/x.md", "# X", "note"),
])  # fmt: skip
def test_the_type_comes_from_the_file_then_from_its_folder(path: str, text: str, kind: str) -> None:
    assert markdown.parse(text, path).type == kind


@pytest.mark.parametrize(("text", "stale"), [
    ("---\nstatus: superseded\n---\n# X", True), ("---\nstatus: accepted\n---\n# X\n\nStatus: superseded", False),
    ("# X\n\n* Status: **superseded** by ADR-9", True), ("# X\n\n## Status\n\nSuperseded by [ADR-9](9.md)", True),
    ("# X\n\n## Status\n\nAccepted. It superseded ADR-1.", False), ("# X\n\nStatus\n\nSuperseded", False),
    ("# X\n\n" + "line\n\n" * 29 + "Status: superseded", False),
])  # fmt: skip
def test_a_decision_that_no_longer_holds_is_stale(text: str, stale: bool) -> None:
    assert markdown.parse(text, "/v/decisions/0001-x.md").stale is stale
