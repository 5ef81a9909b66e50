"""One injection as a step: when it is asked what to recall, what comes of it, and what is said of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from session.inject import feedback, runner
from session.inject.runner import InjectionStep, Moment
from session.state import schema

MEMORY: Any = {"id": "m1", "text": "a memory", "category": "ops", "score": 0.5}


class Injected:
    """An injection that says what it is told to say."""

    NAME, LEAST, NEEDS_RECALL = "refresh", "inject.min_score", True

    def __init__(self, *, needs_recall: bool = True, asked: str = "the query", memories: Any = (MEMORY,)) -> None:
        self.NEEDS_RECALL = needs_recall
        self.reason, self.asked, self.subject, self.found = "", asked, "a", None
        self.text: Any = {
            "content": "x" * 41, "memories": list(memories), "customType": "kind", "event": "kind.injected",
            "about": {"count": 1}, "eventAbout": {"why": "so"},
        }  # fmt: skip

    def due(self, state: Any, moment: Any) -> str:
        moment.subject, moment.about = self.subject, {"subject": self.subject}
        return self.reason

    def query(self, state: Any, moment: Any) -> str:
        return self.asked

    def compose(self, state: Any, moment: Any, hits: Any) -> Any:
        self.found = hits
        return self.text

    def apply(self, state: Any, moment: Any, text: Any) -> Any:
        return {**state, "lastRefreshAt": 7 if text else 8}


def made(injection: Any, *, found: Any = ("hit",), **more: Any) -> tuple[Any, Any]:
    """The step, and what it asked of the store and noted."""
    seen = SimpleNamespace(recalled=[], noted=[])
    context = SimpleNamespace(
        now=NOW_MS, faults=[], set_aside=more.pop("set_aside", ""),
        store=SimpleNamespace(recall=lambda query, **about: seen.recalled.append((query, about)) or found),
        project_of=lambda state, cwd="": more.get("of", "p"), serves_all=lambda state: state["role"] == "gateway",
        is_excluded=lambda cwd: more.get("excluded", False),
        note=lambda events, *, recalled: seen.noted.append((events, recalled)),
    )  # fmt: skip
    moment = Moment(context, message=more.get("message", ""), project=more.get("project", ""))  # type: ignore[arg-type]
    moment.skipped_event = more.get("skipped", "")
    return InjectionStep(injection, moment), seen


def state_of(**more: Any) -> Any:
    return {**schema.blank("s1", "interactive", NOW_MS - 9), **more}


def test_an_injection_that_was_made() -> None:
    injection = Injected()
    step, seen = made(injection)
    state = state_of()
    assert step.is_due(state) is True
    step.work(state)
    assert seen.recalled == [
        ("the query", {"project": "p", "everywhere": False, "least": "inject.min_score", "strictly": False})
    ]
    assert injection.found == ("hit",)
    after = step.apply(state)
    assert (after["lastRefreshAt"], after["counts"]["injections"]) == (7, 1)
    step.follow_up(after)
    ((event,), identifiers) = seen.noted[0]
    assert identifiers == ["m1"]
    assert {key: value for key, value in event["metadata"].items() if key != "duration_ms"} == {
        "subject": "a", "count": 1, "memoryIds": ["m1"], "contentChars": 41, "estimatedTokens": 11, "why": "so",
    }  # fmt: skip
    assert event["injected"] == {"kind": "kind", "text": "x" * 41}
    assert step.message() == [{"customType": "kind", "content": "x" * 41}]
    result = step.result(after)
    assert {key: value for key, value in result.items() if key != "duration_ms"} == {
        "injected": True, "reason": "injected", "customType": "kind", "content": "x" * 41, "display": False,
        "chars": 41, "estimatedTokens": 11, "sessionId": "s1", "subject": "a", "count": 1, "memoryIds": ["m1"],
        "contentChars": 41,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("role", "project", "of", "asked", "everywhere"),
    [
        ("interactive", "", "p", "p", False),
        ("interactive", "q", "p", "q", False),
        ("interactive", "", "", "", False),
        ("gateway", "", "", "", True),
        ("gateway", "q", "", "q", False),
    ],
)
def test_whose_memories_are_recalled(role: str, project: str, of: str, asked: str, everywhere: bool) -> None:
    step, seen = made(Injected(), project=project, of=of)
    step.work(state_of(role=role))
    assert (seen.recalled[0][1]["project"], seen.recalled[0][1]["everywhere"]) == (asked, everywhere)


@pytest.mark.parametrize(
    ("needs_recall", "asked", "found", "composed", "reason"),
    [
        (True, "q", None, False, "failed"),
        (True, "", None, True, ""),
        (True, "q", (), True, ""),
        (False, "q", None, True, ""),
    ],
)
def test_what_needs_a_recall_says_nothing_where_the_store_does_not_answer(
    needs_recall: bool, asked: str, found: Any, composed: bool, reason: str
) -> None:
    step, seen = made(Injected(needs_recall=needs_recall, asked=asked), found=found)
    state = state_of()
    step.is_due(state)
    step.work(state)
    assert len(seen.recalled) == bool(asked)
    assert bool(step.message()) is composed
    assert step.apply(state)["lastRefreshAt"] == (7 if composed else None), "it stays due"
    assert step.result(state)["reason"] == (reason or "injected")


def test_nothing_to_say_is_noted_in_the_state_alone() -> None:
    injection = Injected()
    injection.text = None
    step, seen = made(injection)
    step.is_due(state_of())
    step.work(state_of())
    after = step.apply(state_of())
    assert (after["lastRefreshAt"], after["counts"]["injections"]) == (8, 0)
    step.follow_up(after)
    assert (seen.noted, step.message()) == ([], [])
    assert step.result(after) == {
        "injected": False, "reason": "no-results", "customType": None, "content": "", "display": False, "chars": 0,
        "estimatedTokens": 0, "sessionId": "s1", "subject": "a",
    }  # fmt: skip


def test_why_it_is_not_due_is_told_where_the_injection_has_an_event_for_it() -> None:
    injection = Injected()
    injection.reason = "not-now"
    for skipped in ("", "kind.skipped"):
        step, seen = made(injection, skipped=skipped, set_aside="/aside")
        assert step.is_due(state_of()) is False
        step.follow_up(state_of())
        assert [event["metadata"] for events, _ in seen.noted for event in events] == (
            [{"subject": "a", "reason": "not-now"}] if skipped else []
        )
        assert (step.result(state_of())["reason"], step.result(state_of())["setAside"]) == ("not-now", "/aside")


def test_what_was_composed_on_one_subject_is_not_injected_for_another() -> None:
    injection = Injected()
    step, _ = made(injection)
    step.is_due(state_of())
    step.work(state_of())
    assert step.is_due(state_of()) is True
    injection.subject = "b"
    assert step.is_due(state_of()) is False
    assert (step._moment.subject, step._moment.about, step._reason) == ("a", {"subject": "a"}, "already-injected")
    step.is_overtaken()
    assert step.message() == []
    assert step.result(state_of())["reason"] == "already-injected"
    step.is_busy()
    assert step.result(state_of())["reason"] == "in-flight"


def test_when_the_user_last_said_something() -> None:
    assert made(Injected(), message=" hello ")[0].change(state_of())["lastMessageAt"] == NOW_MS
    assert made(Injected(), message=" \n")[0].change(state_of()) == state_of()


def test_of_a_folder_that_is_excluded_the_text_is_not_kept() -> None:
    for excluded in (False, True):
        step, seen = made(Injected(), excluded=excluded)
        step.is_due(state_of())
        step.work(state_of())
        step.follow_up(state_of())
        assert ("injected" in seen.noted[0][0][0]) is not excluded


def test_only_a_text_with_memories_is_judged_by_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(
        feedback, "remember", lambda state, memories, words: given.append((memories, sorted(words))) or state
    )
    for memories in ([], [MEMORY]):
        step, _ = made(Injected(memories=memories))
        step.is_due(state_of())
        step.work(state_of())
        step.apply(state_of())
    assert given == [([MEMORY], ["query", "the"])]


def test_the_recall_of_a_foreign_query_is_strict() -> None:
    step, seen = made(Injected())
    step._moment.foreign = True
    step.work(state_of())
    assert seen.recalled[0][1]["strictly"] is True
    assert runner.FAILED not in step._reason
