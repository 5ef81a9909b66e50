"""Which session is meant by a beginning, an error's near ones, the newest of a project; and what a list says of one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from core import clock
from core.config import Config
from core.errors import Failure
from session.session_report import chosen, listing, report
from session.state import schema

AT = 1_790_000_000_000
SETTINGS = Config({"checkpoint.warm_percent": 40.0, "checkpoint.hot_percent": 60.0})


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sessions that have a state, by their ids; the first did something last."""

    def are(*names: str, projects: dict[str, str] | None = None) -> None:
        rows = [{"sessionId": name, "updatedAt": AT - at} for at, name in enumerate(names)]
        monkeypatch.setattr(chosen.state_file, "every", lambda: rows)
        monkeypatch.setattr(chosen.state_file, "exists", lambda name: name in names)
        state = {name: {"cwd": f"/w/{(projects or {}).get(name, '')}" if projects else ""} for name in names}
        monkeypatch.setattr(chosen.state_file, "peek", lambda name: state[name])
        monkeypatch.setattr(listing.projects, "name_of", lambda folder: folder.rpartition("/")[2])

    return are


def refused(given: str) -> Failure:
    with pytest.raises(Failure) as failed:
        chosen.meant(None, given)
    return failed.value


def test_four_characters_will_do_where_no_other_session_begins_so(known: Any) -> None:
    known("abcd-1", "abxy-2", "abc")
    assert chosen.meant(None, "abcd") == "abcd-1"
    assert chosen.meant(None, "abc") == "abc", "the whole id of one"
    assert refused("abx").code == "SESSION_NOT_FOUND"


@pytest.mark.parametrize(("count", "more"), [(10, ""), (11, " and more")])
def test_of_sessions_that_begin_alike_ten_are_named(known: Any, count: int, more: str) -> None:
    names = [f"abcd-{number:02}" for number in range(count)]
    known(*names)
    failed = refused("abcd")
    assert failed.code == "SESSION_AMBIGUOUS"
    assert failed.message == f"several sessions begin with abcd: {', '.join(names[:10])}{more}"


def test_the_nearest_three_are_named_the_nearest_first(known: Any) -> None:
    known("abcd-9x", "abcd-12", "abcd-1x", "abcd-xx", "zzzz")
    failed = refused("ABCD-13")
    assert failed.message == "nothing is known of a session 'ABCD-13'; near are also abcd-1x, abcd-9x"
    assert failed.fix == "`joelclaw session show abcd-12` shows the one with the nearest id"
    assert refused("yyyyyyyy").fix == "`joelclaw session list` names those that are known"
    known("it's one")
    assert refused("it's on3").fix.startswith("`joelclaw session show 'it'\\''s one'`")
    known("-abcd")
    assert refused("-abce").fix.startswith("`joelclaw session show '-abcd'`")


@pytest.mark.parametrize(("asked", "near"), [("abcxx", True), ("abxxx", False)])
def test_an_id_is_near_from_three_in_five_characters_on(known: Any, asked: str, near: bool) -> None:
    known("abcde")
    assert ("session show abcde" in refused(asked).fix) is near


def test_the_newest_of_the_project_is_meant_else_the_newest(known: Any) -> None:
    known("a", "b", "c", projects={"a": "shop", "b": "gate", "c": "gate"})
    assert chosen.newest(None, "gate") == ("b", "project")
    assert chosen.newest(None, "other") == chosen.newest(None, "") == ("a", "last")
    names = [f"s{number}" for number in range(202)]
    for place, found in ((199, ("s199", "project")), (200, ("s0", "last"))):
        known(*names, projects={names[place]: "gate"})
        assert chosen.newest(None, "gate") == found
    known()
    with pytest.raises(Failure) as failed:
        chosen.newest(None, "gate")
    assert failed.value.code == "SESSION_NOT_FOUND"


def one(**more: Any) -> listing.Known:
    found = listing.Known("s", AT, more.pop("archived", None), more.pop("problem", ""))
    state: Any = schema.blank("s", "interactive", more.pop("started", AT - 5))
    checkpoint = {**state["checkpoint"], "contextPercentAtCapture": more.pop("percent", None), "compactionCount": 2}
    state = {**state, "checkpoint": checkpoint, "counts": {**state["counts"], "userMessages": 3}, **more}
    found.state = state
    return found


def test_a_list_says_of_a_session_what_its_state_says() -> None:
    messages = [{"text": "first"}, {"text": "label\n the jars"}]
    found = one(percent=60.0, messages=messages, agent="pi", cwd="")
    assert listing.row(None, found, SETTINGS) == {
        "sessionId": "s", "client": "pi", "project": "", "startedAt": clock.iso(AT - 5), "updatedAt": clock.iso(AT),
        "turns": 3, "toolCalls": 0, "compactions": 2, "contextPercent": 60.0, "zone": "hot", "task": "label the jars",
    }  # fmt: skip
    nothing = listing.Known("s", 0, None, "it is damaged")
    assert listing.row(None, nothing, SETTINGS) == {
        "sessionId": "s", "client": "", "project": "", "startedAt": "unknown", "updatedAt": "unknown", "turns": 0,
        "toolCalls": 0, "compactions": 0, "contextPercent": None, "zone": listing.zone(None, SETTINGS),
        "task": "it is damaged",
    }  # fmt: skip
    assert listing.row(None, one(problem="p", messages=messages), SETTINGS)["task"] == "label the jars"


@pytest.mark.parametrize(
    ("spoken", "first", "started", "told"),
    [(5, AT - 9, AT - 5, AT - 9), (5, AT - 1, AT - 5, AT - 5), (5, 0, AT - 5, AT - 5), (0, AT - 9, AT - 5, AT - 5),
     (5, AT - 1, 0, AT - 1)],
)  # fmt: skip
def test_an_archived_session_has_the_larger_figures_and_the_earlier_start(
    spoken: int, first: int, started: int, told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing.calls, "compactions", lambda *_: [1, 2, 3])
    monkeypatch.setattr(listing.session_log, "spoken", lambda *_: (spoken, first, 0))
    monkeypatch.setattr(listing.calls, "prompts", lambda *_: ["mend the retry of the receipts", "ok"])
    archived = {"prompts": 9, "calls": 7, "client": "claude", "project": "shop", "folder": "/w"}
    row = listing.row(SimpleNamespace(), one(archived=archived, started=started), SETTINGS)  # type: ignore[arg-type]
    assert (row["turns"], row["toolCalls"], row["compactions"], row["project"], row["task"]) == (
        9, 7, 3, "shop", "mend the retry of the receipts",
    )  # fmt: skip
    assert row["startedAt"] == clock.iso(told)


def test_where_no_prompt_asks_for_anything_the_last_one_is_the_task() -> None:
    assert listing.last_task(["ok", "thanks", "yes"]) == "yes"
    assert listing.last_task([]) == ""


def test_sessions_are_counted_beyond_the_limit_and_by_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for number, (client, project) in enumerate([("pi", "shop"), ("claude", "gate"), ("pi", "gate"), ("pi", "shop")]):
        archived: Any = {"project": project, "client": client, "calls": 0, "prompts": 0}
        row = one(archived=archived, agent=client)
        row.id, row.updated_at = f"s{number}", AT - number
        found.append(row)
    monkeypatch.setattr(listing, "known", lambda _: found)

    def asked(**more: Any) -> tuple[list[str], int]:
        rows, count = listing.sessions(None, SETTINGS, **{"limit": 9, **more})
        return [row["sessionId"] for row in rows], count

    assert asked() == (["s0", "s1", "s2", "s3"], 4)
    assert asked(limit=2) == (["s0", "s1"], 4)
    assert asked(since=AT - 2) == (["s0", "s1", "s2"], 3)
    assert asked(project="shop") == (["s0", "s3"], 2)
    assert asked(client="pi") == (["s0", "s2", "s3"], 3)
    assert asked(client="claude") == (["s1"], 1)
    assert asked(client="pi", project="gate") == (["s2"], 1)


def test_a_report_adds_up_what_is_kept_of_all_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [("pi", "a", 1.0), ("claude", "b", 5.0), ("pi", "c", 9.0), ("pi", "a", 3.0)]
    became = [("pi", "a", "ok", 2), ("pi", "a", "late", 1), ("pi", "c", "ok", 1), ("claude", "b", "degraded", 1),
              ("claude", "b", "failed", 1)]  # fmt: skip
    asked: list[int] = []
    counted = [(1, "memory.echo", 2), (1, "memory.fizzle", 3), (2, "memory.echo", 1), (1, "compaction.before", 1),
               (1, "gateway.compaction.before", 2)]  # fmt: skip
    monkeypatch.setattr(report.hook_calls, "times", lambda *_: times)
    monkeypatch.setattr(report.hook_calls, "outcomes", lambda *_: became)
    monkeypatch.setattr(report.hook_calls, "sessions_since", lambda *_: 4)
    monkeypatch.setattr(report.session_log, "counts", lambda _, since: asked.append(since) or counted)
    monkeypatch.setattr(report.session_log, "recalls", lambda *_: [(1, 2.0), (0, None), (3, 4.0), (1, 1.0), (0, 9.0)])
    monkeypatch.setattr(report.session_log, "errors", lambda *_: [{"at": AT, "count": 2}])
    monkeypatch.setattr(report.session_log, "error_count", lambda *_: 7)
    monkeypatch.setattr(report.injections, "by_kind", lambda *_: [("a", 1, 20, 3), ("b", 4, 50, 6)])
    found = report.of_all(SimpleNamespace(), hours=0.5, now=AT)  # type: ignore[arg-type]
    assert asked == [AT - 1_800_000]
    assert found["hooks"] == {
        "count": 6, "totalMs": 18.0, "p50": 3.0, "p95": 9.0, "max": 9.0, "ok": 3, "degraded": 1, "failed": 1,
        "late": 1, "answeredRate": 0.6667,
        "byEvent": [
            {"client": "claude", "event": "b", "count": 2, "totalMs": 5.0, "p50": 5.0, "p95": 5.0, "max": 5.0,
             "degraded": 1, "failed": 1, "late": 0},
            {"client": "pi", "event": "c", "count": 1, "totalMs": 9.0, "p50": 9.0, "p95": 9.0, "max": 9.0,
             "degraded": 0, "failed": 0, "late": 0},
            {"client": "pi", "event": "a", "count": 3, "totalMs": 4.0, "p50": 1.0, "p95": 3.0, "max": 3.0,
             "degraded": 0, "failed": 0, "late": 1},
        ],
    }  # fmt: skip
    assert found["recalls"] == {
        "count": 5, "totalMs": 16.0, "p50": 2.0, "p95": 9.0, "max": 9.0, "withHits": 3, "hitRate": 0.6,
    }  # fmt: skip
    assert found["injections"] == {
        "count": 5, "tokens": 70, "memories": 9,
        "byType": [
            {"customType": "a", "count": 1, "tokens": 20, "memories": 3},
            {"customType": "b", "count": 4, "tokens": 50, "memories": 6},
        ],
    }  # fmt: skip
    assert found["feedback"] == {"judged": 6, "echo": 3, "fizzle": 3, "echoRate": 0.5}
    assert found["errors"] == {"total": 7, "latest": [{"at": clock.iso(AT), "count": 2}]}
    assert (found["compactions"], found["sessions"], found["since"]) == (3, 4, clock.iso(AT - 1_800_000))
    assert report.of_all(None, hours=1e9, now=AT)["since"] == clock.iso(0)
