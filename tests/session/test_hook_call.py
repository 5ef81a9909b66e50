"""What one hook call says of itself, what it keeps where it is late or cannot store, and how full the context is."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS

from clients import payload
from core import config
from core.errors import Failure
from otel import spool
from session.context import Context
from session.hook import pipeline
from session.hook.call import Call, _payload


@pytest.fixture(autouse=True)
def of_this_test(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    for name in ("JOELCLAW_ROLE", "JOELCLAW_HOOK_DEADLINE_MS"):
        monkeypatch.delenv(name, raising=False)


def call(agent: str = "pi", name: str = "prompt", **given: object) -> Call:
    made = Call(agent, name, time.perf_counter())
    if given:
        made.answer(json.dumps(given).encode())
    return made


def late(made: Call) -> tuple[str, list[Any]]:
    """What a call prints whose time is over, and the events that it keeps."""
    reading, writing = os.pipe()
    kept = os.dup(1)
    os.dup2(writing, 1)
    os.close(writing)
    try:
        made._late()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    printed = os.read(reading, 1000).decode()
    os.close(reading)
    return printed, spool.take()[0]


def test_a_late_call_prints_the_empty_answer_of_its_client() -> None:
    assert late(call("pi"))[0] == '{"messages": []}\n'
    assert late(call("claude"))[0] == ""


def test_a_late_call_keeps_an_event() -> None:
    [event] = late(call("pi", "n" * 81))[1]
    assert (event["action"], event["level"], event["success"]) == ("hook.timeout", "error", False)
    assert event["error"] == "no answer within 2 s"
    assert (event["source"], event["component"]) == ("interactive", "hook")
    assert event["metadata"]["agent"] == "pi" and event["metadata"]["event"] == "n" * 80
    assert event["timestamp"] == NOW_MS and event["duration_ms"] >= 0


def test_what_a_late_call_may_not_lose_comes_before_its_event() -> None:
    made = call("pi", "prompt", session_id="s", prompt="hello")
    done: list[int] = []
    assert made._context is not None
    made._context.on_deadline = lambda: done.append(1)
    last = late(made)[1][-1]
    assert done == [1] and (last["action"], last["sessionId"]) == ("hook.timeout", "s")
    assert last["metadata"]["event"] == "prompt"

    def fail() -> None:
        raise OSError("the disk is full")

    made._context.on_deadline = fail
    events = late(made)[1]
    assert [event["action"] for event in events][-2:] == ["hook.failed", "hook.timeout"]
    assert events[-2]["error"] == "OSError: the disk is full"


def test_a_fault_is_kept_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_ROLE", "worker")
    call("a" * 41).failed(Failure("CODE", "it is bad", "fix it"))
    [event] = spool.take()[0]
    assert (event["action"], event["error"], event["source"]) == ("hook.failed", "CODE: it is bad", "worker")
    assert event["metadata"]["agent"] == "a" * 40


def test_what_a_call_that_went_well_says_of_itself() -> None:
    made = call("pi", "prompt", session_id="s", prompt="hello")
    text: Any = {"customType": "refresh", "content": "12345"}
    made._texts = [text, text]
    event = made._completed()
    assert (event["action"], event["level"], event["success"]) == ("hook.completed", "debug", True)
    about = event["metadata"]
    assert (about["injected"], about["contentChars"]) == (["refresh"] * 2, 10)
    assert made._context is not None
    made._context.faults += [
        {"step": "recall", "code": "A", "message": "first"}, {"step": "write", "code": "B", "message": "second"},
    ]  # fmt: skip
    event = made._completed()
    assert (event["action"], event["level"], event.get("error")) == ("hook.degraded", "warn", "A: first")
    assert event["metadata"]["step"] == "recall"


@pytest.mark.parametrize(("agent", "given"), [("pi", {"session_id": " "}), ("pi", {"prompt": "x"})])
def test_a_call_without_a_session_does_nothing(agent: str, given: dict[str, object], home: Path) -> None:
    made = call(agent, "prompt", **given)
    assert made._context is None and not home.exists()


def test_an_ignored_event_does_nothing(home: Path) -> None:
    assert call("pi", "something", session_id="s")._context is None and not home.exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "stdin is not JSON"),
        (b"[1]", "JSON, but no object"),
        (b"7", "stdin holds JSON, but no object"),
    ],
)
def test_a_payload_that_is_no_object(data: bytes, message: str) -> None:
    with pytest.raises(Failure, match=message) as raised:
        _payload(data)
    assert raised.value.code == "INVALID_JSON"
    assert _payload(b"\xef\xbb\xbf{}") == {}


def test_an_unknown_agent_is_told_the_known_ones() -> None:
    with pytest.raises(Failure) as raised:
        call("n" * 41, session_id="s")
    assert raised.value.code == "HOOK_UNKNOWN_AGENT" and f"'{'n' * 40}'" in raised.value.message
    assert raised.value.fix == "give one of pi, claude, codex, gemini, opencode"


def context(agent: str = "pi") -> Context:
    return Context("s", config.Config({}), agent=agent)


@pytest.mark.parametrize(
    ("tokens", "window", "percent", "shown"),
    [
        (50, 200, None, 25.0), (1, 3, None, 33.33), (50, None, None, None), (50, 0, None, None),
        (None, 200, None, None),
        (50, 200, 80.0, 80.0), (0, 200, None, 0.0), (None, None, 7.0, 7.0),
    ],
)  # fmt: skip
def test_how_full_the_context_is_as_the_client_tells(
    tokens: int | None, window: int | None, percent: float | None, shown: float | None
) -> None:
    event: Any = {**payload.event({}, "prompt", "prompt"), "tokens": tokens, "window": window, "percent": percent}
    assert pipeline._usage(event, context()) == {
        "tokens": tokens, "window": window, "percent": shown, "source": "usage",
    }  # fmt: skip
    event["transcript"] = "/no/such/file"
    assert pipeline._usage(event, context())["source"] == "usage", "our extension tells it, or nobody does"
    told = pipeline._usage(event, context("claude"))
    assert (told["source"] == "usage") is (shown is not None)


@pytest.mark.parametrize(
    ("before", "tokens", "source", "shrunk"),
    [
        (1000, 1, "usage", True), (1000, 0, "usage", False), (1000, None, "usage", False), (None, 1, "usage", False),
        (1000, 1, "estimate", False), (1000, 999, "usage", False),
    ],
)  # fmt: skip
def test_whether_the_context_has_shrunk(before: int | None, tokens: int | None, source: str, shrunk: bool) -> None:
    state: Any = {"contextTokens": before}
    usage: Any = {"tokens": tokens, "source": source}
    assert pipeline._has_shrunk(state, usage) is shrunk
    if shrunk:
        at = int(pipeline.SHRUNK * 1000)
        for count in (at - 1, at):
            usage["tokens"] = count
            assert pipeline._has_shrunk(state, usage) is (count < at)


def test_a_full_spool_takes_no_more(home: Path) -> None:
    event: Any = {"id": "e1"}
    assert not spool.waiting() and spool.take() == ([], [])
    file = home / "spool" / "events.jsonl"
    assert spool.keep([event, event]) and spool.waiting()
    line = '{"id": "e1"}\n'
    assert file.read_text() == line * 2 and file.stat().st_mode & 0o777 == 0o600
    for size, taken in ((262_144, True), (262_145, False)):
        file.write_bytes(b"x" * size)
        assert spool.keep([event]) is taken
    bad: Any = {"id": object()}
    file.unlink()
    assert not spool.keep([bad])
