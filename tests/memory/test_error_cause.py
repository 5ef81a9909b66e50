"""Why a command failed, in one line: the output of compilers, linters, test runners and others."""

import re
import time
from pathlib import Path

import pytest

from memory.archive.error_cause import ERROR_CHARS, error_line, verdict_line

OUTPUTS = Path(__file__).with_name("error_causes.txt").read_text(encoding="utf-8")
CAUSES = {
    name: (output.removesuffix("\n"), cause)
    for name, output, cause in re.findall(r"^@@ (.+)\n((?:.*\n)*?)=> ?(.*)$", OUTPUTS, re.MULTILINE)
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
