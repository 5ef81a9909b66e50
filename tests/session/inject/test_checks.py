"""Which commands of a session still fail, and which check the work."""

import pytest

from core.records import Call, Edit
from session import command_runs

HOUR = 3_600_000


def calls(*rows: tuple[str, str] | tuple[str, str, str]) -> list[Call]:
    """Commands with their outcomes, and what they failed with; a minute apart."""
    return [
        {
            "session": "s", "number": number, "key": str(number), "prompt": 1, "at": HOUR + number * 60_000,
            "tool": "Bash", "file": "", "command": row[0], "outcome": row[1], "passage": "",
            "error": (row[2] if len(row) == 3 else "a.go:3:1: undefined: x") if row[1] == "failed" else "",
        }
        for number, row in enumerate(rows, 1)
    ]  # fmt: skip


RED = ("go test ./tide/...", "failed")


@pytest.mark.parametrize("later", [
    [],
    [("ls tide", "ok"), ("git status", "ok"), ("cat a.go", "ok")],
    [("grep -rn test .", "ok"), ("grep x y", "failed")],
    [("grep -rn all .", "ok"), ("echo all && ls ci", "ok")],
    [("go build ./...", "ok")],
    [("git add -A", "ok"), ("git stash list", "ok")],
    [("git push", "failed", "[redacted: x] remote rejected")],
])  # fmt: skip
def test_a_failure_stays_open(later: list[tuple[str, str]]) -> None:
    failed = command_runs.failing(calls(("make", "ok"), RED, *later))
    assert (failed["command"], failed["error"]) == ("go test ./tide/...", "a.go:3:1: undefined: x")


@pytest.mark.parametrize("later", [
    ("go test ./tide/...", "ok"),
    ("go test ./tide/ -run TestReads -count=1", "ok"),
    ("cd w && go vet && go test ./tide/... && echo done", "ok"),
    ("go test ./tide/... 2>&1 | tail -5", "ok"),  # it is not told how that came out
    ("go test ./tide/...", "running"),
    ("go test ./tide/...", ""),
    ("mise run test:ci", "ok"),
    ("make test", "ok"),
    ("npm run check", "ok"),
    ("git commit -m 'Read the tides'", "ok"),
    ("git add -A && git commit -qm x && git push", "ok"),
    ("git merge --continue", "ok"),
    ("git rebase --continue", "ok"),
    ("git push", "ok"),
])  # fmt: skip
def test_a_failure_is_closed(later: tuple[str, str]) -> None:
    assert command_runs.failing(calls(RED, ("ls", "ok"), later, ("ls", "ok"))) is None


@pytest.mark.parametrize("row", [
    ("grep -rn tide .", "failed", "Exit code 1"),
    ("ls tides", "failed", "ls: tides: No such file or directory"),
    ("cat tide.txt && sed -n 1p x", "failed", "cat: tide.txt: No such file or directory"),
    ("go test ./... | grep FAIL", "failed", "Exit code 1"),
    ("go test ./...; grep -q x y", "failed", "Exit code 1"),
    ("go test ./...", "failed", "Command timed out after 2m 0s"),
    ("cd tides && go test", "failed", "(eval):cd:1: no such file or directory: tides"),
    ("rm tide.txt", "failed", "rm: tide.txt: No such file or directory"),
    ('npx tsx -e "read()"', "failed", "Error: Cannot find module './tide.js'"),
    ("python3 -c 'import tide'", "failed", "ModuleNotFoundError: No module named 'tide'"),
    ("", "failed", "String to replace not found in file."),
    ("make", "failed", ""),
])  # fmt: skip
def test_errors_that_are_not_failures_of_the_work(row: tuple[str, str, str]) -> None:
    assert command_runs.failing(calls(row)) is None


def test_a_check_whose_program_is_missing_is_open() -> None:
    missing = ("golangci-lint run", "failed", "(eval):1: command not found: golangci-lint")
    assert command_runs.failing(calls(missing, ("golangci-lint run", "stopped"))) is not None


def test_a_committed_merge_closes_its_failure() -> None:
    merge = ("git merge main", "failed", "CONFLICT (content): Merge conflict in tide.go")
    failed = command_runs.failing(calls(merge, ("git status", "ok")))
    assert failed["error"].startswith("CONFLICT")
    assert command_runs.failing(calls(merge, ("git add -A && git commit --no-edit", "ok"))) is None
    assert command_runs.failing(calls(merge, ("git merge --abort", "ok"))) is None


@pytest.mark.parametrize(("error", "edited", "open_"), [
    ("src/a.go:30:1: undefined: x", ("src/a.go", 28, 31), False),
    ("a.go:30:1: undefined: x", ("src/a.go", 30, 30), False),
    ("src/a.ts(30,1): error TS2304: x", ("src/a.ts", 30, 30), False),
    ("TestReads: got 2 (a_test.go:30)", ("a_test.go", 30, 30), False),
    ("src/a.go:30:1: undefined: x", ("src/a.go", 31, 40), True),
    ("src/data.go:30:1: undefined: x", ("src/a.go", 30, 30), True),
    ("undefined: x", ("src/a.go", 30, 30), True),
])  # fmt: skip
def test_a_failure_whose_line_was_edited_may_be_fixed(error: str, edited: tuple[str, int, int], open_: bool) -> None:
    recorded = calls(("make", "ok"), ("go build ./...", "failed", error), ("", "ok"))
    file, first, last = edited
    after: Edit = {"number": 3, "file": file, "first": first, "last": last, "hunk": 0}
    assert (command_runs.failing(recorded, [after]) is not None) is open_
    assert command_runs.failing(recorded, [{**after, "number": 1}]) is not None, "edited before it ran"
