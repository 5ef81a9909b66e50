"""The state of a working tree now: what git says about it, and the lines on which names occur. Hot path.

A repository may name programs that git runs (a file monitor, filters, hooks, transports). None is run. Git runs in a
process of its own that is killed at the deadline; then we say nothing about its state.
"""

from __future__ import annotations

import os
import time

from core import project
from core.files import start_of
from core.names import defined_in
from core.quoting import CUT, clip, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.records import Place

MAX_FILE_BYTES = 1 << 20
MAX_MATCHES = 400  # of a name in a file: with more, its line cannot be told from the others
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_GIT_STATUS = "status --porcelain=v2 --branch --no-ahead-behind --untracked-files=normal --ignore-submodules=all"
_GIT_OPTIONS = "--no-optional-locks --no-pager -c core.fsmonitor=false -c core.hooksPath=/dev/null"


def git_state(folder: str, timeout_s: float = 0.3) -> str:
    """Like "branch fix-172, 9e64962e, 2 files changed, 1 untracked"; "" without git, or if git takes too long."""
    begun = time.monotonic()
    top = project.folder_of(os.path.realpath(folder))
    git = _git_program() if os.path.lexists(os.path.join(top, ".git")) else ""
    if not git:
        return ""
    if _runs_no_program(top):
        # a fifth of the time is left for branch and commit
        status = _run_git(git, top, _GIT_STATUS.split(), begun + timeout_s * 0.8)
        if status:
            return _describe_status(status)
    head = _run_git(git, top, ["rev-parse", "HEAD", "--abbrev-ref", "HEAD"], begun + timeout_s)
    commit, _, branch = head.strip().partition("\n")
    return _describe("" if branch == "HEAD" else branch, commit) if branch else ""


def _describe_status(status: str) -> str:
    """The output of `git status --porcelain=v2 --branch` on one line."""
    headers: dict[str, str] = {}
    counts: dict[str, int] = {}
    for line in status.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "#":
            key, _, value = rest.partition(" ")
            headers[key] = value
        else:
            counts[kind] = counts.get(kind, 0) + 1
    commit = headers.get("branch.oid", "")
    if not commit:
        return ""
    changed = counts.get("1", 0) + counts.get("2", 0)
    parts = [f"{changed} file{'s' * (changed != 1)} changed"] if changed else []
    parts += [f"{counts['u']} in conflict"] if "u" in counts else []
    parts += [f"{counts['?']} untracked"] if "?" in counts else []
    branch = headers.get("branch.head", "")
    return _describe("" if branch == "(detached)" else branch, commit, *(parts or ["no changes"]))


def _describe(branch: str, commit: str, *changes: str) -> str:
    short = "no commit yet" if commit == "(initial)" else one_line(commit)[:8]
    name = clip(one_line(branch), 60)
    return ", ".join([f"branch {name}", short, *changes] if name else [f"detached at {short}", *changes])


def _git_program() -> str:
    """The path of git, never one in the current folder."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, "git")
        if os.path.isabs(folder) and os.access(path, os.X_OK):
            return path
    return ""


def _runs_no_program(top: str) -> bool:
    """Whether git can compare this working tree's files without running a program that the repository names."""
    if os.path.isdir(top + "/.git") and os.path.lexists(top + "/.git/commondir"):
        return False  # its configuration is somewhere else
    repository, _ = project.repository_at(top)
    max_bytes = 65_536
    settings = start_of(f"{repository}/config", max_bytes).lower() if repository else ""
    may_name_program = any(name in settings for name in ("[filter", "[include", "worktreeconfig"))
    return 0 < len(settings) < max_bytes and not may_name_program


def _run_git(git: str, top: str, words: Sequence[str], deadline: float) -> str:
    """The output of git; "" if it fails, takes too long or prints too much. It is not left running."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_CEILING_DIRECTORIES": os.path.dirname(top), "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
    }  # fmt: skip
    options = [*_GIT_OPTIONS.split(), "-c", "safe.bareRepository=explicit"]
    reader, writer = os.pipe()
    try:
        child = os.posix_spawn(
            git, [git, "-C", top, *options, *words], environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, writer, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ],
            setpgroup=0,
        )  # fmt: skip
    except (OSError, ValueError):
        os.close(reader)
        return ""
    finally:
        os.close(writer)
    try:
        return _read_until(reader, deadline).decode("utf-8", "replace")
    finally:
        os.close(reader)
        try:
            os.killpg(child, 9)  # if it has ended, it is a zombie until we wait for it
        except OSError:
            pass
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            pass  # our parent ignores the end of its children, so there is no zombie


def _read_until(descriptor: int, deadline: float) -> bytes:
    """Everything until the other end closes; b"" if that takes too long or is over 1 MiB."""
    from select import POLLIN, poll

    poller = poll()
    poller.register(descriptor, POLLIN)
    data = b""
    while len(data) <= 1 << 20:
        left = deadline - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            return b""
        chunk = os.read(descriptor, 65_536)
        if not chunk:
            return data
        data += chunk
    return b""


def current_places(folder: str, places: Sequence[Place], deadline: float) -> list[Place]:
    """The places with their present line numbers; those that are gone, or not found by the deadline, are left out.

    Unchanged if the folder does not exist. `deadline` is a monotonic time.
    """
    return [place for place, _ in current_lines(folder, places, deadline)]


def current_lines(folder: str, places: Sequence[Place], deadline: float) -> list[tuple[Place, str]]:
    """Like `current_places`, each with the text of its line: foreign text, "" if the folder does not exist."""
    if not folder or not os.path.isdir(folder):
        return [(place, "") for place in places]
    root = os.path.realpath(folder)
    by_file: dict[str, list[int]] = {}
    for index, place in enumerate(places):
        by_file.setdefault(place["file"], []).append(index)
    current: dict[int, tuple[Place, str]] = {}
    for file in list(by_file)[:12]:
        if time.monotonic() >= deadline:
            break
        try:
            data = project.read_file(os.path.join(root, file), root, MAX_FILE_BYTES) or b""
        except project.UnusableFile:
            continue
        for index in by_file[file] if data else ():
            if time.monotonic() >= deadline:
                break
            match = _nearest_line(data, places[index])
            if match is not None:
                current[index] = match
    return [current[index] for index in sorted(current)]


def excerpt(line: str, name: str, max_chars: int) -> str:
    """A line of a file, cut to `max_chars` around a name, and further if the rest may hold a secret."""
    from core.redaction import may_hold_secret

    text = " ".join(line.split())
    at = max(text.find(name), 0)
    if may_hold_secret(text):  # keep the name and the plain characters after it
        end = at + len(name)
        while end < len(text) and (text[end].isalnum() or text[end] in " _.,:;()[]*"):
            end += 1
        parts = (text[:end].rstrip(), text[at:end].rstrip())
        text = next((part for part in parts if not may_hold_secret(part)), "")
        at = max(text.find(name), 0)
    if len(text) > max_chars:
        if at + len(name) > max_chars - len(CUT):
            text = CUT + text[max(0, at - 20) :].lstrip()
        if len(text) > max_chars:
            text = text[: max_chars - len(CUT)].rstrip() + CUT
    return text


def _nearest_line(data: bytes, place: Place) -> tuple[Place, str] | None:
    """The line with the name that is nearest to its former line; if it was a definition, a definition comes first."""
    name = place["name"]
    if not name:
        last_line = data.count(b"\n") + 1
        return ({**place, "line": min(place["line"], last_line)}, "")
    best: tuple[bool, int] | None = None
    line, text = 0, ""
    for number, raw in _lines_with(data, name.encode("utf-8", "surrogatepass")):
        candidate = raw.decode("utf-8", "replace")
        rank = (place["defines"] and defined_in(candidate) != name, abs(number - place["line"]))
        if best is None or rank < best:
            best, line, text = rank, number, candidate
    if best is None:
        return None
    return {**place, "line": line, "defines": place["defines"] and not best[0]}, text


def _lines_with(data: bytes, name: bytes) -> Iterator[tuple[int, bytes]]:
    """The first lines that have a name as a whole word, with their numbers; long lines are cut around it."""
    number, counted, matches = 1, 0, 0
    at = data.find(name)
    while at >= 0 and matches < MAX_MATCHES:
        end = at + len(name)
        if (not at or data[at - 1] not in _NAME_BYTES) and (end == len(data) or data[end] not in _NAME_BYTES):
            number += data.count(b"\n", counted, at)
            counted = at
            line_start = data.rfind(b"\n", 0, at) + 1
            line_end = data.find(b"\n", end)
            line_end = line_end if line_end >= 0 else len(data)
            matches += 1
            yield number, data[max(line_start, at - 2_000) : min(line_end, end + 2_000)]
            end = line_end
        at = data.find(name, end)
