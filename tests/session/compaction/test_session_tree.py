"""A transcript as the tree of its nodes: the active branch, and the messages of its nodes."""

import json
from pathlib import Path
from typing import Any

import pytest

from session.compaction import session_tree
from session.compaction.messages import Message, messages_of
from session.compaction.session_tree import Compaction, Node, Transcript


class Session:
    """Reads lines that were written to a file."""

    def __init__(self, folder: Path, client: str) -> None:
        self._path = folder / "session.jsonl"
        self._client = client

    def read(self, *entries: dict[str, Any]) -> Transcript:
        self._path.write_text("".join(json.dumps(line) + "\n" for line in entries))
        return session_tree.read(str(self._path), self._client)

    def branch(self, *entries: dict[str, Any]) -> list[Node]:
        return list(self.read(*entries).nodes)

    def messages(self, *entries: dict[str, Any]) -> list[Message]:
        transcript = self.read(*entries)
        return list(messages_of(transcript, transcript.nodes))


@pytest.fixture
def codex(tmp_path: Path) -> Session:
    return Session(tmp_path, "codex")


@pytest.fixture
def claude(tmp_path: Path) -> Session:
    return Session(tmp_path, "claude")


def of_codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **payload}}


def codex_said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return of_codex("message", role=role, content=[{"type": kind, "text": text}])


def rolled_back(turns: int) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}


@pytest.mark.parametrize(("count", "ids"), [
    (1, ["line-1", "line-2", "line-3", "line-4", "line-7"]),
    (2, ["line-1", "line-2", "line-7"]),
    (3, ["line-7"]),
    (4, [f"line-{number}" for number in range(1, 8)]),  # there are not so many turns
    (0, [f"line-{number}" for number in range(1, 7)]),
])  # fmt: skip
def test_codex_rolled_back_turns(codex: Session, count: int, ids: list[str]) -> None:
    turns = [line for name in "abc" for line in (codex_said("user", name), codex_said("assistant", name))]
    assert [node.id for node in codex.branch(*turns, rolled_back(count))] == ids


def of_claude(kind: str, uuid: str, parent: str = "", content: Any = "x", **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **more}


def test_claude_prompts_and_tool_results(claude: Session) -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
        {"type": "text", "text": "b"},
    ]
    entries = (of_claude("user", "u1"), of_claude("user", "u2", "u1", results))
    user, tool = claude.branch(*entries)
    assert (user.role, user.can_cut, user.starts_turn, user.answers) == ("user", True, True, ())
    assert (tool.role, tool.can_cut, tool.starts_turn, tool.answers) == ("tool_result", False, False, ("t1",))
    assert [
        (message.role, message.text, message.call, message.failed) for message in claude.messages(*entries)[1:]
    ] == [("tool_result", "no", "t1", True), ("user", "b", "", False)]
    shown = [{"type": "image"}, {"type": "document"}, {"type": "text", "text": "c"}]
    returned = {"type": "tool_result", "tool_use_id": "t2", "content": shown}
    messages = claude.messages(of_claude("user", "u3", "", [returned, *shown]))
    assert [[block.kind for block in message.blocks] for message in messages] == [["text", "image"]] * 2
    queued = {"type": "attachment", "uuid": "q", "attachment": {"type": "queued_command", "prompt": "and now"}}
    assert [message.text for message in claude.messages(queued)] == ["and now"]
    for other in ({"type": "file"}, {"type": "queued_command", "prompt": "x", "commandMode": "bash"}):
        assert claude.branch({**queued, "attachment": other})[0].kind == "other"


def test_claude_a_boundary_and_its_summary_are_one(claude: Session) -> None:
    about = {"preservedSegment": {"headUuid": "u1"}, "preTokens": 9}
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "logicalParentUuid": "u1",
        "compactMetadata": about,
    }  # fmt: skip
    summary = of_claude("user", "s", "b", "the summary", isCompactSummary=True)
    branch = claude.branch(of_claude("user", "u1"), boundary, summary)
    assert [(node.id, node.kind, node.role) for node in branch] == [
        ("u1", "message", "user"), ("b", "compaction", "compaction_summary"), ("s", "other", None),
    ]  # fmt: skip
    assert [node.compaction for node in branch] == [None, Compaction("the summary", "u1", 9), None]
    alone = claude.branch(of_claude("user", "u1"), {**summary, "parentUuid": "u1"})
    assert (alone[1].kind, alone[1].compaction) == ("compaction", Compaction("the summary"))
    begin = "This session is being continued from a previous conversation that ran out.\n\nSummary:\n1. the tide"
    end = "\nPlease continue the conversation from where we left it off without asking."
    around = of_claude("user", "s", "u1", begin + end, isCompactSummary=True)
    assert claude.branch(of_claude("user", "u1"), around)[1].compaction == Compaction("1. the tide")
    twice = claude.branch(boundary, summary, {**summary, "uuid": "s2", "parentUuid": "s"})
    assert [node.kind for node in twice] == ["compaction", "other", "compaction"]


def test_claude_parallel_calls_are_on_the_branch(claude: Session) -> None:
    def call(uuid: str, parent: str, name: str) -> dict[str, Any]:
        block = {"type": "tool_use", "id": name, "name": "X"}
        return of_claude("assistant", uuid, parent, [block], message={"id": "m"})

    def result(uuid: str, parent: str, name: str) -> dict[str, Any]:
        return of_claude("user", uuid, parent, [{"type": "tool_result", "tool_use_id": name, "content": "ok"}])

    entries = [
        of_claude("user", "u"), call("a1", "u", "t1"), call("a2", "a1", "t2"), result("r1", "a1", "t1"),
        result("r2", "a2", "t2"), result("r1b", "a1", "t1"), of_claude("user", "stray", "u"),
        of_claude("user", "end", "r2"),
    ]  # fmt: skip
    assert [node.id for node in claude.branch(*entries)] == ["u", "a1", "a2", "r1", "r2", "end"]
