"""`--raw` and `--verbatim` print text for a model or a script: an error never gets there, but to stderr."""

import json
from pathlib import Path

import pytest
from conftest import Run, attempt
from terminal import on_terminal

from cli.declarations import every_command
from cli.parser import Command

TEXT_COMMANDS = [command for command in every_command().values() if "raw" in {p.name for p in command.parameters}]
NEEDED = {
    "inject refresh": ["--message", "how is the ledger closed this month?", "--percent", "60"],
    "inject project": ["--file", "ledger.py"],
}


def call_of(command: Command, *more: str) -> list[str]:
    words = [*command.path.split(), "--raw", *more]
    words += ["--session", "s"] if command.path.startswith("inject") else ["ledger"]
    return [*words, *NEEDED.get(command.path, [])]


@pytest.mark.parametrize("command", TEXT_COMMANDS, ids=lambda command: command.path)
@pytest.mark.parametrize(
    "more", [["--nope"], ["--nope", "--json"], ["--raw=yes"], ["--json", "--nope=1"]], ids=" ".join
)
def test_wrong_usage_is_reported_on_stderr(run: Run, command: Command, more: list[str]) -> None:
    failed = run(*call_of(command, *more), ok=False)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith(f"joelclaw {command.path}: ") and len(failed.err.splitlines()) == 2


@pytest.mark.parametrize("fault", ["config", "store"])
@pytest.mark.parametrize("command", TEXT_COMMANDS, ids=lambda command: command.path)
def test_a_fault_of_the_home_is_reported_on_stderr(home: Path, command: Command, fault: str) -> None:
    home.mkdir()
    if fault == "config":
        (home / "config.toml").write_text("[recall")
    else:
        (home / "store.db").mkdir()
    ended = attempt(home, *call_of(command))
    uses_both = command.path in ("recall", "memory search", "inject memory", "inject refresh", "inject project")
    assert ended.code or not uses_both
    if ended.code:
        assert ended.out == "" and ended.err.startswith("joelclaw ")


@pytest.mark.parametrize("words", [
    "recal --raw x", "inject recovry --raw", "--raw recall x", "recall --verbatim --since nonsense x", "show 9 --raw",
    "how --raw -n 999 make", "fix make -n 999 --raw", "lost --raw nobody", "vault read --verbatim nothing",
])  # fmt: skip
def test_any_failure_leaves_stdout_empty(run: Run, words: str) -> None:
    for more in ([], ["--json"]):
        failed = run(*words.split(), *more, ok=False)
        assert failed.code and (failed.out, failed.err[:8]) == ("", "joelclaw"), failed


def test_on_a_terminal_errors_go_to_stderr_too(home: Path) -> None:
    failed = on_terminal(home, "recall", "--raw", "--json", "--since", "nonsense", "x")
    assert (failed.code, failed.out) == (2, "") and "nonsense" in failed.err


@pytest.mark.parametrize(
    "words", ["recall --since nonsense -- --raw", "sessions search x --raw --nope", "recall --since nonsense x"]
)
def test_without_the_flag_an_error_is_json(run: Run, words: str) -> None:
    failed = run(*words.split(), ok=False)
    assert failed.code == 2 and json.loads(failed.out)["ok"] is False


def test_a_value_that_looks_like_the_flag_is_a_value(run: Run) -> None:
    assert run("inject", "refresh", "--session", "s", "--message", "--raw").result["injected"] is False


def test_a_text_is_printed_although_part_of_the_work_failed(run: Run, home: Path) -> None:
    """A recovery note needs no store: what it lacks is said on stderr."""
    run("checkpoint", "save", "--session", "s", "--percent", "70", "--message", "please change the ledger's rule")
    run("checkpoint", "flush", "--session", "s")
    (home / "store.db").unlink()
    (home / "store.db").mkdir()
    note = run("inject", "recovery", "--raw", "--session", "s")
    assert "ledger's rule" in note.out and "joelclaw inject: " in note.err


@pytest.mark.parametrize("command", ["recall", "memory search", "how", "fix"])
def test_no_result_is_no_text(run: Run, command: str) -> None:
    run("memory", "write", "the tide gauge of the harbour is read at noon")
    assert run(*command.split(), "zqNoSuchName", "--raw").out == ""
