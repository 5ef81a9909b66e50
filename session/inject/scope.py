"""Which part of a project a file belongs to, and what to recall for it (ADR-0204, change 4).

The configuration's table `[scopes]` says it first; else the nearest package manifest at or above the file, never above
the project. A manifest comes with a repository that somebody else wrote: what is taken from it is little, one line,
redacted, and no more than data. What it asks for is asked of that project's own memories, until the user trusts it.
"""

from __future__ import annotations

import os

from core import files, json_text
from core.quoting import clip, one_line
from core.repository.project_file import MANIFEST_BYTES, TRUSTED, Unusable, is_below, read, root_of, root_of_real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypedDict

    from core.config import Config

    class Scope(TypedDict):
        """A part of a project: its name, and what is recalled for it."""

        name: str
        query: str
        foreign: bool
        """Somebody else chose the query: it is asked of the project's own memories."""

    Described = tuple[str, str]
    """A package's name and what it says of itself; "" where it does not tell."""


NAME_CHARS = 60
QUERY_CHARS = 120
_ABOUT_CHARS = 2_000
_MOST_LEVELS = 40
_UNSAFE = {ord(character): " " for character in '"\\$`'}


def of_file(path: str, cwd: str, config: Config, faults: list[Unusable]) -> Scope | None:
    """The scope of a file, which need not exist yet; None for one outside the project, or without a scope.

    Args:
        path: absolute, or relative to `cwd`.
        cwd: where the agent works; the project is the repository around it, else this folder.
        config: with the scopes, folder of the project → query; an empty query means no scope.
        faults: gets the manifests that cannot be used.
    """
    try:
        folder = os.path.realpath(cwd)
        found = os.path.realpath(os.path.join(folder, path))
        root = root_of_real(folder)
    except (OSError, ValueError):
        return None
    if not is_below(found, root):
        return None
    mapped = _mapped(found, (root, folder), config.scopes)
    if mapped is not None:
        entry, name, query = mapped
        foreign = entry in config.foreign_scopes
    else:
        at, name, query = _packaged(os.path.dirname(found), root, faults)
        foreign = bool(name) and not _is_trusted(at)
    name = clip(_plain(name), NAME_CHARS)
    query = _cut(_plain(query.translate(_UNSAFE)), QUERY_CHARS)
    return {"name": name, "query": query, "foreign": foreign} if name and len(query) > 1 else None


def _is_trusted(folder: str) -> bool:
    """Whether the user trusts the project around a folder; most trust none, and no list is read for them."""
    if not os.path.exists(os.path.join(files.home(), TRUSTED)):
        return False
    from core.repository import trust

    return trust.is_trusted(root_of(folder))


def _home() -> str:
    return os.path.realpath(os.path.expanduser("~"))


def _mapped(path: str, bases: Sequence[str], scopes: Mapping[str, str]) -> tuple[str, str, str] | None:
    """The entry of the table with the longest folder that the file is in: its key, the folder and the query."""
    best: tuple[str, str, str] | None = None
    for folder, query in scopes.items():
        name = folder.strip()
        while name.endswith(("/*", "/**", "/")):
            name = name.rstrip("*").rstrip("/")
        name = name.removeprefix("./")
        if not name or name.startswith("/") or ".." in name.split("/"):
            continue
        inside = any(is_below(path + "/", os.path.join(base, name)) for base in bases)
        if inside and (best is None or len(name) > len(best[1])):
            best = folder, name, query
    return best


def _packaged(folder: str, root: str, faults: list[Unusable]) -> tuple[str, str, str]:
    """Folder, name and query of the nearest package with a name; empty without one."""
    home = _home()
    at = folder
    for _ in range(_MOST_LEVELS):
        for manifest, describe in _MANIFESTS:
            path = os.path.join(at, manifest)
            try:
                data = read(path, root, MANIFEST_BYTES)
                if data is not None:
                    name, about = describe(data.decode("utf-8", "replace").removeprefix("\ufeff"), at)
                    if name:  # an npm scope or a vendor says nothing of the package
                        return at, name, f"{name.rpartition('/')[2]} {about[:_ABOUT_CHARS]}"
            except Unusable as fault:
                faults.append(fault)
            except json_text.InvalidJSON:
                faults.append(Unusable(path, "is no JSON"))
        if at in (root, home) or not is_below(at, root):
            break
        at = os.path.dirname(at)
    return "", "", ""


def _json(text: str, _: str) -> Described:
    """package.json and composer.json.

    Raises:
        InvalidJSON: it is none.
    """
    value = json_text.loads(text)
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
        first, *inner = text.split(f"<{outer}>")
        text = first + "".join(part.partition(f"</{outer}>")[2] for part in inner)
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
