"""What git says of a working tree now: branch, commit, number of changed files. Hot path.

A repository may name programs to be run (a file monitor, filters, hooks, transports): none is. Git is asked in a
process of its own, which is killed at the deadline; where it says nothing in time, nothing is said.
"""

from __future__ import annotations

import os
import time

from core.files import start_of
from core.project import folder_of, repository_at
from core.quoting import clip, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DEADLINE_S = 0.3
BRANCH_CHARS = 60
_COMMIT_CHARS = 8
_FOR_CHANGES = 0.8
"""Share of the time after which only branch and commit are told."""
_MOST_BYTES = 1 << 20
_CONFIG_BYTES = 65_536
_ALWAYS = (
    *("--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "safe.bareRepository=explicit"),
)
_STATUS = (
    *("status", "--porcelain=v2", "--branch", "--no-ahead-behind"),
    *("--untracked-files=normal", "--ignore-submodules=all"),
)
_HEAD = ("rev-parse", "HEAD", "--abbrev-ref", "HEAD")
_NAMING_PROGRAMS = ("[filter", "[include", "worktreeconfig")
"""Settings of a repository that run programs when files are compared, or include settings that may."""


def now(folder: str, deadline_s: float = DEADLINE_S) -> str:
    """Like "branch fix-172, 9e64962e, 2 files changed, 1 untracked"; "" without git, or if it says nothing."""
    begun = time.monotonic()
    top = folder_of(os.path.realpath(folder))
    git = _program() if os.path.lexists(os.path.join(top, ".git")) else ""
    if not git:
        return ""
    if _is_compared_safely(top) and (told := _ask(git, top, _STATUS, begun + deadline_s * _FOR_CHANGES)):
        return _of_status(told)
    commit, _, branch = _ask(git, top, _HEAD, begun + deadline_s).strip().partition("\n")
    return _said("" if branch == "HEAD" else branch, commit) if branch else ""


def _of_status(told: str) -> str:
    """The lines of `git status --porcelain=v2 --branch` as one line."""
    about: dict[str, str] = {}
    kinds: dict[str, int] = {}
    for line in told.splitlines():
        sign, _, rest = line.partition(" ")
        if sign == "#":
            key, _, value = rest.partition(" ")
            about[key] = value
        else:
            kinds[sign] = kinds.get(sign, 0) + 1
    commit = about.get("branch.oid", "")
    if not commit:
        return ""
    changed, untracked, torn = kinds.get("1", 0) + kinds.get("2", 0), kinds.get("?", 0), kinds.get("u", 0)
    parts = [f"{changed} file{'s' * (changed != 1)} changed"] if changed else []
    parts += [f"{torn} in conflict"] if torn else []
    parts += [f"{untracked} untracked"] if untracked else []
    branch = about.get("branch.head", "")
    return _said("" if branch == "(detached)" else branch, commit, *(parts or ["no changes"]))


def _said(branch: str, commit: str, *changes: str) -> str:
    """The line: a branch may have any name."""
    known = "no commit yet" if commit == "(initial)" else one_line(commit)[:_COMMIT_CHARS]
    name = clip(one_line(branch), BRANCH_CHARS)
    return ", ".join([f"branch {name}", known, *changes] if name else [f"detached at {known}", *changes])


def _program() -> str:
    """The path of git, never one in the current folder."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, "git")
        if os.path.isabs(folder) and os.access(path, os.X_OK):
            return path
    return ""


def _is_compared_safely(top: str) -> bool:
    """Whether git compares this working tree's files without running a program that the repository chose."""
    repository, _ = repository_at(top)
    settings = start_of(f"{repository}/config", _CONFIG_BYTES).lower() if repository else ""
    return 0 < len(settings) < _CONFIG_BYTES and not any(name in settings for name in _NAMING_PROGRAMS)


def _ask(git: str, top: str, words: Sequence[str], until: float) -> str:
    """All that git prints; "" if it fails, takes too long or prints too much. It is not left running."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_CEILING_DIRECTORIES": os.path.dirname(top), "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
    }  # fmt: skip
    reading, writing = os.pipe()
    try:
        child = os.posix_spawn(
            git, [git, "-C", top, *_ALWAYS, *words], environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ],
            setpgroup=0,
        )  # fmt: skip
    except (OSError, ValueError):
        os.close(reading)
        return ""
    finally:
        os.close(writing)
    try:
        return _read(reading, until).decode("utf-8", "replace")
    finally:
        os.close(reading)
        try:
            os.killpg(child, 9)  # what has ended is a zombie until it is waited for
        except OSError:
            pass
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            pass  # where our parent has children that end ignored, nobody needs to wait


def _read(descriptor: int, until: float) -> bytes:
    """What arrives until the other end is closed; b"" if that takes too long or is too much."""
    from select import POLLIN, poll

    waiting = poll()
    waiting.register(descriptor, POLLIN)
    data = b""
    while len(data) <= _MOST_BYTES:
        left = until - time.monotonic()
        if left <= 0 or not waiting.poll(left * 1000):
            return b""
        part = os.read(descriptor, 65_536)
        if not part:
            return data
        data += part
    return b""
