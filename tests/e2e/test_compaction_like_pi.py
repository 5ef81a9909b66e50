"""Cut point, split turn, tokens, files and text of a compaction are those of pi's own functions (1.6).

Where we differ on purpose, the test that compares says so: `ON PURPOSE`.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, ROOT, clean_environment
from hypothesis import HealthCheck, currently_in_test_context, event, given, settings
from hypothesis import strategies as st

from session.compaction import preparation, session_tree
from session.compaction.session_tree import FileOperations, Transcript, serialize, tokens

from .conftest import chosen

Asked = Callable[..., dict[str, Any]]
RECORDED = [*sorted((ROOT / "tests" / "agents" / "payloads").glob("pi/*.jsonl")), ROOT / "demo" / "pi-session.jsonl"]
VERSION = "1.6.0"
SAID = ("user", "assistant", "toolResult", "bashExecution")
WHEN = "2026-09-21T10:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": WHEN, "cwd": "/w"}


@pytest.fixture(scope="module")
def pi(request: pytest.FixtureRequest) -> Iterator[Asked]:
    """Asks pi's functions about a session file; one Node process answers all questions."""
    if "pi" not in chosen(request.config):
        pytest.skip("pi is not under test")
    clients = Path(os.environ.get("JOELCLAW_E2E_CLIENTS") or ROOT / ".e2e")
    package = clients / "pi" / "node_modules" / "@earendil-works" / "pi-coding-agent"
    node = subprocess.Popen(
        [str(package.parents[1] / "node/bin/node"), str(Path(__file__).with_name("pi_functions.mjs")), str(package)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert node.stdin and node.stdout
    assert json.loads(node.stdout.readline() or "{}").get("version") == VERSION

    def ask(path: Path, **options: Any) -> dict[str, Any]:
        assert node.stdin and node.stdout
        defaults = {"keepRecent": 20_000, "reserve": 16_384, "window": 200_000, "leaf": None, "target": "", "budget": 0}
        node.stdin.write(json.dumps({**defaults, "path": str(path), **options}) + "\n")
        node.stdin.flush()
        answered: dict[str, Any] = json.loads(node.stdout.readline())
        assert "error" not in answered, answered["error"]
        return answered

    yield ask
    node.stdin.close()
    node.wait(10)
    node.stdout.close()


# --- sessions, generated ---

PIECES = st.sampled_from(
    ["word ", "ключ ", "漢字", "🙂", "é", '"quoted" ', "line\n", "\t", "\x07", " ", "a", "</summary>"]
)
TEXTS = st.tuples(st.lists(PIECES, max_size=6), st.sampled_from([0, 1, 1, 1, 7, 90, 600])).map(
    lambda drawn: "".join(drawn[0]) * drawn[1]
)
PATHS = st.sampled_from(["src/a.py", "b.md", "ü/z.txt", "a b", "\ue000", "😀.txt", ""])
NAMES = st.sampled_from(["007", "a", "", "z", "é"])
# ON PURPOSE: numbers that JavaScript writes in a way of its own (1.0, 1e21), and its order of keys that are numbers.
NUMBERS = st.one_of(st.integers(-(2**53), 2**53), st.sampled_from([0.1, 2.5]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=4,
)
ARGUMENTS = st.one_of(
    st.fixed_dictionaries({"path": PATHS}, optional={"limit": NUMBERS, "edits": VALUES}),
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.fixed_dictionaries({"path": st.one_of(NUMBERS, st.none())}),
)
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
TEXT_BLOCKS = TEXTS.map(lambda text: {"type": "text", "text": text})
PARTS = st.lists(st.one_of(TEXT_BLOCKS, TEXT_BLOCKS, st.just(IMAGE)), max_size=3)
CONTENTS = st.one_of(TEXTS, PARTS)
THINKING = TEXTS.map(lambda text: {"type": "thinking", "thinking": text, "thinkingSignature": "x"})
USAGES = st.one_of(
    st.none(),
    st.just({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}),
    st.builds(
        lambda parts, told: {
            **dict(zip(("input", "output", "cacheRead", "cacheWrite"), parts, strict=True)),
            "totalTokens": told,
        },
        st.tuples(*[st.integers(0, 5000)] * 4),
        st.sampled_from([0, 1, 900, 4000, 183_000]),
    ),
)
STOPS = st.sampled_from(["stop", "toolUse", "stop", "toolUse", "length", "aborted", "error"])
# ON PURPOSE: we leave out an empty path that a summary lists.
LISTED = st.lists(PATHS.filter(bool), max_size=3)
DETAILS = st.one_of(
    st.none(), st.fixed_dictionaries({"readFiles": LISTED, "modifiedFiles": LISTED}), st.just({"other": 1})
)


class Writer:
    """Puts a session together, entry by entry."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.leaf: str | None = None
        self.waiting: list[str] = []
        """calls without a result"""

    def add(self, kind: str, **fields: Any) -> str:
        identifier = f"e{len(self.entries):03}"
        entry = {"type": kind, "id": identifier, "parentId": self.leaf, "timestamp": WHEN, **fields}
        self.entries.append(entry)
        self.leaf = identifier
        return identifier

    def message(self, role: str, **fields: Any) -> None:
        self.add("message", message={"role": role, "timestamp": 1_790_000_000_000 + len(self.entries), **fields})


def chain_of_calls(draw: st.DrawFn, writer: Writer) -> None:
    """An answer with calls, and their results; an extension may write between them, and a call may stay open."""
    calls = []
    for number in range(draw(st.integers(0, 3))):
        reused = draw(st.booleans())  # some providers count their calls anew in each answer
        call = f"call_{number}" if reused else f"call_{len(writer.entries)}_{number}"
        name = draw(st.sampled_from(["read", "write", "edit", "bash", "Read"]))
        calls.append({"type": "toolCall", "id": call, "name": name, "arguments": draw(ARGUMENTS)})
    blocks = draw(st.lists(st.one_of(TEXT_BLOCKS, THINKING), max_size=3))
    usage = draw(USAGES)
    usage_field = {} if usage is None else {"usage": usage}
    writer.message(
        "assistant", content=[*blocks, *calls], stopReason=draw(STOPS), model="m", provider="p", **usage_field
    )
    for call in calls:
        if draw(st.integers(0, 3)) == 0:
            other(draw, writer)
        if draw(st.integers(0, 9)):
            writer.message(
                "toolResult",
                toolCallId=call["id"],
                toolName=call["name"],
                content=draw(PARTS),
                isError=draw(st.booleans()),
                **draw(st.sampled_from([{}, {}, {"nestedCalls": nested(draw, call["id"])}])),
            )


def nested(draw: st.DrawFn, parent: str) -> dict[str, Any]:
    """The calls that a script made while it ran."""
    names = st.sampled_from(["read", "write", "edit", "bash"])
    calls = [
        {"id": f"{parent}/{number}", "name": draw(names), "arguments": draw(ARGUMENTS), "status": "ok"}
        for number in range(draw(st.integers(0, 2)))
    ]
    return {"calls": calls, "complete": True}


def system(draw: st.DrawFn, writer: Writer) -> None:
    """The client's own instructions, of which a later message changes sections and tools."""
    names = st.sampled_from(["rules", "docs", "tools"])
    tools = st.builds(lambda name, text: {"name": name, "description": text}, NAMES, TEXTS)
    fields = {
        "sections": st.dictionaries(names, st.one_of(st.none(), TEXTS), max_size=3),
        "toolsAdded": st.lists(tools, max_size=2),
        "toolsRemoved": st.lists(st.builds(lambda name: {"name": name}, NAMES), max_size=2),
    }
    writer.message("system", content=draw(TEXTS), **draw(st.fixed_dictionaries({}, optional=fields)))


def edit(draw: st.DrawFn, writer: Writer) -> None:
    """What the model no longer sees, or sees differently."""
    roles = ("user", "assistant", "toolResult", "custom")
    can_change = [entry for entry in writer.entries if entry.get("message", entry).get("role", entry["type"]) in roles]
    can_change += [entry for entry in writer.entries if entry["type"] == "custom_message"]
    if can_change:
        target = draw(st.sampled_from(can_change[-6:]))
        call = {"type": "toolCall", "id": "call_e", "name": "edit", "arguments": {"path": "edited.py"}}
        is_answer = target.get("message", {}).get("role") == "assistant"
        content = st.one_of(TEXTS, st.lists(TEXT_BLOCKS, max_size=2), st.just([call])) if is_answer else CONTENTS
        replacement = st.one_of(st.none(), st.none(), st.builds(lambda text: {"content": text}, content))
        writer.add("context_edit", targetId=target["id"], replacement=draw(replacement))


def bash(draw: st.DrawFn, writer: Writer) -> None:
    writer.message(
        "bashExecution",
        command=draw(TEXTS),
        output=draw(TEXTS),
        exitCode=draw(st.sampled_from([0, 1, None])),
        cancelled=draw(st.booleans()),
        truncated=draw(st.booleans()),
        fullOutputPath=draw(st.sampled_from(["/tmp/out", None])),
        **draw(st.sampled_from([{}, {}, {"excludeFromContext": True}])),
    )


def other(draw: st.DrawFn, writer: Writer) -> None:
    """What extensions and the client itself write."""
    kind = draw(
        st.sampled_from(
            ["custom", "custom_message", "custom_message", "model_change", "thinking_level_change", "label", "info"]
        )
    )
    if kind == "custom":
        writer.add("custom", customType="openclaw.cache-ttl", data={"ttl": 1})
    elif kind == "custom_message":
        writer.add("custom_message", customType="note", content=draw(CONTENTS), display=True)
    elif kind == "model_change":
        writer.add("model_change", provider="p", modelId="m")
    elif kind == "thinking_level_change":
        writer.add("thinking_level_change", thinkingLevel="low")
    elif kind == "label":
        writer.add("label", targetId="e000", label="here")
    else:
        writer.add("session_info", name="n")


def summary_of_branch(draw: st.DrawFn, writer: Writer) -> None:
    text = draw(TEXTS)
    hook = draw(st.sampled_from([{}, {"fromHook": True}]))
    writer.add("branch_summary", fromId="e000", summary=text, details=draw(DETAILS), **hook)


def compaction(draw: st.DrawFn, writer: Writer) -> None:
    earlier = [entry["id"] for entry in writer.entries] or ["gone"]
    first_kept = draw(st.sampled_from([*earlier[-12:], "gone", f"e{len(writer.entries):03}"]))
    system_message = {"role": "system", "content": draw(TEXTS), "sections": {"rules": draw(TEXTS)}, "timestamp": 1}
    carried = draw(st.sampled_from([{}, {"systemMessage": system_message}]))
    hook = draw(st.sampled_from([{}, {"fromHook": True}, {"fromHook": False}]))
    writer.add(
        "compaction",
        summary=draw(TEXTS),
        firstKeptEntryId=first_kept,
        tokensBefore=9,
        details=draw(DETAILS),
        **hook,
        **carried,
    )


@st.composite
def sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Entries of a session in the order of the file."""
    writer = Writer()
    steps = st.sampled_from(
        ["user"] * 4
        + ["answer"] * 8
        + ["bash", "other", "other", "summary", "compact", "jump", "edit", "edit", "system"]
    )
    for step in draw(st.lists(steps, max_size=22)):
        if step == "user":
            writer.message("user", content=draw(CONTENTS))
        elif step == "answer":
            chain_of_calls(draw, writer)
        elif step == "bash":
            bash(draw, writer)
        elif step == "other":
            other(draw, writer)
        elif step == "summary":
            summary_of_branch(draw, writer)
        elif step == "compact":
            compaction(draw, writer)
        elif step == "edit":
            edit(draw, writer)
        elif step == "system":
            system(draw, writer)
        elif writer.entries:
            writer.leaf = draw(st.sampled_from([entry["id"] for entry in writer.entries]))
    return writer.entries


def write(path: Path, entries: list[dict[str, Any]], header: dict[str, Any] = HEADER) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *entries)), encoding="utf-8")
    return path


# --- what is compared ---


def note(what: str) -> None:
    """For --hypothesis-show-statistics."""
    if currently_in_test_context():
        event(what)


def said_since(path: list[dict[str, Any]], last: int) -> int:
    later = path[last + 1 :]
    return sum(entry["type"] == "message" and entry["message"]["role"] in SAID for entry in later)


def compare(path: Path, theirs: dict[str, Any], ours: Transcript, keep_recent: int) -> None:
    """Everything but branches."""
    assert len(ours.nodes) == theirs["branch"]
    assert not ours.problems
    measured = [tokens(node) if node.line["type"] == "message" else None for node in ours.nodes]
    assert measured == theirs["tokens"]
    assert serialize(preparation.context_entries(ours)) == theirs["context"]
    assert preparation.context_size(ours).total == theirs["contextTokens"]
    raw = {
        entry_.get("id", f"line-{n}"): entry_
        for n, entry_ in enumerate(map(json.loads, path.read_text().splitlines()), 1)
    }
    branch_ = [raw[entry.id] for entry in ours.nodes]
    compare_cut(branch_, theirs, ours, keep_recent)
    compare_preparation(branch_, theirs, ours, keep_recent)


def compare_cut(path: list[dict[str, Any]], theirs: dict[str, Any], ours: Transcript, keep_recent: int) -> None:
    start, cut = theirs["from"], theirs["cut"]
    empty = [node.role == "branch_summary" and not node.head.text for node in ours.nodes]
    nodes = [replace(node, role=None) if unseen else node for node, unseen in zip(ours.nodes, empty, strict=True)]
    starts = [
        next((at for at in range(index, start - 1, -1) if nodes[at].starts_turn), -1) for index in range(len(nodes))
    ]
    assert starts == theirs["turnStarts"]
    if any(entry["type"] in ("compaction", "context_edit") for entry in path):
        return  # pi's function for a cut in what the model sees is not exported; what it prepares shows its cut
    first_kept, turn = preparation.find_cut(preparation.context_entries(ours), start, keep_recent)
    assert (first_kept, turn) == (cut["firstKeptEntryIndex"], cut["turnStartIndex"])
    assert (turn >= 0) == cut["isSplitTurn"]


def compare_preparation(path: list[dict[str, Any]], theirs: dict[str, Any], ours: Transcript, keep_recent: int) -> None:
    prepared = preparation.prepare(ours, keep_recent=keep_recent)
    expected: Any = theirs.get("prepared")
    if said_since(path, ours.last_compaction()) == 0:
        # ON PURPOSE: pi asks only whether the compaction is the very last entry, and never whether anything was said.
        assert prepared.reason in ("empty", "nothing-since-compaction")
        return
    assert prepared.reason in ("ready", "nothing-to-summarize")
    if expected is None:
        assert prepared.reason == "nothing-to-summarize"
        return
    note("prepared alike, split" if expected["isSplitTurn"] else "prepared alike")
    assert prepared.first_kept_entry_id == ours.nodes[expected["firstKept"]].id
    assert prepared.is_split_turn == expected["isSplitTurn"]
    assert prepared.previous_summary == expected["previousSummary"]
    assert prepared.tokens_before == theirs["contextTokens"]
    history, prefix = prepared.entries_to_summarize, prepared.turn_prefix_entries
    assert (len(history), len(prefix)) == (expected["messagesToSummarize"], expected["turnPrefixMessages"])
    assert serialize(history) == expected["history"]
    assert serialize(prefix) == expected["prefix"]
    assert files(prepared.file_ops) == expected["fileOps"]
    assert lists(prepared.file_ops) == expected["lists"]


def compare_branch(path: Path, pi: Asked, ours: Transcript, leaf: str, target: str, budget: int) -> None:
    theirs = pi(path, leaf=leaf, target=target, budget=budget)["left"]
    prepared = preparation.prepare_branch(ours, leaf, target, budget=budget)
    assert prepared.common_ancestor == theirs["commonAncestorId"]
    assert [entry.id for entry in prepared.entries] == theirs["ids"]
    assert (len(prepared.chosen), prepared.tokens) == (theirs["messages"], theirs["tokens"])
    assert serialize(reversed(prepared.chosen)) == theirs["text"]
    assert files(prepared.file_ops) == theirs["fileOps"]
    assert lists(prepared.file_ops) == theirs["lists"]


def files(ops: FileOperations) -> dict[str, list[str]]:
    return {"read": list(ops.read), "written": list(ops.written), "edited": list(ops.edited)}


def lists(ops: FileOperations) -> dict[str, list[str]]:
    return {"readFiles": ops.read_only, "modifiedFiles": ops.modified}


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(entries=sessions(), keep_recent=st.sampled_from([0, 1, 40, 300, 1500, 20_000]), data=st.data())
def test_generated_sessions(
    pi: Asked, tmp_path: Path, entries: list[dict[str, Any]], keep_recent: int, data: st.DataObject
) -> None:
    path = write(tmp_path / "session.jsonl", entries)
    theirs = pi(path, keepRecent=keep_recent)
    ours = session_tree.read(str(path))
    compare(path, theirs, ours, keep_recent)
    if entries:
        ids = st.sampled_from([entry["id"] for entry in entries])
        leaf, target, budget = data.draw(ids), data.draw(ids), data.draw(st.sampled_from([0, 1, 100, 900, 5000]))
        compare_branch(path, pi, ours, leaf, target, budget)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: "-".join(path.parts[-2:]))
@pytest.mark.parametrize("keep_recent", [0, 50, 100, 200, 300, 500, 1000, 2000, 20_000])
def test_recorded_sessions(pi: Asked, path: Path, keep_recent: int, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    compare(copy, pi(copy, keepRecent=keep_recent), session_tree.read(str(copy)), keep_recent)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: "-".join(path.parts[-2:]))
def test_recorded_branches(pi: Asked, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    ours = session_tree.read(str(copy))
    ids = list(ours.tree)
    for target in ids[:: max(1, len(ids) // 7)]:
        for budget in (0, 100, 700):
            compare_branch(copy, pi, ours, ids[-1], target, budget)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: "-".join(path.parts[-2:]))
def test_every_moment_of_a_recorded_session(pi: Asked, path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    copy = tmp_path / path.name
    for end in range(2, len(lines) + 1):
        copy.write_bytes(b"".join(lines[:end]))
        compare(copy, pi(copy, keepRecent=300), session_tree.read(str(copy)), 300)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: "-".join(path.parts[-2:]))
def test_the_command_reports_the_same(pi: Asked, path: Path, tmp_path: Path) -> None:
    """At the moment before the recorded session was compacted."""
    before = path.read_bytes().splitlines(keepends=True)
    end = next(number for number, line in enumerate(before) if json.loads(line)["type"] == "compaction")
    copy = tmp_path / path.name
    copy.write_bytes(b"".join(before[:end]))

    def run(*words: str) -> Any:
        done = subprocess.run(
            [JOELCLAW, "compaction", *words, "--json"], capture_output=True, env=clean_environment(tmp_path / "home")
        )
        assert done.returncode == 0, done
        return json.loads(done.stdout)["result"]

    theirs = pi(copy, keepRecent=300, window=20_000)
    expected: Any = theirs.get("prepared")
    prepared = run("prepare", str(copy), "--keep-recent", "300", "--window", "20000")
    assert (prepared["reason"], prepared["isSplitTurn"]) == ("ready", expected["isSplitTurn"])
    assert prepared["firstKeptEntryId"] == theirs["ids"][expected["firstKept"]]
    assert (prepared["tokensBefore"], prepared["fileOps"]) == (expected["tokensBefore"], expected["fileOps"])
    assert len(prepared["messagesToSummarize"]) == expected["messagesToSummarize"]
    assert len(prepared["turnPrefixMessages"]) == expected["turnPrefixMessages"]
    assert run("serialize", str(copy))["text"] == theirs["context"]
    decided = run("decide", str(copy), "--window", "20000")
    assert (decided["contextTokens"], decided["compact"]) == (theirs["contextTokens"], theirs["shouldCompact"])


def test_the_threshold(pi: Asked, tmp_path: Path) -> None:
    """Above it, not at it; both say the same around it."""
    writer = Writer()
    writer.message("user", content="go")
    usage = {"input": 900, "output": 100, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1000}
    writer.message("assistant", content=[{"type": "text", "text": "x"}], stopReason="stop", usage=usage)
    path = write(tmp_path / "session.jsonl", writer.entries)
    ours = session_tree.read(str(path))
    decisions = []
    for window in range(1498, 1503):
        decisions.append(preparation.reason(ours, window=window, reserve=500) == "above-threshold")
        assert decisions[-1] == pi(path, window=window, reserve=500)["shouldCompact"]
    assert decisions == [True, True, False, False, False]
