"""The state of a working tree as git reports it. Hot path.

A repository's configuration, attributes and hooks may name programs that git would run: filters, a file monitor, a
pager, transports. Git therefore reads none of the repository's configuration. It gets a temporary git folder with a
configuration of ours, and links to the repository's objects, refs and index, which are only data. Git runs in a process
of its own that is killed at the deadline; then we say nothing.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, files, project
from core.quoting import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINKS = ("objects", "refs", "packed-refs", "info/exclude")
"""What our git folder shares with the repository: none of it can name a program."""


def state_of(folder: str, timeout_s: float = 0.3) -> str:
    """Like "branch fix-172, 9e64962e, 2 files changed, 1 untracked"; "" without git, or if git takes too long."""
    deadline = time.monotonic() + timeout_s
    top = project.folder_of(os.path.realpath(folder))
    own, common = project.git_folders(top)
    git = _program(top) if own and os.path.isfile(own + "/HEAD") else ""
    # Other formats than "files" keep the refs where our links do not lead.
    if not git or project.git_setting(common + "/config", ["extensions"], "refstorage") not in ("", "files"):
        return ""
    parent = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108  # `mkdir` fails if another user has made the folder
    temporary = os.path.join(parent, f"joelclaw-git.{os.getpid()}.{time.monotonic_ns()}")
    try:
        os.mkdir(temporary, 0o700)
    except OSError:
        return ""
    try:
        _fill(temporary, own, common)
        return _described(git, temporary, own, top, deadline)
    except OSError:
        return ""
    finally:
        _remove(temporary)


def _fill(temporary: str, own: str, common: str) -> None:
    """Make an empty folder a git folder. `own` has HEAD and index; `common`, the refs and objects of all worktrees."""
    config = common + "/config"
    # settings that decide how files are compared; their values are single words
    harmless = ("fileMode", "symlinks", "ignoreCase", "precomposeUnicode", "autocrlf", "eol")
    values = {name: project.git_setting(config, ["core"], name.lower()) for name in harmless}
    settings = "".join(f"\t{name} = {value}\n" for name, value in values.items() if value.isalpha())
    is_sha256 = project.git_setting(config, ["extensions"], "objectformat") == "sha256"
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    with open(temporary + "/config", "w", encoding="utf-8") as file:
        file.write(f"[core]\n\trepositoryFormatVersion = {int(is_sha256)}\n\tbare = false\n{settings}{extensions}")
    with open(temporary + "/HEAD", "w", encoding="utf-8") as file:
        file.write(files.start_of(own + "/HEAD", project.MAX_GIT_FILE_BYTES))
    os.mkdir(temporary + "/info")
    for name in _LINKS:
        os.symlink(f"{common}/{name}", f"{temporary}/{name}")


def _remove(temporary: str) -> None:
    files.remove(*(f"{temporary}/{name}" for name in ("config", "HEAD", *_LINKS)))
    for folder in (temporary + "/info", temporary):
        try:
            os.rmdir(folder)
        except OSError:
            pass


def _described(git: str, temporary: str, own: str, top: str, deadline: float) -> str:
    # Without its filter, git would compare a filtered file with content that it never had.
    has_filters = "filter=" in files.start_of(top + "/.gitattributes", project.MAX_GIT_FILE_BYTES)
    if not has_filters:
        reserve_s = 0.2 * (deadline - time.monotonic())  # for branch and commit, if comparing the files takes too long
        status = _run(
            git,
            temporary,
            own,
            top,
            "status --porcelain=v2 --branch --no-ahead-behind --untracked-files=normal --ignore-submodules=all".split(),
            deadline - reserve_s,
        )
        if status:
            return _describe_status(status)
    head = _run(git, temporary, own, top, ["rev-parse", "HEAD", "--abbrev-ref", "HEAD"], deadline)
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


def _program(top: str) -> str:
    """The path of git; never in the current folder or in the repository, whatever PATH says."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, "git")
        is_outside = os.path.isabs(folder) and not f"{os.path.realpath(folder)}/".startswith(f"{top}/")
        if is_outside and os.access(path, os.X_OK):
            return path
    return ""


def _ignored_by_user() -> str:
    """The user's own file of ignored patterns: it is named in a configuration that git does not read here."""
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    for config in (os.path.expanduser("~/.gitconfig"), settings + "/git/config"):
        path = project.git_setting(config, ["core"], "excludesfile")
        if path:
            return os.path.expanduser(path)
    return settings + "/git/ignore"


def _run(git: str, temporary: str, own: str, top: str, words: Sequence[str], deadline: float) -> str:
    """The output of git; "" if it fails, takes too long or prints too much. It is not left running."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_DIR": temporary, "GIT_WORK_TREE": top, "GIT_INDEX_FILE": own + "/index", "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_NOSYSTEM": "1", "HOME": temporary, "XDG_CONFIG_HOME": temporary, "LC_ALL": "C",
    }  # fmt: skip
    options = [
        "-C",
        top,
        "--no-pager",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        f"core.excludesFile={_ignored_by_user()}",
    ]
    reader, writer = os.pipe()
    try:
        child = os.posix_spawn(
            git, [git, *options, *words], environment,
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
