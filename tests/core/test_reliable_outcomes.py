"""A command is reported as `ok` only if its work succeeded."""

from pathlib import Path

from claude_transcript import CWD, SESSION, Transcript
from conftest import Run

from core import shell_command

A_SUCCESS_THAT_IS_THE_WORKS_OWN = (
    "pytest", "make 2>&1", "cd x && pytest -q", "npm test && git commit -m x", "rm -f x; pytest",
    "sleep 3; npm test;", "set -o pipefail; pytest | tail -3", "set -euo pipefail\npytest | tail -3\necho x",
    "set -e\nmake\necho done", "cat x | head", "git log | head", "grep x y; ls", "printf 'y\\n' | git add -p",
    "for f in a b; do pytest $f; done", "if [ -f x ]; then make; fi", "pytest || exit 1",
    "pytest || { echo bad; exit 1; }", "npm test || npm run test:slow", "(cd x && make)", "{ make; }",
    "make && echo fine", "bash -c 'cd x && make'", "make > log 2>&1; rc=$?; tail log; exit $rc",
    "pytest | tail; exit ${PIPESTATUS[0]}", "case $x in a|b) make;; esac",
    "git commit -m \"$(cat <<'EOF'\na; b | c\nEOF\n)\"", "",
)  # fmt: skip


def test_a_success_is_only_reported_if_the_work_succeeded() -> None:
    for command in A_SUCCESS_THAT_IS_THE_WORKS_OWN:
        assert shell_command.reliable_outcome(command, "ok") == "ok"


def session(path: Path) -> Transcript:
    transcript = Transcript(path)
    transcript.user("Make the importer of the tide tables wait twice as long after each failed request")
    transcript.used("w", "Write", "done", file_path=f"{CWD}/src/tide_import.py", content="class RetryPolicy: pass")
    for number in range(4):
        transcript.used(f"r{number}", "Read", "class RetryPolicy: pass", file_path=f"{CWD}/src/tide_import.py")
    return transcript


def test_every_report_agrees_on_a_piped_command(run: Run, tmp_path: Path) -> None:
    transcript = session(tmp_path / f"{SESSION}.jsonl")
    transcript.used("c", "Bash", "checking src/tide_import.py", command="make tide_check 2>&1 | tail -3")
    boundary = transcript.entry("system", "", subtype="compact_boundary", compactMetadata={"postTokens": 900})
    transcript.write(boundary, transcript.entry("user", "The user works.", isCompactSummary=True))
    run("memory", "archive", str(transcript.path))
    shown = run("memory", "show", f"call:{SESSION}:6").result
    assert shown["outcome"] == ""
    assert ", ok" not in shown["place"]
    (command,) = run("lost", SESSION, "--kind", "commands").result["lost"]["commands"]["entries"]
    assert (command["command"], command["outcome"]) == ("make tide_check 2>&1 | tail -3", "")
    (line,) = [line for line in run("sessions", "extract", SESSION).out.splitlines() if "tide_check" in line][:1]
    assert "tail -3 ok" not in line
