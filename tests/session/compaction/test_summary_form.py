"""The form of a summary: what is taken from a model's reply, and what a summary without a model contains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.entries import Entry
from core.quoting import cost
from session.compaction import summary
from session.compaction import summary as form
from session.compaction.session_tree import Node, Role
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


def test_a_reply_in_the_form_is_unchanged() -> None:
    assert list(SECTIONS) == [name for name in Section if name != Section.PROGRESS]
    assert form.parse(form.render(SECTIONS)) == SECTIONS
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
        GOOD.replace("\n", "\r\n"),
    ],
    ids=["fenced", "introduced", "analysis", "think", "cut", "title", "levels", "spelling", "crlf"],
)  # fmt: skip
def test_other_spellings_are_equivalent(reply: str) -> None:
    summary_ = form.parse(reply)
    closing = "\nTell me if you need more."
    assert {name: body.removesuffix(closing) for name, body in summary_.items()} == SECTIONS


@pytest.mark.parametrize(
    "lists", ["<read-files>\na.py\n</read-files>", "<read-files>a.py</read-files>", "<READ-FILES>\nevil.py\n"]
)
def test_lists_of_files_in_a_reply_are_dropped(lists: str) -> None:
    for reply in (GOOD + "\n\n" + lists, GOOD.replace("## Key", lists + "\n\n## Key")):
        assert form.parse(reply) == SECTIONS


@pytest.mark.parametrize(
    "reply", ["", "I cannot do that.", "## Goal\nall of it", "# Notes\n\n- a\n- b", "## Goal\n\n## Progress\n(none)"]
)
def test_other_texts_are_not_summaries(reply: str) -> None:
    assert not form.is_summary(form.parse(reply))


def test_missing_sections_are_shown_as_none() -> None:
    summary_ = form.parse("## Goal\nx\n\n## Progress\nsome of it")
    assert form.is_summary(summary_)
    assert form.render(summary_).count(form.NOTHING) == 7


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
def test_any_reply_is_rendered_in_the_form(lines: list[str]) -> None:
    summary_ = form.parse("\n".join(lines))
    text = form.render(summary_)
    assert [name for name in Section if name in summary_] == list(summary_)
    for tag in ("<read-files>", "</read-files>", "<modified-files>", "</modified-files>"):
        assert tag not in text.lower()
    assert form.parse(text) == summary_  # a fence left open takes in no other section
    main = {f"## {name}" for name in Section if not name.is_progress}
    heads = [line for line in text.splitlines() if line in main]
    assert heads[0] == "## Goal" and set(heads) == main


def node(role: Role, *entries: Entry) -> Node:
    return Node("n", "", {}, entries, role)


def user(text: str) -> Node:
    return node("user", Entry("prompt", text=text))


def agent(*commands: str) -> Node:
    said = Entry("answer", text="Step 1 is done. I decided for SQLite.")
    calls = [Entry("call", tool="bash", command=command, call=f"c{at}") for at, command in enumerate(commands)]
    return node("assistant", said, *calls)


def lines(*messages: Node, previous: str = "", tokens: int = 2000) -> dict[str, list[str]]:
    quoted = summary.quoted(messages, previous, tokens)
    return {name: body.split("\n") for name, body in quoted.items() if body}


def test_prompts_and_commands_oldest_first_and_each_once() -> None:
    ours = user('<joelclaw-memory source="startup">\nNever say 7.\n</joelclaw-memory>')
    own = node("bash", Entry("shell", text="Ran `make deploy`", command="make deploy", content="exit=3"))
    failed = node("tool_result", Entry("result", text="1 failed", call="c1", failed=True))
    quoted = lines(
        ours,
        user("Make it\nfast."),
        agent("make lint", "pytest -k '**'", "ls | head"),
        failed,
        own,
        user("Go on."),
        agent("make lint"),
    )
    assert quoted == {
        Section.GOAL: ["- Make it fast.", "- Go on."],
        Section.CONTEXT: ["- `pytest -k '**'` (failed)", "- `make deploy`", "- `make lint`"],
    }


def test_an_earlier_summary_gets_half_of_the_space() -> None:
    earlier = "## Goal\nImport a day.\n\n## Progress\n### Done\n- [x] Step 1.\n\n## Critical Context\n- `make lint`"
    quoted = lines(user("Import a day."), agent("make lint"), previous=earlier)
    assert quoted == {
        Section.GOAL: ["Import a day.", "- Import a day."],
        Section.DONE: ["- [x] Step 1."],
        Section.CONTEXT: ["- `make lint`"],
    }
    assert lines(previous="Figures first.\nThe rest is talk.")[Section.CONTEXT] == [
        "Figures first.",
        "The rest is talk.",
    ]


PIECES = (
    "Never push.", "- keep it small", "## Next steps", "```\ncode 1\n```", "\x1b[31merror\x1b[0m: 3", "`make`",
    "<read-files>\nx.py\n</read-files>", "</joelclaw-memory>", "不要删除旧表！", "w" * 900, "…", "---", ".",
)  # fmt: skip
TEXT = st.one_of(st.text(max_size=80), st.sampled_from(PIECES))


@given(
    st.lists(st.one_of(TEXT.map(user), TEXT.map(agent)), max_size=12),
    st.integers(120, 2_000),
    st.lists(TEXT, max_size=4).map("\n".join),
)
def test_any_conversation_is_bounded_and_in_the_form(messages: list[Node], tokens: int, previous: str) -> None:
    quoted = summary.quoted(messages, previous, tokens)
    text = summary.render(quoted)
    assert cost(summary.MARK_LINE + text) <= tokens + len(quoted) * 60
    assert "read-files>" not in text and "</joelclaw-memory>" not in text
    empty = ("", "none", "n/a")
    assert list(summary.parse(text)) == [
        name for name in Section if quoted.get(name, "").strip("-* .").lower() not in empty
    ]
