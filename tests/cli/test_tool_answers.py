"""What the tools of `joelclaw mcp` take and answer, word for word; the commands behind them are not run."""

from __future__ import annotations

from typing import Any

import pytest

from cli import execution
from cli.answer import Answer
from cli.mcp import server, tools
from cli.mcp.tools import TOOLS
from core.errors import Failure

HIT: dict[str, Any] = {
    "collection": "observations", "origin": "user", "title": "", "path": "docs/a.md", "project": "acme/gateway",
    "timestamp": "2026-09-21T12:13:20Z", "id": "m1", "observation": "it\n retries",
}  # fmt: skip


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.own_command.word", lambda _="": "joelclaw")
    monkeypatch.setenv("JOELCLAW_SESSION_ID", "s-1")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The options with which the command is called that answers `{"hits": []}`."""
    told: dict[str, Any] = {}

    def handler(options: dict[str, Any]) -> Answer:
        told.update(options)
        reply = {"hits": [], "merged": False, "project": "", "id": "m1", "verdict": "allow", "reason": "r"}
        return Answer({**reply, "forgotten": [], "unchanged": []})

    monkeypatch.setattr(execution, "load", lambda _: handler)
    return told


def told(name: str, result: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines between the frame's that a tool makes of a result."""
    monkeypatch.setattr(execution, "load", lambda _: lambda _options: Answer(result))
    first = TOOLS[name].takes[0][0]
    return tools.call(name, {first: "x"}).split("\n")[1:-1]


def refused(name: str, **arguments: Any) -> tuple[str, str, str]:
    with pytest.raises(Failure) as caught:
        tools.call(name, arguments)
    return caught.value.code, caught.value.message, caught.value.fix


def test_what_the_tools_take() -> None:
    query = {"type": "string", "description": "names, or words of the question"}
    limit = {"type": "integer", "description": "most hits, 5 unless given", "minimum": 1, "maximum": 100}
    project = {"type": "string", "description": "only this project's memories and those of none: NAME or OWNER/NAME"}
    assert tools.schema(TOOLS["recall"]) == {
        "type": "object", "properties": {"query": query, "limit": limit, "project": project}, "required": ["query"],
        "additionalProperties": False,
    }  # fmt: skip
    assert tools.schema(TOOLS["remember"])["properties"]["global"]["type"] == "boolean"
    assert tools.schema(TOOLS["session"])["required"] == []


def test_what_is_refused(asked: dict[str, Any]) -> None:
    code = tools.CODE
    known = "recall, remember, show, forget, session"
    assert refused("n" * 81) == (code, f"there is no tool {'n' * 80!r}", f"call one of {known}")
    assert refused("session", x=1) == (code, "session takes nothing", "call it without arguments")
    assert refused("show", id="m1", **{"y" * 81: 1}) == (code, f"show takes no {'y' * 80!r}", "give it id")
    assert refused("remember", text="t", **{"global": 1})[1] == "global is no boolean"
    assert refused("recall", query=7) == (code, "query is no string", "give query as a string")
    assert refused("recall", query="q", limit=True) == (code, "limit is no number", "give limit as a number")
    assert refused("recall", query="q", limit=[7])[1] == "limit is no number"
    assert refused("recall", query="q", limit=101) == (
        "RECALL_INVALID_ARGS",
        "limit is '101', which is not a whole number from 1 to 100",
        "give limit a whole number from 1 to 100",
    )
    assert refused("recall", query="q", limit=7.5)[1].startswith("limit is '7.5'")
    for nothing in ({}, {"query": None}, {"query": " - "}):
        wanted = (code, "recall needs query", "give query: names, or words of the question")
        assert refused("recall", **nothing) == wanted
    assert asked == {}, "the command was called"


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


def test_whatever_goes_wrong_is_told_and_only_success_starts_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bool] = []
    monkeypatch.setattr(execution, "start_due", lambda: started.append(True))
    for fault, said in ((Failure("ODD", "it broke", "mend it"), "ODD: it broke"), (ValueError("x"), "UNKNOWN_ERROR: ")):
        monkeypatch.setattr(tools, "call", lambda *_, fault=fault: (_ for _ in ()).throw(fault))
        text, failed = server.answer("recall", {})
        assert failed is True and text.split("\n")[1].startswith(said)
    assert started == []
    monkeypatch.setattr(tools, "call", lambda *_: "found")
    assert server.answer("recall", {}) == ("found", False)
    assert started == [True]
