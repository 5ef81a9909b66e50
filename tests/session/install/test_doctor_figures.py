"""What the doctor makes of figures: from which size, age or number on something is a finding, and how it is told."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from clients import registry
from clients.own_settings import Place
from core import VERSION, clock
from core.config import Config
from core.store.upkeep import integrity
from core.store.upkeep.called_hooks import Called
from core.store.upkeep.integrity import Figures
from session.doctor import command, finding, history, services, store, trial
from session.doctor import home as home_of
from session.doctor.finding import Finding, error, note, warning
from session.doctor.hooks import Condition
from session.doctor.trial import Call
from session.install.entered import Entry

HOUR = 3_600_000
AT = 1_790_000_000_000
CLAUDE, PI = registry.row("claude"), registry.row("pi")


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(AT))


def codes(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in found]


# -- findings


def test_the_worst_is_told_first_and_alike_ones_in_their_order() -> None:
    mended = Finding("A", "ok", "s", "", "")
    found = [note("B", "s", "", ""), warning("C", "s", "", ""), mended, error("D", "s", "", ""), note("E", "s", "", "")]
    assert [one.code for one in finding.worst_first(found)] == ["D", "C", "B", "E", "A"]
    assert [finding.worst(found[:end]) for end in range(6)] == ["ok", "note", "warning", "warning", "error", "error"]
    assert mended.row() == {"code": "A", "severity": "ok", "subject": "s", "message": "", "fix": ""}


# -- the store


@pytest.mark.parametrize(
    ("figures", "found"),
    [
        (Figures(100_000_000, 16_000_000, 50_000_000, AT + 300_000), []),
        (Figures(99_999_998, 0, 50_000_001, None), [("STORE_MOSTLY_FREE", "note")]),
        (Figures(200_000_000, 0, 100_000_000, None), []),
        (Figures(200_000_000, 0, 100_000_001, None), [("STORE_MOSTLY_FREE", "note")]),
        (Figures(1, 16_000_001, 0, None), [("WAL_LARGE", "warning")]),
        (Figures(1, 0, 0, AT + 300_001), [("CLOCK_BEHIND", "warning")]),
    ],
)
def test_a_store_of_such_figures(
    figures: Figures, found: list[Any], monkeypatch: pytest.MonkeyPatch, home: Any
) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setattr(integrity, "faults", lambda _: [])
    monkeypatch.setattr(integrity, "figures", lambda _: figures)
    since = []
    monkeypatch.setattr(store.called_hooks, "every", lambda _, at: since.append(at) or [])
    one = store.Store()
    one._look(SimpleNamespace())  # type: ignore[arg-type]
    assert codes(one.findings) == found
    assert one.facts["newest"] == (None if figures.newest is None else clock.iso(figures.newest))
    assert since == [AT - 24 * HOUR]


@pytest.mark.parametrize(
    ("ms", "told"),
    [(59_999, "0 min"), (7_199_999, "119 min"), (7_200_000, "2 h"), (172_799_999, "47 h"), (172_800_000, "2 days"),
     (259_200_000, "3 days")],
)  # fmt: skip
def test_how_far_a_clock_is_behind(ms: int, told: str) -> None:
    assert store._span(ms) == told
    assert store._mb(1_234_560_000) == "1,234.6 MB"


# -- the disk and the home


@pytest.mark.parametrize(
    ("free", "severity"),
    [(200_000_001, []), (200_000_000, ["warning"]), (20_000_000, ["warning"]), (19_999_999, ["error"])],
)
def test_little_room_is_a_warning_and_hardly_any_an_error(
    free: int, severity: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    asked = []
    monkeypatch.setattr(os, "statvfs", lambda path: asked.append(path) or SimpleNamespace(f_bavail=free, f_frsize=1))
    facts: dict[str, Any] = {}
    found = home_of._disk(str(tmp_path / "not" / "there"), facts)
    assert [one.severity for one in found] == severity
    assert [one.message for one in found] == [f"{free / 1e6:,.0f} MB are left on the disk of {tmp_path}"] * len(
        severity
    )
    assert (facts, asked) == ({"freeBytes": free}, [str(tmp_path)])


def test_of_many_files_three_are_named() -> None:
    assert home_of._some(["/h/a", "/h/b/c", "/h/d"], "/h") == "a, b/c, d in /h"
    assert home_of._some(["/h/a", "/h/b", "/h/c", "/h/d", "/h/e"], "/h") == "a, b, c and 2 more in /h"


# -- hooks that were called


def called(
    event: str = "Stop", *, last: int = AT, failed: int = 0, late: int = 0, why: str = "", agent: str = "claude"
) -> Called:
    return Called(agent, event, last, 5, failed, late, why)


def test_each_event_tells_how_it_went_and_those_of_others_are_left_out() -> None:
    rows = history.events(
        CLAUDE, [called("Stop", failed=1, late=2, why="x"), called("Own"), called("Of pi", agent="pi")]
    )
    assert [one["event"] for one in rows] == [*CLAUDE.hooks().KINDS, "Own"]
    by_name = {one["event"]: one for one in rows}
    assert by_name["Stop"] == {
        "event": "Stop", "lastAt": clock.iso(AT), "calls24h": 5, "failed24h": 1, "late24h": 2, "lastError": "x",
    }  # fmt: skip
    assert by_name["Own"]["lastError"] is None
    assert by_name["PreCompact"] == {
        "event": "PreCompact", "lastAt": None, "calls24h": 0, "failed24h": 0, "late24h": 0, "lastError": None,
    }  # fmt: skip


def test_a_hook_that_failed_or_was_late_is_told_with_its_last_error() -> None:
    calls = [
        called(failed=1, why="no\n  disk"),
        called("", late=2, why="x" * 201),
        called("Fine", agent="pi", failed=9),
    ]
    fix = "joelclaw otel search hook --level warn,error"
    assert history.findings(CLAUDE, calls, Condition({}), []) == [
        warning("HOOK_FAILED", "claude", "its hook for Stop failed once in 24 h; the last error: no disk", fix),
        warning("HOOK_LATE", "claude",
                f"its hook for ? was late 2 times in 24 h: no answer; the last error: {'x' * 200}", fix),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("last", "newest", "since", "found"),
    [
        (AT, None, None, []),
        (AT, AT + HOUR, None, []),
        (AT, AT + HOUR + 1, None, [("HOOKS_SILENT", "warning")]),
        (AT, AT + HOUR + 1, AT + 1, []),
        (AT, AT + HOUR + 2, AT + 1, [("HOOKS_SILENT", "warning")]),
        (None, None, None, [("HOOK_NEVER_CALLED", "note")]),
        (None, AT, None, [("HOOK_NEVER_CALLED", "note")]),
        (None, AT, AT, [("HOOK_NEVER_CALLED", "note")]),
        (None, AT + 1, AT, [("HOOK_NEVER_CALLED", "error")]),
    ],
)
def test_hooks_that_are_silent_while_sessions_are_written(
    last: int | None, newest: int | None, since: int | None, found: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_newest_transcript", lambda _: newest)
    calls = [called(last=AT - 9), called("Other", last=last)] if last is not None else [called(agent="pi")]
    condition = Condition({}, installed=True, since=since)
    assert codes(history.findings(CLAUDE, calls, condition, [])) == found
    assert history.findings(CLAUDE, calls, Condition({}, since=since), []) == [], "not where nothing is installed"
    silence: Any = {"since": (newest or AT), "until": None}
    silenced = codes(history.findings(CLAUDE, calls, condition, [silence]))
    assert silenced == (found if newest is None else [])


def test_that_hooks_were_not_called_yet_is_not_said_beside_what_keeps_them_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "_newest_transcript", lambda _: None)
    broken = Condition({}, [error("HOOK_FAILS", "claude", "", "")], installed=True)
    worried = Condition({}, [warning("HOOK_FAILS", "claude", "", "")], installed=True)
    assert history.findings(CLAUDE, [], broken, []) == []
    assert codes(history.findings(CLAUDE, [], worried, [])) == [("HOOK_NEVER_CALLED", "note")]


# -- versions


@pytest.mark.parametrize(
    ("one", "other", "older"),
    [("1.9.2", "1.10.0", True), ("1.10.0", "1.9.2", False), ("1.2.3", "1.2.3", False), ("1.2", "1.2.0", True),
     ("", "1.0", False), ("1.x", "2.0", False), ("1.0", "next", False)],
)  # fmt: skip
def test_a_version_is_older_by_its_numbers(one: str, other: str, older: bool) -> None:
    assert command.is_older(one, other) is older


@pytest.mark.parametrize(
    ("out", "status", "version"),
    [
        (b"joelclaw 1.2.3 (python 3.12)\n", 0, "1.2.3"), (b"joelclaw 1.2.3", 1, ""), (b"joelclaw", 0, ""),
        (b"other 1.2.3", 0, ""), (b"", 0, ""), (b"joelclaw \xff", 0, "\ufffd"),
    ],
)  # fmt: skip
def test_a_version_is_believed_of_a_joelclaw_that_ended_well(
    out: bytes, status: int, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = SimpleNamespace(stdout=out, returncode=status)
    monkeypatch.setattr(command.subprocess, "run", lambda *_, **__: done)
    assert command.version_of("/o/joelclaw") == version


def test_another_joelclaw_on_the_path_is_told_by_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.entered, "fault", lambda _: None)
    older = command._other("/a/joelclaw", "0.0.1", "/b/joelclaw")
    assert codes([older]) == [("PATH_COMMAND_OLDER", "warning")]
    assert (
        older.message
        == f"an older joelclaw on the PATH is /a/joelclaw, version 0.0.1; what runs is /b/joelclaw, {VERSION}"
    )
    assert older.fix == "update it, or put /b before /a on the PATH"
    broken = command._other("/a/joelclaw", "", "/b/joelclaw")
    assert codes([broken]) == [("PATH_COMMAND_BROKEN", "warning")]
    told = f"`joelclaw` on the PATH is /a/joelclaw; what runs is /b/joelclaw, {VERSION} (it does not tell its version)"
    assert broken.message == told
    assert codes([command._other("/a/joelclaw", VERSION, "/b/joelclaw")]) == [("PATH_COMMAND_OTHER", "note")]


# -- a hook that is called for trial


def ended(status: int | None = 0, *, out: str = "", err: str = "", ms: int = 5, traces: Any = ()) -> Call:
    return Call(status, out, err, ms, list(traces))


@pytest.mark.parametrize(
    ("call", "late", "told"),
    [
        (ended(None, ms=5000), True, "it gave no answer within 5 s and was ended"),
        (ended(None, ms=4999), False, "it could not be started"),
        (ended(0, ms=9000), False, "exit status 0"),
        (ended(3, err=" no\n disk "), False, "exit status 3: no disk"),
        (ended(1, err="x" + "y" * 300), False, f"exit status 1: {'y' * 300}"),
    ],
)
def test_how_a_call_ended(call: Call, late: bool, told: str) -> None:
    assert (call.is_late, call.explained()) == (late, told)


ENTRY = Entry(Place("Stop", 0, 0), "sh -c hook", "/o/joelclaw")
GOOD = ("hook.completed", "", False)


@pytest.mark.parametrize(
    ("call", "alone", "found", "says"),
    [
        (ended(traces=[GOOD]), None, [], ""),
        (ended(None, ms=5000), None, [("HOOK_HANGS", "error")],
         "the hook for Stop gave no answer within 5 s and was ended"),
        (ended(0), ended(1, err="boom"), [("HOOK_FAILS", "error")],
         "the hook for Stop does not reach joelclaw: /o/joelclaw: exit status 1: boom"),
        (ended(7), ended(0, traces=[GOOD]), [("HOOK_NOT_REACHED", "error")],
         "the hook for Stop does not reach joelclaw, though /o/joelclaw works: exit status 7"),
        (ended(out="hello", traces=[GOOD]), None, [("HOOK_ANSWER_REFUSED", "error")],
         "the client does not take what the hook for Stop prints: it printed what is no JSON: 'hello'"),
        (ended(traces=[GOOD, ("hook.failed", "no disk", False)]), None, [("HOOK_FAILS", "error")],
         "the hook for Stop failed: no disk"),
        (ended(traces=[("hook.timeout", "late", True)]), None, [("HOOK_FAILS", "error")],
         "the hook for Stop failed: late"),
        (ended(traces=[("hook.failed", "", False), GOOD]), None, [], ""),
        (ended(traces=[("hook.degraded", "busy", False)]), None, [("HOOK_DEGRADED", "warning")],
         "the hook for Stop did only part of its work: busy"),
        (ended(out=" \n", traces=[("hook.completed", "", True)]), None, [("HOOK_ANSWER_LOST", "error")],
         "the hook for Stop has a text for the model, and what is entered does not pass it on"),
    ],
)  # fmt: skip
def test_what_a_call_says_of_an_entry(
    call: Call, alone: Call | None, found: list[Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_alone", lambda *_: alone)
    told = trial._judged(CLAUDE, ENTRY, "Stop", call, project=True)
    assert codes(told) == found
    assert [one.message for one in told] == [says] * len(found)
    if found and found[0][0] in ("HOOK_NOT_REACHED", "HOOK_ANSWER_LOST"):
        assert told[0].fix == "joelclaw install claude --project"
        assert trial._judged(CLAUDE, ENTRY, "Stop", call, project=False)[0].fix == "joelclaw install claude"


def entry(event: str, line: str) -> Entry:
    return Entry(Place(event, 0, 0), line, "/o/joelclaw")


def test_of_entries_that_differ_in_nothing_but_their_event_one_is_called() -> None:
    entries = [
        entry("SessionStart", "a"), entry("Stop", "b"), entry("SessionEnd", "b"), entry("PreCompact", "c"),
        entry("SessionStart", "d"), entry("PostToolUse", "c"),
    ]  # fmt: skip
    found = [(one.command, event) for one, event in trial._chosen(CLAUDE, entries)]
    assert found == [("a", "SessionStart"), ("b", "SessionEnd"), ("c", "PreCompact"), ("d", "SessionStart")]
    assert [(one.command, event) for one, event in trial._chosen(PI, entries)] == [("a", "session_start")]


def test_nothing_of_the_user_s_leads_out_of_the_home_of_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    ours = ("JOELCLAW_HOME", "JOELCLAW_STORE_URLS", "OTEL_EXPORTER", "SLOG_X", "PI_SESSION_ID", "TYPESENSE_URL")
    kept = {"PATH": "/bin", "JOELCLAW_NOW_MS": "1", "JOELCLAW_HOOK_DEADLINE_MS": "2", "PI_OTHER": "3"}
    for name, value in {**dict.fromkeys(ours, "x"), **kept}.items():
        monkeypatch.setenv(name, value)
    assert trial._environment("/t/home") == {**kept, "JOELCLAW_HOME": "/t/home"}


# -- what a memory leans on


@pytest.mark.parametrize(
    ("line", "found"),
    [(" ", []), ("sh -c x", []), ("'x", ["MODEL_COMMAND_GONE"]), ("/not/there --x", ["MODEL_COMMAND_GONE"])],
)
def test_a_model_s_command_is_looked_for_and_never_called(
    line: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.shutil, "which", lambda name: "/bin/sh" if name == "sh" else None)
    facts, told = services.model(Config({"model.command": line}))
    assert facts == {"used": bool(line.strip()), "command": line.strip() or None}
    assert [one.code for one in told] == found


@pytest.mark.parametrize(
    ("age", "answer", "found"),
    [
        (HOUR, "", []), (HOUR + 1, "", ["OUTBOX_WAITS"]), (None, "status 503", ["CLUSTER_UNREACHABLE"]),
        (HOUR + 1, "refused", ["CLUSTER_UNREACHABLE", "OUTBOX_WAITS"]),
    ],
)  # fmt: skip
def test_a_cluster_that_is_silent_or_for_which_documents_wait_for_an_hour(
    age: int | None, answer: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_silence", lambda _: answer)
    monkeypatch.setattr(services.connection, "nodes", lambda _: SimpleNamespace(urls=["http://a:1"]))
    monkeypatch.setattr(services.connection, "key", lambda _: "k")
    oldest = clock.iso(AT - age) if age is not None else ""
    facts, told = services.cluster(Config({}), {"documents": 1200, "events": 34, "oldest": oldest})
    assert facts["nodes"] == [{"url": "http://a:1", "answers": not answer}]
    assert [one.code for one in told] == found
    if "OUTBOX_WAITS" in found:
        assert told[-1].message == f"1,234 documents and events wait for the cluster, the oldest since {oldest}"


def test_where_no_cluster_is_in_use_none_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services.connection, "nodes", None)
    assert services.cluster(Config({}), None) == ({"used": False, "nodes": [], "waiting": None}, [])


@pytest.mark.parametrize(("status", "told"), [(200, ""), (499, ""), (500, "status 500")])
def test_a_node_that_answers_is_healthy_enough(status: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    transport = SimpleNamespace(request=lambda *_: (status, b""), close=lambda: closed.append(True))
    monkeypatch.setattr(services, "Transport", lambda *_: transport)
    assert (services._silence(SimpleNamespace()), closed) == (told, [True])  # type: ignore[arg-type]


def place(*, current: bool = True, waiting: int = 1, age: int | None = HOUR + 1, at: str = "http://c:1/v1/logs") -> Any:
    return {
        "endpoint": at, "current": current, "waiting": waiting,
        "lastExportAt": clock.iso(AT - age) if age is not None else None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("places", "why", "found"),
    [
        ([place()], "", ["EXPORT_BEHIND"]),
        ([place(age=HOUR)], "", []),
        ([place(age=None)], "", []),
        ([place(waiting=0)], "", []),
        ([place(current=False), place()], "", ["EXPORT_BEHIND"]),
        ([place(current=False)], "refused", []),
        ([place(age=0), place(age=0, at="http://c:1/v1/traces")], "refused", ["EXPORT_UNREACHABLE"]),
    ],
)
def test_a_collector_that_is_behind_for_an_hour_or_cannot_be_reached(
    places: list[Any], why: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(services, "_refusal", lambda address: asked.append(address) or why)
    monkeypatch.setattr(services.destination, "disabled", lambda: False)
    facts, told = services.exporter(Config({"otel.export": "auto"}), {"destinations": places})
    assert [one.code for one in told] == found
    assert asked == (["http://c:1"] if any(one["current"] for one in places) else [])
    assert facts == {"used": True, "mode": "auto", "destinations": places}
    monkeypatch.setattr(services.destination, "disabled", lambda: True)
    assert services.exporter(Config({"otel.export": "auto"}), {"destinations": places})[1] == []
    assert services.exporter(Config({"otel.export": "off"}), None)[0] == {
        "used": False,
        "mode": "off",
        "destinations": [],
    }


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [("https://c", ("c", 443)), ("http://c", ("c", 80)), ("http://c:4318", ("c", 4318)), ("https://c:1", ("c", 1))],
)
def test_a_collector_is_asked_at_its_port(endpoint: str, address: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def connect(where: Any, seconds: float) -> Any:
        asked.append(where)
        raise OSError(111, "Connection refused")

    monkeypatch.setattr(services.socket, "create_connection", connect)
    assert services._refusal(endpoint) == "Connection refused"
    assert asked == [address]
