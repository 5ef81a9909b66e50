"""Hook runs and recalls as spans: one trace per agent session, ids that are the same at each export."""

from __future__ import annotations

import json

import pytest
from conftest import NOW_MS, Run
from otlp_receiver import Receiver, attributes

SESSION = "0198c5f0-1111-7222-8333-444455556666"


def emit(run: Run, action: str, *more: str, session: str = SESSION, at: int = NOW_MS, took: float = 40) -> str:
    words = ("--session", session, "--timestamp", str(at), "--duration-ms", str(took), *more)
    made: str = run("otel", "emit", action, *words).result["event"]["id"]
    return made


def test_a_hook_run_is_a_span_that_ends_when_its_event_was_made(run: Run, receiver: Receiver) -> None:
    about = {"agent": "claude", "event": "PreCompact", "injected": ["a", "b"], "deep": {"x": 1}, "none": None}
    made = emit(run, "hook.completed", "--metadata", json.dumps(about), took=42.5)
    run("otel", "export", env=receiver.env)
    (span,) = receiver.spans()
    assert span.name == "hook PreCompact"
    assert span.end_time_unix_nano == NOW_MS * 1_000_000
    assert span.end_time_unix_nano - span.start_time_unix_nano == 42_500_000
    assert span.status.code == 0
    said = attributes(span.attributes)
    assert said["log.record.uid"] == made
    assert said["gen_ai.agent.name"] == "claude"
    assert said["session.id"] == SESSION
    assert said["joelclaw.metadata.injected"] == ["a", "b"]
    assert said["joelclaw.metadata.deep"] == '{"x": 1}'
    assert "joelclaw.metadata.none" not in said


@pytest.mark.parametrize("action", ["hook.degraded", "hook.failed", "hook.timeout", "memory.recall.failed"])
def test_a_failure_is_a_span_with_an_error(run: Run, receiver: Receiver, action: str) -> None:
    emit(run, action, "--success", "false", "--level", "error", "--error", "STORE_BUSY: another process writes")
    run("otel", "export", env=receiver.env)
    (span,) = receiver.spans()
    assert (span.status.code, span.status.message) == (2, "STORE_BUSY: another process writes")
    assert attributes(span.attributes)["error.type"] == "STORE_BUSY"


def test_a_session_is_one_trace_and_its_log_records_are_in_it(run: Run, receiver: Receiver) -> None:
    emit(run, "hook.completed")
    emit(run, "memory.recall.completed")
    emit(run, "compaction.before")
    emit(run, "hook.completed", session="thread 7")
    run("otel", "export", env=receiver.env)
    spans = receiver.spans()
    assert [span.trace_id for span in spans[:2]] == [bytes.fromhex(SESSION.replace("-", ""))] * 2
    assert len({span.trace_id for span in spans}) == 2
    assert len({span.span_id for span in spans}) == 3
    assert not any(span.parent_span_id for span in spans)
    records = [record for _, record in receiver.records()]
    assert [record.trace_id for record in records[:3]] == [spans[0].trace_id] * 3
    assert [record.span_id for record in records] == [spans[0].span_id, spans[1].span_id, b"", spans[2].span_id]


def test_an_export_done_twice_is_the_same_data(run: Run, receiver: Receiver) -> None:
    emit(run, "hook.completed", "--metadata", '{"agent": "pi", "event": "turn_end"}')
    emit(run, "memory.recall.completed", session="odd ⚙ session")
    other = Receiver().start()
    try:
        for one in (receiver, other):
            run("otel", "export", env=one.env)
        assert receiver.spans() == other.spans()
        assert [record for _, record in receiver.records()] == [record for _, record in other.records()]
    finally:
        other.stop()
