"""`report`: what hooks cost, what was handed out and used, what went wrong, over all sessions of the last hours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from claude_transcript import SESSION
from conftest import NOW_MS, Run
from lived_session import live

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}


def hook(run: Run, client: str, event: str, ms: float, action: str = "completed", **more: Any) -> None:
    told = {
        "action": f"hook.{action}", "component": "hook", "sessionId": SESSION, "level": "debug", "duration_ms": ms,
        "metadata": {"agent": client, "event": event}, **more,
    }  # fmt: skip
    run("otel", "emit", "--stdin", stdin=json.dumps(told), env={"JOELCLAW_NOW_MS": str(NOW_MS - 60_000)})


def test_without_anything_it_says_not_enough_instead_of_zero(run: Run) -> None:
    report = run("report", env=NOW).result
    assert (report["hours"], report["computedAt"]) == (24, "2026-09-21T14:13:20.000Z")
    assert report["hooks"]["count"] == report["injections"]["count"] == report["errors"]["total"] == 0
    assert report["hooks"]["p50"] is None
    assert report["hooks"]["answeredRate"] is report["recalls"]["hitRate"] is report["feedback"]["echoRate"] is None


def test_hooks_have_percentiles_by_client_and_event(run: Run) -> None:
    for ms in range(1, 21):
        hook(run, "claude", "PostToolUse", ms)
    hook(run, "pi", "prompt", 2000, "timeout", error="no answer within 2 s")
    hook(run, "pi", "prompt", 8, "degraded")
    report = run("report", env=NOW).result["hooks"]
    first, second = report["byEvent"]
    assert (first["client"], first["event"], first["count"]) == ("claude", "PostToolUse", 20)
    assert (first["p50"], first["p95"], first["max"], first["totalMs"]) == (10, 19, 20, 210)
    assert (second["client"], second["event"]) == ("pi", "prompt")
    assert (second["count"], second["late"], second["degraded"], second["failed"]) == (2, 1, 1, 0)
    assert (report["count"], report["late"], report["answeredRate"]) == (22, 1, round(21 / 22, 4))


def test_hits_and_echoes_are_rates_from_five_on(run: Run) -> None:
    run("memory", "write", "The zebra cache is cleared every night", env=NOW)
    for query in ["zebra cache"] * 4:
        run("recall", query, env=NOW)
    found = run("report", env=NOW).result["recalls"]
    assert (found["count"], found["withHits"], found["hitRate"]) == (4, 4, None)
    run("recall", "nothing of that kind whatever", "--min-score", "0.99", env=NOW)
    found = run("report", env=NOW).result["recalls"]
    assert (found["count"], found["withHits"], found["hitRate"]) == (5, 4, 0.8)
    for action in ("echo", "echo", "fizzle", "fizzle", "fizzle"):
        run("otel", "emit", f"memory.{action}", "--component", "memory-feedback", env=NOW)
    feedback = run("report", env=NOW).result["feedback"]
    assert feedback == {"judged": 5, "echo": 2, "fizzle": 3, "echoRate": 0.4}


def test_a_lived_session_is_in_it(run: Run, tmp_path: Path) -> None:
    lived = live(run, tmp_path)
    report = run("report", env=lived.env()).result
    assert (report["sessions"], report["compactions"], report["hooks"]["count"]) == (1, 1, 13)
    kinds = {one["customType"]: one for one in report["injections"]["byType"]}
    assert set(kinds) == {"memory-recall", "compaction-recovery"}
    assert kinds["memory-recall"]["memories"] == 1
    assert report["feedback"]["echo"] == 1


def test_errors_that_are_alike_stand_together(run: Run) -> None:
    for minute in range(3):
        now = {"JOELCLAW_NOW_MS": str(NOW_MS - minute * 60_000)}
        run("otel", "emit", "disk.full", "--level", "error", "--error", "no space left", env=now)
    answer = run("report", env=NOW).json
    errors = answer["result"]["errors"]
    (one,) = errors["latest"]
    assert (errors["total"], one["count"], one["action"], one["error"]) == (3, 3, "disk.full", "no space left")
    assert one["at"] == "2026-09-21T14:13:20.000Z"
    assert any("otel list --level error" in action["command"] for action in answer["next_actions"])
