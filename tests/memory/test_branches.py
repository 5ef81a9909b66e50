"""What was said before the user went back: it is found and marked, and nothing else uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run


class Claude:
    """A turn is a prompt, two parallel commands whose results come in the other order, and an answer."""

    def __init__(self, folder: Path) -> None:
        self.transcript = Transcript(folder / f"{SESSION}.jsonl")
        self.path = self.transcript.path

    def _write(self, role: str, content: Any, parent: str | None, **more: Any) -> str:
        entry = {**self.transcript.entry(role, content), "parentUuid": parent, **more}
        self.transcript.write(entry)
        return str(entry["uuid"])

    def turn(self, word: str, after: str | None) -> str:
        prompt = self._write("user", f"store the port under {word}_PORT", after)
        parent, calls = prompt, []
        for number in (1, 2):
            call = {"type": "tool_use", "id": f"{word}{number}", "name": "Bash", "input": {"command": f"run {word}"}}
            parent = self._write("assistant", [call], parent)
            calls.append((f"{word}{number}", parent))
        for call_id, parent in reversed(calls):
            result = {"type": "tool_result", "tool_use_id": call_id, "content": f"src/{word}.py:3: {word}_port = 1"}
            parent = self._write("user", [result], parent)
        return self._write("assistant", [{"type": "text", "text": f"Done with {word}."}], parent)

    def go_back(self, after: str | None) -> None:
        """The next turn names its parent."""


class Pi:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "2026-09-20T10-00-00-000Z_s-1.jsonl"
        self.count = 0
        self._write({"type": "session", "version": 3, "id": "s-1", "cwd": "/w"})

    def _write(self, entry: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps({"timestamp": f"2026-09-20T10:00:{self.count:02}.000Z", **entry}) + "\n")

    def entry(self, parent: str | None, **fields: Any) -> str:
        self.count += 1
        self._write({"id": f"e{self.count:03}", "parentId": parent, **fields})
        return f"e{self.count:03}"

    def turn(self, word: str, after: str | None) -> str:
        user = {"role": "user", "content": [{"type": "text", "text": f"store the port under {word}_PORT"}]}
        level = after and self.entry(after, type="thinking_level_change", thinkingLevel="high")  # before the prompt
        call = {"type": "toolCall", "id": f"{word}1", "name": "bash", "arguments": {"command": f"run {word}"}}
        asked = self.entry(self.entry(level, type="message", message=user), type="message", message={
            "role": "assistant", "content": [call], "stopReason": "toolUse",
        })  # fmt: skip
        text = [{"type": "text", "text": f"src/{word}.py:3: {word}_port = 1"}]
        result = {"role": "toolResult", "toolCallId": f"{word}1", "toolName": "bash", "content": text}
        said = {"role": "assistant", "content": [{"type": "text", "text": f"Done with {word}."}], "stopReason": "stop"}
        return self.entry(self.entry(asked, type="message", message=result), type="message", message=said)

    def go_back(self, after: str | None) -> None:
        """The next turn names its parent."""


class Codex:
    """Its lines have no ids; a rewind says how many turns it takes back."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "rollout-2026-09-20T10-00-00-019a0000-0000-7000-8000-00000000000a.jsonl"
        self.turns: list[str] = []
        self._write("session_meta", {"id": "019a0000-0000-7000-8000-00000000000a", "cwd": "/w"})

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps({"timestamp": "2026-09-20T10:00:00.000Z", "type": kind, "payload": payload}) + "\n")

    def _say(self, role: str, text: str) -> None:
        part = {"type": "input_text" if role == "user" else "output_text", "text": text}
        self._write("response_item", {"type": "message", "role": role, "content": [part]})

    def turn(self, word: str, after: str | None) -> str:  # as the others
        self._say("user", f"store the port under {word}_PORT")
        arguments = json.dumps({"cmd": f"run {word}"})
        call = {"name": "exec_command", "call_id": f"{word}1", "arguments": arguments}
        self._write("response_item", {"type": "function_call", **call})
        output = f"Process exited with code 0\nOutput:\nsrc/{word}.py:3: {word}_port = 1"
        self._write("response_item", {"type": "function_call_output", "call_id": f"{word}1", "output": output})
        self._say("assistant", f"Done with {word}.")
        self.turns.append(word)
        return word

    def go_back(self, after: str | None) -> None:
        kept = self.turns.index(after) + 1 if after else 0
        self._write("event_msg", {"type": "thread_rolled_back", "num_turns": len(self.turns) - kept})
        del self.turns[kept:]


class Gemini:
    """Its chat names the first message that was taken back."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "session-2026-09-20T10-00-s.jsonl"
        self.turns: list[str] = []
        self._write(sessionId="s", projectHash="0", startTime="2026-09-20T10:00:00.000Z", kind="main")

    def _write(self, **line: Any) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def turn(self, word: str, after: str | None) -> str:  # as the others
        at = "2026-09-20T10:00:00.000Z"
        self._write(id=f"p-{word}", timestamp=at, type="user", content=[{"text": f"store the port under {word}_PORT"}])
        output = {"functionResponse": {"response": {"output": f"src/{word}.py:3: {word}_port = 1"}}}
        call = {"id": f"{word}1", "name": "run_shell_command", "args": {"command": f"run {word}"}, "result": [output]}
        answer = {"id": f"a-{word}", "timestamp": at, "type": "gemini", "content": f"Done with {word}."}
        self._write(**answer)
        self._write(**answer, toolCalls=[{**call, "status": "success"}])
        self.turns.append(word)
        return word

    def go_back(self, after: str | None) -> None:
        kept = self.turns.index(after) + 1 if after else 0
        self._write(**{"$rewindTo": f"p-{self.turns[kept]}"})
        del self.turns[kept:]


CLIENTS = [Claude, Pi, Codex, Gemini]
Archive = Callable[[], None]


@pytest.fixture(params=["at once", "turn by turn"])
def archives_each_turn(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "turn by turn")


def told(run: Run, talk: Any, turns: list[tuple[str, str]], *, each: bool) -> None:
    """Turns, each with the turn that it follows ("" for none), archived after each or at the end."""
    ends: dict[str, str | None] = {"": None}
    last = ""
    for word, after in turns:
        if after != last:
            talk.go_back(ends[after])
        ends[word] = talk.turn(word, ends[after])
        last = word
        if each:
            run("memory", "archive", str(talk.path))
    run("memory", "archive", str(talk.path))


def abandoned(run: Run) -> tuple[set[str], set[str]]:
    """The words of the abandoned and of the other turns: by their prompts and answers, and by their calls."""
    words: tuple[set[str], set[str]] = (set(), set())
    for word in ("wren", "merlin", "saker", "hobby"):
        queries = (f"store the port under {word}_PORT", f"run {word}")
        hits = [hit for query in queries for hit in run("recall", query, "--limit", "20").result["hits"]]
        own = [hit for hit in hits if word in hit["observation"] and hit["collection"] in ("episodes", "calls")]
        for hit in own:
            words[not hit["isAbandoned"]].add(word)
        assert not own or {hit["collection"] for hit in own} == {"episodes", "calls"}, (word, own)
    return words


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("turns", "gone"),
    [
        ([("wren", ""), ("merlin", "wren")], ""),
        ([("wren", ""), ("merlin", "wren"), ("saker", "wren")], "merlin"),
        ([("wren", ""), ("merlin", ""), ("saker", "merlin")], "wren"),
        ([("wren", ""), ("merlin", "wren"), ("saker", "merlin"), ("hobby", "wren")], "merlin saker"),
        ([("wren", ""), ("merlin", "wren"), ("saker", "wren"), ("hobby", "wren")], "merlin saker"),
    ],
)
def test_what_the_user_went_back_from_is_found_and_marked(
    run: Run, tmp_path: Path, archives_each_turn: bool, client: Any, turns: list[tuple[str, str]], gone: str
) -> None:
    told(run, client(tmp_path), turns, each=archives_each_turn)
    assert abandoned(run) == (set(gone.split()), {word for word, _ in turns} - set(gone.split()))


@pytest.mark.parametrize("client", [Claude, Pi])
def test_the_mark_follows_a_user_who_goes_back_to_a_branch(
    run: Run, tmp_path: Path, archives_each_turn: bool, client: Any
) -> None:
    turns = [("wren", ""), ("merlin", "wren"), ("saker", "wren"), ("hobby", "merlin")]
    told(run, client(tmp_path), turns, each=archives_each_turn)
    assert abandoned(run) == ({"saker"}, {"wren", "merlin", "hobby"})


def test_reading_a_transcript_again_changes_no_mark(run: Run, tmp_path: Path, home: Path) -> None:
    told(run, Claude(tmp_path), [("wren", ""), ("merlin", "wren"), ("saker", "wren")], each=False)
    import apsw

    db = apsw.Connection(str(home / "store.db"))
    db.execute("UPDATE transcript SET head = ''; DELETE FROM seen_file")
    db.close()
    run("memory", "archive", str(tmp_path))
    assert abandoned(run) == ({"merlin"}, {"wren", "saker"})


def test_a_compaction_without_a_known_parent_continues_the_branch(run: Run, tmp_path: Path) -> None:
    talk = Claude(tmp_path)
    talk.turn("wren", None)
    talk._write("system", "", None, type="system", subtype="compact_boundary", logicalParentUuid="unknown")
    talk._write("user", "This session is being continued. Summary:\nports", talk.transcript.last_id[7:],
                isCompactSummary=True)  # fmt: skip
    talk.turn("merlin", talk.transcript.last_id[7:])
    run("memory", "archive", str(talk.path))
    assert abandoned(run) == (set(), {"wren", "merlin"})


def test_lists_and_the_text_of_a_hit_say_what_was_abandoned(run: Run, tmp_path: Path) -> None:
    told(run, Claude(tmp_path), [("wren", ""), ("merlin", "wren"), ("saker", "wren")], each=False)
    assert "[abandoned] prompt: store the port under merlin_PORT" in run("recall", "--raw", "merlin_PORT").out
    assert [turn["prompt"] for turn in run("session", "show", SESSION).result["turns"]] == [
        "store the port under wren_PORT", "store the port under saker_PORT",
    ]  # fmt: skip
    hits = run("recall", "store the port", "--limit", "9").result["hits"]
    assert [hit["isAbandoned"] for hit in hits].index(True) > 0


def test_nothing_abandoned_is_in_a_note_or_in_lost(run: Run, tmp_path: Path) -> None:
    talk = Claude(tmp_path)

    def hook(event: str, **fields: Any) -> str:
        payload = {"session_id": SESSION, "cwd": CWD, "transcript_path": str(talk.path), "hook_event_name": event}
        return run("hook", "claude", stdin=json.dumps(payload | fields)).out

    ends: dict[str, Any] = {"": None}
    for word, after in (("wren", ""), ("merlin", "wren"), ("saker", "wren")):
        hook("UserPromptSubmit", prompt=f"store the port under {word}_PORT")
        hook("PostToolUse", tool_name="Edit", tool_input={"file_path": f"{CWD}/src/{word}.py"})
        ends[word] = talk.turn(word, ends[after])
        hook("Stop")
    hook("PreCompact", trigger="auto")
    boundary = talk._write("system", "", ends["saker"], type="system", subtype="compact_boundary")
    talk._write("user", "This session is being continued. Summary:\nports", boundary, isCompactSummary=True)
    note = hook("SessionStart", source="compact")
    assert "saker" in note and "merlin" not in note
    lost = run("lost", SESSION)
    assert "wren" in lost.out and "merlin" not in lost.out
    state = run("checkpoint", "show", SESSION).out
    assert "merlin" not in state
