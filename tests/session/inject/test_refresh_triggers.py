"""When a refresh comes due, and how its text gives way to its budget (`session.inject.refresh`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from core.config import Config
from core.quoting import cost
from session import daily_log
from session.inject import refresh, selection
from session.state import schema

MINUTE = 60_000
BOUNDS: Any = {"minutes": 30, "idleMinutes": 20, "percent": 50, "cooldownMs": MINUTE, "named": True}
SAID = "the importer of the tide tables is slow"


def ago(minutes: float) -> int:
    return NOW_MS - round(minutes * MINUTE)


def trigger(message: str = SAID, percent: float | None = None, active: int | None = NOW_MS, **more: Any) -> str:
    """What makes a refresh due now, in a session that began ten hours ago and was told of everything 29 minutes ago."""
    bounds = more.pop("bounds", {})
    state: Any = {**schema.blank("s1", "interactive", ago(600)), "lastRefreshAt": ago(29), **more}
    return refresh.trigger_of(
        state, message=message, percent=percent, active_at=active, now=NOW_MS, bounds={**BOUNDS, **bounds}
    )


@pytest.mark.parametrize(
    ("last", "due"),
    [(ago(30) - 1, "interval"), (ago(30), ""), (NOW_MS + 1, "interval"), (None, "interval")],
)
def test_an_interval_is_over_after_it(last: int | None, due: str) -> None:
    assert trigger(lastRefreshAt=last) == due
    assert trigger(lastRefreshAt=last, bounds={"minutes": 0}) == ""
    assert trigger("", lastRefreshAt=last) == "", "the user has said nothing"


def test_the_first_interval_begins_with_the_session() -> None:
    assert trigger(lastRefreshAt=None, startedAt=ago(30)) == ""
    assert trigger(lastRefreshAt=None, startedAt=ago(30) - 1) == "interval"


@pytest.mark.parametrize(("began", "due"), [(ago(5), "idle"), (ago(5) + 1, "")])
def test_a_session_is_left_alone_for_five_minutes(began: int, due: str) -> None:
    assert trigger(startedAt=began, active=ago(20)) == due
    assert trigger("status", startedAt=began) == "status-question"
    assert trigger(startedAt=began, percent=50) == "half-full"


NAMING = "why does tideTable lose its last row?"


def test_a_prompt_that_names_something_is_enough() -> None:
    assert trigger(NAMING) == trigger("see docs/tides.md") == "named"
    assert trigger(NAMING, startedAt=ago(1)) == trigger(NAMING, lastInjectionAt=NOW_MS) == "named"
    assert trigger(NAMING, lastRefreshAt=NOW_MS) == "named"
    assert trigger(NAMING, bounds={"named": False}) == ""
    assert trigger(NAMING, percent=50) == "half-full", "what changed comes first"
    assert trigger(NAMING, active=ago(20)) == "idle"


@pytest.mark.parametrize(("active", "due"), [(ago(20), "idle"), (ago(20) + 1, "")])
def test_a_pause_of_twenty_minutes(active: int, due: str) -> None:
    assert trigger(active=active) == due
    assert trigger(active=active, bounds={"idleMinutes": 0}) == ""
    known = {"lastMessageAt": active, "updatedAt": ago(60)}
    assert trigger(active=None, **known) == due, "as the state tells it"
    assert trigger(active=None, lastMessageAt=ago(60), updatedAt=active) == due
    assert trigger(active=None, lastMessageAt=None, startedAt=active, updatedAt=ago(60)) == due


@pytest.mark.parametrize(("later", "active"), [(4_999, ago(20)), (5_000, ago(20) - 5_000)])
def test_a_state_written_within_five_seconds_is_of_the_hook_that_asks(later: int, active: int) -> None:
    due = trigger(active=None, lastMessageAt=ago(20), updatedAt=NOW_MS - later)
    assert due == ("idle" if later < 5_000 else "")


@pytest.mark.parametrize(("percent", "due"), [(49.9, ""), (50, "half-full"), (0, ""), (None, "")])
def test_a_context_that_is_half_full(percent: float | None, due: str) -> None:
    assert trigger(percent=percent) == trigger("", percent=percent) == due
    assert trigger(percent=percent, halfRefreshed=True) == ""
    assert trigger(percent=percent, bounds={"percent": 0}) == ""


@pytest.mark.parametrize(
    ("last", "due"), [(NOW_MS, ""), (ago(1) + 1, ""), (ago(1), "status-question"), (NOW_MS + 1, "status-question")]
)
def test_what_was_told_within_a_minute_is_told_once(last: int, due: str) -> None:
    assert trigger("status", lastRefreshAt=last) == due
    assert trigger("status", lastInjectionAt=last) == due, "a signpost is all there is to know"


def test_a_question_of_status_goes_before_all_else() -> None:
    assert trigger("status", percent=99, active=ago(60), lastRefreshAt=None) == "status-question"
    assert trigger(percent=99, active=ago(60), lastRefreshAt=None) == "half-full"
    assert trigger(active=ago(60), lastRefreshAt=None) == "idle"


def memories(count: int, text: str) -> Any:
    return [{"id": f"m{n}", "text": f"{n}{text}", "category": "ops", "score": 1.0} for n in range(count)]


def test_a_text_of_each_kind() -> None:
    made = refresh.text_of("why", memories(1, " told"), ["broken"], ["09:00 note"], ["pi, 1 min ago: ported it"])
    assert made is not None
    assert made["content"].splitlines()[1:-1] == [
        "## Context Refresh",
        "**Why:** why",
        "**Related memories:**",
        "- [ops] 0 told",
        "**Meanwhile in this project:**",
        "- pi, 1 min ago: ported it",
        "**Last 2 h:**",
        "- broken",
        "**Today:**",
        "- 09:00 note",
    ]
    assert (made["events"], made["log"], [one["id"] for one in made["memories"]]) == (1, 1, ["m0"])


def test_without_anything_to_tell_there_is_no_text() -> None:
    empty: Any = [{"id": "m", "text": " \n", "category": "ops", "score": 1.0}]
    assert refresh.text_of("why", empty, [" "], ["\n"], [""]) is None
    assert refresh.text_of("why", [], [], [], ["x"]) is not None
    assert refresh.text_of("why", [], [], ["x"]) is not None
    assert refresh.text_of("why", [], ["x"], []) is not None


@pytest.mark.parametrize(
    ("letters", "told"),
    [
        # memories, events and log entries that are shown, by how long each is
        (20, (3, 5, 3)),
        (60, (3, 5, 3)),
        (110, (3, 4, 2)),
        (200, (3, 4, 2)),
    ],
)
def test_a_text_shows_three_memories_five_events_and_three_entries(letters: int, told: tuple[int, int, int]) -> None:
    many = [f"{n} " + "x" * letters for n in range(9)]
    made = refresh.text_of("why", memories(9, " " + "x" * letters), many, many)
    assert made is not None and cost(made["content"]) <= 350
    assert (len(made["memories"]), made["events"], made["log"]) == told
    lines = [line for line in made["content"].splitlines() if line.startswith("- ")]
    assert [line[2:3] for line in lines[3:]] == list("01234"[: told[1]] + "678"[-told[2] :]), "of the log the last"


def asked_for(monkeypatch: pytest.MonkeyPatch, trigger: str, *, percent: float | None = None, **more: Any) -> Any:
    """What a refresh asks of the store and of the log, and why it says that it comes."""
    asked: dict[str, Any] = {}
    others, message = more.pop("others", []), more.pop("message", "")
    store = SimpleNamespace(
        happened=lambda since, **about: asked.update(happened=(since, about)) or ([], [("info", "s", "c", "a.b", 2)]),
        meanwhile=lambda project, since, **about: asked.update(meanwhile=(project, since, about)) or others,
    )
    monkeypatch.setattr(
        daily_log, "today", lambda now, most, **about: asked.update(log=(now, most, about)) or ["09:00 note"]
    )
    context = SimpleNamespace(now=NOW_MS, store=store, serves_all=lambda state: more.get("role") == "gateway", config=0)
    moment: Any = SimpleNamespace(
        context=context, message=message, percent=percent, about={"trigger": trigger}, project_of=lambda state: "p"
    )
    if more.get("role") == "gateway":
        moment.project_of = lambda state: ""
    state: Any = {**schema.blank("s1", "interactive", ago(600)), **more}
    made: Any = refresh.compose(state, moment, [])
    return asked, made


def test_what_a_first_refresh_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, made = asked_for(monkeypatch, "interval")
    about = {"without": "s1", "project": "p", "apart": True, "since": ago(600), "notes": True, "config": 0}
    assert asked == {
        "happened": (ago(120), {"project": "p", "session": "s1", "everywhere": False}),
        "log": (NOW_MS, 3, about),
        "meanwhile": ("p", ago(600), {"without": "s1"}),
    }
    assert made["content"].splitlines()[2:-1] == [
        "**Why:** 600 minutes since the last one", "**Last 2 h:**", "- a.b (s) ×2", "**Today:**", "- 09:00 note",
    ]  # fmt: skip
    assert {key: value for key, value in made.items() if key != "content"} == {
        "memories": [], "customType": "context-refresh", "event": "context.refresh.injected",
        "about": {"eventsCount": 1, "dailyLog": True}, "eventAbout": {"reason": "interval"},
    }  # fmt: skip


def test_what_a_later_refresh_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, _ = asked_for(monkeypatch, "idle", lastRefreshAt=ago(31))
    assert asked["happened"][0] == asked["meanwhile"][1] == asked["log"][2]["since"] == ago(31)
    assert asked["log"][2]["notes"] is False
    asked, _ = asked_for(monkeypatch, "idle", lastRefreshAt=ago(121))
    assert (asked["happened"][0], asked["meanwhile"][1]) == (ago(120), ago(121))


def test_a_gateway_is_told_of_all_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, _ = asked_for(monkeypatch, "idle", role="gateway")
    assert asked["happened"][1] == {"project": "", "session": "s1", "everywhere": True}
    assert asked["log"][2]["apart"] is False


def test_what_other_sessions_did_takes_the_place_of_their_log(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"session": {"client": "pi", "updated_at": ago(1), "calls": 1}, "names": [], "calls": []}
    _, made = asked_for(
        monkeypatch, "idle", others=[{**other, "prompts": ["Port the parser of the tide tables to the new format"]}]
    )
    assert made["about"] == {"eventsCount": 1, "dailyLog": False}
    assert "**Today:**" not in made["content"]


@pytest.mark.parametrize(
    ("trigger", "percent", "why"),
    [
        ("status-question", None, "the user asks how things stand"),
        ("half-full", 52.6, "the context is 53 % full"),
        ("half-full", None, "the context is 0 % full"),
        ("idle", 52.6, "the conversation goes on after a pause"),
        ("interval", 52.6, "30 minutes since the last one"),
    ],
)
def test_a_refresh_says_why_it_comes(
    monkeypatch: pytest.MonkeyPatch, trigger: str, percent: float | None, why: str
) -> None:
    _, made = asked_for(monkeypatch, "".join(trigger), percent=percent, lastRefreshAt=ago(31) + 1)
    assert made["content"].splitlines()[2] == f"**Why:** {why}"


def test_what_is_noted_of_a_refresh() -> None:
    state: Any = schema.blank("s1", "interactive", ago(600))
    for trigger, was, is_half in (("half-full", False, True), ("idle", False, False), ("idle", True, True)):
        moment: Any = SimpleNamespace(context=SimpleNamespace(now=NOW_MS), about={"trigger": trigger})
        assert refresh.apply(state, SimpleNamespace(about={"trigger": "named"}), None) == state  # type: ignore[arg-type]
        assert refresh.apply({**state, "halfRefreshed": was}, moment, None) == {
            **state, "lastRefreshAt": NOW_MS, "halfRefreshed": is_half,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("active", "previous", "trigger"),
    [
        (None, ago(20), "idle"),
        (None, ago(20) + 1, ""),
        (None, None, ""),
        (NOW_MS, ago(60), ""),
        (ago(20), NOW_MS, "idle"),
    ],
)
def test_when_a_session_last_did_something_is_asked_of_the_state_before_this_event(
    active: int | None, previous: int | None, trigger: str
) -> None:
    settings = {
        "refresh.minutes": 30, "refresh.idle_minutes": 20, "refresh.percent": 50, "inject.cooldown_seconds": 60,
        "refresh.named": True,
    }  # fmt: skip
    state: Any = {**schema.blank("s1", "interactive", ago(600)), "lastRefreshAt": ago(29), "updatedAt": NOW_MS}
    before = None if previous is None else {**state, "updatedAt": previous}
    context = SimpleNamespace(now=NOW_MS, config=Config(settings), previous=before)
    moment: Any = SimpleNamespace(context=context, active_at=active, message=SAID, percent=None, about={})
    assert refresh.due({**state, "lastMessageAt": NOW_MS}, moment) == ("" if trigger else "not-due")
    assert moment.about == ({"trigger": trigger, "query": SAID} if trigger else {"trigger": ""})
    moment.message = "ok"
    assert refresh.due({**state, "lastMessageAt": NOW_MS}, moment) == ("no-seed" if trigger else "not-due")


def test_memories_bear_on_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(selection, "bearing", lambda hits, state, said: asked.append(said) or [])
    messages = [{"text": "one", "hash": "1"}, {"text": "two", "hash": "2"}]
    asked_for(monkeypatch, "idle", messages=messages)
    asked_for(monkeypatch, "idle", messages=messages, message="three")
    assert asked == ["one two", "three"]
