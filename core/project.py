"""Which project a folder belongs to: all worktrees and clones of a repository are one project. Hot path.

A project is host and path of the repository's remote `origin`, on GitHub only `owner/name`; without a remote the name
of the repository's folder; of a folder that is gone what its path tells: `X/.worktrees/…`, `X-worktrees/X-…`. Memories
of before that hold the folder's name, or no host. A submodule is part of the repository around it.
"""

from __future__ import annotations

import os

from core.files import start_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

OUTSIDE = ("/", "~", "../")
"""Prefixes of paths that `relative` leaves outside the folder."""
WORKTREES = ("/.worktrees/", "/.claude/worktrees/", ".worktrees/")
"""What separates a repository's folder from a worktree's."""
_WITHIN = (".worktrees/", ".claude/worktrees/")
_BESIDE = "-worktrees"
"""The suffix of the folder beside a project whose subfolders begin with the project's name."""
_MOST_UP = 40
_READ_BYTES = 65_536
_LONGEST = 200
_IMPLIED = "github.com"  # the host that a name leaves out
_SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "git+https", "ssh+git")


def name_of(cwd: str) -> str:
    """The name of the project that a folder belongs to, whether or not the folder exists; "" for none."""
    top = folder_of(cwd)
    if not top:
        return ""
    repository, root = repository_at(top)
    named = _named_by(_value(repository + "/config", ["remote", "origin"], "url")) if repository else ""
    return named or _named_by_path(root)


def _named_by_path(root: str) -> str:
    """The name of a path's folder, or of the repository whose worktree it is by its path."""
    for mark in WORKTREES:
        root = root.partition(mark)[0]
    parts = root.split("/")
    for at, folder in enumerate(parts[:-1]):
        name = folder.removesuffix(_BESIDE)
        if name and name != folder and f"{parts[at + 1]}-".startswith(f"{name}-"):
            return name
    return parts[-1]


def folder_of(cwd: str) -> str:
    """The top folder of the working tree, to which its files' paths are relative; `cwd` if there is none."""
    top = here = os.path.normpath(cwd) if cwd else ""
    for _ in range(_MOST_UP):
        if os.path.lexists(here + "/.git"):
            top = here
            if not _is_submodule(here):
                break
        here, below = os.path.dirname(here), here
        if not here or here == below:
            break
    return top


def relative(path: str, folder: str) -> str:
    """A path relative to such a folder, where it lies in it or, of a worktree of it, to that worktree's folder."""
    inside = folder.rstrip("/") + "/"
    if not folder or not path.startswith(inside[:-1]):
        return path
    within = path.removeprefix(inside)
    if (within == path or within.startswith(_WITHIN)) and (worktree := worktree_of(path, folder)):
        return path.removeprefix(worktree + "/")
    return within


def worktree_of(path: str, folder: str) -> str:
    """The worktree of a folder's repository in which a path lies, by its name; "" for any other path."""
    for mark in WORKTREES:
        base, found, rest = path.partition(mark)
        if found and base == folder.rstrip("/") and "/" in rest:
            return base + mark + rest.partition("/")[0]
    return ""


def _is_submodule(folder: str) -> bool:
    """Whether a folder is a submodule of a repository around it."""
    if not os.path.isfile(folder + "/.git"):
        return False
    pointer = start_of(folder + "/.git", _READ_BYTES).strip().removeprefix("gitdir:").strip()
    return "/modules/" in "/" + os.path.normpath(os.path.join(folder, pointer)).partition("/.git/")[2]


def repository_of(cwd: str) -> str:
    """The name of the project whose repository a folder is in; "" for a folder that is in none."""
    top = folder_of(cwd)
    return name_of(top) if top and os.path.lexists(top + "/.git") else ""


def same(one: str, other: str) -> bool:
    """Whether two names mean one project: they are equal, or one has no owner and the rest is equal."""
    one, other = one.lower(), other.lower()
    if not (one + other).isascii():  # a file system may have taken the accents apart
        from unicodedata import normalize

        one, other = normalize("NFC", one), normalize("NFC", other)
    if one == other:
        return bool(one)
    short = one.rpartition("/")[2]
    return short == other.rpartition("/")[2] and short in (one, other)


def without_host(name: str) -> str:
    """A project's name before names had a host; "" if its name has none."""
    host, _, path = name.partition("/")
    return path if "." in host else ""


def names_of(name: str, known: Iterable[str]) -> list[str]:
    """The names to ask for to get all of a project: its own, and those in use (`known`) that mean the same."""
    if not name:
        return []
    return list(dict.fromkeys([name, *(other for other in known if same(name, other))]))


def own_names(name: str, known: Iterable[str]) -> list[str]:
    """Like `names_of`, without names that may mean another project: without an owner, only the exact name."""
    return [one for one in names_of(name, known) if "/" in name or "/" not in one]


def repository_at(top: str) -> tuple[str, str]:
    """The file of a working tree's git configuration, "" if there is none, and the tree's root folder."""
    git = top + "/.git"
    if os.path.islink(git):  # it may lead to the repository of another project
        return "", top
    if os.path.isdir(git):
        return git, top
    pointer = start_of(git, _READ_BYTES).strip()
    if not pointer.startswith("gitdir:"):
        return "", top
    own = os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
    if os.path.isdir(own) and not _points_back(own, git):
        return "", top
    common = start_of(own + "/commondir", _READ_BYTES).strip()
    if common:
        repository = os.path.normpath(os.path.join(own, common))
    elif "/worktrees/" in own:  # the repository is not there, only what names it
        repository = own.rpartition("/worktrees/")[0]
        if os.path.isdir(repository):  # it is there, and knows no such worktree
            return "", top
    else:
        return own, top  # a submodule
    return repository, _root_of(repository)


def _points_back(own: str, git: str) -> bool:
    """Whether what a `.git` file names belongs to its folder: whoever writes such a file may name anything."""
    back = start_of(own + "/gitdir", _READ_BYTES).strip()
    if not back:
        tree = _value(own + "/config", ["core"], "worktree")
        back = tree and tree + "/.git"
    return bool(back) and os.path.realpath(os.path.join(own, back)) == os.path.realpath(git)


def _root_of(repository: str) -> str:
    """The folder that a repository is named after: the one around `.git`, else itself (a bare one)."""
    if os.path.basename(repository).startswith("."):
        return os.path.dirname(repository)
    return repository.removesuffix(".git")


def _value(path: str, section: list[str], name: str) -> str:
    """The first value of a key in a section of a git configuration, "" without one."""
    inside = False
    for line in start_of(path, _READ_BYTES).splitlines():
        line = line.strip()
        if line.startswith("["):
            words = line[1:].partition("]")[0].split(None, 1)
            inside = [words[0].lower(), *(word.strip().strip('"') for word in words[1:])] == section if words else False
        elif inside:
            key, _, value = line.partition("=")
            if key.strip().lower() == name and value.strip():
                return value.strip().strip('"')
    return ""


def _named_by(url: str) -> str:
    """`host/owner/name` of a remote's URL, in lower case, without `.git` or GitHub's host; of a path its end."""
    scheme, mark, rest = url.partition("://")
    host = ""
    if mark and scheme.lower() in _SCHEMES:
        host, _, path = rest.partition("/")
    elif mark or url.startswith(("/", ".", "~")) or ":" not in url.partition("/")[0]:
        path = _root_of(rest if mark else url.rstrip("/")).rstrip("/").rpartition("/")[2]
    else:  # user@host:owner/name
        host, _, path = url.partition(":")
    host = host.rpartition("@")[2].partition(":")[0].lower().rstrip(".").removeprefix("www.").removeprefix("ssh.")
    if host == _IMPLIED or ("." not in host and not scheme.lower().startswith("http")):  # one of ssh's own names
        host = ""
    path = path.partition("?")[0].partition("#")[0].strip("/").removesuffix(".git")
    parts = [part for part in [host, *"-".join(path.lower().split()).split("/")] if part not in ("", "~", ".", "..")]
    name = "/".join(parts)
    return name if len(name) <= _LONGEST else ""
