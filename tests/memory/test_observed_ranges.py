"""Of which turns a model is asked at once, what a run counts, and what it leaves to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import pytest

from core.errors import Failure
from core.store import documents
from core.store.sessions import observed
from memory.observe import observer
from memory.observe.observer import Budget, Report, observe
from memory.observe.prompt import prompt_of, turn_block

ANSWER = "<observations><facts>\n- [gate=allow] The gateway retries three times.\n</facts></observations>"
NONE = "<observations></observations>"


def told(db: apsw.Connection, *texts: str, project: str = "p1") -> None:
    """Archive turns of a session."""
    for text in texts:
        number = observed.behind(db, "s", 0)[0]
        one = documents.blank("episodes", f"e{number}", text, 1_790_000_000_000)
        one["session_id"], one["project"] = "s", project
        documents.insert(db, one, b"", signatures=False)


class Model:
    """Answers with these in turn, the last of them again and again."""

    def __init__(self, *answers: str | Callable[[], str]) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, prompt: str, *, seconds: float) -> str:
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, str) else answer()


def run(db: apsw.Connection, model: Model, tokens: int = 1_000_000, seconds: float = 1000, **more: Any) -> Report:
    report = Report()
    given: dict[str, Any] = {"vectors": False, "most_bytes": 1_000_000, "begin": lambda *_: None, **more}
    observe(db, "s", model, Budget(tokens, seconds), report=report, **given)
    return report


def tokens(text: str) -> int:
    return len(text) // 4 + 1


def test_one_range_and_what_is_told_of_it(db: apsw.Connection) -> None:
    told(db, "user: Use tabs.", "assistant: $ ls", "assistant: Both are in.", "assistant: $ make test")
    begun: list[tuple[int, int]] = []
    model = Model(ANSWER)
    report = run(db, model, begin=lambda *given: begun.append(given))
    at = 1_790_000_000_000
    assert model.prompts == [prompt_of([("user", "Use tabs.", at), ("assistant", "Both are in.", at)])]
    used = tokens(ANSWER) + (len(model.prompts[0]) // 4 + 1)
    assert report.ranges == [
        {"from": "e0", "to": "e3", "turns": 4, "tokens": used, "observations": 1, "cut": False}
    ]  # fmt: skip
    assert begun == [(4, (15 + 15 + 23 + 22) // 4)]
    assert (report.turns, report.tokens, report.merged, report.stopped_by) == (4, used, 0, "")
    assert (report.passed_turns, report.left_turns, report.left_tokens) == (0, 0, 0)
    (stored,) = report.stored
    assert (stored.type, stored.verdict, stored.merged) == ("segment_fact", "allow", False)
    document = documents.by_id(db, stored.id)
    assert document is not None
    assert (document["source"], document["session_id"], document["project"]) == ("observe", "s", "p1")
    assert [one["episodes"] for one in observed.evidence(db, stored.id)] == [["e0", "e1", "e2", "e3"]]
    again = run(db, model)
    assert (len(model.prompts), again.turns, again.ranges) == (1, 0, [])
    told(db, "user: The gateway again.")
    later = run(db, model)
    assert (later.turns, later.merged, [one.id for one in later.stored]) == (1, 1, [stored.id])


def test_the_project_is_that_of_the_last_turn_that_has_one(db: apsw.Connection) -> None:
    told(db, "user: one", project="p1")
    told(db, "user: two", project="p2")
    told(db, "user: three", project="")
    (stored,) = run(db, Model(ANSWER)).stored
    document = documents.by_id(db, stored.id)
    assert document is not None and document["project"] == "p2"


@pytest.mark.parametrize(("less", "turns"), [(0, [2, 1]), (1, [1, 1, 1])])
def test_so_many_turns_go_into_a_prompt_as_fit_and_at_least_one(
    db: apsw.Connection, less: int, turns: list[int]
) -> None:
    texts = ["a" * 100, "b" * 100, "c" * 150]
    told(db, *(f"user: {text}" for text in texts))
    blocks = [turn_block(("user", text, 1_790_000_000_000)) for text in texts]
    room = len(prompt_of(()).encode()) + sum(len(block) + 1 for block in blocks[:2])
    report = run(db, Model(NONE), most_bytes=room - less)
    assert [one["turns"] for one in report.ranges] == turns


def test_a_prompt_holds_some_twelve_thousand_tokens_of_conversation(db: apsw.Connection) -> None:
    texts = ["a" * 3_976] * 13  # with what stands around it a thousand tokens
    assert tokens(turn_block(("user", texts[0], 1_790_000_000_000))) == 1_000
    told(db, *(f"user: {text}" for text in texts))
    report = run(db, Model(NONE))
    assert [one["turns"] for one in report.ranges] == [12, 1]


def test_of_a_budget_that_is_too_small_nothing_is_asked(db: apsw.Connection) -> None:
    told(db, "user: Use tabs.", "user: " + "x" * 394)
    model = Model(NONE)
    prompt = prompt_of([("user", "Use tabs.", 1_790_000_000_000)])
    enough = observer._tokens(prompt)
    report = run(db, model, tokens=enough - 1)
    assert (model.prompts, report.stopped_by) == ([], "tokens")
    assert (report.left_turns, report.left_tokens) == (2, (15 + 400) // 4)
    report = run(db, model, tokens=enough)
    assert (model.prompts, report.stopped_by) == ([prompt], "tokens")
    assert (report.turns, report.left_turns, report.left_tokens) == (1, 1, 100)
    assert run(db, model, seconds=0).stopped_by == "seconds"
    assert len(model.prompts) == 1


def test_turns_of_tools_alone_are_passed_without_a_model(db: apsw.Connection) -> None:
    told(db, "assistant: $ ls", "assistant: $ make")
    model = Model(NONE)
    report = run(db, model)
    assert (model.prompts, report.turns, report.ranges, report.left_turns) == ([], 2, [], 0)


def test_after_three_replies_that_cannot_be_read_the_range_is_passed_over(db: apsw.Connection) -> None:
    told(db, "user: Use tabs.")
    model = Model("no form at all")
    for _ in range(2):
        with pytest.raises(Failure) as refused:
            run(db, model)
        assert refused.value.code == "OBSERVE_REPLY_INVALID"
        assert refused.value.message.endswith("(it holds no <observations>): no form at all")
    report = run(db, model)
    assert (report.passed_turns, report.turns, report.left_turns, report.ranges) == (1, 0, 0, [])
    assert report.tokens == observer._tokens(model.prompts[0]) + tokens("no form at all")
    told(db, "user: More.")
    with pytest.raises(Failure):
        run(db, model)


@pytest.mark.parametrize(("length", "shown"), [(120, "x" * 120), (121, "x" * 119 + "…")])
def test_of_a_reply_that_cannot_be_read_the_beginning_is_shown(db: apsw.Connection, length: int, shown: str) -> None:
    told(db, "user: Use tabs.")
    with pytest.raises(Failure) as refused:
        run(db, Model("x" * length))
    assert refused.value.message.rpartition(": ")[2] == shown


def test_a_last_turn_that_says_more_by_now_comes_again(db: apsw.Connection) -> None:
    told(db, "user: Use tabs.", "assistant: Yes.")
    model = Model(NONE)
    assert run(db, model).turns == 2
    last = documents.by_id(db, "e1")
    assert last is not None
    documents.replace(db, {**last, "text": "assistant: Yes.\n$ make"}, b"", signatures=False)
    assert run(db, model).turns == 0
    documents.replace(db, {**last, "text": "assistant: Yes, everywhere."}, b"", signatures=False)
    assert run(db, model).turns == 1
    assert "Yes, everywhere." in model.prompts[-1] and "Use tabs." not in model.prompts[-1]


def test_a_run_that_another_was_faster_than_stores_nothing(db: apsw.Connection) -> None:
    told(db, "user: Use tabs.")

    def slow() -> str:
        assert run(db, Model(NONE)).turns == 1
        return ANSWER

    with pytest.raises(Failure) as refused:
        run(db, Model(slow))
    assert refused.value.code == "OBSERVE_BUSY"
    assert db.execute("SELECT count(*) FROM document WHERE source = 'observe'").get == 0


def test_whether_anything_of_a_session_is_archived(db: apsw.Connection) -> None:
    assert not observer.has_episodes(db, "s")
    told(db, "user: Use tabs.")
    assert observer.has_episodes(db, "s")


@pytest.mark.parametrize(("text", "estimate"), [("", 1), ("abc", 1), ("abcd", 2), ("用户喜欢", 4)])
def test_what_a_text_may_cost(text: str, estimate: int) -> None:
    assert observer._tokens(text) == estimate
