"""The lines of a signpost after work, by value: what of it the summary has, and what has room (`work_signpost`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from clients import payload
from core.config import Config
from core.store.sessions import transcripts
from session.compaction import client_compaction
from session.inject import project_context, startup, work, work_signpost
from session.inject.work_signpost import _commands, _is_told, _more, _plain, _said, _standing, _working_set

TASK = "Make the importer of the tide tables wait twice as long"
STEP = "Double the delay in next_delay of the importer now"


def call(command: str, outcome: str = "ok", error: str = "", number: int = 1) -> Any:
    return {"command": command, "outcome": outcome, "error": error, "tool": "Bash", "file": "", "number": number}


def standing(*, task: str = TASK, step: str = STEP, calls: Any = (), summary: str = "") -> dict[str, str]:
    plan = [["1", step, "in_progress"]] if step else []
    about: Any = {"plan": plan}
    return _standing(about, list(calls), [task], summary)


def test_task_step_and_failure_stand_in_their_lines() -> None:
    failed = call("make test", "failed", "E: it broke")
    assert standing(calls=[failed]) == {
        "task": f'**Task:** "{TASK}"', "step": f"**Open step:** {STEP}",
        "failure": "**Failed last:** `make test`: E: it broke",
    }  # fmt: skip
    assert standing(task="go on", step="", calls=[call("make test")]) == {}


@pytest.mark.parametrize("told", [40, 39])
def test_what_the_summary_begins_alike_is_left_out(told: int) -> None:
    has_it = told == 40
    summary = f"The user said: {TASK[:told].upper()}  and so on; then {STEP[:told]}. It failed with E: it broke\n"
    found = standing(calls=[call("make test", "failed", "E: it broke")], summary=summary)
    assert list(found) == ([] if has_it else ["task", "step"])


def test_long_lines_are_cut() -> None:
    task = "Make the importer of tides " + "x" * 124
    assert standing(task=task[:150])["task"] == f'**Task:** "{task[:150]}"'
    assert standing(task=task)["task"] == f'**Task:** "{task[:149]}…"'
    assert standing(step="y" * 100)["step"] == f"**Open step:** {'y' * 100}"
    assert standing(step="y" * 101)["step"] == f"**Open step:** {'y' * 99}…"
    for length, shown in ((180, True), (181, False)):
        command = "make " + "x" * (length - 5)
        failure = standing(calls=[call(command, "failed", "e" * 91)])["failure"]
        assert failure == f"**Failed last:** {f'`{command}`: ' if shown else ''}{'e' * 89}…"
    assert standing(calls=[call("make x", "failed", "e" * 90)])["failure"].endswith("e" * 90)


DEMAND = "Never touch the tables of the harbour"
DECISION = "We keep the delay in the policy because the gauge reads it"


def said(monkeypatch: pytest.MonkeyPatch, *turns: str, plain: str = "", shown: str = "") -> Any:
    asked: list[Any] = []
    numbered = [(f"t{at}", text) for at, text in enumerate(turns)]
    monkeypatch.setattr(transcripts, "turns", lambda db, session, **more: asked.append(more) or numbered)
    db: Any = None
    found = _said(db, "s1", plain, shown=shown)
    assert asked == [{"first": 0, "last": 60, "characters": 12000}]
    return found


def test_the_last_demand_and_the_last_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = (f"user: {DEMAND} at all", f"user: {DEMAND}", f"assistant: {DECISION}", "assistant: done")
    assert said(monkeypatch, *turns) == {
        "demand": (f'**The user said:** "{DEMAND}"', "t1"), "decision": (f"**Decided:** {DECISION}", "t2"),
    }  # fmt: skip
    assert list(said(monkeypatch, *turns)) == ["demand", "decision"]
    assert said(monkeypatch, *turns, plain=_plain(DECISION)).keys() == {"demand"}
    assert said(monkeypatch, *turns[1:], shown=_plain(f"x {DEMAND}")).keys() == {"decision"}
    assert said(monkeypatch, *(f"assistant: {word}" for word in ("one", "two"))) == {}


@pytest.mark.parametrize(("later", "found"), [(19, True), (20, False)])
def test_a_decision_is_looked_for_in_the_last_twenty_answers(
    monkeypatch: pytest.MonkeyPatch, later: int, found: bool
) -> None:
    turns = [f"user: {DEMAND}", f"assistant: {DECISION}", *["assistant: done", "user: yes"] * later]
    assert list(said(monkeypatch, *turns)) == (["demand", "decision"] if found else ["demand"])


@pytest.mark.parametrize(("length", "shown"), [(140, True), (141, False)])
def test_a_sentence_of_a_hundred_and_forty_characters_has_room(
    monkeypatch: pytest.MonkeyPatch, length: int, shown: bool
) -> None:
    sentence = "Never touch " + "x" * (length - 12)
    assert bool(said(monkeypatch, f"user: {sentence}")) is shown


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ("", False),
        (_plain(DEMAND), True),
        ("never touch tables", True),  # of never, touch, tables and harbour
        ("never harbour of the", False),
        ("harbour touch never", True),
    ],
)
def test_a_sentence_is_told_where_most_of_its_longer_words_are(plain: str, told: bool) -> None:
    assert _is_told(DEMAND, plain) is told
    assert _is_told("one two four", "nothing of it") is False


def test_of_five_longer_words_three_are_not_most() -> None:
    five = "alpha bravo chart delta eagle"
    assert _is_told(five, "alpha and bravo and chart") is False
    assert _is_told(five, "alpha and bravo and chart and delta") is True


def test_commands_that_check_within_their_room() -> None:
    assert _commands([]) == _commands([call("ls"), call("git push")]) == {}
    assert _commands([call(f"make {name}") for name in "abcd"]) == {
        "commands": "**Run before:** `make a` ok, `make b` ok, `make c` ok"
    }
    assert _commands([call("make a | tail", "failed"), call("make b", "")]) == {
        "commands": "**Run before:** `make a | tail`, `make b`"
    }
    for first, second in ((44, True), (45, False)):
        found = _commands([call("make " + "a" * first), call("make " + "b" * 42)])["commands"]
        assert ("bbb" in found) is second, "110 characters, each with two for what parts it from the next"


def test_a_command_is_told_as_run_before_once_whatever_is_behind_its_pipe() -> None:
    runs = [call("make a | tail -30", number=1), call("make a 2>&1 | tail -50", number=3), call("make b", number=2)]
    assert [one["number"] for one in work.standing(runs)] == [3, 2]
    assert _commands(work.standing(runs)) == {"commands": "**Run before:** `make a 2>&1 | tail -50`, `make b` ok"}


@pytest.mark.parametrize(("later", "shown"), [("pytest b", False), ("pytest b | tail", False), ("make b", True)])
def test_a_failed_run_is_not_shown_beside_the_one_that_answered_it(later: str, shown: bool) -> None:
    runs = [call("pytest a", "failed"), call(later, number=2)]
    assert ("pytest a" in [one["command"] for one in work.standing(runs)]) is shown
    assert "pytest a" in [
        one["command"] for one in work.standing([call("pytest a", "failed", number=3), call(later, number=2)])
    ]


def test_the_working_set_by_folder() -> None:
    assert _working_set([]) == []
    assert _working_set([("", [])]) == []
    assert _working_set([("src/a.py", ["one", "two"]), ("src/b.py", []), ("c.py", ["three"]), ("", ["four"])]) == [
        "**At work, by file:**", "- src/", "  a.py: one two", "  b.py", "- c.py: three", "- elsewhere: four",
    ]  # fmt: skip
    assert _working_set([("a.py", []), ("b.py", []), ("src/x/c.py", ["one"])]) == [
        "**At work, by file:**", "- a.py", "- b.py", "- src/x/c.py: one",
    ]  # fmt: skip


def test_the_queries_as_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.own_command.word", lambda _="": "joelclaw")
    assert _more([], "pi") == []
    assert _more(["src/", "a.py make"], "pi") == [
        '**More, by place:** `joelclaw recall "src/" --raw`, `joelclaw recall "a.py make" --raw`'
    ]


def name(text: str, calls: int = 1, last: int = 10) -> Any:
    return {"name": text, "first": 1, "last": last, "calls": calls, "weight": 0.0, "place": "a.py", "written": 0}


def test_names_of_several_sessions_weigh_by_use_age_and_session() -> None:
    def weights(*sessions: Any) -> dict[str, float]:
        works: Any = [{"session": {"calls": total}, "names": list(names)} for total, names in sessions]
        return {one["name"]: one["weight"] for one in startup._names(works)}

    found = weights(
        (10, [name("tide", calls=3), name("gauge", last=-190)]), (10, [name("tide", calls=3), name("buoy")])
    )
    assert list(found) == ["tide", "buoy", "gauge"]
    assert found == pytest.approx({"tide": 1.5 * 1.3862944, "buoy": 0.5 * 0.6931472, "gauge": 0.6931472 / 2.7182818})
    assert list(weights((10, [name("sessionID"), name("session_id", calls=2), name("SessionId")]))) == ["session_id"]
    assert weights() == {}


def test_a_name_is_the_agents_own_that_it_wrote_in_any_of_several_sessions() -> None:
    own = {**name("tide"), "written": 3}
    for names in ((name("tide"), own), (own, name("tide")), (name("tide"), name("tide"))):
        works: Any = [{"session": {"calls": 10}, "names": [one]} for one in names]
        assert [bool(one["written"]) for one in startup._names(works)] == [own in names]


@pytest.mark.parametrize(
    ("said", "agent", "cancelled"), [(0, "pi", True), (1, "pi", False), (None, "pi", False), (0, "claude", False)]
)
def test_a_compaction_with_nothing_said_since_the_last_is_left_out(
    said: int | None, agent: str, cancelled: bool
) -> None:
    noted: list[Any] = []
    context: Any = SimpleNamespace(
        agent=agent, previous=None, session_id="s1", role="", now=NOW_MS, note=noted.extend, config=Config({})
    )
    for instructions in ("", "keep it"):
        noted.clear()
        event: Any = {**payload.event({}, "x", "before_compaction"), "said": said, "instructions": instructions}
        assert [text["customType"] for text in client_compaction.cancelled(event, context)] == (
            ["compaction-cancelled", "compaction-notice"] if cancelled else []
        )
        about = {"compactionCount": 0, "reason": "nothing-since-compaction", "instructed": bool(instructions)}
        assert [(one["action"], one["metadata"]) for one in noted] == (
            [("compaction.cancelled", about)] if cancelled else []
        )


@pytest.mark.parametrize(
    ("settings", "agent", "instructions", "waits"),
    [
        ({"compaction.summary": "joelclaw"}, "pi", "", "30000"),
        ({"compaction.summary": "joelclaw", "model.command": "m", "model.timeout_seconds": 7}, "pi", "x", "44000"),
        ({"compaction.summary": "joelclaw"}, "pi", "x", ""),
        ({"compaction.summary": "joelclaw"}, "pi", " ", "30000"),
        ({"compaction.summary": "joelclaw"}, "claude", "", ""),
        ({"compaction.summary": "client", "model.command": "m"}, "pi", "", ""),
    ],
)
def test_how_long_a_client_may_wait_for_our_summary(settings: Any, agent: str, instructions: str, waits: str) -> None:
    context: Any = SimpleNamespace(agent=agent, config=Config(settings))
    event: Any = {**payload.event({}, "x", "before_compaction"), "instructions": instructions}
    assert [text["content"] for text in client_compaction.summary(event, context)] == ([waits] if waits else [])


def memories(count: int, text: str) -> Any:
    return [{"id": f"m{n}", "text": f"{n}{text}", "category": "ops", "score": 1.0} for n in range(count)]


@pytest.mark.parametrize(
    ("letter", "length", "shown", "longest"),
    [("x", 0, 3, 1), ("x", 198, 3, 199), ("x", 199, 3, 200), ("x", 200, 3, 200), ("数", 40, 3, 41), ("数", 400, 3, 66)],
)
def test_a_project_context_has_three_memories_within_its_budget(
    letter: str, length: int, shown: int, longest: int
) -> None:
    made = project_context.text_of("web", [{**memories(1, "")[0], "text": " "}, *memories(5, letter * length)])
    assert made is not None and [one["id"] for one in made["memories"]] == [f"m{n}" for n in range(shown)]
    lines = made["content"].splitlines()
    assert lines[1] == "## Project Context: web"
    assert max(len(line) - 2 for line in lines[2:-1]) == longest
    assert project_context.text_of("web", memories(0, "")) is None


def test_least_calls_of_a_session_with_work() -> None:
    for calls in (4, 5):
        about = {"calls": calls, "plan": []}
        looked: list[str] = []
        store = SimpleNamespace(
            session=lambda db, one, about=about: about,
            compactions=lambda db, one, looked=looked: looked.append(one) or [],
            calls=lambda db, one: [], prompts=lambda db, one, most: [], names=lambda db, one: [],
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(work_signpost, "store", store)
            patch.setattr(transcripts, "turns", lambda db, session, **more: [])
            patch.setattr(work_signpost.work_cards, "decision_lines", lambda *given: [])
            db: Any = None
            made = work_signpost.of(db, "s1", kept="", max_tokens=300, agent="pi")
        assert (looked, made is None) == (([], True) if calls < 5 else (["s1"], False))


@pytest.mark.parametrize(("summaries", "shown"), [((TASK, "all else"), True), (("all else", TASK), False), ((), True)])
def test_what_the_last_summary_has_is_left_out(
    monkeypatch: pytest.MonkeyPatch, summaries: tuple[str, ...], shown: bool
) -> None:
    store = SimpleNamespace(
        session=lambda db, one: {"calls": 5, "plan": []},
        compactions=lambda db, one: [{"summary": text} for text in summaries],
        calls=lambda db, one: [], prompts=lambda db, one, most: [TASK], names=lambda db, one: [],
    )  # fmt: skip
    monkeypatch.setattr(work_signpost, "store", store)
    monkeypatch.setattr(transcripts, "turns", lambda db, session, **more: [])
    monkeypatch.setattr(work_signpost.work_cards, "decision_lines", lambda *given: [])
    db: Any = None
    made = work_signpost.of(db, "s1", kept="", max_tokens=300, agent="pi")
    assert made is not None and (TASK in made["content"]) is shown
