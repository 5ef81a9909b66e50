"""How the queries of a signpost are chosen and shortened, and its memories dealt out (`recovery_queries`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from core.config import Config
from recall import engine
from session.inject import recovery_queries, selection
from session.inject.recovery_queries import _asked, _dealt, _key, _Search, _short, _weight
from session.state import schema, task

FINDING = "The lookup of beds fails because accession numbers differ by case alone."
RULE = "Never send the nightly transfer without the strict verify of gardenctl."
TALK = "I look at the folder now and see."


def state_of(*messages: str) -> Any:
    known = [entry for text in messages if (entry := task.message(text))]
    return {**schema.blank("s1", "interactive", NOW_MS), "messages": known, "taskHash": "h"}


def search(*turns: str, shown: str = "", messages: tuple[str, ...] = (), cpu_seconds: float = 1.0) -> Any:
    state = state_of(*messages)
    state["checkpoint"]["currentTask"] = shown
    numbered = [(f"t{at}", text) for at, text in enumerate(turns)]
    return _Search(None, False, numbered, state, Config({}), cpu_seconds, "p")  # type: ignore[arg-type]


def hit(text: str, context: str = "", session: str = "s1", identifier: str = "") -> Any:
    return {
        "id": identifier or text, "observation": text, "context": context, "session": session, "score": 0.9,
        "categoryId": "", "collection": "episodes", "tags": [], "project": "p",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("x" * 70, "x" * 70),
        ("x" * 71, "x" * 70),
        ("the " * 17 + "xx", "the " * 17 + "xx"),  # 70 characters stay as they are
        ("the " * 17 + "xxx", "xxx"),
        ("The, (the) the! " * 5 + "tide gauge", "tide gauge"),
        ("y" * 60 + " " + "z" * 9, "y" * 60 + " " + "z" * 9),
        ("y" * 60 + " " + "z" * 10, "y" * 60),
        ("y" * 69 + " z" + " w", "y" * 69),
        (" -- tide gauge: ", "tide gauge"),
        ("", ""),
    ],
)
def test_a_query_has_seventy_characters_and_ends_with_a_word(query: str, shown: str) -> None:
    assert _short(query) == shown


def test_what_a_prompt_is_asked_by() -> None:
    assert _asked("  fix the\nimporter ") == "fix the importer"
    assert _asked("go") == _asked("") == ""


def test_a_sentence_is_known_by_its_first_48_characters() -> None:
    assert _key("A" * 48 + "b") == _key("a" * 48 + "c") == "a" * 48
    assert _key("a" * 47 + "b") != _key("a" * 47 + "c")


def test_what_the_user_says_weighs_more() -> None:
    assert _weight(RULE, f"user: {RULE}") == pytest.approx(selection.weight(RULE) + 0.3)
    assert _weight(RULE, f"assistant: {RULE}") == selection.weight(RULE)


def test_what_the_task_line_shows_weighs_nothing() -> None:
    for shown, is_known in ((FINDING[:30], True), (FINDING[:29], False), (FINDING.upper(), True)):
        found = search(f"assistant: {FINDING}", shown=shown)
        assert (found._heavy[_key(FINDING)] == 0.0) is is_known, shown


def test_what_comes_back_is_counted_by_its_share_and_once() -> None:
    found = search(f"assistant: {FINDING} {TALK}", f"user: {RULE}")
    half = RULE[:48]
    hits = [hit(f"user: {half}"), hit(f"assistant: {FINDING}", context=TALK), hit(RULE, session="other")]
    brought = found._brought(hits)
    assert brought == {_key(FINDING): 1.0, _key(TALK): 1.0, _key(RULE): pytest.approx(48 / len(RULE))}
    assert found._brought([*hits, hit(f"user: {RULE}"), hits[0]])[_key(RULE)] == 1.0
    assert found._brought([hit("assistant: Something that nobody has said.")]) == {}


def test_what_a_query_adds_to_those_before_it() -> None:
    found = search(f"assistant: {FINDING}", f"user: {RULE}")
    finding, rule = found._heavy[_key(FINDING)], found._heavy[_key(RULE)]
    brought = {_key(FINDING): 1.0, _key(RULE): 0.5}
    assert found._gain(brought, {}) == pytest.approx(finding + rule / 2)
    assert found._gain(brought, {_key(FINDING): 0.75, _key(RULE): 0.9}) == pytest.approx(finding / 4)


def test_the_words_that_fewest_turns_hold() -> None:
    turns = ["the harbour gauge", "the harbour buoyage", "the harbour gauge lighthouse x77ab", "gauge harbour buoyage"]
    found = search(*(f"assistant: {turn}." for turn in turns))
    assert found._telling("gauge buoyage lighthouse", {}) == ["lighthouse", "buoyage"]
    assert found._telling("harbour gauge", {}) == ["harbour", "gauge"], "four turns are no more than three"
    assert found._telling("gauge nowhere", {}) == ["nowhere", "gauge"]
    assert found._telling("x77ab lighthouse", {}) == ["lighthouse", "x77ab"]
    assert found._telling("lighthouse harbour", {"lighthouse": None}) == ["harbour"]
    assert found._telling("redacted tide7 ab7 abc7", {}) == ["tide7", "abc7"]


def test_a_query_is_aimed_at_the_weightiest_that_has_not_come_back() -> None:
    found = search(f"user: {RULE}", f"assistant: {FINDING}", f"assistant: {TALK}")
    first = found._aimed({}).split()
    assert set(first[:2]) <= set(RULE.lower().rstrip(".").split())
    assert len(first) == 4, "two words of each of two turns; the third weighs next to nothing"
    rest = found._aimed({_key(RULE): 1.0}).split()
    assert len(rest) == 2 and set(rest) <= set(FINDING.lower().rstrip(".").split())
    assert found._aimed({_key(RULE): 1.0, _key(FINDING): 1.0}) == ""
    many = search(*(f"user: Never send the transfer of harbour{n} without gauge{n}." for n in range(6)))
    assert len(many._aimed({}).split()) <= 10, "of five turns"
    assert "harbour5" not in many._aimed({}) and "gauge5" not in many._aimed({})


def test_what_is_always_tried() -> None:
    turns = [
        "user: begin with the harbour index",
        "assistant: done",
        f"user: {TALK}",
        f"user: {RULE} It failed because of bed 17.",
        f"user: {RULE}",
        "user: and now the lighthouse index",
    ]
    found = search(*turns, messages=("the last thing", "the very last thing"))
    assert list(found._usual()) == [
        "the last thing the very last thing",
        "begin with the harbour index",
        _short(task.query_of(state_of(turns[3][6:])["messages"])),
        _short(task.query_of(state_of(turns[4][6:])["messages"])),
        "decision because failed blocked never prefer",
    ]
    assert list(search("assistant: done")._usual()) == ["", "decision because failed blocked never prefer"]


def test_what_is_tried_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def recall(db: Any, query: str, **more: Any) -> Any:
        asked.append((query, more))
        return {"hits": []}

    monkeypatch.setattr(engine, "recall", recall)
    found = search(f"user: {RULE}")
    for query in ("four", "fives", "fives", *(f"query {n}" for n in range(20))):
        found._try(query)
    assert [query for query, _ in asked] == ["fives", *(f"query {n}" for n in range(9))], "ten recalls"
    more = asked[0][1]
    assert (more["budget"], more["now"], more["vectors"], more["prefer"]) == ("auto", NOW_MS, False, "p")


@pytest.mark.parametrize(
    ("cpu", "seconds", "tried"),
    [
        (0.0, 0.0, ["first", "second", "third", "needed"]),
        (1.0, 0.25, ["first", "second", "third", "needed"]),
        (1.1, 0.25, ["first", "needed"]),
        (0.0, 0.3, ["first"]),
    ],
)
def test_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch, cpu: float, seconds: float, tried: list[str]) -> None:
    """The first is tried in any case; one that is needed may take the longer of the two limits."""
    asked: list[str] = []
    monkeypatch.setattr(engine, "recall", lambda db, query, **more: asked.append(query) or {"hits": []})
    found = search(f"user: {RULE}", cpu_seconds=1.0)
    clock = SimpleNamespace(process_time=lambda: cpu, perf_counter=lambda: seconds)
    monkeypatch.setattr(recovery_queries, "time", clock)
    for query in ("first", "second", "third"):
        found._try(query)
    found._try("needed", needed=True)
    assert asked == tried


def test_a_query_goes_in_for_what_it_adds_to_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "the very last thing", _short(_asked(RULE))
    rule, finding = hit(f"user: {RULE}"), hit(f"assistant: {FINDING}")
    answers: dict[str, Any] = {}
    monkeypatch.setattr(engine, "recall", lambda db, query, **more: {"hits": answers.get(query, [])})

    def covered() -> list[tuple[str, Any]]:
        return list(search(f"user: {RULE}", f"assistant: {FINDING}", messages=(first,)).cover())

    assert covered() == []
    answers[first] = [rule]
    assert covered() == [(first, [rule])]
    answers[second] = [rule]
    assert covered() == [(first, [rule])]
    answers[second] = [rule, finding]
    assert covered() == [(first, [rule]), (second, [rule, finding])]


def test_memories_are_dealt_out_and_the_best_query_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    weighty = [{"id": f"m{n}", "text": f"m{n}", "category": "", "score": 1.0} for n in range(12)]
    monkeypatch.setattr(recovery_queries, "weightiest", lambda hits, state: weighty[: len(hits)])
    chosen: Any = [("best", [1] * 6), ("other", [1] * 6)]
    found = _dealt(chosen, state_of())
    assert [(one["query"], [memory["id"] for memory in one["hits"]]) for one in found] == [
        ("other", ["m1", "m3", "m5", "m7", "m9"]),
        ("best", ["m0", "m2", "m4", "m6", "m8"]),
    ]
    assert {(one["hash"], one["at"]) for one in found} == {("h", NOW_MS)}
