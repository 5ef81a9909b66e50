"""`otel emit` and events from inside: what is stored, bounded or refused; no fault holds up the hook."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import JOELCLAW, NOW, NOW_MS, PATIENCE_S, Run, clean_environment
from faults import SLOWEST_S

from otel.log import MAX_METADATA_BYTES, new_event

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def rows(home: Path) -> list[dict[str, Any]]:
    db = apsw.Connection(str(home / "store.db"))
    names = ("id", "timestamp", "session_id", "system_id", "level", "source", "component", "action", "success", "error")
    cursor = db.execute(f"SELECT {', '.join(names)}, duration_ms, metadata FROM event ORDER BY seq")
    return [dict(zip((*names, "duration_ms", "metadata"), row, strict=True)) for row in cursor]


def test_defaults(run: Run, home: Path) -> None:
    result = run("otel", "emit", "a.b", env={**NOW, "JOELCLAW_SYSTEM_ID": "panda"}).result
    assert list(result) == ["endpoint", "status", "response", "event"]
    assert (result["endpoint"], result["status"]) == (f"file://{home}/store.db", 200)
    assert result["response"] == {"ok": True, "result": {"stored": True, "eventId": result["event"]["id"]}}
    (row,) = rows(home)
    assert row == {
        "id": result["event"]["id"], "timestamp": NOW_MS, "session_id": "interactive", "system_id": "panda",
        "level": "info", "source": "cli", "component": "otel-cli", "action": "a.b", "success": 1, "error": None,
        "duration_ms": None, "metadata": "{}",
    }  # fmt: skip


def test_every_flag(run: Run, home: Path) -> None:
    flags = {
        "--source": "gateway", "--component": "c", "--level": "error", "--success": "false", "--id": "e1",
        "--timestamp": "1700000000123", "--error": "it broke", "--duration-ms": "12.5", "--session": "s1",
        "--metadata": '{"percent": 41, "deep": {"a": [1, null, true]}}',
    }  # fmt: skip
    result = run("otel", "emit", "x.y", *[word for pair in flags.items() for word in pair]).result["event"]
    assert list(result) == [
        "id", "timestamp", "sessionId", "systemId", "level", "source", "component", "action", "success", "metadata",
        "duration_ms", "error",
    ]  # fmt: skip
    (row,) = rows(home)
    assert (row["id"], row["timestamp"], row["level"], row["success"]) == ("e1", 1700000000123, "error", 0)
    assert (row["error"], row["duration_ms"], row["session_id"]) == ("it broke", 12.5, "s1")
    assert json.loads(row["metadata"]) == {"percent": 41, "deep": {"a": [1, None, True]}}


@pytest.mark.parametrize(("env", "session"), [
    ({"SLOG_SESSION_ID": "a", "JOELCLAW_SESSION_ID": "b"}, "a"),
    ({"JOELCLAW_SESSION_ID": "b", "JOELCLAW_SESSION_HANDLE": "c"}, "b"),
    ({"SLOG_SESSION_ID": " ", "JOELCLAW_SESSION_HANDLE": "c", "PI_SESSION_HANDLE": "d"}, "c"),
    ({"PI_SESSION_HANDLE": "d", "JOELCLAW_ROLE": "system"}, "d"),
    ({"GATEWAY_ROLE": "central", "JOELCLAW_ROLE": "system"}, "gateway"),
    ({"GATEWAY_ROLE": "", "JOELCLAW_ROLE": "system"}, "system"),
    ({"GATEWAY_ROLE": ""}, "interactive"),
])  # fmt: skip
def test_session_from_the_environment(run: Run, env: dict[str, str], session: str) -> None:
    result = run("otel", "emit", "x", env=env).result["event"]
    assert result["sessionId"] == session
    host = os.uname().nodename.lower().removesuffix(".localdomain").removesuffix(".local")
    assert result["systemId"] == host


def test_stdin_holds_the_event(run: Run, home: Path) -> None:
    event = {
        "action": "s.t", "source": "hook", "component": "c", "level": "WARNING", "success": False, "error": "no",
        "metadata": {"n": 1}, "id": "i1", "timestamp": 1700000000000, "durationMs": 7, "sessionId": "s",
        "systemId": "m", "extra": 1,
    }  # fmt: skip
    result = run("otel", "emit", "--source", "flag", stdin=json.dumps(event)).result
    assert result["ignored"] == ["extra"]
    (row,) = rows(home)
    assert row == {
        "id": "i1", "timestamp": 1700000000000, "session_id": "s", "system_id": "m", "level": "warn", "source": "flag",
        "component": "c", "action": "s.t", "success": 0, "error": "no", "duration_ms": 7.0, "metadata": '{"n": 1}',
    }  # fmt: skip


@pytest.mark.parametrize(("words", "data", "code"), [
    (["x"], b"", 0), ([], b"", 2), ([], b'{"action": "x", "metadata": {"y": {}}}\n', 0),
])  # fmt: skip
def test_a_pipe_that_stays_open(home: Path, words: list[str], data: bytes, code: int) -> None:
    started, pipe = time.monotonic(), subprocess.PIPE
    emit = [JOELCLAW, "otel", "emit", *words]
    with subprocess.Popen(emit, stdin=pipe, stdout=pipe, env=clean_environment(home)) as process:
        process.stdin.write(data)
        process.stdin.flush()
        envelope = json.loads(process.stdout.read())
        assert process.wait(PATIENCE_S) == code
    assert envelope["ok"] is (code == 0)
    assert not data or envelope["result"]["event"]["metadata"] == {"y": {}}
    assert time.monotonic() - started < SLOWEST_S


@pytest.mark.parametrize(("words", "stdin", "code"), [
    ([], None, "OTEL_INVALID_ARGS"),
    ([], '{"level": "info"}', "OTEL_INVALID_ARGS"),
    ([], '{"action": "\\u0000"}', "OTEL_INVALID_ARGS"),
    ([], "{", "INVALID_JSON"),
    ([], "[1]", "OTEL_INVALID_ARGS"),
    ([], '{"action": "a", "metadata": [1]}', "OTEL_INVALID_ARGS"),
    ([], '{"action": "a", "level": "loud"}', "OTEL_INVALID_ARGS"),
    ([], '{"action": "a", "success": "perhaps"}', "OTEL_INVALID_ARGS"),
    ([], '{"action": "a", "timestamp": 1e400}', "OTEL_INVALID_ARGS"),
    ([], '{"action": {"a": 1}}', "OTEL_INVALID_ARGS"),
    ([], '{"action": "a", "systemId": {"a": 1}}', "OTEL_INVALID_ARGS"),
    ([], '{"action": "a", "metadata": {"a": "' + "x" * 262_144 + '"}}', "OTEL_INVALID_ARGS"),
    (["x", "--metadata", "{"], None, "INVALID_JSON"),
    (["x", "--metadata", '{"a": NaN}'], None, "INVALID_JSON"),
    (["x", "--metadata", "[]"], None, "OTEL_INVALID_ARGS"),
    (["x", "--duration-ms", "-1"], None, "OTEL_INVALID_ARGS"),
])  # fmt: skip
def test_wrong_usage_stores_nothing(run: Run, home: Path, words: list[str], stdin: str | None, code: str) -> None:
    data = stdin.encode("latin-1") if stdin is not None else None
    done = run("otel", "emit", *words, stdin=data, ok=False)
    assert done.code == 2
    assert done.json["error"]["code"] == code
    assert done.json["result"] is None and done.json["fix"] and done.json["error"]["message"]
    assert not (home / "store.db").exists()


def test_same_id_is_stored_once(run: Run, home: Path) -> None:
    assert run("otel", "emit", "x", "--id", "same").result["response"]["result"]["stored"] is True
    again = run("otel", "emit", "y", "--id", "same").result["response"]["result"]
    assert (again["stored"], again["dropReason"]) == (False, "duplicate-id")
    assert [row["action"] for row in rows(home)] == ["x"]


def test_an_id_that_looks_like_a_secret_still_identifies(run: Run) -> None:
    run("otel", "emit", "x", "--id", TOKEN, "--session", TOKEN)
    assert run("otel", "emit", "x", "--id", TOKEN).result["response"]["result"]["dropReason"] == "duplicate-id"
    assert run("otel", "list", "--session", TOKEN).result["found"] == 1


def test_large_metadata_is_cut_and_says_so(run: Run, home: Path) -> None:
    event = {"action": "a", "metadata": {"log": "word " * 40_000, "percent": 41}}
    metadata = run("otel", "emit", stdin=json.dumps(event)).result["event"]["metadata"]
    assert metadata["percent"] == 41
    assert metadata["log"].endswith("… [cut: 200011 bytes]")
    many = {"action": "a", "metadata": {f"key{n}": n for n in range(5_000)}}
    metadata = run("otel", "emit", stdin=json.dumps(many)).result["event"]["metadata"]
    assert metadata["_cut"].endswith("more entries")
    assert all(len(row["metadata"]) <= MAX_METADATA_BYTES for row in rows(home))


def event_with(**more: Any) -> dict[str, Any]:
    return dict(new_event(**{"action": "a.b", "now": NOW_MS, **more}))


def test_a_name_has_one_line_of_200_characters() -> None:
    for name, expected in (
        ("n" * 200, "n" * 200),
        ("n" * 201, "n" * 199 + "…"),
        (" a\n\tb\x00c ", "a b c"),
        ("a\x1bb", "a b"),
    ):
        assert [event_with(**{field: name})[field] for field in ("action", "source", "component")] == [expected] * 3


def test_a_value_as_json_has_it() -> None:
    values: dict[str, Any] = {
        "huge": 10**301, "nan": float("nan"), "bytes": b"by\xff", "keys": {1: 2, None: 3, "a": (4,)},
        "path": Path("p"), "surrogate": "\ud800", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip
    assert event_with(metadata=values)["metadata"] == {
        "huge": "1" + "0" * 301, "nan": "nan", "bytes": "by\ufffd", "keys": {"1": 2, "None": 3, "a": [4]},
        "path": "p", "surrogate": "\ufffd", "plain": [None, True, 1.5, "t"],
    }  # fmt: skip
