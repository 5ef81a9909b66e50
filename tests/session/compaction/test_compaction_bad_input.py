"""Compaction commands on damaged, foreign or huge files: a clear error, or a result with problems."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Attempt, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pi_session import PiSession

from core.errors import Failure
from session.compaction import preparation, session_tree

PAYLOADS = ROOT / "tests" / "agents" / "payloads"
COMMANDS = (("summarize",), ("branch", "--to", "e001"))


@pytest.fixture(params=COMMANDS, ids=lambda words: words[0])
def command(request: pytest.FixtureRequest, run: Run) -> Any:
    """Runs one of the commands on a file."""
    first, *rest = request.param

    def call(path: Path | str, *, ok: bool) -> Attempt:
        return run("compaction", first, str(path), *rest, ok=ok)

    return call


def refused(spawned: Attempt, code: str, exit_code: int = 1) -> dict[str, Any]:
    """The error of a command that gave one."""
    answer: dict[str, Any] = spawned.json
    assert (spawned.code, answer["ok"], answer["error"]["code"]) == (exit_code, False, code)
    assert answer["fix"]
    assert spawned.err == ""
    return answer


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08" + bytes(range(256)) * 99, b"{}\n" * 3], ids=["gzip", "objects"])
def test_other_files_are_refused(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.bin").write_bytes(content)
    refused(run("compaction", "prepare", str(tmp_path / "s.bin"), ok=False), "TRANSCRIPT_UNKNOWN")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("{}")
    path.chmod(0)
    refused(run("compaction", "prepare", str(path), ok=False), "TRANSCRIPT_UNREADABLE")


def no_parent(session: PiSession) -> None:
    session.leaf = "gone"
    session.user("found")
    session.answer("x" * 400)


def newer(session: PiSession) -> None:
    header, rest = session.path.read_text().split("\n", 1)
    session.path.write_text(json.dumps({**json.loads(header), "version": 9}) + "\n" + rest)
    session.add("hologram", content=[{"type": "smell"}])
    session.add("message", message={"role": "oracle", "content": 7})


def half_a_character(session: PiSession) -> None:
    """A lone surrogate in an escape, and bytes that are no UTF-8."""
    session.user("half \ud83d of one " + "x" * 400)
    session.append(session.path.read_bytes().splitlines(keepends=True)[-1].replace(b"\\ud83d", b"\xff"))


@pytest.mark.parametrize(("damage", "problems"), [
    (lambda session: session.append(b'{"type":"message","id":"e003","parentId":"e002","message":{"content":"hal'),
     ["line 4 is not a JSON object"]),
    (lambda session: session.append(b"\0\0\0\0\n[1]\nnull\n{\n"),
     [f"line {number} is not a JSON object" for number in (4, 5, 6, 7)]),
    (no_parent, ["the branch begins at e003: gone, its parent, is not in the file or follows it"]),
    (lambda session: session.append(session.path.read_bytes().splitlines(keepends=True)[1]), []),
    (newer, []),
    (half_a_character, []),
])  # fmt: skip
def test_damage_is_reported_and_the_rest_is_read(
    command: Any, tmp_path: Path, damage: Any, problems: list[str]
) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    session.user("go")
    session.answer("x" * 400)
    damage(session)
    spawned = command(session.path, ok=True)
    result = spawned.result["problems"]
    assert [problem for problem in problems if not any(problem in line for line in result)] == []
    spawned.out.encode()


def test_cyclic_parents(command: Any, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    session.leaf = "e003"
    for text in ("one", "two", "three"):
        session.user(text)
    result = command(session.path, ok=True).result
    assert any("its parent" in problem for problem in result["problems"])
    session.path.write_text(session.path.read_text().splitlines()[0] + "\n")
    itself = {"type": "message", "id": "e001", "parentId": "e001", "message": {"role": "user", "content": "x"}}
    session.append(json.dumps(itself).encode() + b"\n")
    assert any("its parent" in problem for problem in command(session.path, ok=True).result["problems"])


WORDS = st.sampled_from(["type", "id", "parentId", "message", "role", "content", "text"])
KINDS = st.sampled_from(["message", "user", "assistant", "compaction", "toolCall", "text"])
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), KINDS, st.text(max_size=4)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=15,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_damage(tmp_path: Path, data: st.DataObject) -> None:
    """Lines of a recording, some gone, cut, doubled, moved, or with something else in a member."""
    lines = (PAYLOADS / "pi" / "session.jsonl").read_bytes().splitlines()
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(lines) - 1))
        what = data.draw(st.sampled_from(["drop", "cut", "double", "move", "change", "change", "change"]))
        if what == "drop" and len(lines) > 1:
            del lines[at]
        elif what == "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
        elif what == "double":
            lines.insert(data.draw(st.integers(0, len(lines))), lines[at])
        elif what == "move":
            lines.insert(data.draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        else:
            lines[at] = changed(lines[at], data)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(lines))
    try:
        ours = session_tree.read(str(path), "pi")
    except Failure as failure:
        assert failure.code.startswith("TRANSCRIPT_")
        return
    preparation.reason(ours, window=10_000, reserve=10)
    prepared = preparation.prepare(ours, keep_recent=50)
    session_tree.serialize(prepared.entries_to_summarize)
    session_tree.serialize(prepared.turn_prefix_entries)
    session_tree.serialize(preparation.context_entries(ours))
    if ours.tree:
        some = data.draw(st.sampled_from(sorted(ours.tree)))
        assert preparation.prepare_branch(ours, some, some, budget=0).entries == ()


def changed(line: bytes, data: st.DataObject) -> bytes:
    """A line in which a member, somewhere, has another value."""
    try:
        value = json.loads(line)
    except ValueError:
        return line
    inner = value
    while isinstance(inner, dict) and inner:
        name = data.draw(st.sampled_from(sorted(inner)))
        if not isinstance(inner[name], dict) or data.draw(st.booleans()):
            inner[name] = data.draw(ANYTHING)
            break
        inner = inner[name]
    return json.dumps(value).encode()
