"""Fixtures. Every test runs the installed command in a throwaway home: in this process, or spawned if marked so."""

from __future__ import annotations

import functools
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import apsw
import in_process
import pytest
from claude_transcript import SESSION, Transcript
from hypothesis import HealthCheck, settings

from core.store import sqlite

if TYPE_CHECKING:
    from otlp_receiver import Receiver
    from typesense_server import Server

# No deadline: how long an example takes says nothing on a busy machine. CI draws the same examples every time;
# developers' machines draw fewer, but different ones in each run, and find the rare failures.
settings.register_profile("any", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("any"), max_examples=100, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "any")

gc.disable()  # until `pytest_collection_finish`: collected tests are never garbage

# The tests may themselves run inside an agent's session.
for variable in ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"):
    os.environ.pop(variable, None)

# `nohup make test &` ignores both signals, and every spawned command would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

SHARED_MEMORY = "/dev/shm"
ROOM_MB = 4096  # free space that a full run needs


def _holds_tests(folder: str) -> bool:
    """Whether the folder has room for the tests' files and allows scripts to run."""
    if "TMPDIR" in os.environ or not os.access(folder, os.W_OK):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize >> 20 >= ROOM_MB and not disk.f_flag & os.ST_NOEXEC


# Thousands of homes are created and thrown away; in memory that takes half the time.
if _holds_tests(SHARED_MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = SHARED_MEMORY

ROOT = Path(__file__).resolve().parent.parent
# A test file may import helpers from a test file in another folder.
sys.path.extend(sorted({str(path.parent) for path in (ROOT / "tests").rglob("test_*.py")}))
JOELCLAW = str(Path(sys.executable).parent / "joelclaw")
PATIENCE_S = 240.0  # how long a test waits before it counts as hung; says nothing about speed
NOW_MS = 1_790_000_000_000  # 2026-09-21, the frozen time of most tests
NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}


def at_ms(ms: float) -> dict[str, str]:
    """The environment in which so many milliseconds have passed."""
    return {"JOELCLAW_NOW_MS": str(NOW_MS + round(ms))}


def at_second(seconds: float) -> dict[str, str]:
    return at_ms(seconds * 1000)


def at_minute(minutes: float) -> dict[str, str]:
    return at_ms(minutes * 60_000)


@dataclass(frozen=True)
class Attempt:
    """What a command returned."""

    code: int
    out: str
    err: str
    words: tuple[str, ...] = ()
    took_s: float = 0.0

    @property
    def json(self) -> Any:
        """The whole of stdout as one JSON value."""
        return json.loads(self.out)

    @property
    def envelope(self) -> dict[str, Any]:
        """Stdout, which must be one JSON object and nothing else."""
        value = json.loads(self.out)
        assert isinstance(value, dict), self
        return value

    @property
    def result(self) -> Any:
        """The envelope's result."""
        return self.envelope["result"]

    def assert_done(self) -> None:
        """Exit code 0, an envelope that says ok, nothing on stderr."""
        assert (self.code, self.err) == (0, ""), self
        assert self.envelope["ok"] is True, self

    def assert_failed(self) -> str:
        """Exit code 1, an envelope with code, message and fix, no traceback; returns the error code."""
        assert (self.code, self.err) == (1, ""), self
        envelope = self.envelope
        assert list(envelope) == ["ok", "command", "result", "error", "fix", "next_actions"], self
        assert (envelope["ok"], envelope["result"]) == (False, None), self
        assert envelope["fix"].strip() and envelope["error"]["message"].strip(), self
        code: str = envelope["error"]["code"]
        assert code.replace("_", "").isupper() and code != "UNKNOWN_ERROR", self
        return code


class Run(Protocol):
    def __call__(
        self, *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None, ok: bool = True,
        cwd: Path | None = None, timeout: float = PATIENCE_S,
    ) -> Attempt: ...  # fmt: skip


def until(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait for something that other processes do."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """The developer's environment without any variable that changes what a command does, and with `joelclaw` on PATH.

    Hooks get a deadline of a minute, and finish all their work before they exit.
    """
    inherited = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("JOELCLAW", "SLOG", "PI_", "TYPESENSE", "OTEL", "VAULT"))
    }
    inherited["PATH"] = f"{Path(JOELCLAW).parent}{os.pathsep}{inherited.get('PATH', os.defpath)}"
    patient = {"JOELCLAW_HOOK_DEADLINE_MS": "60000"}
    return {**inherited, "JOELCLAW_HOME": str(home), "NO_COLOR": "1", **patient, **more}


def attempt(
    home: Path, *words: str, stdin: bytes | None = None, env: dict[str, str] | None = None, timeout: float = PATIENCE_S,
    largest_file: int | None = None, cwd: Path | None = None,
) -> Attempt:  # fmt: skip
    """Run a command in this process if possible (`in_process`), else in its own.

    Args:
        largest_file: limit of file sizes in bytes (`RLIMIT_FSIZE`), like a full disk; needs a process of its own.
    """

    def limit() -> None:
        assert largest_file is not None
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    environment = clean_environment(home, **(env or {}))
    folder = cwd or home.with_name(f"beside-{home.name}")  # a hook refuses a home in its folder
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    if largest_file is None and in_process.possible(env or {}):
        code, out, err = in_process.call(JOELCLAW, words, stdin, environment, folder)
    else:
        done = subprocess.run(
            [JOELCLAW, *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env=environment,
            cwd=folder,
            timeout=timeout,
            preexec_fn=limit if largest_file is not None else None,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    return Attempt(code, out.decode(), err.decode(), words, time.monotonic() - began)


def put(path: Path, content: str | bytes, mode: int | None = None) -> Path:
    """Write a file and its folder; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if mode is not None:
        path.chmod(mode)
    return path


def begin(home: Path, *words: str, cwd: Path | None = None, **env: str) -> subprocess.Popen[bytes]:
    """Start a command in a process of its own, to be ended by `communicate`."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([JOELCLAW, *words], env=clean_environment(home, **env), cwd=cwd, **streams)


def pytest_collection_finish() -> None:
    """Exclude the thousands of collected tests from garbage collection, which saves an eighth of the run."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note whether this test is about processes, before its fixtures run a command."""
    in_process.about_processes = item.get_closest_marker("spawned") is not None


@pytest.fixture(scope="session", autouse=True)
def _temporary_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put temporary files that commands leave behind into pytest's folder, which pytest cleans up."""
    os.environ["TMPDIR"] = tempfile.tempdir = str(tmp_path_factory.mktemp("t"))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """An OTLP collector that keeps what it receives."""
    from otlp_receiver import Receiver

    started = Receiver().start()
    yield started
    started.stop()


@functools.cache
def _empty_store() -> apsw.Connection:
    store = apsw.Connection(":memory:")
    store.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _take_steps(store)
    return store


def _take_steps_at_once(db: apsw.Connection) -> None:
    """Copy an empty store instead of running every migration, which takes four times as long."""
    if sqlite.schema_of(db):
        _take_steps(db)
        return
    in_transaction = db.in_transaction
    if in_transaction:  # a copy begins and commits its own
        db.execute("COMMIT")
    with db.backup("main", _empty_store(), "main") as copy:
        copy.step(-1)
    if in_transaction:
        db.execute("BEGIN IMMEDIATE")


_take_steps, sqlite._take_steps = sqlite._take_steps, _take_steps_at_once


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    """An empty store in memory."""

    opened = sqlite.open_in_memory()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Typesense node for all tests of a file."""
    from typesense_server import one_node

    with one_node(tmp_path_factory.mktemp("node")) as started:
        yield started


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The path of this test's home, which does not exist yet. It is not in `tmp_path`, which stands for a project."""
    return tmp_path.with_name(tmp_path.name + "-home")


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    """The transcript of Claude Code that belongs to `SESSION`, still empty."""
    return Transcript(tmp_path / "projects" / "-home-u-gateway" / f"{SESSION}.jsonl")


@pytest.fixture
def opened_store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    """The empty store of this test's home, open for writing, with time frozen."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    yield db
    db.close()


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    """Run `joelclaw`; `ok` says whether exit code 0 is expected."""
    return runner(home, tmp_path)


def runner(home: Path, folder: Path) -> Run:
    """Runs commands in a folder, with this home.

    They run in this process (`in_process`), unless the test is marked `spawned`, runs in a thread, or sets a variable
    that only counts when Python starts.
    """

    def command(
        *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None, ok: bool = True,
        cwd: Path | None = None, timeout: float = PATIENCE_S,
    ) -> Attempt:  # fmt: skip
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = attempt(home, *words, stdin=data, env=env, cwd=cwd or folder, timeout=timeout)
        assert (done.code == 0) == ok, f"exit {done.code}\n{done.out}\n{done.err}"
        return done

    return command
