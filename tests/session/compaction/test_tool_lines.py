"""Which lines of tool calls and results a summary keeps, what each weighs, and how a long record is cut for a model."""

from __future__ import annotations

from typing import Any

import pytest

from clients.entry import Block
from core.errors import Failure
from session.compaction import summary_prompt, tool_lines
from session.compaction.tool_lines import Call, call_of, of_call, of_result, of_user_command, worth_reading


def call(**arguments: Any) -> Call:
    return call_of(Block("tool_call", name="Shell", arguments=arguments))


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"command": " ls "}, "ls"), ({"cmd": "ls"}, "ls"), ({"command": "a", "cmd": "b"}, "a"), ({}, ""),
        ({"command": ["git", "push"]}, "git push"), ({"command": ["bash", "-lc", "a b"]}, "a b"),
        ({"command": ["sh", "-c", "a"]}, "a"), ({"command": ["bash", "a"]}, "bash a"), ({"command": ["a", 1]}, ""),
        ({"command": 7}, ""),
    ],
)  # fmt: skip
def test_the_command_of_a_call(arguments: dict[str, Any], command: str) -> None:
    assert call(**arguments) == Call("Shell", command)


@pytest.mark.parametrize(
    ("command", "weight"),
    [
        ("make check", 0.55), ("pytest -q", 0.55), ("git push", 0.3), ("git", 0.3), ("git log --oneline", None),
        ("ls -l && cat a", None), ("ls; rm a", 0.3), ("cat a | grep b || head c", None), ("cat a | sort", 0.3),
        ("", None),
        ("a\nb", None), ("x" * 240, 0.3), ("x" * 241, None), ("contests", 0.3), ("a\x1b[31mb", 0.3),
    ],
)  # fmt: skip
def test_a_command_that_does_something_is_kept(command: str, weight: float | None) -> None:
    found = list(of_call(Call("Shell", command)))
    assert [line.weight for line in found] == ([] if weight is None else [weight])
    assert all("\x1b" not in line.text for line in found)


def test_the_result_of_a_reader_can_be_had_again() -> None:
    assert worth_reading("x", Call("Read", "")) == "" and worth_reading("x", Call("MultiEdit", "")) == ""
    for kept in (None, Call("Read", "cat a"), Call("Shell", "")):
        assert worth_reading("x", kept) == "x"


def lines(text: str, *, failed: bool = False) -> list[tuple[str, float]]:
    return [(line.text, round(line.weight, 2)) for line in of_result(text, failed=failed)]


@pytest.mark.parametrize(
    ("line", "weight", "failing"),
    [
        ("nothing of it", None, 0.35), ("12 passed", 0.38, 0.35), ("p95 = 12.5", 0.38, 0.35),
        ("p95: 12, n: 3", 0.46, 0.35),
        ("it was denied", 0.42, 0.5), ("2 errors: denied", 0.5, 0.5), ("a=1 b=2 c=3 d=4 e=5", 0.6, 0.35),
        ("ValueError", 0.42, 0.5), ("timed out", 0.42, 0.5),
    ],
)  # fmt: skip
def test_a_line_of_a_result_weighs_by_its_numbers_and_errors(line: str, weight: float | None, failing: float) -> None:
    assert lines(line) == ([] if weight is None else [(line, weight)])
    assert lines(line, failed=True) == [(line, failing)]


def test_how_long_a_line_may_be() -> None:
    assert lines("a=1") == [] and lines("aa=1") == [("aa=1", 0.38)]
    long = "x" * 176 + " a=1"
    assert lines(long) == [(long, 0.38)] and lines("x" + long) == []


def test_of_lines_that_differ_in_numbers_the_first_two_are_kept() -> None:
    assert lines("run 1: 10 ms\nrun 2: 20 ms") == [("run 1: 10 ms", 0.38), ("run 2: 20 ms", 0.38)]
    assert lines("run 1: 10 ms\nrun 2: 20 ms\nrun 3: 7 ms") == [("run 1: 10 ms", 0.23), ("run 2: 20 ms", 0.23)]


def test_of_a_result_the_weightiest_six_are_kept() -> None:
    found = lines("\n".join(f"{name * 4}=1" for name in "abcdef") + "\nit was denied")
    assert [text for text, _ in found] == ["it was denied", *(f"{name * 4}=1" for name in "abcde")]


def test_a_command_of_the_user_and_its_output() -> None:
    def shown(text: str) -> Any:
        return [(line.text, line.weight) for line in of_user_command(text)]

    assert shown("Ran `make`\n12 passed") == [("make", 0.6), ("12 passed", pytest.approx(0.38))]
    assert shown("Ran `ls`\n12 passed") == [("12 passed", pytest.approx(0.38))]
    assert shown("it ran `make`") == [] and shown("12 passed")[0][0] == "12 passed"


def test_whether_a_command_only_looks() -> None:
    assert tool_lines._looks_only("ls ;; cat a") and tool_lines._looks_only("") and not tool_lines._looks_only("git")


def test_a_record_that_is_too_long_keeps_its_beginning_and_its_end() -> None:
    record = "".join(f"line {number:03}\n" for number in range(100))  # 900 bytes
    assert summary_prompt._within(record, 900) == (record, 0)
    cut, left_out = summary_prompt._within(record, 899)
    head, note, tail = cut.partition(f"\n[... {left_out} characters of the record are left out here ...]\n")
    assert note and record.startswith(head + "\n") and record.endswith(tail) and len(head + tail) + left_out == 900
    assert head.endswith("line 021") and tail.startswith("line 034\n")
    assert summary_prompt._size("aé") == 3 and summary_prompt._size("ab") == 2
    assert summary_prompt._within("é" * 450, 899)[1] > 0 and summary_prompt._within("é" * 450, 900)[1] == 0


def test_a_prompt_without_room_for_the_record_is_refused() -> None:
    asked: dict[str, Any] = {"instructions": "", "tokens": 100}
    empty = len(summary_prompt.first("", room=10**6, **asked)[0].encode())
    for record, room in (("x" * 100, empty + 100), ("x" * 5_000, empty + 1_000)):
        enough = int(room / 0.95) + 2
        assert summary_prompt.first(record, room=enough, **asked)[0]
        with pytest.raises(Failure, match="has no room for the conversation"):
            summary_prompt.first(record, room=enough - 4, **asked)
    prompt, left_out = summary_prompt.first("hello", room=10**6, instructions=" i" * 9_000, tokens=77)
    assert left_out == 0 and "hello" in prompt and "77 tokens" in prompt
    assert ("i " * 4_000).strip() in prompt and ("i " * 4_001).strip() not in prompt
