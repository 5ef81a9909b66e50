"""What a line of a transcript adds to the context, how its calls ended, and what it says of a plan or of a queue."""

from __future__ import annotations

import json
from typing import Any

from clients.claude import transcript as claude
from clients.codex import transcript as codex
from clients.gemini import transcript as gemini
from clients.pi import transcript as pi

STAMP = "2027-03-04T05:06:07.089Z"
AT = 1_804_136_767_089


def outcomes(items: list[Any]) -> list[tuple[str, bool, str]]:
    return [(one["text"], one["failed"], one.get("process", "")) for one in items if one["kind"] == "outcome"]


# -- Claude Code


def of_claude(given: Any, kind: str = "user", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": "u-1", "timestamp": STAMP, "message": {"content": given}, **fields}


def result(text: str, *, failed: bool = False) -> dict[str, Any]:
    return of_claude([{"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": failed}])


def test_claude_how_a_call_ended() -> None:
    rows: list[Any] = [
        ("fine", True, ("fine", True, "")),
        ("<tool_use_error>no such file</tool_use_error>", True, ("no such file", True, "")),
        (
            "Command running in background with ID: b-1. Output",
            False,
            ("Command running in background with ID: b-1. Output", False, "b-1"),
        ),
        ("Command running in background with ID:  ", False, ("Command running in background with ID:", False, "")),
        ("said <status>failed</status>", False, ("said <status>failed</status>", False, "")),
    ]
    for text, failed, found in rows:
        assert outcomes(claude.items(result(text, failed=failed))) == [found]


# -- Codex


def of_codex(payload: Any, kind: str = "response_item") -> dict[str, Any]:
    return {"timestamp": STAMP, "type": kind, "payload": payload}


HEAD = "Chunk ID: 1\nWall time: 0\n"


def test_codex_how_a_call_ended() -> None:
    rows: list[Any] = [
        (f"{HEAD}Process exited with code 0\nOutput:\nnine", ("nine", False, "")),
        (f"{HEAD}Process exited with code 1\nProcess exited with code 0\nOutput:\n", ("", True, "")),
        (f"{HEAD}Exit code: 3 \nOutput:\nx", ("x", True, "")),
        (f"{HEAD}Process running with session ID 7 \nOutput:\nx", ("x", False, "7")),
        ("Process exited with code 1", ("Process exited with code 1", False, "")),
        ("exec_command failed: no", ("exec_command failed: no", True, "")),
        ("apply_patch verification failed: x", ("apply_patch verification failed: x", True, "")),
        ("it said exec_command failed", ("it said exec_command failed", False, "")),
        ({"output": "x", "success": True}, ("x", False, "")),
        ({"content": "x", "metadata": {"exit_code": 1}}, ("x", True, "")),
        (' {"output" half', (' {"output" half', False, "")),
        ('{"output": "a\\nOutput:\\nb", "metadata": {"exit_code": 2}}', ("b", True, "")),
    ]
    for output, found in rows:
        line = of_codex({"type": "local_shell_call_output", "call_id": "c", "output": output})
        assert outcomes(codex.items(line)) == [found]


# -- Gemini CLI


def gemini_call(name: str, *answers: Any, status: str = "success") -> list[Any]:
    rows = [{"functionResponse": {"response": one}} for one in answers]
    call = {"id": "w", "name": name, "args": {}, "result": rows, "status": status}
    return list(gemini.items({"type": "gemini", "toolCalls": [call], "timestamp": STAMP}))


def test_gemini_the_last_exit_code_tells_whether_a_command_failed() -> None:
    rows: list[Any] = [
        ("Exit Code: 0", False),
        ("Exit Code: 2", True),
        ("Exit Code: (none)", False),
        ("x", False),
        ("Exit Code: 2\nExit Code: 0", False),
        ("Exit Code: 0\nExit Code: 1", True),
        (" Exit Code: 1", True),
        ("said Exit Code: 1", False),
    ]
    for text, failed in rows:
        assert outcomes(gemini_call("run_shell_command", {"output": text})) == [(text.strip(), failed, "")]
        assert outcomes(gemini_call("read_file", {"output": text})) == [(text.strip(), False, "")]


def test_gemini_how_a_call_ended() -> None:
    assert outcomes(gemini_call("x", {"output": "a"}, {"error": "b"}, {})) == [("a\nb", True, "")]
    assert outcomes(gemini_call("x", {"output": "<untrusted_context> a </untrusted_context>"})) == [("a", False, "")]
    assert outcomes(gemini_call("x", {"output": "a"}, status="error")) == [("a", True, "")]
    assert outcomes(gemini_call("x", {"output": "a"}, status="cancelled")) == outcomes(gemini_call("x")) == []


# -- pi


def of_pi(message: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m", "parentId": "p", "timestamp": STAMP, "message": message, **fields}


KEPT = [
    {"type": "session", "id": "s"}, of_pi({"content": "one"}, id="a"), of_pi({"content": "two"}, id="b"),
    of_pi({"content": "three"}, id="c"), {"type": "compaction", "id": "d", "firstKeptEntryId": "b"},
    of_pi({"content": "four"}, id="e"),
]  # fmt: skip


def file_of(lines: list[Any], **last: Any) -> bytes:
    changed = [{**line, **last} if line.get("type") == "compaction" else line for line in lines]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in changed)


def test_pi_what_a_compaction_left_stands_between_its_first_kept_entry_and_itself() -> None:
    assert pi.kept_of(file_of(KEPT)) == "two\nthree"
    assert pi.kept_of(file_of(KEPT), whole=False) == "two\nthree"
    assert pi.kept_of(file_of(KEPT[:4])) == ""
    assert pi.kept_of(file_of(KEPT, firstKeptEntryId="x")) == "", "of the whole file it is known that it is not there"
    assert pi.kept_of(b"half of a line\n" + file_of(KEPT[3:]), whole=False) == "three", "it stands before the end"
    for index, kept in ((2, "two\nthree"), (3, "three"), (-1, ""), (True, ""), ("1", "")):  # of pi before 0.30
        assert pi.kept_of(file_of(KEPT, firstKeptEntryId="", firstKeptEntryIndex=index)) == kept
    assert pi.kept_of(file_of(KEPT, firstKeptEntryId="", firstKeptEntryIndex=1), whole=False) == ""
