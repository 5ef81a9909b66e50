"""What the tools of `joelclaw mcp` take and answer, word for word; the commands behind them are not run."""

from __future__ import annotations

from typing import Any

import pytest

from cli import execution
from cli.answer import Answer
from cli.installation import mcp_server as tools
from cli.installation.mcp_server import TOOLS

HIT: dict[str, Any] = {
    "collection": "observations", "origin": "user", "title": "", "path": "docs/a.md", "project": "acme/gateway",
    "timestamp": "2026-09-21T12:13:20Z", "id": "m1", "observation": "it\n retries",
}  # fmt: skip


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.own_command.word", lambda _="": "joelclaw")
    monkeypatch.setenv("JOELCLAW_SESSION_ID", "s-1")


def told(name: str, result: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines between the frame's that a tool makes of a result."""
    monkeypatch.setattr(execution, "load", lambda _: lambda _options: Answer(result))
    first = TOOLS[name].takes[0][0]
    return tools.call(name, {first: "x"}).split("\n")[1:-1]


def test_hits_as_an_agent_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told("recall", {"hits": []}, monkeypatch) == ["nothing was found"]
    work = {**HIT, "collection": "work", "title": "t" * 81, "project": "", "observation": "one\n\n two\nthree"}
    assert told("recall", {"hits": [HIT, work]}, monkeypatch) == [
        "1. [observations, user, docs/a.md, acme/gateway, 2026-09-21; id m1] it retries",
        f"2. [work, user, {'t' * 79}…, 2026-09-21; id m1]",
        "one",
        "two",
        "three",
    ]
    alone = {**work, "title": "", "observation": "one"}
    assert told("recall", {"hits": [alone]}, monkeypatch)[0] == "1. [work, user, docs/a.md, 2026-09-21; id m1] one"
    for length, shown in ((tools.HIT_CHARS, "y" * tools.HIT_CHARS), (2001, "y" * 1999 + "…")):
        (line,) = told("recall", {"hits": [{**HIT, "observation": "y" * length}]}, monkeypatch)
        assert line.rpartition(" ")[2] == shown


def test_a_memory_as_an_agent_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = {
        "observation": "one\n\ntwo", "tags": ["a", "b"], "priority": 2, "pinned": True, "left": {"n": 1, "x": None},
        "history": [{"at": "then", "text": ""}], "none": None, "empty": "", "no": [], "nor": {}, "zero": 0,
        "not": False,
    }  # fmt: skip
    assert told("show", result, monkeypatch) == [
        "observation: one", "  two", "tags:", "- a", "- b", "priority: 2", "pinned: True", "left: n 1", "history:",
        "- at then",
    ]  # fmt: skip
