"""The form of a summary: what is taken of a model's reply, however it writes it, and what is never its to say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.compaction import summary as form
from session.compaction.summary import Section

GOOD = """\
## Goal
Import a day without being killed.

## Constraints & Preferences
- standard library only

## Progress
### Done
- [x] step 1
### In Progress
- [ ] step 5
### Blocked
- the polynomial (HB-2207)

## Key Decisions
- **batches of 1,500**: a power cut costs one batch

## Next Steps
1. the column

## Critical Context
- a pool of 4 takes 139 s"""
SECTIONS = form.parse(GOOD)


def test_a_reply_in_the_form_comes_back_as_it_is() -> None:
    assert list(SECTIONS) == [name for name in Section if name != Section.PROGRESS]
    assert form.parse(form.render(SECTIONS)) == SECTIONS
    assert form.missing(SECTIONS) == []
    assert form.items(SECTIONS[Section.DONE]) == ["step 1"]
    assert form.items(SECTIONS[Section.NEXT]) == ["the column"]


@pytest.mark.parametrize(
    "reply",
    [
        "```markdown\n" + GOOD + "\n```",
        "Here is the note you asked for:\n\n~~~\n" + GOOD + "\n~~~\nTell me if you need more.",
        "<analysis>\n## Goal\nnot this one\n</analysis>\n<summary>\n" + GOOD + "\n</summary>",
        "<think>The user wants\n# Goal\na summary.</think>\n" + GOOD,
        "```md\n" + GOOD,
        "# Session summary\n\n" + GOOD,
        GOOD.replace("## ", "# ").replace("### ", "#### "),
        GOOD.replace("## Constraints & Preferences", "## Constraints and preferences:"),
        GOOD.replace("## Goal\nImport", "## Goal: Import"),
        GOOD.replace("\n", "\r\n"),
    ],
    ids=["fenced", "introduced", "analysis", "think", "cut", "title", "levels", "spelling", "inline", "crlf"],
)  # fmt: skip
def test_other_ways_to_write_it_mean_the_same(reply: str) -> None:
    found = form.parse(reply)
    closing = "\nTell me if you need more."
    assert {name: body.removesuffix(closing) for name, body in found.items()} == SECTIONS


@pytest.mark.parametrize(
    "lists",
    ["<read-files>\na.py\n</read-files>", "<read-files>a.py</read-files>", "<READ-FILES>\nevil.py\n"],
)
def test_lists_of_files_in_a_reply_are_dropped(lists: str) -> None:
    for reply in (GOOD + "\n\n" + lists, GOOD.replace("## Key", lists + "\n\n## Key")):
        assert form.parse(reply) == SECTIONS


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot do that.", "## Goal\nall of it", "# Notes\n\n- a\n- b", "## Goal\n\n## Progress\n(none)"],
)
def test_what_is_no_summary(reply: str) -> None:
    assert not form.is_summary(form.parse(reply))


def test_missing_sections_are_named_and_shown_as_none() -> None:
    found = form.parse("## Goal\nx\n\n## Progress\nsome of it")
    assert form.is_summary(found)
    assert form.missing(found) == [
        Section.CONSTRAINTS,
        Section.DECISIONS,
        Section.NEXT,
        Section.CONTEXT,
    ]
    assert form.render(found).count(form.NOTHING) == 7


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("## Goal", "### Done", "# Next Steps", "**Blocked:**", "```", "~~~", "```md", "<read-files>", "a.py"),
                *("</read-files>", "<summary>", "<think>", "</think>x", "---", form.TURN, "- [x] one", "(none)", ""),
                *("## Other", "1. two", "<modified-files>x</modified-files>"),
            ]
        ),
        st.text(max_size=30),
    ),
    max_size=30,
)


@given(LINES)
def test_whatever_a_model_says_is_read_and_written_in_the_form(lines: list[str]) -> None:
    found = form.parse("\n".join(lines))
    text = form.render(found)
    assert [name for name in Section if name in found] == list(found)
    for tag in ("<read-files>", "</read-files>", "<modified-files>", "</modified-files>"):
        assert tag not in text.lower()
    assert form.parse(text) == found  # a fence left open takes in no other section
    main = {f"## {name}" for name in Section if not name.is_progress}
    heads = [line for line in text.splitlines() if line in main]
    assert heads[0] == "## Goal" and set(heads) == main
