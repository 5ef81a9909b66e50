"""`compaction prepare`: where a session is cut, what is summarized, and which files are listed."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import ROOT, Run
from hypothesis import given
from hypothesis import strategies as st
from pi_session import PiSession, call

from session.compaction import preparation, session_tree
from session.compaction.session_tree import Node
from session.compaction.session_tree import Transcript as SessionFile

PAYLOADS = ROOT / "tests" / "agents" / "payloads"
KEYS = {
    "firstKeptEntryId", "isSplitTurn", "tokensBefore", "previousSummary", "messagesToSummarize", "turnPrefixMessages",
    "fileOps", "settings",
}  # fmt: skip
LONG = "x" * 400  # 100 tokens


def turns(session: PiSession, count: int) -> None:
    """Turns of a prompt, a call, its result and an answer: 1 + 102 + 100 + 100 tokens or so."""
    for number in range(count):
        session.user("go")
        session.answer(LONG, call(f"c{number}", "bash", command="ls"))
        session.result(f"c{number}", LONG)
        session.answer(LONG)


def test_cut_at_a_turn(run: Run, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    turns(session, 3)
    result = run("compaction", "prepare", str(session.path), "--keep-recent", "306", "--reserve", "9").result
    assert result.keys() >= KEYS
    assert result["reason"] == "ready"
    assert (result["firstKeptEntryId"], result["isSplitTurn"]) == ("e009", False)
    assert result["messagesToSummarize"] == session.ids[:8]
    assert result["turnPrefixMessages"] == []
    assert (result["previousSummary"], result["problems"]) == (None, [])
    assert result["settings"] == {"reserveTokens": 9, "keepRecentTokens": 306, "window": 200_000}


@pytest.mark.parametrize("client", ["pi", "claude", "codex"])
def test_recorded_sessions_before_their_compaction(run: Run, tmp_path: Path, client: str) -> None:
    """What each client's recording holds before it was compacted: cut late, and everything but the end is taken."""
    path = before_compaction(tmp_path, client)
    result = run("compaction", "prepare", str(path), "--keep-recent", "1").result
    assert (result["client"], result["reason"], result["problems"]) == (client, "ready", [])
    entries = session_tree.read(str(path)).tree
    summarized = [entries[identifier] for identifier in (*result["messagesToSummarize"], *result["turnPrefixMessages"])]
    assert result["firstKeptEntryId"] not in {entry.id for entry in summarized}
    assert sum(entry.role == "user" for entry in summarized) == 3
    call_ids = {call_ for entry in summarized for call_ in entry.calls}
    assert call_ids == {answer for entry in summarized for answer in entry.answers}, (
        "a call without its result, or the reverse"
    )
    if client != "codex":  # it writes with its shell
        name = "src/delivery/worker.py"
        assert [path.endswith(name) for path in result["fileOps"]["written"]] == [True]
        assert [path.endswith(name) for path in result["fileOps"]["edited"]] == [True]


def before_compaction(folder: Path, client: str) -> Path:
    """The recording up to its compaction."""
    mark = {"pi": b'"type": "compaction"', "claude": b"compact_boundary", "codex": b'"type": "compacted"'}[client]
    lines = (PAYLOADS / client / "session.jsonl").read_bytes().splitlines(keepends=True)
    path = folder / "session.jsonl"
    path.write_bytes(b"".join(lines[: next(number for number, line in enumerate(lines) if mark in line)]))
    return path


def test_claude_lines_of_one_answer_stay_together(run: Run, tmp_path: Path) -> None:
    """Thinking, text and two calls are four lines of one answer, and its results hang beside each other in the tree."""
    transcript = Transcript(tmp_path / "t.jsonl")
    transcript.user("first")
    transcript.assistant(LONG)
    transcript.user("second")
    about = {"id": "m1", "role": "assistant", "model": "claude-x", "usage": {"input_tokens": 70, "output_tokens": 30}}

    def line(number: int, parent: int, **block: Any) -> None:
        entry = transcript.entry("assistant", [])
        entry |= {"uuid": f"a{number}", "parentUuid": f"a{parent}" if parent else "u-00000003"}
        transcript.write({**entry, "message": {**about, "content": [block]}})

    def result_of(number: int, parent: int, text: str) -> None:
        entry = transcript.entry("user", [{"type": "tool_result", "tool_use_id": f"c{number}", "content": text}])
        transcript.write({**entry, "uuid": f"r{number}", "parentUuid": f"a{parent}"})

    line(1, 0, type="thinking", thinking="hm")
    line(2, 1, type="tool_use", id="c1", name="Read", input={"file_path": "/r"})
    line(3, 2, type="tool_use", id="c2", name="Write", input={"file_path": "/w", "content": LONG})
    result_of(1, 2, LONG)
    result_of(2, 3, LONG)
    decided = run("compaction", "decide", str(transcript.path)).result
    assert (decided["usageTokens"], decided["estimatedTokens"]) == (100, 200), "the usage counts once, both results too"
    for tokens in ("1", "150", "250"):
        # No line of the answer but the first may be first, and no result without its call.
        result = run("compaction", "prepare", str(transcript.path), "--keep-recent", tokens).result
        if result["reason"] == "ready":
            assert result["firstKeptEntryId"] in ("u-00000003", "a1")
        else:
            assert result["firstKeptEntryId"] == "u-00000001"
    everything = session_tree.read(str(transcript.path)).nodes
    assert [entry.id for entry in everything if entry.kind == "message"][-5:] == ["a1", "a2", "a3", "r1", "r2"]


def codex_line(kind: str, **payload: Any) -> str:
    return json.dumps({"timestamp": "2026-09-21T10:00:00.000Z", "type": kind, "payload": payload}) + "\n"


def test_codex_calls_patches_and_rollbacks(run: Run, tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: old.py\n@@\n-a\n+b\n*** End Patch"
    message = {"type": "message", "role": "user"}
    path = tmp_path / "rollout.jsonl"
    path.write_text(
        codex_line("session_meta", id="s", cwd="/w")
        + codex_line("turn_context", model="gpt-5")
        + codex_line("response_item", **message, id="u1", content=[{"type": "input_text", "text": "go"}])
        + codex_line("response_item", type="custom_tool_call", id="p1", call_id="c1", name="apply_patch", input=patch)
        + codex_line("response_item", type="custom_tool_call_output", id="o1", call_id="c1", output="done")
        + codex_line("response_item", type="function_call", id="f2", call_id="c2", name="shell", arguments="{}")
        + codex_line("response_item", type="function_call", id="f3", call_id="c3", name="shell", arguments="{}")
        + codex_line("response_item", type="function_call_output", id="o2", call_id="c2", output=LONG)
        + codex_line("response_item", type="function_call_output", id="o3", call_id="c3", output=LONG)
        + codex_line("response_item", **message, id="u2", content=[{"type": "input_text", "text": "taken back"}])
        + codex_line("event_msg", type="thread_rolled_back", num_turns=1)
        + codex_line("response_item", **message, id="u3", content=[{"type": "input_text", "text": "instead"}])
        + codex_line("response_item", type="function_call", id="f4", call_id="c4", name="shell", arguments="{}")
        + codex_line("response_item", type="function_call_output", id="o4", call_id="c4", output=LONG)
    )
    result = run("compaction", "prepare", str(path), "--keep-recent", "105").result
    assert result["firstKeptEntryId"] == "u3", "between two calls and their results is no cut"
    assert result["messagesToSummarize"] == ["u1", "p1", "o1", "f2", "f3", "o2", "o3"]
    assert result["fileOps"] == {"read": [], "written": [], "edited": ["new.py", "old.py"]}
    result = run("compaction", "prepare", str(path), "--keep-recent", "205").result
    assert result["firstKeptEntryId"] == "u3"


def entry(number: int, role: Any, **more: Any) -> Node:
    return Node(f"e{number}", f"e{number - 1}", "message", number, 0, 0, role, **more)


ROLES = st.sampled_from(["user", "call", "call", "result", "result", "answer", "custom", "other"])


@given(kinds=st.lists(ROLES, max_size=30), keep_recent=st.integers(0, 3000), start=st.integers(0, 5), client=st.data())
def test_the_cut_never_parts_a_call_from_its_result(
    kinds: list[str], keep_recent: int, start: int, client: st.DataObject
) -> None:
    entries: list[Node] = []
    open_: list[str] = []
    for number, kind in enumerate(kinds, 1):
        if kind == "call":
            open_.append(f"c{number % 5}")  # ids come again
            entries.append(entry(number, "assistant", can_cut=True, calls=(open_[-1],)))
        elif kind == "result" and open_:
            entries.append(entry(number, "tool_result", answers=(open_.pop(0),)))
        elif kind == "user":
            entries.append(entry(number, "user", can_cut=True, starts_turn=True))
        elif kind == "custom":
            entry_node = Node(
                f"e{number}", "", "custom_message", number, 0, 0, "custom", can_cut=True, starts_turn=True
            )
            entries.append(entry_node)
        else:
            entries.append(Node(f"e{number}", "", "other", number, 0, 0))
    start = min(start, len(entries))
    whose = client.draw(st.sampled_from(["pi", "claude", "codex"]))
    tokens = {(node.id, 0): 100 if node.kind == "message" else 50 if node.role else 0 for node in entries}
    session = SessionFile(whose, __file__, tuple(entries), {}, measured=tokens)
    cut = preparation.find_cut(session, session.nodes, start, keep_recent)
    assert start <= cut.first_kept <= len(entries)
    assert -1 <= cut.turn_start <= cut.first_kept
    latest: dict[str, int] = {}
    for at in range(start, len(entries)):
        for answer in entries[at].answers:
            assert not latest.get(answer, at) < cut.first_kept <= at
        latest.update(dict.fromkeys(entries[at].calls, at))
