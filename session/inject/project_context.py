"""Memories on the part of a project that an agent begins to edit, once each (ADR-0204, change 4).

Which part that is, and what is recalled for it, the configuration's table `[scopes]` says first; else the nearest
package manifest at or above the file, never above the project. A manifest comes with a repository that somebody else
wrote: what is taken from it is little, one line, redacted, and no more than data. What it asks for is asked of that
project's own memories, until the user trusts it.
"""

from __future__ import annotations

import os

from core import files, json_text
from core.quoting import clip, one_line
from core.repository.project_file import MANIFEST_BYTES, TRUSTED, Unusable, is_below, read, root_of
from session.inject.runner import ALREADY, Decision
from session.state import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypedDict

    from core.config import Config
    from core.records import Hit
    from session.inject.runner import Situation
    from session.records import SessionState, Text

    class Scope(TypedDict):
        """A part of a project: its name, and what is recalled for it."""

        name: str
        query: str
        foreign: bool
        """Somebody else chose the query: it is asked of the project's own memories."""

    Described = tuple[str, str]
    """A package's name and what it says of itself; "" where it does not tell."""

NAME = "project"
LEAST = "inject.min_score"
CUSTOM_TYPE = "project-context"
HEADING = "## Project Context: "
NO_SCOPE = "no-scope"
MAX_MEMORIES, MAX_TOKENS = 3, 250
NAME_CHARS, QUERY_CHARS = 60, 120
_ABOUT_CHARS = 2_000
_MOST_LEVELS = 40
_UNSAFE = {ord(character): " " for character in '"\\$`'}


def due(state: SessionState, situation: Situation) -> Decision:
    """Where a file belongs to a scope that the session has not had; the first of them is the subject."""
    faults: list[Unusable] = []
    cwd = situation.context.directory(state, situation.cwd)
    scopes: dict[str, Scope] = {}
    for path in filter(None, situation.files[: schema.FILES_KEPT] if cwd else ()):
        known = of_file(path, cwd, situation.context.config, faults)
        if known is not None:
            scopes.setdefault(known["name"], known)
    unusable = [(one.path, one.reason) for one in faults]
    for name, found in scopes.items():
        if name not in state["injectedScopes"]:
            query = found["query"]
            about = {"scope": name, "query": query}
            return Decision(query=query, subject=name, strictly=found["foreign"], about=about, unusable=unusable)
    return Decision(ALREADY if scopes else NO_SCOPE, about={"scope": next(iter(scopes), None)}, unusable=unusable)


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """Memories that the agent does not have before it: at most three within 250 estimated tokens, best first."""
    from session.inject.selection import fit, kept_by_somebody, select

    memories = select(kept_by_somebody(hits, state), state)
    fresh = [memory for memory in memories if memory["id"] not in state["injectedMemories"]]
    heading = HEADING + clip(one_line(decision.subject), NAME_CHARS, 40)
    content, shown = fit(CUSTOM_TYPE, [heading], fresh, mark="- ", most=MAX_MEMORIES, max_tokens=MAX_TOKENS)
    if not content:
        return None
    return {
        "content": content,
        "memories": shown,
        "customType": CUSTOM_TYPE,
        "event": "project.context.injected",
        "about": {"hitCount": len(shown)},
    }


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """That the scope was looked up, with or without anything to tell."""
    return {**state, "injectedScopes": [*state["injectedScopes"], decision.subject]}


def of_file(path: str, cwd: str, config: Config, faults: list[Unusable]) -> Scope | None:
    """The scope of a file, which need not exist yet; None for one outside the project, or without a scope.

    The project is the repository around `cwd`, else this folder. `faults` gets the manifests that cannot be used.
    """
    try:
        folder = os.path.realpath(cwd)
        found = os.path.realpath(os.path.join(folder, path))
        root = root_of(folder)
    except (OSError, ValueError):
        return None
    if not is_below(found, root):
        return None
    entry, name, query = _mapped(found, (root, folder), config.scopes)
    foreign = entry in config.foreign_scopes
    if not entry:
        at, name, query = _packaged(os.path.dirname(found), root, faults)
        foreign = bool(name)
        if foreign and os.path.exists(os.path.join(files.home(), TRUSTED)):  # most trust none
            from core.repository import trust

            foreign = not trust.is_trusted(root_of(at))
    name = clip(_plain(name), NAME_CHARS)
    query = _plain(query.translate(_UNSAFE))
    if len(query) > QUERY_CHARS:  # whole words if it can
        query = (query[: QUERY_CHARS + 1].rpartition(" ")[0] or query[:QUERY_CHARS]).rstrip()
    return {"name": name, "query": query, "foreign": foreign} if name and len(query) > 1 else None


def _mapped(path: str, bases: Sequence[str], scopes: Mapping[str, str]) -> tuple[str, str, str]:
    """The entry of the table with the longest folder that the file is in: its key, the folder and the query."""
    best = "", "", ""
    for entry, query in scopes.items():
        name = entry.strip().removeprefix("./")
        while name.endswith(("/*", "/**", "/")):
            name = name.rstrip("*").rstrip("/")
        if not name or name.startswith("/") or ".." in name.split("/"):
            continue
        if len(name) > len(best[1]) and any(is_below(path + "/", os.path.join(base, name)) for base in bases):
            best = entry, name, query
    return best


def _packaged(folder: str, root: str, faults: list[Unusable]) -> tuple[str, str, str]:
    """Folder, name and query of the nearest package with a name; empty without one."""
    home = os.path.realpath(os.path.expanduser("~"))
    for _ in range(_MOST_LEVELS):
        for manifest, describe in _MANIFESTS:
            path = os.path.join(folder, manifest)
            try:
                data = read(path, root, MANIFEST_BYTES)
                if data is not None:
                    name, about = describe(data.decode("utf-8", "replace").removeprefix("\ufeff"))
                    if name:  # an npm scope or a vendor says nothing of the package
                        return folder, name, f"{name.rpartition('/')[2]} {about[:_ABOUT_CHARS]}"
            except Unusable as fault:
                faults.append(fault)
            except json_text.InvalidJSON:
                faults.append(Unusable(path, "is no JSON"))
        if folder in (root, home) or not is_below(folder, root):
            break
        folder = os.path.dirname(folder)
    return "", "", ""


def _json(text: str) -> Described:
    """package.json and composer.json."""
    value = json_text.loads(text)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return "", ""
    keywords = value.get("keywords")
    about = [value.get("description"), *(keywords[:8] if isinstance(keywords, list) else ())]
    return value["name"], " ".join(part for part in about if isinstance(part, str))


def _toml(text: str) -> Described:
    """pyproject.toml and Cargo.toml, by their lines alone: `tomllib` costs more than a whole hook."""
    found: dict[tuple[str, str], str] = {}
    section = ""
    for line in map(str.strip, text.splitlines()):
        key, _, value = line.partition("=")
        if line.startswith("["):
            section = line.partition("#")[0].strip().strip("[]").strip()
        else:
            found.setdefault((section, key.strip().strip("\"'")), _string(value.strip()))
    for table in ("project", "tool.poetry", "package"):
        if name := found.get((table, "name")):
            return name, found.get((table, "description"), "")
    return "", ""


def _string(value: str) -> str:
    """The inside of a quoted value on one line; "" of any other."""
    quote = value[:1]
    if quote not in ('"', "'") or value.startswith(quote * 3):
        return ""
    return value[1:].replace("\\" + quote, "\0").partition(quote)[0].replace("\0", quote)


def _go(text: str) -> Described:
    for words in map(str.split, text.splitlines()):
        if len(words) > 1 and words[0] == "module":
            parts = [part for part in words[1].strip('"').split("/") if "." not in part]
            parts = [part for part in parts if part[:1] != "v" or not part[1:].isdigit()]
            return (parts[-1] if parts else words[1].strip('"')), " ".join(parts[:-1])
    return "", ""


_MANIFESTS: tuple[tuple[str, Callable[[str], Described]], ...] = (
    ("package.json", _json),
    ("pyproject.toml", _toml),
    ("Cargo.toml", _toml),
    ("go.mod", _go),
    ("composer.json", _json),
)


def _plain(text: str) -> str:
    from core.redaction import redact
    from core.words import clean

    return one_line(redact(clean(text[:2_000]))[0])
