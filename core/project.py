"""Which project a folder belongs to: all worktrees and clones of a repository are one project. Hot path.

A project's name is `owner/name` of the repository's remote `origin`; without one the name of the repository's folder;
of a folder that is not there (any more) what its path tells. Memories of before that hold the folder's name.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_WORKTREES = ("/.worktrees/", "/.claude/worktrees/", ".worktrees/")
_MOST_UP = 40
_READ_CHARS = 65_536
_LONGEST = 200
_SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "git+https", "ssh+git")


def name_of(cwd: str) -> str:
    """The name of the project that is worked on in a folder, be it there or not; "" for none."""
    top = folder_of(cwd)
    if not top:
        return ""
    repository, root = _repository(top)
    named = _named_by(_origin(repository + "/config")) if repository else ""
    return named or os.path.basename(_without_worktree(root))


def folder_of(cwd: str) -> str:
    """The top folder of the working tree, to which the paths of its files are relative; `cwd` where there is none."""
    here = os.path.normpath(cwd) if cwd else ""
    for _ in range(_MOST_UP):
        if os.path.lexists(here + "/.git"):
            return here
        above = os.path.dirname(here)
        if above == here or not above:
            break
        here = above
    return os.path.normpath(cwd) if cwd else ""


def same(one: str, other: str) -> bool:
    """Whether two names mean one project: they are equal, or one has no owner and the rest is equal."""
    one, other = one.lower(), other.lower()
    if one == other:
        return bool(one)
    short = one.rpartition("/")[2]
    return short == other.rpartition("/")[2] and short in (one, other)


def names_of(name: str, known: Iterable[str]) -> list[str]:
    """The names to ask for to get all of a project: its own, and those in use (`known`) that mean the same."""
    if not name:
        return []
    return list(dict.fromkeys([name, *(other for other in known if same(name, other))]))


def _repository(top: str) -> tuple[str, str]:
    """Where the repository of a working tree keeps its configuration, "" where there is none; and its root folder."""
    git = top + "/.git"
    if os.path.isdir(git):
        return git, top
    pointer = _read(git).strip()
    if not pointer.startswith("gitdir:"):
        return "", top
    own = os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
    common = _read(own + "/commondir").strip()
    if common:
        repository = os.path.normpath(os.path.join(own, common))
    elif "/worktrees/" in own:  # the repository is not there, only what names it
        repository = own.rpartition("/worktrees/")[0]
    else:
        return own, top  # a submodule
    return repository, _root_of(repository)


def _root_of(repository: str) -> str:
    """The folder that a repository is called after: the one around `.git`, else itself (a bare one)."""
    if os.path.basename(repository).startswith("."):
        return os.path.dirname(repository)
    return repository.removesuffix(".git")


def _without_worktree(folder: str) -> str:
    for mark in _WORKTREES:
        if mark in folder:
            return folder.partition(mark)[0]
    return folder


def _origin(path: str) -> str:
    """The URL of the remote `origin` in a git configuration, "" without one."""
    inside, found = False, ""
    for line in _read(path).splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line[1:].partition("]")[0].split(None, 1)
            inside = len(section) == 2 and section[0].lower() == "remote" and section[1].strip().strip('"') == "origin"
        elif inside:
            key, _, value = line.partition("=")
            if key.strip().lower() == "url" and not found:
                found = value.strip().strip('"')
    return found


def _named_by(url: str) -> str:
    """`owner/name` of a remote's URL, in lower case, without host and `.git`; of a path its last folder."""
    scheme, mark, rest = url.partition("://")
    if mark and scheme.lower() in _SCHEMES:
        path = rest.partition("/")[2]
    elif mark or url.startswith(("/", ".", "~")) or ":" not in url.partition("/")[0]:
        path = _root_of(rest if mark else url.rstrip("/")).rstrip("/").rpartition("/")[2]
    else:  # user@host:owner/name
        path = url.partition(":")[2]
    path = path.partition("?")[0].partition("#")[0].strip("/").removesuffix(".git")
    parts = [part for part in "-".join(path.lower().split()).split("/") if part not in ("", "~", ".", "..")]
    name = "/".join(parts)
    return name if len(name) <= _LONGEST else ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_READ_CHARS)
    except (OSError, ValueError):
        return ""
