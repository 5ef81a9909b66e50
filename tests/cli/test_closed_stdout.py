"""A closed stdout is no error and a full one is, for every declared command.

The exit code stays the command's own where the reader went away; where a disk is full it is 1, with a line on stderr.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import JOELCLAW, NOW_MS, PATIENCE_S, Run, attempt, clean_environment, runner
from test_one_way_out import NOW, SESSION, TABLE, fill

_CALL = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
STDIN = {
    "mcp": json.dumps(_CALL) + "\n",
    "hook": json.dumps({"hook_event_name": "SessionStart", "session_id": "h", "source": "startup", "cwd": "/"}),
}
FULL = "stdout cannot be written: No space left on device; the output is incomplete\n"
ALWAYS_0 = "hook"
"""An agent is told of no fault."""
FEW = ("recall", "memory write", "memory export", "hook", "status")


def words_of(path: str) -> list[str]:
    """A call of the command that prints something, if any does."""
    rows = TABLE[path]
    return path.split() if isinstance(rows, str) else rows[0]


Ends = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A home with something for every command, and what their calls name."""
    folder = tmp_path_factory.mktemp("filled")
    return folder / "home", fill(runner(folder / "home", folder), folder)


@pytest.fixture
def places(home: Path, filled: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """What the calls name; the home of the test is a copy."""
    shutil.copytree(filled[0], home)
    return filled[1]


@pytest.fixture
def ends(home: Path, places: dict[str, str], tmp_path: Path) -> Ends:
    """Run a command in a copy of the home with a stdout of this kind; returns its exit code and stderr."""

    def run(kind: str, *words: str, stdin: str = "", merged: bool = False) -> tuple[int, str]:
        copied = home.with_name("copied")
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(home, copied)
        words = tuple(word.format(**places) if word.startswith("{") else word for word in words)
        words = tuple(word.replace("\0", "").encode("utf-8", "replace").decode() for word in words)
        env = {**NOW, "VAULT_PATH": places["notes"], "HOME": str(tmp_path)}
        out: int | None = None
        closing: Callable[[], None] | None = None
        if kind == "full":
            out = os.open("/dev/full", os.O_WRONLY)
        elif kind == "gone":
            reading, out = os.pipe()
            os.close(reading)
        elif kind == "closed":
            closing = lambda: os.close(1)  # noqa: E731
        else:
            if words[:1] == ("mcp",):  # its package keeps the stderr that it was imported with: in a process of its own
                env |= {"JOELCLAW_HOOK_DEADLINE_MS": "60000"}
            done = attempt(copied, *words, stdin=stdin.encode(), env=env, cwd=tmp_path)
            return done.code, done.err
        spawned = subprocess.run(
            [JOELCLAW, *words],
            input=stdin.encode(), stdout=out, stderr=out if merged else subprocess.PIPE, preexec_fn=closing,
            env=clean_environment(copied, **env), cwd=tmp_path, timeout=PATIENCE_S,
        )  # fmt: skip
        if out is not None:
            os.close(out)
        return spawned.returncode, (spawned.stderr or b"").decode()

    return run


@pytest.mark.parametrize("path", FEW)
def test_closed_stdout_does_not_change_the_exit_code(ends: Ends, path: str) -> None:
    words, stdin = words_of(path), STDIN.get(path, "")
    usual = ends("read", *words, stdin=stdin)
    assert ends("gone", *words, stdin=stdin) == usual
    assert ends("closed", *words, stdin=stdin) == usual
    assert ends("gone", *words, stdin=stdin, merged=True)[0] == usual[0]
    expected = (0, "") if path == ALWAYS_0 else (1, f"joelclaw {path}: {FULL}")
    assert ends("full", *words, stdin=stdin) == expected


@pytest.mark.parametrize("words", [[], ["--version"], ["no-such-command"], ["recall", "--help"]], ids=" ".join)
def test_closed_stdout_does_not_change_help(ends: Ends, words: list[str]) -> None:
    usual = ends("read", *words)
    assert usual[0] == (2 if "no-such-command" in words else 0)
    assert ends("gone", *words) == usual
    code, err = ends("full", *words)
    assert code == 1
    assert err.startswith("joelclaw") and err.endswith(FULL) and len(err.splitlines()) == 1


READ = [
    ["recall", "--batch", "{queries}"], ["recall", "harbour gauge", "--raw", "--limit", "50"],
    ["memory", "show", "nasty-0", "--verbatim"], ["otel", "stats"], ["recall", "--help"], [],
]  # fmt: skip


def test_a_reader_may_close_the_pipe_early(home: Path, places: dict[str, str], tmp_path: Path) -> None:
    for words in READ:
        words = [word.format(**places) if word.startswith("{") else word for word in words]
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", '"$0" "$@" | head -n 1', JOELCLAW, *words],
            capture_output=True, env=clean_environment(home, **NOW), cwd=tmp_path, timeout=PATIENCE_S,
        )  # fmt: skip
        assert (done.returncode, done.stderr.decode()) == (0, ""), words
        assert len(done.stdout.splitlines()) == 1, words


@pytest.mark.parametrize("kind", ["gone", "closed", "full"])
def test_a_command_takes_effect_although_stdout_is_closed(
    run: Run, home: Path, ends: Ends, tmp_path: Path, kind: str
) -> None:
    copied = {"JOELCLAW_HOME": str(home.with_name("copied")), "JOELCLAW_NOW_MS": str(NOW_MS)}
    code = int(kind == "full")
    lines = tmp_path / "more.jsonl"
    lines.write_text(json.dumps({"text": "the ferry to Amrum leaves on the hour", "verdict": "allow"}) + "\n")
    for words, check, expected in (
        (["memory", "write", "the lock of Husum closes at low water"], ["memory", "export"], "lock of Husum"),
        (["memory", "import", str(lines)], ["memory", "export"], "ferry to Amrum"),
        (["otel", "emit", "tide.turned"], ["otel", "search", "turned"], "tide.turned"),
        (["checkpoint", "save", "--session", "n", "--percent", "9", "-m", "dredge"], ["checkpoint", "show", "n"],
         "dredge"),
        (["memory", "archive", "{transcript}"], ["recall", "harbour", "--session", SESSION], "harbour"),
    ):  # fmt: skip
        assert ends(kind, *words)[0] == code
        assert expected in run(*check, env=copied).out


def test_a_file_opened_with_descriptor_1_is_not_stdout(home: Path, run: Run) -> None:
    run("memory", "write", "the staging queue drains at 14:00 UTC")
    before = run("memory", "export").out
    for closed in ("<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
        command = f'"$0" memory write "the {len(closed)} lamps of the pier are lit at dusk" {closed}'
        done = subprocess.run(["sh", "-c", command, JOELCLAW], env=clean_environment(home), timeout=PATIENCE_S)
        assert done.returncode == 0
    after = run("memory", "export").out
    assert after.startswith(before) and len(after.splitlines()) == 4
