"""Wrong usage exits with 2 and says how to fix it, as an envelope on stdout or a message on stderr."""

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any, Protocol

import pytest
from conftest import JOELCLAW, Run, clean_environment
from terminal import ended, on_terminal, without_style

from cli.declarations import every_command
from cli.parser import valid_text
from cli.start import run_words

COMMANDS = every_command().values()
WRONG = [
    ("frobnicate", "USAGE"),
    ("--nope", "USAGE"),
    ("memory frobnicate", "USAGE"),
    ("otel --nope", "USAGE"),
    ("recall", "RECALL_INVALID_ARGS"),
    ("recall show", "SHOW_INVALID_ARGS"),
    ("memory show x y", "MEMORY_INVALID_ARGS"),
    ("recall x --limit", "RECALL_INVALID_ARGS"),
    ("recall x --limit 0", "RECALL_INVALID_ARGS"),
    ("recall x --everywhere=yes", "RECALL_INVALID_ARGS"),
    ("recall x --nope", "RECALL_INVALID_ARGS"),
    ("memory forget", "MEMORY_INVALID_ARGS"),
    ("memory show", "MEMORY_INVALID_ARGS"),
    ("knowledge note --source s --agent= --session i --turn 1 --summary x", "INVALID_KNOWLEDGE_NOTE"),
    ("otel emit a --level loud", "OTEL_INVALID_ARGS"),
    ("otel emit a --success maybe", "OTEL_INVALID_ARGS"),
    ("checkpoint save --session s --percent warm", "CHECKPOINT_INVALID_ARGS"),
    ("completion tcsh", "COMPLETION_INVALID_ARGS"),
    ("status now", "USAGE"),
    ("off --session=", "SWITCH_INVALID_ARGS"),
    ("idle schedule --session s --minutes 0", "IDLE_INVALID_ARGS"),
    ("idle schedule --cancel", "IDLE_INVALID_ARGS"),
    ("lost --kind thoughts", "LOST_INVALID_ARGS"),
    ("lost a b", "LOST_INVALID_ARGS"),
    ("otel list --since soon", "OTEL_INVALID_ARGS"),
    ("search x -c blob_posts", "INVALID_COLLECTION"),
    ("search x -f colour:=red", "SEARCH_INVALID_ARGS"),
    ("search x -f type", "SEARCH_INVALID_ARGS"),
    ("session list --client nobody", "SESSION_INVALID_ARGS"),
    ("sessions search", "SESSIONS_INVALID_ARGS"),
    ("sessions search x --runtime vim", "SESSIONS_INVALID_ARGS"),
    ("memory export --collection dreams", "MEMORY_INVALID_ARGS"),
    ("memory archive --all --agent vim", "MEMORY_INVALID_ARGS"),
]


class Told(Protocol):
    def __call__(self, *words: str) -> Any: ...


@pytest.fixture
def usage_error(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Told:
    """The envelope of wrong usage, as a program gets it."""
    monkeypatch.setattr("session.own_command.word", lambda _="": "joelclaw")

    def ask(*words: str) -> Any:
        assert run_words(list(words), as_json=True) == 2
        return json.loads(capfd.readouterr().out)

    return ask


def test_wrong_usage_is_one_envelope_with_a_fix_and_writes_nothing(run: Run, home: Path) -> None:
    for words, code in WRONG:
        spawned = run(*words.split(), ok=False)
        assert (spawned.code, spawned.err) == (2, ""), words
        envelope = json.loads(spawned.out)
        assert list(envelope) == ["ok", "command", "result", "error", "fix", "next_actions"]
        assert (envelope["ok"], envelope["result"], envelope["error"]["code"]) == (False, None, code), words
        assert envelope["error"]["message"] and envelope["fix"]
    assert not home.exists()


def test_on_a_terminal_the_message_and_the_fix_go_to_stderr(home: Path) -> None:
    for words, _ in WRONG[::7]:
        spawned = on_terminal(home, *words.split())
        assert (spawned.code, spawned.out) == (2, "")
        name, fix = spawned.err.splitlines()
        assert name.startswith("joelclaw ") and fix.strip() and "Traceback" not in spawned.err


@pytest.mark.parametrize(("words", "is_done"), [
    ("recall x --nope --json", False), ("--json recall deploy", True), ("recall --json deploy", True),
    ("recall deploy --json --json -n 2", True), ("--json status", True),
])  # fmt: skip
def test_on_a_terminal_json_anywhere_asks_for_the_envelope(home: Path, words: str, is_done: bool) -> None:
    spawned = on_terminal(home, *words.split())
    assert (json.loads(spawned.out)["ok"], spawned.err) == (is_done, "")
    assert "\x1b" not in spawned.out


@pytest.mark.parametrize(("words", "expected"), [
    ("recal x", "recall"), ("memry write x", "memory write"), ("otel emitt a", "otel emit"),
    ("forget x", "memory forget"),
])  # fmt: skip
def test_a_mistyped_command_is_guessed(usage_error: Told, words: str, expected: str) -> None:
    assert usage_error(*words.split())["fix"] == f"did you mean `joelclaw {expected}`?"


@pytest.mark.parametrize(("words", "message"), [
    ("recall x --since 2026-11-20 --until 2026-11-01", "--since is later than --until"),
    ("project frob", "VERB must be list or rename, not 'frob'"),
    ("recall x --by foo", "--by must be session, not 'foo'"),
    ("recall x --limit many", "--limit must be a whole number from 1 to 100, not 'many'"),
    ("recall x --collection calls,foo", "--collection must be observations, episodes, knowledge or calls, not 'foo'"),
    ("otel list --level loud", "--level must be debug, info, warn, error or fatal, not 'loud'"),
    ("search x --facet foo", "--facet must be type, source, project, category or tags, not 'foo'"),
    (
        f"memory write x --type {'s' * 99}",
        f"--type must be observation, lesson, pattern or failed_target, not '{'s' * 56}...'",
    ),
    ("recall x --client foo", "there is no option --client"),
    ("memory purge x --dry-run --yes", "--yes contradicts --dry-run"),
    ("memory edit x --pin --unpin", "--unpin contradicts --pin"),
    ("memory write x --project other/repo --global", "--global contradicts --project"),
    ("exclude a --remove b", "FOLDER, --list and --remove cannot be used together"),
])  # fmt: skip
def test_what_is_wrong_is_named(usage_error: Told, words: str, message: str) -> None:
    assert usage_error(*words.split())["error"]["message"] == message


@pytest.mark.parametrize("words", [
    "memory import gone.md", "memory import gone --format markdown", "memory import gone", "memory archive gone",
    "memory import - --format markdown", "memory observe gone", "recall --batch gone", "compaction decide gone",
    "restore gone",
])  # fmt: skip
def test_a_file_that_does_not_exist_is_wrong_usage_and_named(usage_error: Told, words: str) -> None:
    assert ("gone" if "gone" in words else "-") in usage_error(*words.split())["error"]["message"]


def test_a_mistyped_flag_is_guessed(usage_error: Told) -> None:
    assert "--limit" in usage_error("recall", "x", "--limt", "3")["error"]["message"]
    assert len(usage_error("recall", "x", "--" + "y" * 5_000)["error"]["message"]) == 2_000


@pytest.mark.parametrize("words", ["memory write a b c", "note a b --source me"])
def test_unquoted_text_suggests_quotes(usage_error: Told, words: str) -> None:
    assert "without quotes" in usage_error(*words.split())["error"]["message"]


def test_a_text_may_begin_with_a_dash(run: Run) -> None:
    for text in ("- a bullet of the deploy list", "-5 degrees is what the harbour pumps stand"):
        assert run("memory", "write", text, "--tags", "a").result["observation"] == text
    assert run("memory", "write", "-5 degrees", "--nope", ok=False).code == 2


def test_a_pasted_error_may_begin_with_dashes(run: Run) -> None:
    for words in ("recall", "fix", "how", "search"):
        assert run(words, "--- FAIL: TestSpool", "--json").result["query"] == "--- FAIL: TestSpool"


def test_hook_typed_by_a_person_is_explained(home: Path) -> None:
    mine, theirs = pty.openpty()
    typed = subprocess.run(
        [JOELCLAW, "hook"], stdin=theirs, capture_output=True, env=clean_environment(home), timeout=60
    )
    assert (typed.returncode, typed.stdout.startswith(b"Usage: joelclaw hook")) == (0, True)
    process = subprocess.Popen([JOELCLAW, "hook", "claude"], stdin=theirs, stdout=theirs, env=clean_environment(home))
    os.close(theirs)
    shown = " ".join(without_style(ended(process, mine).out).replace("│", "").split())
    assert "Usage: joelclaw hook" in shown and "agents call this" in shown and "joelclaw doctor" in shown
    assert not home.exists()


def test_an_unknown_command_lists_the_commands_briefly(usage_error: Told) -> None:
    fix, message = usage_error("xyzzy")["fix"], usage_error("xyzzy")["error"]["message"]
    assert all(command.path.split()[0] in fix for command in COMMANDS)
    assert len(fix) < 400 and "joelclaw --help" in fix and message == "there is no command 'xyzzy'"
    assert "memory write" in usage_error("memory", "qqqqqqq")["fix"]
    assert usage_error("xyzzy")["next_actions"][0]["command"] == "joelclaw --help"


@pytest.mark.parametrize("word", ["\x1b[31mred", "a" * 5000, "🔴 x", "", "\udcff"])
def test_any_word_is_answered_with_an_envelope(run: Run, usage_error: Told, word: str) -> None:
    spawned = run(word, ok=False)
    assert spawned.code == 2
    assert len(spawned.json["command"]) < 100
    assert usage_error("recall", "x", "--" + (valid_text(word) or "="))["fix"]


def test_nothing_in_a_mistyped_word_reaches_the_terminal(home: Path) -> None:
    error = on_terminal(home, "\x1b[31mred").err
    assert without_style(error) == error


@pytest.mark.parametrize("words", [("memory", "import"), ("recall", "--batch")], ids=" ".join)
def test_a_device_is_refused_as_a_file_to_read(run: Run, words: tuple[str, ...]) -> None:
    failed = run(*words, "/dev/zero", ok=False)
    assert failed.code == 2 and "device" in failed.json["error"]["message"]


@pytest.mark.parametrize(("words", "name"), [
    ("memory purge --match walnut --project", "--project"), ("memory purge --match walnut --session", "--session"),
    ("memory purge --project a --match", "--match"), ("memory purge --project a --before", "--before"),
    ("memory purge", "ID"), ("memory forget", "ID"), ("memory forget a", "ID"),
    ("restore FILE --force --into", "--into"), ("exclude", "FOLDER"), ("exclude --remove", "--remove"),
    ("backup", "FILE"), ("memory import", "FILE"), ("knowledge sync", "DIR"), ("off --session", "--session"),
    ("memory list --project", "--project"), ("session list --project", "--project"),
])  # fmt: skip
@pytest.mark.parametrize("value", ["", " \n"])
def test_an_empty_condition_or_path_is_refused(usage_error: Told, words: str, name: str, value: str) -> None:
    assert usage_error(*words.split(), value)["error"]["message"] == f"{name} is empty"


def test_an_empty_text_or_detail_of_a_record_is_none(run: Run) -> None:
    assert run("recall", "", "--project", "", "--tag", "").result["hits"] == []
    run("memory", "write", "The alpha project keeps its walnuts in the cellar", "--session", "", "--tags", "")
    run("checkpoint", "save", "--session", "s", "--role", "")
    run("completion", "--offer", "recall", "--offer", "")
