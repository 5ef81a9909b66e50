"""OpenCode keeps our texts no longer than its process: a compacted session that another one takes up is told again."""

from __future__ import annotations

import json
from typing import Any

from conftest import NOW_MS, Run

TASK = "sort the tide tables of the harbour by station"


def hook(run: Run, name: str, minute: int, **more: Any) -> list[Any]:
    given = json.dumps({"session_id": "o", "hook_event_name": name, "cwd": "/srv/tides", **more})
    env = {"JOELCLAW_NOW_MS": str(NOW_MS + minute * 60_000)}
    messages: list[Any] = run("hook", "opencode", name, stdin=given, env=env).json["messages"]
    return messages


def test_the_signpost_is_given_again_and_no_compaction_is_counted(run: Run) -> None:
    hook(run, "prompt", 0, prompt=TASK)
    hook(run, "before_compaction", 1)
    (first,) = hook(run, "after_compaction", 2)
    (again,) = hook(run, "session_start", 30, source="compact")
    assert again["customType"] == "compaction-recovery"
    assert again["content"] == first["content"]
    state = run("checkpoint", "show", "o").result
    assert state["checkpoint"]["compactionCount"] == 1
    assert state["counts"]["injections"] == 1
    events = run("otel", "search", "compaction.inject", env={"JOELCLAW_NOW_MS": str(NOW_MS + 3_600_000)}).result
    assert [one["action"] for one in events["events"]] == ["compaction.inject.repeated", "compaction.inject"]


def test_a_session_without_a_compaction_gets_no_note(run: Run) -> None:
    hook(run, "prompt", 0, prompt=TASK)
    assert hook(run, "session_start", 30, source="resume") == []
    assert hook(run, "session_start", 31, source="compact") == []
