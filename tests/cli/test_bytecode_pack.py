"""The bytecode of the hot commands in one file: made by the first command, and never believed where it is not true."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PATIENCE_S, ROOT, Run, Spawned, clean_environment
from faults import read_only

from cli import bytecode_pack

ROOMS = ("cli", "clients", "core", "memory", "otel", "recall", "session")
# As the installed script; then where each module of ours came from.
DRIVER = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
leave = os._exit
def told(code):
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in ("cli", "clients", "core", "memory", "otel", "recall", "session"):
            print(name, type(module.__spec__.loader).__name__, file=sys.stderr)
    sys.stderr.flush()
    leave(code)
os._exit = told
from cli.start import start
start()
"""
Emit = Callable[..., Spawned]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An installation of its own, without bytecode."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / "tree" / room, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "tree"


@pytest.fixture
def emit(tree: Path, home: Path, run: Run) -> Emit:
    """Run `otel emit` of that installation, in a home whose store is there: what makes one is not imported again."""
    run("otel", "emit", "store.made")

    def spawn(action: str = "pack.tried", env: dict[str, str] | None = None) -> Spawned:
        environment = clean_environment(home, **(env or {}))
        environment.pop("PYTHONDONTWRITEBYTECODE", None) if not env else None
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, str(tree), "otel", "emit", action],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            cwd=home.parent,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return Spawned(done.returncode, done.stdout, done.stderr)

    return spawn


def pack_of(tree: Path) -> Path:
    """Where the pack lies."""
    return tree / "core" / "__pycache__" / Path(bytecode_pack.Pack().path).name


def packed(spawned: Spawned) -> set[str]:
    """The modules that came from the pack."""
    return {line.split()[0] for line in spawned.err.splitlines() if line.endswith(" _Loader")}


def plain(spawned: Spawned) -> set[str]:
    """The modules that Python found itself."""
    return {line.split()[0] for line in spawned.err.splitlines() if line.endswith(" SourceFileLoader")}


CHANGE = "import sys as _s; _s.stderr.write('CHANGED\\n')\n"
FIRST = {"cli", "cli.bytecode_pack", "cli.start"}


def test_the_second_command_opens_one_file(tree: Path, emit: Emit) -> None:
    first = emit()
    assert packed(first) == set()
    assert {"otel.event", "core.store.sqlite"} <= plain(first)
    second = emit()
    assert plain(second) == FIRST
    assert packed(second) == plain(first) - FIRST
    written = pack_of(tree).stat().st_mtime_ns
    for path in tree.rglob("*.pyc"):
        path.unlink()
    emit()
    assert pack_of(tree).stat().st_mtime_ns == written
    assert len(list(tree.rglob("*.pyc"))) == len(FIRST), "nothing in the pack is compiled again"


@pytest.mark.parametrize("before", ["", "#" * len(CHANGE)], ids=["other size", "same size"])
def test_a_changed_module_is_read_from_its_source(tree: Path, emit: Emit, before: str) -> None:
    source = tree / "core" / "words.py"
    text = source.read_text()
    source.write_text(text + before)
    assert "core.words" in plain(emit())
    assert "core.words" in packed(emit())
    source.write_text(text + CHANGE)
    os.utime(source, (1_700_000_000, 1_700_000_000))
    after = emit()
    assert "CHANGED" in after.err
    assert "core.words" in plain(after)
    again = emit()
    assert "CHANGED" in again.err
    assert "core.words" in packed(again)


def test_a_module_that_is_gone_is_not_imported_from_the_pack(tree: Path, emit: Emit) -> None:
    emit()
    (tree / "core" / "words.py").unlink()
    with pytest.raises(AssertionError, match=r"No module named 'core\.words'|cannot import name 'words'"):
        emit()


DAMAGES = (
    "empty", "half the index", "half the code", "zeros behind the index", "of another Python", "of another format",
)  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_pack_is_passed_over_and_written_anew(tree: Path, emit: Emit, damage: str) -> None:
    first = emit()
    pack = pack_of(tree)
    whole = pack.read_bytes()
    index = 16 + int.from_bytes(whole[8:16], "little")
    pack.write_bytes(
        {
            "empty": b"",
            "half the index": whole[: index // 2],
            "half the code": whole[: (len(whole) + index) // 2],
            "zeros behind the index": whole[:index] + bytes(len(whole) - index),
            "of another Python": b"\0\0\r\n" + whole[4:],
            "of another format": whole[:4] + bytes([whole[4] + 1]) + whole[5:],
        }[damage]
    )
    after = emit()
    assert packed(after) | plain(after) == plain(first)
    assert not packed(after) or not damage.startswith("of another")
    again = emit()
    assert plain(again) == FIRST
    assert pack.stat().st_size == len(whole)


def test_a_pack_under_the_name_of_before_is_neither_read_nor_changed(tree: Path, emit: Emit) -> None:
    """A version that does not know the format of this one finds none that it could take for its own."""
    emit()
    before = pack_of(tree).rename(pack_of(tree).with_name(f"rooms.{sys.implementation.cache_tag}.pack"))
    data = before.read_bytes()
    assert packed(emit()) == set()
    assert before.read_bytes() == data
    assert pack_of(tree) != before
    assert plain(emit()) == FIRST


def test_nothing_is_written_where_bytecode_is_not(tree: Path, emit: Emit) -> None:
    emit(env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert not list(tree.rglob("*.pack"))


def test_an_installation_that_nobody_can_write_works(tree: Path, emit: Emit) -> None:
    with read_only(tree):
        assert packed(emit()) == set()
    assert not list(tree.rglob("*.pack"))


@pytest.mark.parametrize("debugged", [False, True])
def test_a_pack_that_cannot_be_written_is_told_to_who_debugs(
    tree: Path, home: Path, emit: Emit, debugged: bool
) -> None:
    pack_of(tree).mkdir(parents=True)
    environment = clean_environment(home, **({"JOELCLAW_DEBUG": "1"} if debugged else {}))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [sys.executable, "-c", DRIVER, str(tree), "otel", "emit", "pack.tried"]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=PATIENCE_S
    )
    assert '"stored": true' in done.stdout or '"stored":true' in done.stdout
    assert (done.returncode != 0) is debugged
    assert ("IsADirectoryError" in done.stderr) is debugged
    assert not list(tree.rglob("*.tmp"))


def test_many_first_commands_at_once(tree: Path, home: Path, emit: Emit) -> None:
    environment = clean_environment(home)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [sys.executable, "-c", DRIVER, str(tree), "otel", "emit", "pack.tried"]
    together = [
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        for _ in range(8)
    ]
    assert [one.wait(PATIENCE_S) for one in together] == [0] * 8
    for one in together:
        assert one.stdout is not None
        one.stdout.close()
    assert plain(emit()) == FIRST
    assert not list(tree.rglob("*.tmp"))


@pytest.mark.parametrize("missing", ["session/hook/pipeline.py", "session/step.py"])
def test_a_hook_without_one_of_its_modules_gives_its_answer_and_an_event(
    tree: Path, home: Path, run: Run, missing: str
) -> None:
    """As while an installation is being replaced."""
    (tree / missing).unlink()
    words = [sys.executable, "-c", DRIVER, str(tree), "hook", "pi", "session_start"]
    done = subprocess.run(
        words,
        input='{"session_id": "s", "cwd": "/w"}',
        capture_output=True,
        text=True,
        env=clean_environment(home),
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (0, '{"messages": []}\n')
    assert run("otel", "search", "--action", "hook.failed").result["found"] == 1
