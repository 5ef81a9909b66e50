"""A summary without a model is the plain structure: prompts, commands, files, and what an earlier one held."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.quoting import cost
from session.compaction import summary
from session.compaction.messages import Block, Message
from session.compaction.summary import Section


def user(text: str) -> Message:
    return Message("u", "user", (Block("text", text),))


def agent(*commands: object) -> Message:
    calls = [
        Block("tool_call", name="bash", arguments={"command": one}, call=f"c{at}") for at, one in enumerate(commands)
    ]
    return Message("a", "assistant", (Block("text", "Step 1 is done. I decided for SQLite."), *calls))


def lines(*messages: Message, previous: str = "", tokens: int = 2000) -> dict[str, list[str]]:
    found, _ = summary.quoted(messages, previous, tokens)
    return {name: body.split("\n") for name, body in found.items() if body}


def test_prompts_and_commands_oldest_first_and_each_once() -> None:
    ours = user('<joelclaw-memory source="startup">\nNever say 7.\n</joelclaw-memory>')
    own = Message("b", "bash", (Block("text", "Ran `make deploy`\n```\nexit=3\n```"),))
    failed = Message("r", "tool_result", (Block("text", "1 failed"),), call="c1", failed=True)
    found = lines(
        ours,
        user("Make it\nfast."),
        agent("make lint", ["bash", "-lc", "pytest -k '**'"], "ls | head"),
        failed,
        own,
        user("Go on."),
        agent("make lint"),
    )
    assert found == {
        Section.GOAL: ["- Make it fast.", "- Go on."],
        Section.CONTEXT: ["- `pytest -k '**'` (failed)", "- `make deploy`", "- `make lint`"],
    }


def test_an_earlier_summary_is_carried_on_in_half_of_the_room() -> None:
    earlier = "## Goal\nImport a day.\n\n## Progress\n### Done\n- [x] Step 1.\n\n## Critical Context\n- `make lint`"
    found = lines(user("Import a day."), agent("make lint"), previous=earlier)
    assert found == {
        Section.GOAL: ["- Import a day."],
        Section.DONE: ["- [x] Step 1."],
        Section.CONTEXT: ["- `make lint`"],
    }
    assert lines(previous="Figures first.\nThe rest is talk.")[Section.CONTEXT] == [
        "- Figures first.",
        "- The rest is talk.",
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
def test_whatever_was_said_is_bounded_and_keeps_the_form(messages: list[Message], tokens: int, previous: str) -> None:
    found, _ = summary.quoted(messages, previous, tokens)
    text = summary.render(found)
    assert cost(summary.MARK_LINE + text) <= tokens + len(found) * 60
    assert "read-files>" not in text and "</joelclaw-memory>" not in text
    assert list(summary.parse(text)) == [name for name in Section if found.get(name, "").strip("-* .")]
