"""Why a command failed, in one line: the output of compilers, linters, test runners and others."""

import time

import pytest

from memory.archive.error_cause import ERROR_CHARS, error_line, verdict_line

CAUSES = {
    # compilers and linters: with file and line
    "go build": (
        "Exit code 1\n# acme.dev/tide/gauge [acme.dev/tide/gauge.test]\ngauge/read_test.go:88:12: undefined: json\n"
        "gauge/read_test.go:90:2: undefined: json\nFAIL\tacme.dev/tide/gauge [build failed]\nFAIL",
        "gauge/read_test.go:88:12: undefined: json",
    ),
    "tsc": (
        "> acme@1.0.0 check\n> tsc --noEmit\nsrc/tide.ts(12,5): error TS2304: Cannot find name 'gauge'.\n"
        "npm error code 2\nnpm error path /w\nnpm error command sh -c tsc",
        "src/tide.ts(12,5): error TS2304: Cannot find name 'gauge'.",
    ),
    "rustc": (
        "   Compiling tide v0.1.0\nwarning: unused variable: `x`\n --> src/main.rs:2:9\n\n"
        "error[E0425]: cannot find value `gauge` in this scope\n --> src/main.rs:4:5\n  |\n4 |     gauge\n"
        "error: could not compile `tide` due to 1 previous error",
        "src/main.rs:4:5: error[E0425]: cannot find value `gauge` in this scope",
    ),
    "ruff": (
        "src/tide.py:3:8: F401 [*] `os` imported but unused\nFound 1 error.",
        "src/tide.py:3:8: F401 [*] `os` imported but unused",
    ),
    "eslint": (
        "/w/src/tide.ts\n  12:5  error  'gauge' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
        "/w/src/tide.ts:12:5 error 'gauge' is not defined no-undef",
    ),
    # tests: which, and what it got
    "go test": (
        "ok  \tacme.dev/tide\t0.1s\n--- FAIL: TestReads (0.02s)\n    hooks.go:196: hook called\n"
        "    --- FAIL: TestReads/empty (0.01s)\n        read_test.go:31: got 2 tides, want 0\nFAIL\n"
        "FAIL\tacme.dev/tide/gauge\t0.2s",
        "TestReads/empty: read_test.go:31: got 2 tides, want 0",
    ),
    "go test with testify": (
        "--- FAIL: TestReads (0.02s)\n    read_test.go:31: \n        \tError Trace:\t/w/gauge/read_test.go:31\n"
        "        \tError:      \tReceived unexpected error:\n        \t            \treference not found\n"
        "        \tTest:       \tTestReads\n        \tMessages:   \tthe gauge stays\nFAIL",
        "TestReads: read_test.go:31: Received unexpected error: reference not found the gauge stays",
    ),
    "pytest": (
        "    def test_waits():\n>       assert delay() == 4.0\nE       assert 2.0 == 4.0\n"
        "E        +  where 2.0 = delay()\n\n"
        "tests/test_tide.py:12: AssertionError\n==== short test summary info ====\n"
        "FAILED tests/test_tide.py::test_waits - assert 2.0 == 4.0\n"
        "==== 1 failed in 0.1s ====",
        "tests/test_tide.py:12: assert 2.0 == 4.0",
    ),
    "python": (
        'Traceback (most recent call last):\n  File "/w/tide/load.py", line 9, in load\n    return parse(text)\n'
        '  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode\n    raise JSONDecodeError\n'
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\nmake: *** [load] Error 1",
        "/w/tide/load.py:9: json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ),
    "jest": (
        "FAIL src/tide.test.ts\n  ● tides › are read\n\n    expect(received).toBe(expected) // Object.is equality\n\n"
        "    Expected: 4\n    Received: 2\n\n      at Object.<anonymous> (src/tide.test.ts:12:5)\n\n"
        "Tests:       1 failed, 3 passed",
        "are read: src/tide.test.ts:12:5: expect(received).toBe(expected) // Object.is equality, Expected: 4,"
        " Received: 2",
    ),
    "vitest": (
        " FAIL  src/tide.test.ts > tides > are read\n"
        "AssertionError: expected 2 to be 4 // Object.is equality\n ❯ src/tide.test.ts:12:5\n"
        " Tests  1 failed | 3 passed (4)\n ELIFECYCLE  Test failed.",
        "are read: src/tide.test.ts:12:5: AssertionError: expected 2 to be 4 // Object.is equality",
    ),
    # others
    "git merge": (
        "Auto-merging src/tide.py\nCONFLICT (content): Merge conflict in src/tide.py\n"
        "Automatic merge failed; fix conflicts and"
        " then commit the result.",
        "CONFLICT (content): Merge conflict in src/tide.py",
    ),
    "pnpm -r": (
        "packages/tide test: Error: Cannot find module './gauge.js'\npackages/tide test: Failed\n"
        " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  tide@1.0.0 test: `node a.js`\nExit status 1",
        "packages/tide test: Error: Cannot find module './gauge.js'",
    ),
    "npm": (
        'npm error Missing script: "tides"\nnpm error\nnpm error To see a list of scripts, run:',
        'npm error Missing script: "tides"',
    ),
    "node": (
        "/w/node_modules/run/dist/a.cjs:3\n`)},throw new Error(x)\n\nError: Cannot find module './gauge.js'\n"
        "Require stack:\n"
        "    at node:internal/modules/cjs/loader:1241:15",
        "Error: Cannot find module './gauge.js'",
    ),
    "time ran out": (
        "reading tides\nerror: none yet\n\nCommand timed out after 120 seconds",
        "Command timed out after 120 seconds",
    ),
    "nothing but a code": ("Exit code 1", "Exit code 1"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("shape", CAUSES)
def test_the_cause_is_extracted(shape: str) -> None:
    output, cause = CAUSES[shape]
    assert error_line(output) == cause


LINTED = (
    "ok  \tacme.dev/tide\t3s\n[lint] $ golangci-lint run ./...\n"
    'gauge/read_test.go:373:16: string `low` has 5 occurrences (goconst)\n\t\tif tide != "low" {\n\t\t           ^\n'
    "gauge/read_test.go:407:16: string `high` has 5 occurrences (goconst)\n2 issues:\n* goconst: 2\n"
    "[lint] ERROR task failed\n[test] $ go test ./...\n"
)
RED = (
    "    gauge_test.go:35: waits for the tide\n--- FAIL: TestGauge (0.00s)\n    --- FAIL: TestGauge/low (0.63s)\n"
    "        gauge_test.go:128: tide not found\nFAIL\tacme.dev/tide\t3s\n"
)


@pytest.mark.parametrize(("printed", "verdict"), [
    (LINTED, "gauge/read_test.go:373:16: string `low` has 5 occurrences (goconst)"),
    (RED, "TestGauge/low: gauge_test.go:128: tide not found"),
    ("--- FAIL: TestGauge (0.00s)\nFAIL\tacme.dev/tide\t3s\n", "--- FAIL: TestGauge (0.00s)"),
    ("src/tide.py:3:8: F401 unused\n", ""),
])  # fmt: skip
def test_a_verdict_is_shown_with_the_places_it_names(printed: str, verdict: str) -> None:
    assert verdict_line(printed) == verdict


LINES = [
    "a",
    "error: x",
    "at " + "a" * 3000,
    " " * 3000 + "x",
    "1" * 3000,
    "--- FAIL: T",
    "a." * 1500,
    "= 1 failed " * 99,
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:10].strip())
def test_an_endless_output_is_read_in_time(line: str) -> None:
    output = f"{line}\n" * (400_000 // len(line))
    began = time.process_time()
    assert len(error_line(output)) <= ERROR_CHARS
    assert len(verdict_line(output)) <= ERROR_CHARS
    assert time.process_time() - began < 5
