"""Every test runs the installed command in a throwaway home: in this process, or spawned where the process matters."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import apsw
import in_process
import pytest
from hypothesis import HealthCheck, settings

from core.store import fold_log, migrate, sqlite

if TYPE_CHECKING:
    from otlp_receiver import Receiver
    from typesense_server import Server

# How long an example takes says nothing on a busy machine. In CI the same examples every time: a rare one is found, and
# mended, on a developer's machine, where every run tries other ones, and fewer.
settings.register_profile("any", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("any"), max_examples=100, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "any")

gc.disable()  # what is collected stays: until then there is nothing to look for (`pytest_collection_finish`)

# Which session of a client the tests themselves are run in.
for variable in ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"):
    os.environ.pop(variable, None)

# `nohup make test &` ignores both, and every command that a test spawns would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

MEMORY = "/dev/shm"
_ROOM_MB = 4096


def _holds_tests(folder: str) -> bool:
    """Whether there is room for what tests write, and a script in it may be run."""
    if "TMPDIR" in os.environ or not os.access(folder, os.W_OK):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize >> 20 >= _ROOM_MB and not disk.f_flag & os.ST_NOEXEC


# Thousands of homes are made and thrown away: in memory that costs the system half as much, and no disk is waited for.
if _holds_tests(MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "tests").rglob("test_*.py"))
FOLDERS = sorted({path.parent for path in FILES})
sys.path.extend(map(str, FOLDERS))  # a test file may use what another made, in whichever room it stands
# Said by the first process, before its workers begin: whether the test files were never compiled.
FRESH = os.environ.setdefault("TESTS_FRESH", str(any(not (one / "__pycache__").exists() for one in FOLDERS)))
JOELCLAW = str(Path(sys.executable).parent / "joelclaw")
PATIENCE_S = 240.0
"""How long a test waits for what must come to pass: it bounds a hang, and says nothing about speed."""
NOW_MS = 1_790_000_000_000  # 2026-09-21, the time at which tests stand still


@dataclass(frozen=True)
class Spawned:
    """What a spawned command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its whole stdout as one JSON value."""
        return json.loads(self.out)

    @property
    def result(self) -> Any:
        """The envelope's result."""
        return self.json["result"]


class Run(Protocol):
    def __call__(
        self, *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None, ok: bool = True,
        cwd: Path | None = None, timeout: float = PATIENCE_S,
    ) -> Spawned: ...  # fmt: skip


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without anything of the developer's that changes what a command does, and with ours on its PATH.

    A hook takes its time in it, and has done its work when it ends.
    """
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("JOELCLAW", "SLOG", "PI_", "TYPESENSE", "OTEL", "VAULT"))
    }
    kept["PATH"] = f"{Path(JOELCLAW).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    patient = {"JOELCLAW_HOOK_DEADLINE_MS": "60000"}
    return {**kept, "JOELCLAW_HOME": str(home), "NO_COLOR": "1", **patient, **more}


_BEGAN = time.monotonic()
_LEFT_OUT = "left out: the time of --budget is over"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--budget SECONDS`: leave out the tests that would begin later (`make check`)."""
    parser.addoption("--budget", type=float, default=0.0)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was left out."""
    skipped = [one for one in terminalreporter.stats.get("skipped", ()) if _LEFT_OUT in str(one.longrepr)]
    files = sorted({one.nodeid.partition("::")[0].removeprefix("tests/") for one in skipped})
    if skipped:
        terminalreporter.write_sep("-", f"LEFT OUT, {len(skipped)} tests of {len(files)} files; `make test` runs them")
        terminalreporter.write_line(" ".join(files))


def pytest_sessionstart() -> None:
    """In a fresh clone each worker first loads, and compiles, other test files; all would compile them all."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if FRESH == "True" and worker:
        number, workers = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for path in FILES[number::workers]:
            with contextlib.suppress(Exception):  # it is told where pytest loads it
                importlib.import_module(path.stem)


def pytest_collection_finish() -> None:
    """Thousands of collected tests are no garbage: looked through again in every collection they cost an eighth."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tell which tests are about a process of its own, before their fixtures run any."""
    budget: float = item.config.getoption("--budget")
    if budget and time.monotonic() - _BEGAN > budget:
        pytest.skip(_LEFT_OUT)
    in_process.about_processes = item.get_closest_marker("spawned") is not None


@pytest.fixture(scope="session", autouse=True)
def _temporary_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a command leaves in the folder for temporary files, a report's page say, goes with the tests' homes."""
    os.environ["TMPDIR"] = tempfile.tempdir = str(tmp_path_factory.mktemp("t"))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A collector that keeps what it is sent."""
    from otlp_receiver import Receiver

    started = Receiver().start()
    yield started
    started.stop()


@functools.cache
def _schema() -> bytes:
    made = apsw.Connection(":memory:")
    _take_steps(made)
    return made.serialize("main")


def _take_steps_at_once(db: apsw.Connection) -> None:
    """An empty store in memory is a copy of one: to take all steps of the schema takes longer."""
    if db.filename or migrate.version_of(db):
        _take_steps(db)
    else:
        db.deserialize("main", _schema())


_take_steps, migrate._take_steps = migrate._take_steps, _take_steps_at_once


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    """An empty store in memory."""

    opened = migrate.in_memory()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A node of Typesense for the tests of a file."""
    from typesense_server import one_node

    with one_node(tmp_path_factory.mktemp("node")) as started:
        yield started


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where this test's memory lies; not made yet."""
    return tmp_path / "home"


@pytest.fixture(scope="session")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with an empty store, to be copied: to make one takes longer."""
    made = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("JOELCLAW_HOME", str(made))
        db = sqlite.open_writing(busy_ms=0, durable=False)
        fold_log(db, over=0)
        db.close()
    return made


@pytest.fixture
def opened_store(made_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    """The empty store of this test's home, open for writing at the time at which tests stand still."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    shutil.copytree(made_home, home, dirs_exist_ok=True)
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    yield db
    db.close()


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    """Run `joelclaw` to its end; `ok` says whether exit 0 is expected (otherwise anything else).

    In this process (`in_process`); spawned in tests marked so, in a thread, and where a variable counts when Python
    starts.
    """

    def command(
        *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None, ok: bool = True,
        cwd: Path | None = None, timeout: float = PATIENCE_S,
    ) -> Spawned:  # fmt: skip
        data = stdin.encode() if isinstance(stdin, str) else stdin
        environment = clean_environment(home, **(env or {}))
        if not in_process.possible(env or {}):
            done = subprocess.run(
                [JOELCLAW, *words],
                input=data,
                stdin=subprocess.DEVNULL if data is None else None,
                capture_output=True,
                env=environment,
                cwd=cwd or tmp_path,
                timeout=timeout,
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        else:
            code, out, err = in_process.call(JOELCLAW, words, data, environment, cwd or tmp_path)
        spawned = Spawned(code, out.decode(), err.decode())
        assert (spawned.code == 0) == ok, f"exit {spawned.code}\n{spawned.out}\n{spawned.err}"
        return spawned

    return command
