"""What Linux does for us that other systems do not, and what is done there instead.

Nothing else asks which system this is. Elsewhere means macOS and the BSDs; on them it has not been run, the tests put a
fake in their place.
"""

from __future__ import annotations

import os
import sys

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_PROCESSES = ("ps", "-A", "-o", "pid=,ppid=")  # POSIX
_PATIENCE_S = 5


def is_linux() -> bool:
    """Whether this is Linux."""
    return sys.platform == "linux"


def adopt_orphans() -> None:
    """What a child of ours leaves behind becomes our child. Elsewhere it becomes init's, out of our sight."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(number: int) -> None:
    """Get that signal when our parent ends, however it ends. Elsewhere the parent has to see to it."""
    _prctl(_PR_SET_PDEATHSIG, number)


def children() -> dict[int, list[int]]:
    """Process id → those of its children, of all that run now; empty where the system does not tell."""
    found: dict[int, list[int]] = {}
    for process, parent in _from_proc() if is_linux() else _from_ps():
        found.setdefault(parent, []).append(process)
    return found


def processor_flags() -> frozenset[bytes] | None:
    """What an x86-64 processor can do (`avx2`, `fma`), nothing where that cannot be read; None elsewhere."""
    if not is_linux() or os.uname().machine != "x86_64":
        return None
    try:
        with open("/proc/cpuinfo", "rb") as handle:
            return frozenset(handle.read(8192).split(b"\n\n", 1)[0].split())
    except OSError:
        return frozenset()


def _prctl(option: int, value: int) -> None:
    if not is_linux():
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3)
    except (ImportError, OSError, AttributeError):  # a Python without ctypes: as elsewhere
        pass


def _from_proc() -> list[tuple[int, int]]:
    found = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b")")[2].split()  # the name before may hold anything
                found.append((int(name), int(fields[1])))
            except (OSError, IndexError, ValueError):  # it has ended
                continue
    return found


def _from_ps() -> list[tuple[int, int]]:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603  # words of ours
            _PROCESSES, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return []
    found = []
    for line in done.stdout.splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
            found.append((int(fields[0]), int(fields[1])))
    return found
