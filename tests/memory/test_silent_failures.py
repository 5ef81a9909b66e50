"""A call is archived as failed where its output plainly says so, though the line that it is ended well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW_MS, Run

from memory.archive.silent_failure import error_of

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
FAILED = "....F\nFAILED tests/test_tide.py::test_waits - assert 2.0 == 4.0\n1 failed, 4 passed in 0.10s"


@pytest.mark.parametrize(
    ("command", "output", "error"),
    [
        ("pytest tests 2>&1 | tail -3", FAILED, "FAILED tests/test_tide.py::test_waits - assert 2.0 == 4.0"),
        ('go test ./... | grep -A 20 "FAIL"', "--- FAIL: TestA (0.0s)\nFAIL\nFAIL\tx/y", "--- FAIL: TestA (0.0s)"),
        ("npm test; echo exit=$?", "Tests: 2 failed, 1 passed\nexit=1", "Tests: 2 failed, 1 passed"),
        ("make; echo exit=$?", "no rule here\nexit=2", "no rule here"),
        ("make | tail; echo ${PIPESTATUS[0]}", "no rule here\n2", "no rule here"),
        ("vitest run | tail", "Test Files  1 failed | 2 passed (3)", "Test Files  1 failed | 2 passed (3)"),
        ("rspec | tail", "10 examples, 2 failures", "10 examples, 2 failures"),
        ("make | tail", "cc x.c\nmake: *** [x.o] Error 1", "make: *** [x.o] Error 1"),
        ("cargo build 2>&1 | tail", "error[E0308]: mismatched types", "error[E0308]: mismatched types"),
        ("npm run check | tail", "npm ERR! code 2\na.ts(1,2): error TS1: no", "a.ts(1,2): error TS1: no"),
        ("gcc x.c | head", "x.c:1:2: error: expected ;", "x.c:1:2: error: expected ;"),
        ("python run.py | tail", 'Traceback (most recent call last):\n  File "a"\nKeyError: "b"', 'KeyError: "b"'),
        ("python run.py | tail -1", "KeyError: 'b'", "KeyError: 'b'"),
        ("go build ./... | head", "# a/b\na/run.go:1:2: undefined: x", "a/run.go:1:2: undefined: x"),
        ("vitest run | tail", "\x1b[31m FAIL \x1b[39m src/a.test.ts", "FAIL  src/a.test.ts"),
        ("make > log; tail log", "make: *** [x.o] Error 1", "make: *** [x.o] Error 1"),
        (
            "mise run lint | tail",
            "a.go:1: Error return of x_y\n[lint] ERROR task failed",
            "a.go:1: Error return of x_y",
        ),
    ],
)
def test_an_output_that_plainly_says_that_the_work_failed(command: str, output: str, error: str) -> None:
    assert error_of(command, output) == error


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest", FAILED),  # its status is told by the line
        ("grep -n error: src/*.py | head", "error: no"),
        ("cat log | tail", FAILED),
        ("git log | head", "FAIL: mended"),
        ("python - <<'E' | head\nx\nE", "Error: tried"),
        ("make build | tail; cat old.log", FAILED),  # of another run
        ("docker logs x | tail", "Error: no"),
        ("gh issue create -t x | tail", "FAILED tests"),
        ("npm test | tail", "Error: thrown on purpose\nTests: 3 passed"),
        ("npm test | tail", "0 failed, 3 passed"),
        ("npm test | tail", "it fails where error: is told"),
        ("npm test; echo exit=$?", "Error: thrown on purpose\nexit=0"),
        ("npm test | grep x; echo exit=$?", "exit=1"),  # the status of grep
        ("npm test | tail", ""),
        ("npm test; echo $?", "9" * 5000),
        ("./sync.py | tail", "gave up after 3 failures, then went on"),
        ("go test ./... | tail", "a_test.go:12: logged"),
    ],
)
def test_an_output_that_does_not(command: str, output: str) -> None:
    assert error_of(command, output) == ""


def session(path: Path) -> Transcript:
    made = Transcript(path)
    made.user("Make the importer of the tide tables wait twice as long after each failed request")
    made.call("w", "Write", file_path=f"{CWD}/src/tide_import.py", content="class RetryPolicy: pass")
    made.outcome("w", "done")
    for number in range(4):
        made.call(f"r{number}", "Read", file_path=f"{CWD}/src/tide_import.py")
        made.outcome(f"r{number}", "class RetryPolicy: pass")
    return made


@pytest.mark.parametrize("answered", [False, True])
def test_what_failed_in_front_of_a_pipe_is_open_until_a_success_answers_it(
    run: Run, tmp_path: Path, answered: bool
) -> None:
    made = session(tmp_path / f"{SESSION}.jsonl")
    made.call("c", "Bash", command="pytest tests 2>&1 | tail -3")
    made.outcome("c", FAILED)
    if answered:
        made.call("d", "Bash", command="pytest tests 2>&1 | tail -20")
        made.outcome("d", "5 passed in 0.10s")
    event = {"session_id": SESSION, "transcript_path": str(made.path), "cwd": CWD}
    out = ""
    for name, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Make the importer wait twice as long"}),
        ("Stop", {}),
        ("PreCompact", {"trigger": "auto"}),
        ("SessionStart", {"source": "compact"}),
    ):
        given = json.dumps({"hook_event_name": name, **event, **more})
        out = run("hook", "claude", stdin=given, env=NOW).out
    text = str(json.loads(out)["hookSpecificOutput"]["additionalContext"])
    failed = "**Failed last:** `pytest tests 2>&1 | tail -3`: FAILED tests/test_tide.py::test_waits"
    assert (failed in text) is not answered
    shown = run("memory", "show", f"call:{SESSION}:6").result
    assert (shown["outcome"], shown["error"]) == (
        "failed",
        "FAILED tests/test_tide.py::test_waits - assert 2.0 == 4.0",
    )
