"""Which part of a project a file belongs to, and what to recall for it (ADR-0204, change 4).

The configuration's table `[scopes]` says it first; else the nearest package manifest at or above the file, never above
the project. A manifest comes with a repository that somebody else wrote: what is taken from it is little, one line,
redacted, and no more than data.
"""

from __future__ import annotations

import os
import stat

from core import json_text
from core.quoting import clip, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypedDict

    class Scope(TypedDict):
        """A part of a project: its name, and what is recalled for it."""

        name: str
        query: str

    Described = tuple[str, str]
    """A package's name and what it says of itself; "" where it does not tell."""


NAME_CHARS = 60
QUERY_CHARS = 120
_READ_BYTES = 65_536
_MOST_LEVELS = 40
_UNSAFE = {ord(character): " " for character in '"\\$`'}


def of_file(path: str, cwd: str, scopes: Mapping[str, str]) -> Scope | None:
    """The scope of a file, which need not exist yet; None for one outside the project, or without a scope.

    Args:
        path: absolute, or relative to `cwd`.
        cwd: where the agent works; the project is the repository around it, else this folder.
        scopes: folder of the project → query; an empty query means no scope.
    """
    try:
        folder = os.path.realpath(cwd)
        found = os.path.realpath(os.path.join(folder, path))
        root = _root(folder)
    except (OSError, ValueError):
        return None
    if not _is_below(found, root):
        return None
    mapped = _mapped(found, (root, folder), scopes)
    if mapped is not None:
        name, query = mapped
    else:
        name, query = _packaged(os.path.dirname(found), root)
    name = clip(_plain(name), NAME_CHARS)
    query = _cut(_plain(query.translate(_UNSAFE)), QUERY_CHARS)
    return {"name": name, "query": query} if name and len(query) > 1 else None


def _root(folder: str) -> str:
    """The repository around a folder, else the folder; the user's home and what is above it are no repository."""
    home = _home()
    at = folder
    for _ in range(_MOST_LEVELS):
        if at == home or at == os.path.dirname(at):
            break
        if os.path.lexists(os.path.join(at, ".git")):
            return at
        at = os.path.dirname(at)
    return folder


def _home() -> str:
    return os.path.realpath(os.path.expanduser("~"))


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _mapped(path: str, bases: Sequence[str], scopes: Mapping[str, str]) -> tuple[str, str] | None:
    """The entry of the table with the longest folder that the file is in."""
    best: tuple[str, str] | None = None
    for folder, query in scopes.items():
        name = folder.strip()
        while name.endswith(("/*", "/**", "/")):
            name = name.rstrip("*").rstrip("/")
        name = name.removeprefix("./")
        if not name or name.startswith("/") or ".." in name.split("/"):
            continue
        inside = any(_is_below(path + "/", os.path.join(base, name)) for base in bases)
        if inside and (best is None or len(name) > len(best[0])):
            best = name, query
    return best


def _packaged(folder: str, root: str) -> tuple[str, str]:
    """Name and query of the nearest package with a name; empty without one."""
    home = _home()
    at = folder
    for _ in range(_MOST_LEVELS):
        for manifest, describe in _MANIFESTS:
            text = _read(os.path.join(at, manifest))
            if text is not None:
                name, about = describe(text, at)
                if name:  # an npm scope or a vendor says nothing of the package
                    return name, f"{name.rpartition('/')[2]} {about}"
        if at in (root, home) or not _is_below(at, root):
            break
        at = os.path.dirname(at)
    return "", ""


def _read(path: str) -> str | None:
    """The start of a manifest; None where there is none, or it is no plain file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, _READ_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _json(text: str, _: str) -> Described:
    """package.json and composer.json."""
    try:
        value = json_text.loads(text)
    except (json_text.InvalidJSON, RecursionError):
        return "", ""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return "", ""
    about = value.get("description")
    parts = [about] if isinstance(about, str) else []
    keywords = value.get("keywords")
    if isinstance(keywords, list):
        parts += [word for word in keywords[:8] if isinstance(word, str)]
    return value["name"], " ".join(parts)


def _toml(text: str, sections: Sequence[str]) -> Described:
    """Name and description of the first of these tables that has a name, by its lines alone."""
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line.partition("#")[0].strip().strip("[]").strip()
        elif section in sections:
            key, given, value = line.partition("=")
            key = key.strip().strip("\"'")
            if given and key in ("name", "description"):
                found.setdefault(section, {}).setdefault(key, _string(value.strip()))
    for section in sections:
        name = found.get(section, {}).get("name", "")
        if name:
            return name, found[section].get("description", "")
    return "", ""


def _string(value: str) -> str:
    """The inside of a quoted value on one line; "" of any other."""
    quote = value[:1]
    if quote not in ('"', "'") or value.startswith(quote * 3):
        return ""
    at = 1
    while at < len(value) and value[at] != quote:
        at += 2 if value[at] == "\\" and quote == '"' else 1
    return value[1:at]


def _pyproject(text: str, _: str) -> Described:
    return _toml(text, ("project", "tool.poetry"))


def _cargo(text: str, _: str) -> Described:
    return _toml(text, ("package",))


def _go(text: str, _: str) -> Described:
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == "module":
            module = words[1].strip('"')
            parts = [part for part in module.split("/") if "." not in part and not _is_version(part)]
            return (parts[-1] if parts else module), " ".join(parts[:-1])
    return "", ""


def _is_version(part: str) -> bool:
    return part[:1] == "v" and part[1:].isdigit()


def _pom(text: str, _: str) -> Described:
    """A Maven project's own name: its parent's and its dependencies' are left out."""
    for outer in ("parent", "dependencies", "dependencyManagement", "build", "profiles"):
        start = text.find(f"<{outer}>")
        while start >= 0:
            stop = text.find(f"</{outer}>", start)
            text = text[:start] + (text[stop:] if stop >= 0 else "")
            start = text.find(f"<{outer}>", start)
    return _element(text, "artifactId"), _element(text, "description")


def _element(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()[:400]


def _gem(_: str, folder: str) -> Described:
    """Ruby: the gemspec beside the Gemfile names the gem."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".gemspec"))
    except OSError:
        return "", ""
    return (names[0].removesuffix(".gemspec"), "") if names else ("", "")


_MANIFESTS: tuple[tuple[str, Callable[[str, str], Described]], ...] = (
    ("package.json", _json),
    ("pyproject.toml", _pyproject),
    ("Cargo.toml", _cargo),
    ("go.mod", _go),
    ("composer.json", _json),
    ("pom.xml", _pom),
    ("Gemfile", _gem),
)


def _plain(text: str) -> str:
    from core.redaction import redact
    from core.words import clean

    return one_line(redact(clean(text[:2_000]))[0])


def _cut(text: str, characters: int) -> str:
    """At most so many characters, whole words if it can."""
    if len(text) <= characters:
        return text
    head = text[:characters]
    return (head.rpartition(" ")[0] if text[characters] != " " and " " in head else head).rstrip()
