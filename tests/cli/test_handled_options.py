"""What commands make of their options, up to the bound; what lies beneath the commands is not run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW_MS

from cli.compaction import steps as compaction
from cli.idle import timers as idle
from cli.knowledge import vault_listing
from cli.memory import purge
from cli.memory import write as memory_write
from cli.otel import search as otel
from cli.parameter import session_around
from cli.recall import search as recall
from cli.session import checkpoint, lost
from cli.session_report import page_file
from cli.session_report import sessions as life
from cli.store import backup
from cli.switch import exclusion, switch
from core import clock, config
from core.errors import Failure
from core.repository import switches
from memory.vault.records import Record

TURN: dict[str, Any] = {"role": "", "messages": [], "files": [], "percent": None, "tokens": None, "window": None}
NO_FILTER: dict[str, Any] = {"session": "", "project": "", "before": "", "match": ""}
PURGE: dict[str, Any] = {**NO_FILTER, "purge": True, "undo": False, "ids": [], "dry_run": False, "yes": True}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home of its own that is not there, a time that stands still, and no session around."""
    monkeypatch.setenv("JOELCLAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    for name in ("JOELCLAW_SESSION_ID", "SLOG_SESSION_ID", "PI_SESSION_HANDLE"):
        monkeypatch.delenv(name, raising=False)


def refused(call: Any, *given: Any, **options: Any) -> str:
    with pytest.raises(Failure) as caught:
        call(*given, **options)
    return caught.value.message


@pytest.mark.parametrize(
    ("given", "turn"),
    [
        ({}, {}),
        ({"percent": 0}, {"percent": 0}),
        ({"percent": None, "contextPercent": 1000}, {"percent": 1000}),
        ({"percent": 45.5, "tokens": 7}, {"percent": 45.5, "tokens": 7}),
        ({"tokens": 0, "window": 1}, {"tokens": 0, "window": 1}),
        ({"tokens": 10**15, "window": 10**15}, {"tokens": 10**15, "window": 10**15}),
        ({"window": 7}, {"window": 7}),
        ({"tokens": 7.9, "window": 9.9}, {"tokens": 7, "window": 9}),
        ({"message": "a", "files": ["b", "c"], "role": "main"},
         {"messages": ["a"], "files": ["b", "c"], "role": "main"}),
        ({"message": None, "messages": [], "file": "f"}, {"files": ["f"]}),
    ],
)  # fmt: skip
def test_a_turn(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], turn: dict[str, Any]) -> None:
    monkeypatch.setattr(checkpoint.checkpoint, "turn_of", lambda **told: told)
    assert checkpoint._turn(given) == {**TURN, **turn}  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"percent": -0.1}, "percent is no number from 0 to 1000"),
        ({"contextPercent": 1000.1}, "contextPercent is no number from 0 to 1000"),
        ({"percent": True}, "percent is no number from 0 to 1000"),
        ({"percent": "45"}, "percent is no number from 0 to 1000"),
        ({"tokens": 10**15 + 1, "window": 1}, "tokens is no number from 0 to 1e+15"),
        ({"tokens": 7}, "tokens say nothing without the window"),
        ({"tokens": 7, "window": 0}, "the window is 0"),
        ({"percent": 45, "window": 0.9}, "the window is 0"),
        ({"role": 7}, "role is no text"),
        ({"messages": ["a", 7]}, "messages holds something that is no text"),
        ({"file": {"a": "b"}}, "file holds something that is no text"),
    ],
)
def test_what_is_no_turn(given: dict[str, Any], message: str) -> None:
    assert refused(checkpoint._turn, given) == message


def test_flags_go_before_what_stdin_gives() -> None:
    given = {"percent": 1, "contextPercent": 2, "tokens": 3, "window": 4, "messages": ["a"]}
    assert checkpoint._overlaid(given, {"percent": None, "message": [], "role": "main"}) == {**given, "role": "main"}
    left = {"window": 4, "messages": ["a"]}
    assert checkpoint._overlaid(given, {"percent": 0}) == {**left, "percent": 0}
    assert checkpoint._overlaid(given, {"tokens": 9}) == {**left, "tokens": 9}


def test_a_session_is_named_by_eight_characters_of_its_id_or_more(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ["abcdefgh-1", *(f"zyxwvuts-{n}" for n in range(12))]
    monkeypatch.setattr(checkpoint.state_file, "every", lambda: [{"sessionId": one} for one in known])
    monkeypatch.setattr(checkpoint.state_file, "peek", lambda name: {"id": name} if name in known else None)
    assert checkpoint.show({"id": "abcdefgh"}).result == {"id": "abcdefgh-1"}
    assert "abcdefg" in refused(checkpoint.show, {"id": "abcdefg"})
    assert refused(checkpoint.show, {"id": "zyxwvuts"}) == (
        "several sessions begin with zyxwvuts: " + ", ".join(known[1:11])
    )
    monkeypatch.setattr(checkpoint.state_file, "remove", lambda name: name in known)
    assert checkpoint.clear({"id": "abcdefgh-1"}).result == {"sessionId": "abcdefgh-1", "cleared": True}
    assert "abcdefgh" in refused(checkpoint.clear, {"id": "abcdefgh"})
    assert checkpoint.show({"id": "zyxwvuts-1"}).result == {"id": "zyxwvuts-1"}, "a whole id is no beginning"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"purge": False, "ids": ["m1"]}, "--yes and --dry-run goes with --purge"),
        ({"purge": False, "before": "2026-01-31", "match": "x"}, "--before goes with --purge"),
        ({"undo": True, "ids": ["m1"]}, "what is purged cannot be brought back"),
        ({}, "nothing says what is to go"),
        ({"ids": ["m1"], "match": "abc"}, "ids and filters do not go together"),
        ({"match": " ab "}, "--match is too short"),
        ({"before": "x" * 61}, f"--before is {'x' * 60!r}, which is no day"),
        ({"ids": ["m1"], "yes": False}, "--purge deletes for good, and nobody can be asked here"),
    ],
)
def test_what_is_not_purged(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str) -> None:
    monkeypatch.setattr(purge, "_on_terminal", lambda: False)
    assert refused(purge._checked, {**PURGE, **options}) == message


def test_what_is_purged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "_on_terminal", lambda: False)
    assert purge._checked({**PURGE, "match": "abc"}) is None
    assert purge._checked({**PURGE, "ids": ["m1"], "yes": False, "dry_run": True}) is None
    assert purge._checked({**PURGE, "before": "2026-09-21", "project": "p"}) == clock.parse_iso("2026-09-21")
    monkeypatch.setattr(purge, "_on_terminal", lambda: True)
    assert purge._checked({**PURGE, "ids": ["m1"], "yes": False}) is None, "a person is asked"
    given = {**PURGE, "ids": ["m1", "a b"], "project": "p q", "match": "abc"}
    assert purge._same(given) == "joelclaw memory forget --purge m1 'a b' --project 'p q' --match abc --yes"


@pytest.mark.parametrize(
    ("terminals", "words", "is_one"),
    [((0, 1), [], True), ((1,), [], False), ((0,), [], False), ((0, 2), [], False), ((0, 1), ["--json"], False)],
)
def test_who_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, terminals: tuple[int, ...], words: list[str], is_one: bool
) -> None:
    monkeypatch.setattr(purge.sys, "argv", ["joelclaw", *words])
    monkeypatch.setattr(purge.os, "isatty", lambda number: number in terminals)
    assert purge._on_terminal() is is_one
    monkeypatch.setattr(purge.os, "isatty", lambda _: (_ for _ in ()).throw(OSError()))
    assert purge._on_terminal() is False


def test_it_is_asked_said_or_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Purge:
        def __init__(self, *_: object, **given: Any) -> None:
            asked.append(given)

        def result(self, *, done: bool) -> dict[str, Any]:
            return {"done": done}

        def run(self) -> dict[str, Any]:
            return {"done": True, "cluster": said["cluster"]}

    monkeypatch.setattr("session.backup.purge.Purge", Purge)
    monkeypatch.setattr(purge, "_on_terminal", lambda: True)
    monkeypatch.setattr(purge, "_agreed", lambda _: said["agreed"])
    said: dict[str, Any] = {"cluster": None, "agreed": False}
    given = {**PURGE, "ids": ["m1"]}
    dry: Any = purge.run({**given, "dry_run": True})
    assert (dry.result, dry.next_actions[0]["command"]) == ({"done": False}, "joelclaw memory forget --purge m1 --yes")
    assert purge.run({**given, "yes": False}).result == {"done": False, "declined": True}
    stats = "joelclaw memory stats"
    for agreed, yes, cluster, offered in (
        (True, False, None, [stats]), (False, True, None, [stats]),
        (False, True, {"pending": 0}, ["joelclaw store sync", stats]),
    ):  # fmt: skip
        said.update(agreed=agreed, cluster=cluster)
        done: Any = purge.run({**given, "yes": yes})
        assert done.result["done"] is True
        assert [one["command"] for one in done.next_actions] == offered
    assert asked[0] == {"session": "", "project": "", "before": None, "match": ""}


@pytest.mark.parametrize(
    ("answer", "agreed"),
    [("y\n", True), ("YES\n", True), (" y \n", True), ("n\n", False), ("\n", False), ("", False), ("yess\n", False)],
)
def test_only_a_yes_deletes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, agreed: bool
) -> None:
    monkeypatch.setattr(purge, "_rows", lambda *_: None)
    monkeypatch.setattr(purge.sys, "stdin", SimpleNamespace(readline=lambda: answer))
    assert purge._agreed({}) is agreed
    assert capsys.readouterr().out == "delete it for good? [y/N] " + "\n" * (not answer)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"session": " s-1 "}, ("session", "s-1", "flag")),
        ({"everywhere": True}, ("everywhere", "", "flag")),
        ({"project": True}, ("project", "acme", "flag")),
        ({}, ("project", "acme", "folder")),
    ],
)
def test_what_is_switched(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], meant: tuple[str, str, str]) -> None:
    monkeypatch.setattr(switch.project, "name_of", lambda _: "acme")
    assert switch._meant({"session": None, "project": False, "everywhere": False, **given}) == meant
    monkeypatch.setenv("JOELCLAW_SESSION_ID", "s-9")
    around = ("session", "s-9", "session") if not given else meant
    assert switch._meant({"session": None, "project": False, "everywhere": False, **given}) == around


def test_what_cannot_be_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = {"session": None, "project": False, "everywhere": False}
    both = "--session, --project and --everywhere exclude each other"
    for two in ({"session": "s", "project": True}, {"session": "", "everywhere": True},
                {"project": True, "everywhere": True}):  # fmt: skip
        assert refused(switch._meant, {**nothing, **two}) == both
    assert refused(switch._meant, {**nothing, "session": " "}) == "--session names no session"
    monkeypatch.setattr(switch.project, "name_of", lambda _: "")
    assert refused(switch._meant, nothing).startswith("no session is around the command")


def test_on_tells_the_first_five_that_are_still_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(6):
        switches.turn_off("session", f"s {n}")
    switches.turn_off("everywhere", "")
    answer = switch.on({"session": None, "project": False, "everywhere": True})
    result: Any = answer.result
    assert (result["changed"], result["off"], len(result["stillOff"])) == (True, False, 6)
    commands = [action["command"] for action in answer.next_actions]
    assert commands == [f"joelclaw on --session 's {n}'" for n in range(5)]


def test_an_excluded_folder_offers_to_forget_its_first_twenty_sessions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(exclusion, "_archived", lambda *_: [f"s{n}" for n in range(21)])
    given = {"folder": str(tmp_path), "list": False, "remove": None}
    answer = exclusion.run(given)
    commands = [action["command"] for action in answer.next_actions]
    assert commands[:20] == [f"joelclaw memory forget --session s{n}" for n in range(20)]
    assert commands[20:] == [f"joelclaw exclude --remove {exclusion.quoted(str(tmp_path))}"]
    assert exclusion.run({**given, "folder": None, "list": True}).result == {"excluded": [str(tmp_path)]}
    one = "FOLDER, --list and --remove exclude each other"
    for two in ({"list": True}, {"remove": "x"}, {"folder": None, "list": True, "remove": "x"}):
        assert refused(exclusion.run, {**given, **two}) == one
    back: Any = exclusion.run({"folder": None, "list": False, "remove": f"{tmp_path}/"}).result
    assert back == {"path": str(tmp_path), "excluded": False, "changed": True, "archivedBefore": []}


@pytest.mark.parametrize(("hours", "since"), [(None, 0), (0.5, NOW_MS - 1_800_000), (24.0, NOW_MS - 86_400_000)])
def test_how_far_back_a_list_of_sessions_goes(monkeypatch: pytest.MonkeyPatch, hours: float | None, since: int) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(life.listing, "sessions", lambda *_, **told: asked.update(told) or ([], 0))
    options = {"client": None, "hours": hours, "limit": 7, "project": None}
    assert life.list_(options).result == {"count": 0, "sessions": []}
    assert asked == {"limit": 7, "project": "", "client": "", "since": since}
    assert refused(life.list_, {**options, "client": "c" * 41}) == f"there is no client {'c' * 40!r}"


def test_a_page_replaces_a_page_or_an_empty_file_alone(tmp_path: Path) -> None:
    where = tmp_path / "page.html"
    for before in (b"", b"x" * (1024 - len(page_file.POLICY)) + page_file.POLICY.encode()):
        where.write_bytes(before)
        answer: Any = page_file.write("täxt", str(where), "name")
        assert answer.result == {"file": str(where), "bytes": 5}
        assert where.read_text() == "täxt"
    for other in (b"mine", b"x" * (1025 - len(page_file.POLICY)) + page_file.POLICY.encode()):
        where.write_bytes(other)
        assert refused(page_file.write, "x", str(where), "name") == f"{where} is there, and no page of ours"
        assert where.read_bytes() == other
    assert refused(page_file.write, "x", str(tmp_path), "name") == f"{tmp_path} is no ordinary file"
    (tmp_path / "link").symlink_to(where)
    assert refused(page_file.write, "x", str(tmp_path / "link"), "n") == f"{tmp_path}/link is no ordinary file"
    ours = tmp_path / "home" / "page.html"
    assert refused(page_file.write, "x", str(ours), "name") == f"{ours} is among our own files"


RECORDS = [Record(f"{n:04}", f"{n}.md", f"/v/{n}.md", f"T{n}", ("accepted", None)[n % 2], None, "") for n in range(203)]


@pytest.mark.parametrize(
    ("given", "limit", "count", "filtered"),
    [(None, 200, 200, 203), (201, 201, 201, 203), (1, 1, 1, 203), (203, 203, 203, 203)],
)
def test_so_many_records_are_listed(given: int | None, limit: int, count: int, filtered: int) -> None:
    answer = vault_listing._listed(RECORDS, {"status": None, "limit": given})
    result: Any = answer.result
    assert (result["limit"], len(result["items"]), result["filtered"], result["total"]) == (limit, count, filtered, 203)
    assert answer.next_actions[0]["command"] == "joelclaw vault read ADR-0000"
    of_status: Any = vault_listing._listed(RECORDS, {"status": " Accepted ", "limit": None}).result
    assert (of_status["filtered"], of_status["status_filter"]) == (102, "accepted")
    none = vault_listing._listed(RECORDS, {"status": "rejected", "limit": None})
    assert none.next_actions == []
    wrong = {"status": "s" * 81, "limit": None}
    assert refused(vault_listing._listed, RECORDS, wrong) == f"there is no status {'s' * 80!r}"


def test_at_most_fifty_records_are_located(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_listing.records, "locate", lambda _all, _query, most: [{"number": "7"}] * most)
    for given, most in ((49, 49), (50, 50), (51, 50)):
        result: Any = vault_listing._located([], "q", given).result
        assert (result["limit"], result["total_matches"]) == (most, most)
    monkeypatch.setattr(vault_listing.records, "locate", lambda *_: [])
    assert refused(vault_listing._located, [], "q" * 201, 1) == f"no decision record is called {'q' * 200!r}"


@pytest.mark.parametrize(
    ("verb", "query", "message"),
    [
        ("locate", None, "what to locate is not given"),
        ("locate", " ", "what to locate is not given"),
        ("list", "x", "`vault adr list` takes no further word"),
        (None, "x", "`vault adr ` takes no further word"),
    ],
)
def test_what_a_vault_is_not_asked(verb: str | None, query: str | None, message: str) -> None:
    assert refused(vault_listing.adr, {"verb": verb, "query": query}) == message


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"tokens": 7, "window": 9}, {"percent": None, "tokens": 7, "window": 9}),
        ({"percent": 45.0, "tokens": 7}, {"percent": 45.0, "tokens": None, "window": None}),
        ({"percent": 0.0}, {"percent": 0.0, "tokens": None, "window": None}),
        ({}, {"percent": None, "tokens": None, "window": None}),
    ],
)
def test_what_a_timer_is_set_by(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], asked: dict[str, Any]) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(idle.timers, "schedule", lambda *_, **options: told.update(options) or {"scheduled": False})
    options = {"percent": None, "tokens": None, "window": None, "minutes": None, "agent": None, "cwd": None}
    assert idle.schedule({**options, "session": "s", **given}).next_actions == []
    assert told == {**asked, "minutes": 0, "agent": told["agent"], "cwd": ""}
    for half in ({"tokens": 7}, {"window": 7}):
        assert refused(idle.schedule, {**options, "session": "s", **half}) == "tokens and window go together"
    both = {"once": True, "until_empty": True}
    assert refused(idle.run, both) == "--once and --until-empty say different things"


@pytest.mark.parametrize(
    ("days", "shown", "before"),
    [(1.0, 1, NOW_MS - 86_400_000), (0.5, 0.5, NOW_MS - 43_200_000), (0.0, 0, NOW_MS), (99_999.0, 99_999, 0)],
)
def test_events_older_than_so_many_days_are_dropped(days: float, shown: float, before: int) -> None:
    result: Any = otel.prune({"days": days}).result
    assert result == {"deleted": 0, "kept": 0, "before": clock.iso(before), "days": shown}
    assert isinstance(result["days"], int) is (shown == int(shown))


def test_without_days_the_setting_counts_and_zero_there_keeps_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting, before in ((30.0, NOW_MS - 30 * 86_400_000), (0.0, 0)):
        monkeypatch.setattr(config.Config, "number", lambda *_, value=setting: value)
        result: Any = otel.prune({"days": None}).result
        assert (result["before"], result["days"]) == (clock.iso(before), setting)


def test_what_events_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(otel.finding, "query", lambda text, **given: asked.append((text, given)))
    names = ("level", "source", "component", "session", "system")
    otel._query({**{name: name for name in names}, "query": "q", "success": False, "hours": 3.0}, 7)
    otel._query({"source": None, "component": None, "hours": 3.0})
    nothing = {**dict.fromkeys(names, ""), "success": None, "hours": 3.0, "now": NOW_MS}
    assert asked == [("q", {**{name: name for name in names}, "success": False, "hours": 3.0, "now": 7}), ("", nothing)]


@pytest.mark.parametrize("into", ["", "/there", "~/there"])
def test_where_a_backup_is_restored_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, into: str) -> None:
    monkeypatch.setenv("HOME", "/u")
    asked: list[Any] = []
    done = {"restored": False}
    monkeypatch.setattr("session.backup.restore.restore", lambda *given, **more: asked.append((given, more)) or done)
    answer = backup.restore({"file": "f", "into": into, "force": False, "verify_only": True})
    assert answer.result == done
    where = {"": str(tmp_path / "home"), "/there": "/there", "~/there": "/u/there"}[into]
    assert asked == [(("f", where), {"force": False, "verify_only": True})]


def test_the_local_file_alone_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel, "_query", lambda _: "asked")
    monkeypatch.setattr(otel.log, "store_waiting", lambda: None)
    monkeypatch.setattr("cli.otel.follow.run", lambda asked, limit: (asked, limit))
    monkeypatch.setattr(otel, "_page", lambda *given: given)
    options = {"follow": True, "limit": 7, "query": None}
    for backend in (None, "sqlite"):
        assert otel.search({**options, "backend": backend}) == ("asked", 7)  # type: ignore[comparison-overlap]
    assert refused(otel.search, {**options, "backend": "typesense"}) == "--follow reads the local file"
    page = {**options, "follow": False, "backend": "typesense"}
    assert otel.search(page) == ("search", "asked", page, "")  # type: ignore[comparison-overlap]
    assert otel.list(page) == ("list", "asked", page, None)  # type: ignore[comparison-overlap]


def test_names_of_collections() -> None:
    assert recall.collections("", "C") == ()
    assert recall.collections(" episodes ,, knowledge,", "C") == ("episodes", "knowledge")
    assert recall.collections("calls", "C", also=("calls",)) == ("calls",)
    assert refused(recall.collections, "episodes,calls", "C") == "there is no collection 'calls'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"everywhere": True, "project": "p"}, "--project and --everywhere exclude each other"),
        ({"explain": True, "raw": True}, "--explain says more than --raw prints"),
        ({"explain": True, "verbatim": True}, "--explain says more than --raw prints"),
        ({"query": "q", "batch": "-"}, "a query and --batch exclude each other"),
        ({}, "there is no query"),
    ],
)
def test_what_is_not_recalled(options: dict[str, Any], message: str) -> None:
    names = ("everywhere", "explain", "raw", "verbatim")
    base = {**dict.fromkeys(names, False), "collection": None, "project": None, "batch": None, "query": None}
    assert refused(recall.run, {**base, **options}) == message


@pytest.mark.parametrize(
    ("given", "preferred", "near"),
    [
        ({}, "of /here", "name of /here"),
        ({"project": "p"}, None, "name of /here"),
        ({"session": "s"}, None, "name of /here"),
        ({"everywhere": True}, "of ", "name of "),
    ],
)
def test_what_a_recall_is_asked(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], preferred: str | None, near: str
) -> None:
    monkeypatch.setattr(recall, "_here", lambda: "/here")
    monkeypatch.setattr(recall.project, "name_of", lambda folder: f"name of {folder}")
    recalls: Any = SimpleNamespace(session_meant=lambda name: name, preferred=lambda folder: f"of {folder}")
    names = ("limit", "min_score", "budget", "include_hold", "include_discard", "explain")
    options = {**{name: name for name in names}, "tag": ["t"], "category": None, "project": None, "session": None}
    asked = recall._asked({**options, "everywhere": False, **given}, ("episodes",), recalls)
    assert asked == {
        **{name: name for name in names}, "tags": ["t"], "category": "", "project": given.get("project", ""),
        "session": given.get("session", ""), "collections": ("episodes",), "by_name": True, "near": near, "own": "",
        **({"prefer": preferred} if preferred else {}),
    }  # fmt: skip


def test_the_queries_of_a_batch(tmp_path: Path) -> None:
    file = tmp_path / "queries"
    file.write_bytes(b"one\r\n\n  \n two \nthr\xffee")
    assert list(recall._lines(str(file))) == ["one", " two ", "thr\ufffdee"]
    for where, told in ((str(tmp_path / "gone"), "No such file or directory"), ("/dev/zero", "/dev/zero is a device")):
        with pytest.raises(Failure) as caught:
            next(recall._lines(where))
        assert caught.value.message.endswith(told)


@pytest.mark.parametrize(("where", "hidden"), [("-", False), ("file", True)])
def test_a_batch_ends_where_nobody_reads_on(monkeypatch: pytest.MonkeyPatch, where: str, hidden: bool) -> None:
    printed: list[Any] = []
    saved: list[bool] = []
    recalls = SimpleNamespace(
        ask=lambda query, **_: {"query": query, "rewrittenQuery": query, "hits": []}, save=lambda: saved.append(True)
    )
    monkeypatch.setattr("session.recorded_recall.RecordedRecall", lambda _: recalls)
    monkeypatch.setattr(recall, "_asked", lambda *_: {})
    monkeypatch.setattr(recall, "_lines", lambda _: iter(["a", "b", "c"]))
    monkeypatch.setattr(
        recall, "write_json", lambda text: printed.append(json.loads(text)["result"]) or len(printed) < 2
    )
    assert recall._batch({"batch": where}, ()) == 0
    told = [{"query": "", "rewrittenQuery": "", "hits": [], "number": n} for n in (1, 2)]
    plain = [{"query": query, "rewrittenQuery": query, "hits": []} for query in "ab"]
    assert printed == (told if hidden else plain)
    assert saved == [True]


def test_a_memory_for_all_has_no_project() -> None:
    both = {"for_all": True, "project": "p"}
    assert refused(memory_write.run, both) == "--project and --global exclude each other"


@pytest.mark.parametrize(("size", "read"), [(65_539, 65_539), (65_540, 65_540), (70_000, 65_541)])
def test_of_stdin_no_more_is_read_than_tells_that_it_is_too_long(
    monkeypatch: pytest.MonkeyPatch, size: int, read: int
) -> None:
    left = bytearray(b"x" * size)

    def some(_descriptor: int, _most: int) -> bytes:
        part = bytes(left[: 65_537 if len(left) == size else 1])
        del left[: len(part)]
        return part

    monkeypatch.setattr(memory_write.os, "read", some)
    assert len(memory_write.read_stdin(1)) == read


def test_a_branch_needs_its_target() -> None:
    assert refused(compaction.branch, {"to": None}) == "--to is missing"


def test_the_session_that_lost_is_asked_of(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lost._given(None) == lost._given(" ") == ""
    assert lost._given(" s-1 ") == "s-1"
    monkeypatch.setenv("PI_SESSION_HANDLE", " s-2 ")
    assert lost._given(" ") == "s-2"
    assert session_around() == "s-2"
    monkeypatch.setenv("SLOG_SESSION_ID", "s-1")
    monkeypatch.setenv("JOELCLAW_SESSION_ID", " ")
    assert session_around() == "s-1", "the first that is set"
    monkeypatch.setattr(os, "getcwd", lambda: (_ for _ in ()).throw(FileNotFoundError()))
    assert lost._here() == recall._here() == switch._project_here() == ""
