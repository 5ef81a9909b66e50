"""The project of a folder, and the current places of names in its files. Hot path.

All worktrees and clones of a repository are the same project. It is named after the host and path of the remote
`origin`, on GitHub only `owner/name`; without a remote after the repository's folder; if the folder is gone after
its path (`X/.worktrees/…`, `X-worktrees/X-…`). Older memories have the folder's name, or no host. A submodule is part
of the repository around it.

A repository may contain links to anywhere, pipes without a writer and endless devices. None of them is read.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, files
from core.files import start_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.records import Place

OUTSIDE = ("/", "~", "../")
"""Prefixes of paths that `relative` leaves outside the folder."""
MAX_GIT_FILE_BYTES = 65_536
_WORKTREE_MARKS = ("/.worktrees/", "/.claude/worktrees/", ".worktrees/")  # between a repository's path and a worktree


def name_of(cwd: str) -> str:
    """The name of the project that a folder belongs to, whether or not the folder exists; "" for none."""
    top = folder_of(cwd)
    if not top:
        return ""
    repository, root = repository_at(top)
    url = git_setting(repository + "/config", ["remote", "origin"], "url") if repository else ""
    return name_of_url(url) or _name_of_path(root)


def folder_of(cwd: str) -> str:
    """The top folder of the working tree, to which its files' paths are relative; `cwd` if there is none."""
    top = folder = os.path.normpath(cwd) if cwd else ""
    for _ in range(40):  # parent folders
        if os.path.lexists(folder + "/.git"):
            top = folder
            if "/modules/" not in "/" + _gitdir_in(folder).partition("/.git/")[2]:  # else it is a submodule
                break
        folder, below = os.path.dirname(folder), folder
        if not folder or folder == below:
            break
    return top


def relative(path: str, folder: str) -> str:
    """A path relative to a working tree's folder, or, in a worktree of it, to that worktree's folder."""
    inside = folder.rstrip("/") + "/"
    if not folder or not path.startswith(inside[:-1]):
        return path
    worktree = worktree_of(path, folder)
    return path.removeprefix(f"{worktree}/" if worktree else inside)


def worktree_of(path: str, folder: str) -> str:
    """The worktree of a folder's repository that contains a path, judged by its name; "" for any other path."""
    for mark in _WORKTREE_MARKS:
        base, found, rest = path.partition(mark)
        if found and base == folder.rstrip("/") and "/" in rest:
            return base + mark + rest.partition("/")[0]
    return ""


def repository_of(cwd: str) -> str:
    """The name of the project whose repository a folder is in; "" for a folder outside any repository."""
    top = folder_of(cwd)
    return name_of(top) if top and os.path.lexists(top + "/.git") else ""


def same(first: str, second: str) -> bool:
    """Whether two names mean the same project: they are equal, in any case and Unicode form."""
    first, second = first.lower(), second.lower()
    if not (first + second).isascii():  # a file system may have decomposed the accents
        from unicodedata import normalize

        first, second = normalize("NFC", first), normalize("NFC", second)
    return first == second != ""


def without_host(name: str) -> str:
    """A project's name from before names had a host; "" if its name has none."""
    host, _, path = name.partition("/")
    return path if "." in host else ""


def names_of(name: str, known: Iterable[str]) -> list[str]:
    """All names of a project: its own, and those in use (`known`) that mean the same.

    A name that is not in use and has no owner may be short for those that end with it.
    """
    known = list(known)
    equal = own_names(name, known)
    if name and "/" not in name and not any(same(name, other) for other in known):
        equal += [other for other in known if same(name, other.rpartition("/")[2])]
    return equal


def own_names(name: str, known: Iterable[str]) -> list[str]:
    """The spellings of a project's name: its own, and those in use (`known`) that are equal."""
    return list(dict.fromkeys([name, *(other for other in known if same(name, other))])) if name else []


def repository_at(top: str) -> tuple[str, str]:
    """The folder with a working tree's git configuration, "" if there is none, and the repository's root folder."""
    git = top + "/.git"
    if os.path.islink(git):  # it may lead to the repository of another project
        return "", top
    if os.path.isdir(git):
        return git, top
    own = _gitdir_in(top)
    if not own or (os.path.isdir(own) and not _points_back(own, git)):
        return "", top
    common = start_of(own + "/commondir", MAX_GIT_FILE_BYTES).strip()
    if common:
        repository = os.path.normpath(os.path.join(own, common))
    elif "/worktrees/" in own:  # the repository is gone, but the path still names it
        repository = own.rpartition("/worktrees/")[0]
        if os.path.isdir(repository):  # it is not gone, and does not know this worktree
            return "", top
    else:
        return own, top  # a submodule
    return repository, _root_of_repository(repository)


def _gitdir_in(top: str) -> str:
    """The folder that the file `.git` names; "" if `.git` is no such file."""
    pointer = start_of(top + "/.git", MAX_GIT_FILE_BYTES).strip()
    if not pointer.startswith("gitdir:"):
        return ""
    return os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))


def _points_back(own: str, git: str) -> bool:
    """Whether the repository that a `.git` file names also names this file: any user can write such a file."""
    back = start_of(own + "/gitdir", MAX_GIT_FILE_BYTES).strip()
    if not back:
        tree = git_setting(own + "/config", ["core"], "worktree")
        back = tree and tree + "/.git"
    return bool(back) and os.path.realpath(os.path.join(own, back)) == os.path.realpath(git)


def _root_of_repository(repository: str) -> str:
    """The folder that a repository is named after: the folder of `.git`, or the repository itself if it is bare."""
    if os.path.basename(repository).startswith("."):
        return os.path.dirname(repository)
    return repository.removesuffix(".git")


def branch_and_commit(folder: str) -> str:
    """Like "branch fix-172, 9e64962e"; "" outside a repository. Reads git's files: git could run a program."""
    from core.quoting import clip, one_line
    from core.redaction import redact

    top = folder_of(os.path.realpath(folder))
    repository, _ = repository_at(top)
    # Git writes `commondir` only for worktrees, whose `.git` is a file: in a folder it is not followed.
    own = (_gitdir_in(top) or top + "/.git") if repository else ""
    head = start_of(own + "/HEAD", MAX_GIT_FILE_BYTES).strip() if own else ""
    branch = head.removeprefix("ref: refs/heads/")
    if not head or branch == ".invalid":  # refs are in a format that we do not read
        return ""
    if branch == head:
        return f"detached at {head[:8]}" if head.isalnum() else ""
    commit = start_of(f"{repository}/refs/heads/{branch}", MAX_GIT_FILE_BYTES)
    if not commit:
        packed = start_of(repository + "/packed-refs", 1 << 20).splitlines()
        commit = next((line for line in packed if line.endswith(f" refs/heads/{branch}")), "")
    short = commit[:8] if commit[:8].isalnum() else "no commit yet"
    return f"branch {clip(one_line(redact(branch)[0]), 60)}, {short}"


def git_setting(path: str, section: list[str], name: str) -> str:
    """The first value of a setting in a section of a git configuration, or ""."""
    inside = False
    for line in start_of(path, MAX_GIT_FILE_BYTES).splitlines():
        line = line.strip()
        if line.startswith("["):
            words = line[1:].partition("]")[0].split(None, 1)
            inside = [words[0].lower(), *(word.strip().strip('"') for word in words[1:])] == section if words else False
        elif inside:
            key, _, value = line.partition("=")
            if key.strip().lower() == name and value.strip():
                return value.strip().strip('"')
    return ""


def _name_of_path(root: str) -> str:
    """The name of the folder, or of the repository if the path is that of a worktree; also of a path of Windows."""
    if root[1:3] == ":\\" or root.startswith("\\\\"):
        root = root.replace("\\", "/").rstrip("/")
    for mark in _WORKTREE_MARKS:
        root = root.partition(mark)[0]
    parts = root.split("/")
    for index, folder in enumerate(parts[:-1]):
        name = folder.removesuffix("-worktrees")
        if name and name != folder and f"{parts[index + 1]}-".startswith(f"{name}-"):
            return name
    return parts[-1]


def name_of_url(url: str) -> str:
    """`host/owner/name` of a remote's URL, in lower case, without `.git` or GitHub's host; of a path its last part."""
    scheme, separator, rest = url.partition("://")
    host = ""
    if separator and scheme.lower() != "file":
        host, _, path = rest.partition("/")
    elif separator or url.startswith(("/", ".", "~")) or ":" not in url.partition("/")[0]:
        path = _root_of_repository(rest if separator else url.rstrip("/")).rstrip("/").rpartition("/")[2]
    else:  # user@host:owner/name
        host, _, path = url.partition(":")
    host = host.rpartition("@")[2].partition(":")[0].lower().rstrip(".").removeprefix("www.").removeprefix("ssh.")
    if host == "github.com" or ("." not in host and not scheme.lower().startswith("http")):  # an alias of ssh
        host = ""
    path = path.partition("?")[0].partition("#")[0].strip("/").removesuffix(".git")
    parts = [part for part in [host, *"-".join(path.lower().split()).split("/")] if part not in ("", "~", ".", "..")]
    name = "/".join(parts)
    return name if len(name) <= 200 else ""


def real_root(folder: str) -> str:
    """The real path of the repository around a folder, or of the folder itself. The user's home is no repository."""
    real = os.path.realpath(folder)
    top = folder_of(real)
    home = os.path.realpath(os.path.expanduser("~"))
    return real if is_below(home, top) else top


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is in the repository around a folder. One that contains the user's home does not count."""
    root = real_root(folder or ".")
    holds_home = is_below(os.path.realpath(os.path.expanduser("~")), root)
    return os.path.lexists(root + "/.git") and is_below(os.path.realpath(path), root) and not holds_home


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder or in it; both real paths, or neither."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# The lines of a working tree on which names occur now


def current_lines(folder: str, places: Sequence[Place], deadline: float) -> list[tuple[Place, str]]:
    """The places with their present line numbers, each with the text of its line, which is foreign text.

    Those that are gone, or not found by the deadline (a monotonic time), are left out. If the folder does not exist,
    the places are unchanged, and the texts empty.
    """
    if not folder or not os.path.isdir(folder):
        return [(place, "") for place in places]
    root = os.path.realpath(folder)
    max_bytes = 1 << 20  # of a source file
    lines: dict[str, list[str]] = {}
    current: list[tuple[Place, str]] = []
    for place in places:
        file = place["file"]
        if file not in lines:
            if len(lines) == 12 or time.monotonic() >= deadline:
                continue
            try:
                path = os.path.realpath(os.path.join(root, file))
                data = files.read_file(path, max_bytes + 1) if is_below(path, root) else b""
            except (OSError, ValueError):
                data = b""
            lines[file] = data.decode("utf-8", "replace").split("\n") if 0 < len(data) <= max_bytes else []
        match = _nearest_line(lines[file], place) if lines[file] else None
        if match is not None:
            current.append(match)
    return current


def excerpt(line: str, name: str, max_chars: int) -> str:
    """A line of a file, cut to `max_chars` around a name; no longer than to the name if it may hold a secret."""
    from core.quoting import CUT
    from core.redaction.clues import may_hold_secret

    text = " ".join(line.split())
    at = max(text.find(name), 0)
    if may_hold_secret(text):
        text = text[: at + len(name)]
        text = "" if may_hold_secret(text) else text
    if len(text) > max_chars and at + len(name) > max_chars - len(CUT):
        text = CUT + text[max(0, at - 20) :].lstrip()
    return text if len(text) <= max_chars else text[: max_chars - len(CUT)].rstrip() + CUT


def _nearest_line(lines: Sequence[str], place: Place) -> tuple[Place, str] | None:
    """The line with the name that is nearest to its former line; if it was a definition, a definition comes first."""
    from core.names import defined_in

    name = place["name"]
    if not name:
        return ({**place, "line": min(place["line"], len(lines))}, "")
    numbers = [number for number, line in enumerate(lines, 1) if _has_word(line, name)]
    nearest = sorted(numbers, key=lambda number: abs(number - place["line"]))
    if not nearest:
        return None
    definitions = (number for number in nearest if place["defines"] and defined_in(lines[number - 1]) == name)
    line = next(definitions, nearest[0])
    text = lines[line - 1]
    return {**place, "line": line, "defines": place["defines"] and defined_in(text) == name}, text


def _has_word(line: str, name: str) -> bool:
    """Whether a line has a name as a whole word."""
    parts = line.split(name)
    around = (parts[number - 1][-1:] + parts[number][:1] for number in range(1, len(parts)))
    return any(not any(character.isalnum() or character == "_" for character in pair) for pair in around)
