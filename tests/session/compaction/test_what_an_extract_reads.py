"""What of a conversation a summary without a model reads, how it weighs it, and how the parts share its room."""

from __future__ import annotations

from typing import Any

import pytest

from clients import file_operations
from clients.entry import Block, Message, Transcript
from clients.file_operations import FileOperations
from core.errors import Failure
from core.quoting import cost
from session.compaction import extract, preparation, summary
from session.compaction import summary_form as form
from session.compaction.extract import Line, _bullet, _choose, _clean, _ends, _kept, _within
from session.inject import selection


@pytest.mark.parametrize(
    ("sizes", "room", "kept"),
    [
        # an eighth of the room is for the first, the rest for the last
        ([10] * 9, 0, set()),
        ([10] * 9, 80, {0, 2, 3, 4, 5, 6, 7, 8}),
        ([10] * 9, 79, {3, 4, 5, 6, 7, 8} | {2}),
        ([10] * 9, 160, set(range(9))),
        ([10] * 20, 160, {0, 1, *range(6, 20)}),
        ([10, 30, 10, 10, 10], 80, {0, 2, 3, 4, 1}),
        ([11, 10, 10, 10], 80, {0, 1, 2, 3}),
        ([10, 10, 90, 10], 80, {0, 3}),
    ],
)
def test_the_first_and_the_last_that_fit(sizes: list[int], room: int, kept: set[int]) -> None:
    assert _ends(range(len(sizes)), sizes, room) == kept


def said(role: Any, text: str) -> Message:
    return Message("e", role, (Block("text", text),))


def test_of_a_conversation_that_is_too_long_half_the_room_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    users, agents = ([said(role, f"{n}" + "x" * 799) for n in range(4)] for role in ("user", "assistant"))
    several = [one for pair in zip(users, agents, strict=True) for one in pair]
    problems: list[str] = []
    monkeypatch.setattr(extract, "READ_CHARS", 8_000)
    assert _within(several, problems) == several and problems == []
    monkeypatch.setattr(extract, "READ_CHARS", 7_999)
    assert _within(several, problems) == several[1:]
    assert problems == ["only 7 of 8 messages were read: the user's, the first and the last"]
    long = [said("user", "x" * 99_000), *several]
    monkeypatch.setattr(extract, "READ_CHARS", 32_200)
    assert len(_within(long, [])) == 9, "of one message 24,000 characters count"


def test_of_a_text_that_is_too_long_the_beginning_and_the_end_stay() -> None:
    assert _clean("x" * 40, 40) == "x" * 40
    lines = "\n".join(f"line {n}" for n in range(9))
    assert _clean(lines, 40) == "line 0\nline 1\nline 2\nline 3\n\nline 8"
    assert _clean(" ".join(f"word{n}" for n in range(9)), 40) == "word0 word1 word2 word3 word4\n\nword8"


@pytest.mark.parametrize(
    ("section", "more"),
    [
        (form.CONSTRAINTS, 0.5), (form.DECISIONS, 0.4), (form.GOAL, 0.4), (form.CONTEXT, 0.3), (form.BLOCKED, 0.2),
        (form.DONE, 0.0),
    ],
)  # fmt: skip
def test_what_an_earlier_summary_holds_weighs_half_more_and_by_its_section(section: str, more: float) -> None:
    text = "We never ship on Fridays, because nobody watches the board."
    (line,) = _kept(text, section)
    assert line == Line(text, section, pytest.approx(0.5 + 0.5 * min(1.0, selection.weight(text)) + more), 0)


@pytest.mark.parametrize(
    ("line", "text", "of_tool"),
    [
        ("`make test`", "make test", True),
        ("`make` and `test`", "`make` and `test`", False),
        ("`make test", "`make test", False),
        ("make `test`", "make `test`", False),
    ],
)
def test_a_line_of_code_of_an_earlier_summary_stays_one(line: str, text: str, of_tool: bool) -> None:
    (kept,) = _kept(line, form.CONTEXT)
    assert (kept.text, kept.of_tool) == (text, of_tool)
    assert _bullet(kept) == f"- {line}"


def test_our_own_mark_and_what_says_nothing_are_not_carried() -> None:
    assert [*_kept(f"*{form.MARK} of it", form.CONTEXT), *_kept("none", form.CONTEXT), *_kept("``", form.CONTEXT)] == []


def test_how_a_line_is_marked_by_its_section() -> None:
    marks = {form.DONE: "- [x] a", form.IN_PROGRESS: "- [ ] a", form.GOAL: "- a"}
    assert {section: _bullet(Line("a", section, 1, 0)) for section in marks} == marks
    assert _bullet(Line("a `b`", form.CONTEXT, 1, 0, of_tool=True)) == "- a `b`"


def lines(count: int, section: str, *, at: int = 1, weight: float = 0.5, of_tool: bool = False) -> list[Line]:
    """Lines of ten tokens each, with the bullet's."""
    return [
        Line(f"{section[:3]}{n:02}{'x' * (29 if of_tool else 31)}", section, weight, at + n, of_tool)
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("section", "shared"),
    [
        (form.GOAL, 4), (form.CONSTRAINTS, 5), (form.PROGRESS, 2), (form.DONE, 4), (form.IN_PROGRESS, 2),
        (form.BLOCKED, 3), (form.DECISIONS, 6), (form.NEXT, 2), (form.CONTEXT, 9),
    ],
)  # fmt: skip
def test_a_section_takes_its_share_and_more_only_where_room_is_left(section: str, shared: int) -> None:
    of_section = lines(30, section)
    each = cost(_bullet(of_section[0])) + 1
    budget = 20 * each
    assert len(_choose(of_section, budget, set())[0]) == 20, "nobody else wants the room"
    other = form.CONTEXT if section != form.CONTEXT else form.DECISIONS
    rivals = [Line(f"rival {n}", other, 0.1 + 0.2, 90 + n) for n in range(90)]
    chosen = _choose([*lines(30, section, weight=0.9), *rivals], budget, set())[0]
    first = [line.section for line in chosen[: shared + 1]]
    assert first == [section] * shared + [other]


def test_tools_have_a_share_of_their_own_and_an_earlier_summary_half() -> None:
    of_tools = lines(30, form.CONTEXT, of_tool=True)
    each = cost(_bullet(of_tools[0])) + 1
    rivals = [Line(f"rival {n}", form.DECISIONS, 0.3, 90 + n) for n in range(90)]
    chosen = _choose([*of_tools, *rivals], 20 * each, set())[0]
    assert [line.of_tool for line in chosen[:4]] == [True] * 3 + [False]
    carried = lines(30, form.CONTEXT, at=-40)
    each = cost(_bullet(carried[0])) + 1
    chosen, dropped = _choose([*carried, *rivals], 20 * each, set())
    assert [line.at < 0 for line in chosen[:11]] == [True] * 10 + [False]
    assert dropped == 30 - sum(line.at < 0 for line in chosen)


@pytest.mark.parametrize(
    ("reserve", "tokens"),
    [(0, 4_000), (-1, 4_000), (1, 500), (626, 500), (640, 512), (5_000, 4_000), (6_000, 4_000)],
)
def test_how_many_tokens_a_summary_has(reserve: int, tokens: int) -> None:
    assert summary._room(reserve) == tokens


REPLY = "## Goal\nImport a day.\n\n## Next Steps\n1. Go on.\n"


def prepared(monkeypatch: pytest.MonkeyPatch, history: list[Message], prefix: list[Message], previous: str = "") -> Any:
    monkeypatch.setattr(preparation.Preparation, "messages_to_summarize", property(lambda self: tuple(history)))
    monkeypatch.setattr(preparation.Preparation, "turn_prefix_messages", property(lambda self: tuple(prefix)))
    none: tuple[Any, ...] = ()
    return preparation.Preparation(
        Transcript("pi", "/s", (), {}), "ready", "e", bool(prefix), 0, previous, none, none, file_operations.NONE,
        {"reserveTokens": 1_000},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("history", "prefix", "previous", "parts", "tokens"),
    [
        (1, 0, "", ["history"], [800]),
        (1, 1, "", ["history", "turn"], [480, 320]),
        (0, 1, "", ["turn"], [800]),
        (0, 1, REPLY, ["history", "turn"], [320]),
        (0, 0, "", ["history"], []),
    ],
)
def test_a_split_turn_has_two_fifths_of_the_room(
    monkeypatch: pytest.MonkeyPatch, history: int, prefix: int, previous: str, parts: list[str], tokens: list[int]
) -> None:
    asked: list[str] = []
    one = [said("user", "Import a day.")]
    made = summary.summarize(
        prepared(monkeypatch, one * history, one * prefix, previous), ask=lambda prompt: asked.append(prompt) or REPLY
    )
    assert [part.kind for part in made.parts] == parts
    assert len(asked) == len(tokens)
    assert all(f"{number} tokens" in prompt for number, prompt in zip(tokens, asked, strict=True))
    assert (made.text.count(form.TURN) == 1) is (len(parts) == 2)


def test_what_a_model_says_too_much_of_is_told() -> None:
    for words, problems in ((1_500, []), (1_700, ["the model's summary has about", "the model's summary has no"])):
        reply = "\n\n".join(f"## {name}\n{'word ' * (words if name == form.GOAL else 1)}" for name in form.MAIN)
        reply = reply if words == 1_500 else reply.replace(f"## {form.CONTEXT}\nword", "")
        made = summary.summarize_messages(
            [said("user", "Import a day.")], file_operations.NONE, ask=lambda _, reply=reply: reply, reserve=1_250
        )
        assert (
            sorted(one[: len(wanted)] for one, wanted in zip(sorted(made.problems), problems, strict=True)) == problems
        )
        assert (made.source, made.fallback) == ("model", None)


def test_a_model_that_fails_is_asked_again_for_the_next_part_unless_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    one = [said("user", "Import a day.")]
    for code, times in (("MODEL_FAILED", 2), ("MODEL_TIMEOUT", 1), ("MODEL_NOT_FOUND", 1), ("MODEL_NOT_CONFIGURED", 1)):
        asked: list[str] = []

        def ask(prompt: str, code: str = code, asked: list[str] = asked) -> str:
            asked.append(prompt)
            raise Failure(code, "it failed", "")

        given = prepared(monkeypatch, one, one)
        made = summary.summarize(given, ask=ask)
        assert (len(asked), made.source) == (times, "extractive"), code
        assert made.fallback is not None and (made.fallback.code, made.fallback.part) == (code, "history")
        if code in summary.CANNOT_START:
            with pytest.raises(Failure):
                summary.summarize(given, ask=ask, strict=True)
        else:
            assert summary.summarize(given, ask=ask, strict=True).source == "extractive"


def test_which_part_no_model_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    one = [said("user", "Import a day.")]
    for good, mark in (
        ((True, True), ""),
        ((False, True), f"*{form.MARK} in the part on what came before the turn:"),
        ((True, False), f"*{form.MARK} in the part on the turn:"),
        ((False, False), form.MARK_LINE),
    ):
        replies = iter(REPLY if fits else "no" for fits in good)
        made = summary.summarize(prepared(monkeypatch, one, one), ask=lambda _, replies=replies: next(replies))
        assert made.text.startswith(mark or "## Goal")
        assert made.source == ("model" if all(good) else "extractive")


def test_files_are_listed_redacted_and_once() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    ops = FileOperations(read=("a.py", "b.py"), written=("b.py",), edited=(f"{secret}.py",))
    made = summary.summarize_messages([said("user", "Import a day.")], ops)
    assert (made.read_files, len(made.modified_files)) == (("a.py",), 2)
    assert secret not in made.text and "b.py" in made.text
