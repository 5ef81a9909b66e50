"""What was said before the user went back: it is found and marked, and nothing else uses it."""

import copy
import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION
from codex_rollout import Rollout
from conftest import Run
from pi_session import PiSession
from pi_session import call as pi_call


class Talk:
    """Turns of a prompt, a command and an answer, as a client writes them."""

    name = ""

    def __init__(self, folder: Path, *head: dict[str, Any]) -> None:
        self.path = folder / self.name
        self.count = 0
        self.turns: list[str] = []
        self.write(*head)

    def write(self, *lines: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            for line in lines:
                self.count += 1
                stamp = f"2026-09-20T10:{self.count // 60:02}:{self.count % 60:02}.000Z"
                file.write(json.dumps({"timestamp": stamp, **line}) + "\n")

    def go_back(self, after: str | None) -> None:
        """Write that the next turn follows another than the last, unless it names its parent."""


class Claude(Talk):
    """Two commands run at the same time, and their results come in the other order."""

    name = f"{SESSION}.jsonl"
    session = SESSION

    def add(self, role: str, content: Any, parent: str | None, **more: Any) -> str:
        names = {"uuid": f"u-{self.count + 1}", "parentUuid": parent, "isSidechain": False, "cwd": CWD, "type": role}
        self.write({**names, "sessionId": self.session, "message": {"role": role, "content": content}, **more})
        return f"u-{self.count}"

    def turn(self, word: str, after: str | None) -> str:
        parent = self.add("user", f"store the port under {word}_PORT", after)
        calls = []
        for name in (f"{word}1", f"{word}2"):
            call = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": f"run {word}"}}
            parent = self.add("assistant", [call], parent)
            calls.append((name, parent))
        for name, parent in reversed(calls):
            result = {"type": "tool_result", "tool_use_id": name, "content": f"src/{word}.py:3: {word}_port = 1"}
            parent = self.add("user", [result], parent)
        return self.add("assistant", [{"type": "text", "text": f"Done with {word}."}], parent)


class Pi(PiSession):
    session = "s-1"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "2026-09-20T10-00-00-000Z_s-1.jsonl")

    def go_back(self, after: str | None) -> None:
        """Each entry names its parent."""

    def turn(self, word: str, after: str | None) -> str:
        self.leaf = after
        if after:  # an entry without content may be the first after a rewind
            self.add("thinking_level_change", thinkingLevel="high")
        self.user(f"store the port under {word}_PORT")
        self.answer("", pi_call(f"{word}1", "bash", command=f"run {word}"), stop="toolUse")
        self.result(f"{word}1", f"src/{word}.py:3: {word}_port")
        return self.answer(f"Done with {word}.")


class Codex(Rollout):
    """Its lines have no ids; a rewind says how many turns it takes back."""

    def __init__(self, folder: Path, session: str = "019a0000-0000-7000-8000-00000000000a", **meta: Any) -> None:
        super().__init__(folder, session, **meta)
        self.turns: list[str] = []

    def turn(self, word: str, _: str | None) -> str:
        self.say("user", f"store the port under {word}_PORT")
        output = f"Process exited with code 0\nOutput:\nsrc/{word}.py:3: {word}_port = 1"
        self.call(f"{word}1", output, cmd=f"run {word}")
        self.say("assistant", f"Done with {word}.")
        self.turns.append(word)
        return word

    def go_back(self, after: str | None) -> None:
        kept = self.turns.index(after) + 1 if after else 0
        self.add("event_msg", type="thread_rolled_back", num_turns=len(self.turns) - kept)
        del self.turns[kept:]


class CodexFiles(Codex):
    """Since 0.171, lines have ids, and a rewind begins a file: it names an earlier one, and how much of that counts."""

    def __init__(self, folder: Path) -> None:
        self.begins: dict[str, tuple[Path, int]] = {}
        self.files = 0
        super().__init__(folder)
        self.first = self.path.stem

    def add(self, kind: str, **payload: Any) -> None:
        super().add(kind, **payload, **({"id": f"m-{self.at}"} if kind == "response_item" else {}))

    def turn(self, word: str, after: str | None) -> str:
        self.begins[word] = (self.path, self.path.stat().st_size)
        return super().turn(word, after)

    def go_back(self, after: str | None) -> None:
        kept = self.turns.index(after) + 1 if after else 0
        left, end = self.begins[self.turns[kept]]
        del self.turns[kept:]
        self.files += 1
        self.path = left.with_name(f"{self.first}_019a0000-0000-7000-9000-00000000000{self.files}.jsonl")
        base = {"history_base": {"thread_id": left.stem[-36:], "end_byte_offset": end}} if kept else {}
        self.add("session_meta", id=self.session, cwd="/w", **base)


class Gemini(Talk):
    """Its chat names the first message that was taken back, and repeats an answer when its tools have run."""

    name = "session-2026-09-20T10-00-s.jsonl"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {"sessionId": "s", "projectHash": "0", "kind": "main"})

    def turn(self, word: str, _: str | None) -> str:
        output = {"functionResponse": {"response": {"output": f"src/{word}.py:3: {word}_port = 1"}}}
        call = {"id": f"{word}1", "name": "run_shell_command", "args": {"command": f"run {word}"}, "result": [output]}
        answer = {"id": f"a-{word}", "type": "gemini", "content": f"Done with {word}."}
        prompt = {"id": f"p-{word}", "type": "user", "content": [{"text": f"store the port under {word}_PORT"}]}
        self.write(prompt, answer, {**answer, "toolCalls": [{**call, "status": "success"}]})
        self.turns.append(word)
        return word

    def go_back(self, after: str | None) -> None:
        kept = self.turns.index(after) + 1 if after else 0
        self.write({"$rewindTo": f"p-{self.turns[kept]}"})
        del self.turns[kept:]


CLIENTS = [Claude, Pi, Codex, CodexFiles, Gemini]
EACH_TURN = pytest.mark.parametrize("each", [False, True], ids=["at once", "turn by turn"])


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
    every = ("wren", "merlin", "saker", "hobby", "heron", "curlew")
    queries = "".join(f"store the port under {word}_PORT\nrun {word}\n" for word in every)
    answers = map(json.loads, run("recall", "--batch", "-", "--limit", "20", stdin=queries).out.splitlines())
    hits = [hit for answer in answers for hit in answer["result"]["hits"]]
    words: tuple[set[str], set[str]] = (set(), set())
    for word in every:
        own = [hit for hit in hits if word in hit["observation"] and hit["collection"] in ("episodes", "calls")]
        for hit in own:
            words[not hit["isAbandoned"]].add(word)
        assert not own or {hit["collection"] for hit in own} == {"episodes", "calls"}, (word, own)
    return words


@EACH_TURN
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("turns", "gone"), [
    ([("wren", ""), ("merlin", "wren")], ""),
    ([("wren", ""), ("merlin", ""), ("saker", "merlin")], "wren"),
    ([("wren", ""), ("merlin", "wren"), ("saker", "merlin"), ("hobby", "wren")], "merlin saker"),
    ([("wren", ""), ("merlin", "wren"), ("saker", "wren"), ("hobby", "wren")], "merlin saker"),
])  # fmt: skip
def test_what_the_user_went_back_from_is_found_and_marked(
    run: Run, tmp_path: Path, each: bool, client: Any, turns: list[tuple[str, str]], gone: str
) -> None:
    told(run, client(tmp_path), turns, each=each)
    assert abandoned(run) == (set(gone.split()), {word for word, _ in turns} - set(gone.split()))


@EACH_TURN
@pytest.mark.parametrize("client", [Claude, Pi])
def test_the_mark_follows_a_user_who_goes_back_to_a_branch(run: Run, tmp_path: Path, each: bool, client: Any) -> None:
    turns = [("wren", ""), ("merlin", "wren"), ("saker", "wren"), ("hobby", "merlin")]
    told(run, client(tmp_path), turns, each=each)
    assert abandoned(run) == ({"saker"}, {"wren", "merlin", "hobby"})


def test_a_rewind_of_copilot_is_marked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "session-state/9d000000-0000-4000-8000-000000000001/events.jsonl"
    path.parent.mkdir(parents=True)
    rows: list[dict[str, Any]] = [{"type": "session.start", "data": {"sessionId": path.parent.name}}]
    for word in ("wren", "merlin", "saker"):
        if word == "saker":
            rows.append({"type": "session.snapshot_rewind", "data": {"upToEventId": "merlin-user"}})
        for role in ("user", "assistant"):
            data = {"content": f"store the port under {word}_PORT"}
            rows.append({"type": f"{role}.message", "id": f"{word}-{role}", "data": data})
    with path.open("w") as file:
        for number, row in enumerate(rows):
            parent = rows[number - 1].get("id", f"e{number - 1}") if number else None
            times = {"id": f"e{number}", "parentId": parent, "timestamp": f"2026-09-20T10:00:{number:02}.000Z"}
            file.write(json.dumps(times | row) + "\n")
    run("memory", "archive", str(path))
    hits = run("recall", "store the port", "--limit", "9").result["hits"]
    assert {hit["id"].partition("-")[0]: hit["isAbandoned"] for hit in hits} == {
        "copilot:wren": False, "copilot:merlin": True, "copilot:saker": False,
    }  # fmt: skip


@pytest.mark.parametrize("client", [Claude, CodexFiles])
def test_reading_a_transcript_again_changes_no_mark(run: Run, tmp_path: Path, home: Path, client: Any) -> None:
    told(run, client(tmp_path), [("wren", ""), ("merlin", "wren"), ("saker", "wren")], each=False)
    import apsw

    db = apsw.Connection(str(home / "store.db"))
    db.execute("UPDATE transcript SET head = ''; DELETE FROM seen_file")
    db.close()
    run("memory", "archive", str(tmp_path))
    assert abandoned(run) == ({"merlin"}, {"wren", "saker"})


def test_a_compaction_without_a_known_parent_continues_the_branch(run: Run, tmp_path: Path) -> None:
    talk = Claude(tmp_path)
    talk.turn("wren", None)
    talk.add("system", "", None, type="system", subtype="compact_boundary", logicalParentUuid="unknown")
    talk.add("user", "This session is being continued. Summary:\nports", f"u-{talk.count}",
                isCompactSummary=True)  # fmt: skip
    talk.turn("merlin", f"u-{talk.count}")
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


def claude_hook(run: Run, talk: Claude, event: str, **fields: Any) -> str:
    payload = {"session_id": SESSION, "cwd": CWD, "transcript_path": str(talk.path), "hook_event_name": event}
    return run("hook", "claude", stdin=json.dumps(payload | fields)).out


def test_nothing_abandoned_is_in_a_note_or_in_lost(run: Run, tmp_path: Path) -> None:
    talk = Claude(tmp_path)
    hook = functools.partial(claude_hook, run, talk)
    ends: dict[str, Any] = {"": None}
    for word, after in (("wren", ""), ("merlin", "wren"), ("saker", "wren")):
        hook("UserPromptSubmit", prompt=f"store the port under {word}_PORT")
        hook("PostToolUse", tool_name="Edit", tool_input={"file_path": f"{CWD}/src/{word}.py"})
        ends[word] = talk.turn(word, ends[after])
        if word == "merlin":  # its plan is abandoned with it
            plan = {"todos": [{"content": "merge merlin", "status": "in_progress"}]}
            talk.add("assistant", [{"type": "tool_use", "id": "p", "name": "TodoWrite", "input": plan}], ends[word])
        hook("Stop")
    hook("PreCompact", trigger="auto")
    boundary = talk.add("system", "", ends["saker"], type="system", subtype="compact_boundary")
    talk.add("user", "This session is being continued. Summary:\nports", boundary, isCompactSummary=True)
    note = hook("SessionStart", source="compact")
    assert "saker" in note and "merlin" not in note
    lost = run("lost", SESSION)
    assert "wren" in lost.out and "merlin" not in lost.out
    state = run("checkpoint", "show", SESSION).out
    assert "merlin" not in state
    talk.turn("hobby", ends["wren"])
    hook("Stop")
    refused = run("lost", SESSION, ok=False).json
    assert (refused["error"]["code"], refused["fix"]) == ("NO_COMPACTION", "ask again after a compaction")


def test_a_session_whose_calls_are_all_abandoned_gets_the_note_of_a_talk(run: Run, tmp_path: Path) -> None:
    talk = Claude(tmp_path)
    hook = functools.partial(claude_hook, run, talk)
    asked = "which port should the heron server have?"
    hook("UserPromptSubmit", prompt="store the port under wren_PORT")
    talk.turn("wren", None)
    hook("Stop")
    hook("UserPromptSubmit", prompt=asked)
    prompt = talk.add("user", asked, None)
    end = talk.add("assistant", [{"type": "text", "text": "The next one that is free."}], prompt)
    hook("Stop")
    hook("PreCompact", trigger="auto")
    boundary = talk.add("system", "", end, type="system", subtype="compact_boundary")
    talk.add("user", "This session is being continued. Summary:\nports", boundary, isCompactSummary=True)
    note = hook("SessionStart", source="compact")
    assert "heron" in note and "wren" not in note
    degraded = run("otel", "search", "hook.degraded", "--hours", "9999").result["events"]
    assert [event["error"] for event in degraded] == []


@pytest.mark.parametrize("client", [Codex, Gemini])
def test_the_task_follows_a_user_who_goes_back_and_asks_something_else(run: Run, tmp_path: Path, client: Any) -> None:
    talk = client(tmp_path)
    names = {"prompt": "UserPromptSubmit", "tool": "PostToolUse", "turn": "Stop"}
    if client is Gemini:
        names = {"prompt": "BeforeAgent", "tool": "AfterTool", "turn": "AfterAgent"}
    session = "s" if client is Gemini else talk.session

    def hook(kind: str, **fields: Any) -> list[str]:
        payload = {"session_id": session, "cwd": "/w", "transcript_path": str(talk.path)} | fields
        payload["hook_event_name"] = names[kind]
        run("hook", "gemini" if client is Gemini else "codex", stdin=json.dumps(payload))
        known = run("checkpoint", "show", session).result["messages"]
        return [entry["text"].split()[-1] for entry in known]

    after = None
    for word in ("wren", "merlin"):
        hook("prompt", prompt=f"store the port under {word}_PORT")
        after = talk.turn(word, after)
        assert hook("turn")[-1] == f"{word}_PORT"
    talk.go_back("wren")
    assert hook("prompt", prompt="store the port under saker_PORT") == ["wren_PORT", "saker_PORT"]
    assert hook("tool") == ["wren_PORT", "saker_PORT"]
    talk.turn("saker", after)
    assert hook("turn") == ["wren_PORT", "saker_PORT"]


def forked(talk: Any, session: str, leaf: str, *, named: bool = True) -> Any:
    """A fork, which copies the branch that ends at a leaf; `named`: it says from which session."""
    rows = {row.get("uuid") or row.get("id"): row for row in map(json.loads, talk.path.read_text().splitlines())}
    branch: list[Any] = []
    at: Any = leaf
    while at:
        branch.insert(0, rows[at])
        at = rows[at].get("parentUuid") or rows[at].get("parentId")
    child = copy.copy(talk)
    child.path = talk.path.with_name(f"{session}.jsonl")
    if isinstance(talk, Pi):
        child.ids = ["" for _ in range(len(talk.ids) + 100)]
        head = {"type": "session", "version": 3, "id": session, "cwd": "/w"}
        branch.insert(0, head | ({"parentSession": str(talk.path)} if named else {}))
    else:
        child.count = talk.count + 100
        mark = {"forkedFrom": {"sessionId": talk.session}} if named else {}
        branch = [{**row, "sessionId": session, **mark} for row in branch]
    child.session = session
    child.path.write_text("".join(json.dumps(row) + "\n" for row in branch))
    return child


def hook(run: Run, talk: Any) -> None:
    """The client says that a turn has ended."""
    about: dict[str, Any] = {"session_id": talk.session, "cwd": CWD, "transcript_path": str(talk.path)}
    event, payload = ("session_end", {}) if isinstance(talk, Pi) else ("SessionEnd", {"hook_event_name": "SessionEnd"})
    agent = "pi" if isinstance(talk, Pi) else "claude"
    run("hook", agent, "--event", event, stdin=json.dumps(about | payload))


@pytest.mark.parametrize(
    ("named", "by_hook"), [(True, True), (False, False)], ids=["named, hooks", "unnamed, commands"]
)
@pytest.mark.parametrize("client", [Claude, Pi])
@pytest.mark.parametrize("order", ["parent fork", "fork parent", "second fork parent", "second parent fork",
                                   "fork second parent", "begun second fork parent"])  # fmt: skip
def test_the_order_of_archiving_a_fork_changes_no_mark(
    run: Run, tmp_path: Path, order: str, client: Any, named: bool, by_hook: bool
) -> None:
    parent = client(tmp_path)
    first = parent.turn("wren", None)
    begun = parent.path.read_text()
    parent.turn("merlin", first)
    last = parent.turn("saker", first)
    whole = parent.path.read_text()
    child = forked(parent, "72000000-0000-4000-8000-000000000002", last, named=named)
    end = child.turn("heron", last)
    talks = {"parent": parent, "begun": parent, "fork": child}
    child.turn("curlew", last)
    talks["second"] = forked(child, "73000000-0000-4000-8000-000000000003", end, named=named)
    talks["second"].turn("hobby", end)
    for name in order.split():
        parent.path.write_text(begun if name == "begun" else whole)
        if by_hook:
            hook(run, talks[name])
        else:
            run("memory", "archive", str(talks[name].path))
    if by_hook:
        hook(run, parent)
    gone, live = {"merlin"}, {"wren", "saker"}
    if "fork" in order:
        gone, live = gone | {"heron"}, live | {"curlew"}
    assert abandoned(run) == (gone, live | ({"hobby"} if "second" in order else set()))


@pytest.mark.parametrize("relation", ["fork", "subagent"])
@pytest.mark.parametrize("copied", ["all lines", "the live branch"])
@pytest.mark.parametrize("order", ["parent child", "child parent", "begun child parent"])
def test_the_order_of_archiving_rollouts_changes_no_mark(
    run: Run, tmp_path: Path, order: str, copied: str, relation: str
) -> None:
    folder = tmp_path / ".codex/sessions"
    folder.mkdir(parents=True)
    parent = Codex(folder)
    parent.turn("wren", None)
    begun = parent.path.read_text()
    parent.turn("merlin", None)
    parent.go_back("wren")
    parent.turn("saker", None)
    whole = parent.path.read_text()
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent.session}}}
    about = {"forked_from_id": parent.session} if relation == "fork" else {"source": source}
    child = Codex(folder, "019a0000-1111-7000-8000-00000000000b", minute=20, **about)
    child.turns = [*parent.turns]
    for kind, payload in parent.rows:
        if copied == "all lines" or not ("merlin" in json.dumps(payload) or kind == "event_msg"):
            child.add(kind, **payload)
    for word in ("heron", "curlew"):
        child.turn(word, None)
    child.go_back("heron")
    child.turn("hobby", None)
    for name in order.split():
        parent.path.write_text(begun if name == "begun" else whole)
        run("memory", "archive", str((child if name == "child" else parent).path), env={"HOME": str(tmp_path)})
    exported = run("memory", "export", "--collection", "episodes").out.splitlines()
    assert sorted(Counter(json.loads(row)["session"] for row in exported).values()) == [6, 6]
    assert abandoned(run) == ({"merlin", "curlew"}, {"wren", "saker", "heron", "hobby"})


@pytest.mark.parametrize("order", ["parent child", "child parent", "begun child parent", "together"])
def test_the_order_of_archiving_chats_with_the_same_ids_changes_no_mark(run: Run, tmp_path: Path, order: str) -> None:
    parent = Gemini(tmp_path)
    parent.path.write_text(parent.path.read_text().replace('"s"', '"71000000-parent"'))
    parent.turn("wren", None)
    begun = parent.path.read_text()
    parent.turn("merlin", None)
    child = copy.copy(parent)
    child.path = (
        tmp_path / "session-2026-09-20T11-00-72000000.jsonl"
    )  # with the beginning of its id, as Gemini CLI does
    child.path.write_text(parent.path.read_text().replace("71000000-parent", "72000000-child"))
    child.turns = [*parent.turns]
    parent.go_back("wren")
    parent.turn("saker", None)
    child.count += 100
    child.go_back(None)
    for word in ("heron", "curlew"):
        child.turn(word, None)
    child.go_back("heron")
    child.turn("hobby", None)
    whole = parent.path.read_text()
    for name in order.split():
        parent.path.write_text(begun if name == "begun" else whole)
        paths = {"child": child.path, "together": tmp_path}
        run("memory", "archive", str(paths.get(name, parent.path)))
    exported = map(json.loads, run("memory", "export", "--collection", "episodes").out.splitlines())
    of_parent = [row["text"].split()[-1] for row in exported if row["session"] == "71000000-parent"]
    assert of_parent == ["wren_PORT", "wren.", "merlin_PORT", "merlin.", "saker_PORT", "saker."]
    assert abandoned(run) == ({"merlin", "curlew"}, {"wren", "saker", "heron", "hobby"})
