"""Which section of a summary a sentence belongs to, and how much it weighs: each cue, its exceptions, their order."""

from __future__ import annotations

from typing import Any

import pytest

from session.compaction import cues, extract
from session.compaction import summary_form as form
from session.compaction.extract import Line, _choose, _cut
from session.compaction.sentences import Sentence, flat, sentences
from session.inject.selection import weight


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("go on now", False), ("go on please", True), ("weiter so", False), ("geh voran, ja", True), ("use 7", True),
        ("続けて", True), ("good, carry on with the work", False), ("good, " + "carry on " * 4, True),
        ("good, then fix src/a.py", True), ("nice, " + "x" * 33, False), ("nice, " + "x" * 34, True),
    ],
)  # fmt: skip
def test_an_acknowledgement_of_the_user_is_dropped(text: str, kept: bool) -> None:
    assert (cues.of_user(Sentence(text), end=False, number=0) is not None) is kept


def test_a_sentence_of_the_user_is_a_rule_or_part_of_the_goal() -> None:
    rule, goal = "Never touch the migration files", "The import of a day runs out of memory"

    def of(text: str, *, end: bool = False, number: int = 0, lead: str = "") -> Any:
        return cues.of_user(Sentence(text, lead), end=end, number=number)

    assert of(rule) == (form.CONSTRAINTS, pytest.approx(0.7 + 0.4 * weight(rule)))
    assert of(goal) == (form.GOAL, pytest.approx(0.4 + 0.4 * weight(goal)))
    assert of(goal, end=True) == (form.GOAL, pytest.approx(0.7 + 0.4 * weight(goal)))
    assert of(goal, lead="Rules:") == (form.CONSTRAINTS, pytest.approx(0.7 + 0.4 * weight(goal)))
    assert of(goal, number=5) == of(goal)
    assert of(goal, number=7) == (form.GOAL, pytest.approx(0.4 + 0.4 * weight(goal) - 0.16))
    assert of(rule, number=7) == (form.CONSTRAINTS, pytest.approx(0.7 + 0.4 * weight(rule) - 0.08))
    for question, section in (
        ("Can we use the second pool here?", form.GOAL), ("Can we do it without a lock here?", form.CONSTRAINTS),
        ("Please use the second pool here!", form.CONSTRAINTS),
    ):  # fmt: skip
        found = of(question)
        assert found is not None and found[0] == section


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("Insight: the pool is drained by the importer", form.CONTEXT),
        ("Decision: the pool stays as it is", form.DECISIONS),
        ("Blocker: the licence is missing", form.BLOCKED), ("Todo: the changelog", form.NEXT),
        ("Result: the import takes a minute", form.DONE), ("Remaining: the changelog", form.IN_PROGRESS),
        ("A polynomial does not work here", form.CONTEXT), ("I tried and merged the branch", form.CONTEXT),
        ("The import is blocked by the licence", form.BLOCKED), ("The import is no longer blocked", ""),
        ("The tests pass with four workers", form.DONE), ("The tests do not yet pass", form.IN_PROGRESS),
        ("We run it once the tests pass", form.NEXT), ("I chose batches of a thousand", form.DECISIONS),
        ("It is fixed because the pool is larger", form.DONE),
        ("Because the pool is larger it is fixed", form.DECISIONS),
        ("Renamed the column to total", form.DONE), ("To sum up I renamed it", form.DONE),
        ("In summary, a quiet day", form.DONE), ("The changelog is still missing", form.IN_PROGRESS),
        ("Afterwards the changelog", form.NEXT), ("The pool depends on the licence", form.CONTEXT),
        ("A quiet day in the garden", ""), ("A day: garden", ""), ("x" * 23 + ":", ""),
        ("done" + " " * 20 + ": x", form.DONE),
    ],
)  # fmt: skip
def test_the_section_of_a_sentence(text: str, section: str) -> None:
    assert cues._section(text, text.lower()) == section


@pytest.mark.parametrize(
    ("lead", "section"),
    [
        ("", ""), ("In progress:", form.IN_PROGRESS), ("What is still there:", form.IN_PROGRESS),
        ("Next steps:", form.NEXT), ("Blockers:", form.BLOCKED), ("Ruled out:", form.CONTEXT), ("Fixed:", form.DONE),
        ("Changes:", form.DONE), ("What I did:", form.DONE), ("Decisions:", form.DECISIONS), ("Rules:", form.CONTEXT),
        ("Causes:", form.CONTEXT), ("Garden:", ""), ("Still fixed:", form.IN_PROGRESS),
    ],
)  # fmt: skip
def test_the_section_that_a_heading_announces(lead: str, section: str) -> None:
    assert cues._led(lead) == section


def of_agent(text: str, *, last: bool = False, lead: str = "") -> Any:
    return cues.of_assistant(Sentence(text, lead), last=last)


def test_questions_and_plans_count_in_the_last_message_alone() -> None:
    for text, weighs in (
        ("Shall we drop the column?", 0.5), ("¿Y ahora qué？", 0.5), ("Let me look at the pool", 0.45),
        ("I’ll now look at the pool", 0.45),
    ):  # fmt: skip
        assert of_agent(text, last=True) == (form.NEXT, weighs)
        assert of_agent(text) is None
    assert of_agent("Let me know, and afterwards the changelog") == (form.NEXT, pytest.approx(0.05))


def test_what_a_sentence_of_the_agent_weighs() -> None:
    bonus = {form.BLOCKED: 0.35, form.DECISIONS: 0.25, form.DONE: 0.15, form.IN_PROGRESS: 0.15, form.NEXT: 0.1}
    for text, section, more in (
        ("It is blocked by the licence", form.BLOCKED, 0.0), ("I chose larger batches", form.DECISIONS, 0.0),
        ("The tests pass", form.DONE, 0.0), ("The changelog is unfinished", form.IN_PROGRESS, -0.1),
        ("The CHANGELOG.md is unfinished", form.IN_PROGRESS, 0.0), ("Afterwards the changelog", form.NEXT, -0.1),
        ("Afterwards docs/a.md", form.NEXT, 0.0),
    ):  # fmt: skip
        assert of_agent(text) == (section, pytest.approx(weight(text) + bonus[section] + more)), text
    for text, more in (
        ("That does not work at all", 0.3), ("The pool depends on it", 0.0), ("The pool depends on src/a.py", 0.1),
    ):  # fmt: skip
        assert of_agent(text) == (form.CONTEXT, pytest.approx(weight(text) + more)), text
    assert of_agent("A quiet day in the garden") is None
    assert of_agent("A quiet day in src/a.py") == (form.CONTEXT, pytest.approx(weight("A quiet day in src/a.py")))


def test_a_short_acknowledgement_of_the_agent_is_dropped() -> None:
    assert of_agent("Done, all of it is fixed") is None
    assert of_agent("Done, src/a.py is fixed") is not None
    assert of_agent("Done, " + "all of it is fixed now and for good.") is not None


def test_a_heading_moves_what_has_no_stronger_section() -> None:
    text = "A quiet day in the garden"
    assert of_agent(text, lead="Fixed:") == (form.DONE, pytest.approx(weight(text) + 0.25 + 0.15))
    context = "The pool depends on it"
    assert of_agent(context, lead="Decisions:") == (form.DECISIONS, pytest.approx(weight(context) + 0.25 + 0.25))
    ahead = "Afterwards the changelog"
    assert of_agent(ahead, lead="Open:")[0] == form.NEXT  # "Open:" is no cue
    assert of_agent(ahead, lead="In progress:") == (form.IN_PROGRESS, pytest.approx(weight(ahead) + 0.25 - 0.1 + 0.15))
    done = "The tests pass"
    assert of_agent(done, lead="Decisions:") == of_agent(done)


def line(text: str, weighs: float = 0.5, at: int = 0, section: str = form.CONTEXT) -> Line:
    return Line(text, section, weighs, at)


def chosen(*lines: Line, budget: int = 1000, known: set[str] | None = None) -> tuple[list[str], int]:
    found, dropped = _choose(lines, budget, known or set())
    return [one.text for one in found], dropped


def test_a_line_within_another_is_said_once() -> None:
    long = "the import of a day runs out of memory at the pool"
    part = "a day runs out of memory"
    assert len(part) == 24
    assert chosen(line(long, 0.9, 1), line(part, 0.5, 2))[0] == [long]
    assert chosen(line(long, 0.9, 1), line(part[2:], 0.5, 2))[0] == [long, part[2:]], "a short one says something else"
    assert chosen(line(part, 0.9, 1), line(long, 0.5, 2))[0] == [part, long]


def test_the_weightiest_lines_are_chosen_and_the_later_of_equals() -> None:
    assert chosen(line("one", 0.3, 1), line("two", 0.9, 2), line("three", 0.3, 3))[0] == ["two", "three", "one"]
    assert chosen(line("light", 0.19), line("just", 0.2))[0] == ["just"]
    assert chosen(line("The One!", 0.9, 1), line("the one", 0.3, 2))[0] == ["The One!"], "the same words are one line"
    assert chosen(line("one"), line("two"), known={"one"})[0] == ["two"]


def test_what_does_not_fit_is_left_out_and_of_an_earlier_summary_counted() -> None:
    long = "word " * 39 + "end"  # 50 tokens and the bullet's
    assert len(chosen(line(long), budget=51)[0]) == 1 and chosen(line(long), budget=50) == ([], 0)
    assert chosen(line(long, at=-1), budget=50) == ([], 1)
    earlier = line("of the earlier summary", 0.3, -1)
    assert chosen(line("now", 0.9, 1), earlier)[0] == ["of the earlier summary", "now"]


def test_a_line_is_cut_between_words_at_420_characters() -> None:
    assert _cut("x" * 420) == "x" * 420
    assert _cut("x" * 421) == "x" * 420 + extract.CUT
    words = "four " * 84
    assert _cut(words + "x") == words.rstrip() + extract.CUT
    assert _cut("ab " + "x" * 420) == "ab " + "x" * 417 + extract.CUT


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One day. Two days! Three?", ["One day.", "Two days!", "Three?"]),
        ("See e.g. the pool. It is full.", ["See e.g. the pool.", "It is full."]),
        ("- first item\n- second item", ["first item", "second item"]),
        ("1. first item\n2) second item", ["first item", "second item"]),
        ("abc", []), ("abcd", ["abcd"]), ("----", []), ("数据", ["数据"]),
        ("```\ncode here\n```\ntext here", ["text here"]),
        ("We chose 数据。Then 好！ok now", ["We chose 数据。", "Then 好！", "ok now"]),
        ("It is full... and goes on. Done now.", ["It is full... and goes on.", "Done now."]),
        ("It is full... And goes on.", ["It is full...", "And goes on."]),
        ("Run `a. b` now. Done now.", ["Run `a. b` now.", "Done now."]),
        ("x" * 2001, ["x" * 2000]),
        # a line of sixty characters may go on in the next one
        ("x" * 59 + "\nand on", ["x" * 59, "and on"]), ("x" * 60 + "\nand on", ["x" * 60 + " and on"]),
        ("x" * 61 + "\nand on\nthen", ["x" * 61 + " and on", "then"]),
        ("x" * 60 + ".\nand on", ["x" * 60 + ".", "and on"]),
        ("x" * 60 + "\n- and on", ["x" * 60, "and on"]), ("| a table\n<tag of it>\ntext here", ["text here"]),
        ("- " + "x" * 119 + ":\n- one item", ["one item"]),
        ("- " + "x" * 120 + ":\n- one item", ["x" * 120 + ":", "one item"]),
    ],
)  # fmt: skip
def test_the_sentences_of_a_message(text: str, found: list[str]) -> None:
    assert [one.text for one in sentences(text)] == found


def test_a_heading_leads_what_stands_under_it() -> None:
    found = list(sentences("## Rules\n- keep the pool\n\nOpen points:\n- the changelog"))
    assert [(one.text, one.lead.rstrip(":")) for one in found if one.lead] == [
        ("keep the pool", "Rules"), ("the changelog", "Open points"),
    ]  # fmt: skip


def test_a_text_on_one_line() -> None:
    assert flat("a\x1b[31mb\x1b[0m\n c\u202ed\x00e\u200ff") == "a b cd ef"
