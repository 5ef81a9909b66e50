"""The tree of a session as each client's file tells it: what an entry is, where a cut may fall, what it holds."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from clients.claude import entries as claude
from clients.codex import entries as codex
from clients.entry import Compaction, Entry, FileOperations, Line, Problems
from clients.pi import entries as pi


def read(client: ModuleType, *values: dict[str, Any]) -> tuple[Any, list[Any], Problems]:
    """The reader, the entry of each line, and the problems."""
    reader, problems = client.Reader(), Problems()
    found = [reader.entry(Line(at, at * 100, 50), value, problems) for at, value in enumerate(values, 1)]
    return reader, found, problems


def branch(client: ModuleType, *values: dict[str, Any]) -> list[Entry]:
    reader, found, problems = read(client, *values)
    made = [entry for entry in found if entry is not None]
    branched: list[Entry] = reader.branch(made, {entry.id: entry for entry in made}, problems)
    return branched


def said(client: ModuleType, value: dict[str, Any]) -> list[Any]:
    _, [entry], _ = read(client, value)
    return list(client.messages(value, entry))


# -- pi


def of_pi(role: str, content: Any = "hello", **message: Any) -> dict[str, Any]:
    return {"type": "message", "id": "e1", "parentId": "e0", "message": {"role": role, "content": content, **message}}


def test_pi_the_header_and_what_is_no_entry() -> None:
    _, found, problems = read(pi, {"type": "session", "version": 4}, {"type": "label"}, {"type": "label", "id": "l"})
    assert found[:2] == [None, None] and found[2].kind == "other" and found[2].size == 0
    assert problems.told() == (
        "the session has version 4; it was read as version 3", "line 2 is an entry without an id",
    )  # fmt: skip
    assert read(pi, {"type": "session", "version": 3})[2].told() == ()
    _, [unknown], problems = read(pi, of_pi("nobody"))
    assert (unknown.kind, unknown.role, unknown.size) == ("message", None, 0)
    assert problems.told() == ("line 1 is a message of the unknown role 'nobody'",)


def test_pi_a_summary_counts_as_its_text() -> None:
    value = {"type": "compaction", "id": "e1", "summary": "s" * 40}
    assert pi.size(value, read(pi, value)[1][0]) == 10


# -- Codex


def of_codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **payload}}


def codex_said(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return of_codex("message", role=role, content=[{"type": kind, "text": text}])


def rolled_back(turns: int) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}


def test_codex_a_file_that_was_read() -> None:
    _, [entry], _ = read(codex, of_codex("function_call", name="read_file", arguments='{"path": "a.py"}'))
    assert entry.files == FileOperations(read=("a.py",))


def test_codex_turns_that_were_taken_back() -> None:
    turns = [line for name in "abc" for line in (codex_said("user", name), codex_said("assistant", name))]
    compacted = {"type": "compacted", "payload": {"message": "s"}}
    assert [e.id for e in branch(codex, *turns, rolled_back(1))] == ["line-1", "line-2", "line-3", "line-4", "line-7"]
    assert [e.id for e in branch(codex, *turns, rolled_back(2))] == ["line-1", "line-2", "line-7"]
    assert [e.id for e in branch(codex, *turns, rolled_back(3))] == ["line-7"]
    assert len(branch(codex, *turns, rolled_back(4))) == 7, "so many turns are not there"
    assert len(branch(codex, *turns, rolled_back(0))) == 6
    assert len(branch(codex, *turns, compacted, rolled_back(1))) == 8, "nothing from before a compaction"


def test_codex_a_compaction_and_the_history_that_it_leaves() -> None:
    begins = "Another language model started to solve this problem and told this"
    for text, bare in (
        (f"{begins}:\n the summary ", "the summary"), (" the summary ", "the summary"),
        (f"{begins} so", f"{begins} so"),
        (f"A list:\n{begins}", f"A list:\n{begins}"), (begins + "x" * 600 + ":\nb", begins + "x" * 600 + ":\nb"),
    ):  # fmt: skip
        [entry] = branch(codex, {"type": "compacted", "payload": {"message": text}})
        assert entry.compaction == Compaction(bare)
        assert (entry.kind, entry.role, entry.size) == ("compaction", "compaction_summary", 50)
    kept = [codex_said(role, text)["payload"] for role, text in (("user", "a"), ("assistant", "b"), ("user", "s"))]
    value = {"type": "compacted", "payload": {"message": "s", "replacement_history": kept}}
    assert [(one.role, one.text) for one in said(codex, value)] == [("user", "a"), ("compaction_summary", "s")]


# -- Claude Code


def of_claude(kind: str, uuid: str, parent: str = "", content: Any = "x", **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **more}


def test_claude_what_the_user_says_and_what_tools_return() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
        {"type": "text", "text": "b"},
    ]
    _, [user, tool], _ = read(claude, of_claude("user", "u1"), of_claude("user", "u2", "u1", results))
    assert (user.role, user.can_cut, user.starts_turn, user.answers) == ("user", True, True, ())
    assert (tool.role, tool.can_cut, tool.starts_turn, tool.answers) == ("tool_result", False, False, ("t1",))
    found = said(claude, of_claude("user", "u2", "u1", results))
    assert [(one.role, one.text, one.call, one.failed) for one in found] == [
        ("tool_result", "no", "t1", True), ("user", "b", "", False),
    ]  # fmt: skip
    shown = [{"type": "image"}, {"type": "document"}, {"type": "text", "text": "c"}]
    returned = {"type": "tool_result", "tool_use_id": "t2", "content": shown}
    found = said(claude, of_claude("user", "u3", "u2", [returned, *shown]))
    assert [[block.kind for block in one.blocks] for one in found] == [["text", "image"]] * 2
    queued = {"type": "attachment", "uuid": "q", "attachment": {"type": "queued_command", "prompt": "and now"}}
    assert [one.text for one in said(claude, queued)] == ["and now"]
    for other in ({"type": "file"}, {"type": "queued_command", "prompt": "x", "commandMode": "bash"}):
        assert read(claude, {**queued, "attachment": other})[1][0].kind == "other"


def test_claude_a_boundary_and_its_summary_are_one() -> None:
    about = {"preservedSegment": {"headUuid": "u1"}, "preTokens": 9}
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "logicalParentUuid": "u1",
        "compactMetadata": about,
    }  # fmt: skip
    summary = of_claude("user", "s", "b", "the summary", isCompactSummary=True)
    found = branch(claude, of_claude("user", "u1"), boundary, summary)
    assert [(one.id, one.kind, one.role, one.size) for one in found] == [
        ("u1", "message", "user", 50), ("b", "compaction", "compaction_summary", 50), ("s", "other", None, 0),
    ]  # fmt: skip
    assert found[1].compaction == Compaction("the summary", "u1", 9) and found[1].offset == 300
    assert found[2].compaction is None
    alone = branch(claude, of_claude("user", "u1"), {**summary, "parentUuid": "u1"})
    assert (alone[1].kind, alone[1].compaction) == ("compaction", Compaction("the summary"))
    said = "This session is being continued from a previous conversation that ran out.\n\nSummary:\n1. the tide"
    goes_on = "\nPlease continue the conversation from where we left it off without asking."
    around = of_claude("user", "s", "u1", said + goes_on, isCompactSummary=True)
    assert branch(claude, of_claude("user", "u1"), around)[1].compaction == Compaction("1. the tide")
    twice = branch(claude, boundary, summary, {**summary, "uuid": "s2", "parentUuid": "s"})
    assert [one.kind for one in twice] == ["compaction", "other", "compaction"]


def test_claude_parallel_calls_are_on_the_branch() -> None:
    def call(uuid: str, parent: str, name: str) -> dict[str, Any]:
        return of_claude(
            "assistant", uuid, parent, [{"type": "tool_use", "id": name, "name": "X"}], message={"id": "m"}
        )

    def result(uuid: str, parent: str, name: str) -> dict[str, Any]:
        return of_claude("user", uuid, parent, [{"type": "tool_result", "tool_use_id": name, "content": "ok"}])

    lines = [
        of_claude("user", "u"), call("a1", "u", "t1"), call("a2", "a1", "t2"), result("r1", "a1", "t1"),
        result("r2", "a2", "t2"), result("r1b", "a1", "t1"), of_claude("user", "stray", "u"),
        of_claude("user", "end", "r2"),
    ]  # fmt: skip
    assert [entry.id for entry in branch(claude, *lines)] == ["u", "a1", "a2", "r1", "r2", "end"]
    assert branch(claude) == []
