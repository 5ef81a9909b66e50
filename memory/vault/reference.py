"""What a reference to a note of the vault means: a path inside it, `ADR-n`, `project n`, or a name (ADR-0204).

Nothing outside the vault is named, whatever links lie in it.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import Failure
from memory.knowledge import markdown_files
from memory.vault import name_match

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST = 3
"""Notes that one reference may mean."""
SLOWEST_S = 5.0
"""Seconds that listing or searching a vault may take."""
_ENDINGS = ("", *markdown_files.ENDINGS)
_ADR = re.compile(r"\badr[-_ #]*0*(\d{1,6})\b", re.IGNORECASE)
_PROJECT = re.compile(r"projects?[\s:#/-]+(.+)$", re.IGNORECASE | re.DOTALL)
_NUMBERED = re.compile(r"(adr[-_ #]*)?0*(\d{1,6})(?!\d)", re.IGNORECASE)
_DECISIONS = ("decisions", "decision", "adr", "adrs")
_INDEXES = ("readme.md", "index.md", "_index.md")


@dataclass(frozen=True)
class Resolution:
    """A note that a reference may mean, why, and how sure that is (0 to 1)."""

    path: str
    reason: str
    score: float


def root() -> str:
    """The real path of the vault: `$VAULT_PATH`, else `~/Vault`.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED, where there is no such folder.
    """
    named = os.environ.get("VAULT_PATH", "").strip()
    folder = os.path.realpath(os.path.expanduser(named or "~/Vault"))
    if not os.path.isdir(folder):
        raise Failure(
            "CAPABILITY_NOT_CONFIGURED",
            f"there is no vault at {folder}",
            "set VAULT_PATH to the folder of your notes, or make ~/Vault",
        )
    return folder


def inside(vault: str, reference: str) -> str | None:
    """The real path that a reference names inside the vault, whether anything is there or not; None for one outside.

    Args:
        vault: its real path.
        reference: relative to the vault, absolute, or beginning with `~`; `~/Vault` is the vault wherever it lies.
    """
    if "\0" in reference:
        return None
    parts = reference.split("/")
    if parts[:2] == ["~", "Vault"]:
        reference = "/".join(parts[2:]) or "."
    reference = os.path.expanduser(reference)
    try:
        path = os.path.realpath(os.path.join(vault, reference))
    except (OSError, ValueError):
        return None
    return path if markdown_files.is_below(path, vault) else None


def names_outside(vault: str, reference: str) -> bool:
    """Whether a reference is plainly a path, and one that leads out of the vault."""
    plain = reference.startswith(("/", "~/", "../", "./")) or "/../" in reference or reference in ("~", "..")
    return plain and inside(vault, reference) is None


def resolve(vault: str, reference: str) -> list[Resolution]:
    """The notes that a reference names, best first, at most MOST; empty where names do not help."""
    reference = _unwrapped(reference)
    path = by_path(vault, reference)
    if path:
        return [Resolution(path, "path", 1.0)]
    if names_outside(vault, reference):
        return []
    # Listed only now: a path needs none of it.
    listed = list(markdown_files.below(vault, until=time.monotonic() + SLOWEST_S).files)
    numbers = list(dict.fromkeys(int(number) for number in _ADR.findall(reference)))
    found = [one for number in numbers for one in by_decision(vault, listed, number)[: max(1, MOST // len(numbers))]]
    if found:
        return [Resolution(one, "adr", 1.0) for one in found[:MOST]]
    project = _PROJECT.match(reference)
    if project:
        folders = by_project(vault, listed, project[1])
        if folders:
            return [Resolution(one, "project", score) for one, score in folders[:MOST]]
    if numbers and _ADR.fullmatch(reference):
        return []  # another decision is not what was asked for
    names = name_match.best(reference, [(one, os.path.relpath(one, vault)) for one in listed], MOST)
    return [Resolution(one, "fuzzy", score) for one, score in names]


def by_path(vault: str, reference: str) -> str:
    """The file that a path names, with or without its ending; of a folder its index. "" where there is none."""
    if not reference:
        return ""
    for ending in _ENDINGS:
        path = inside(vault, reference + ending)
        if path and os.path.isfile(path):
            return path
        if path and not ending and os.path.isdir(path) and path != vault:
            index = _index(path, [os.path.join(path, name) for name in sorted(os.listdir(path))])
            if index:
                return index
    return ""


def by_decision(vault: str, listed: Sequence[str], number: int) -> list[str]:
    """The decision records with a number, whatever zeros stand before it: those in `docs/decisions` first."""
    found = []
    for path in listed:
        folder, name = os.path.split(path)
        above = os.path.relpath(folder, vault).lower().split(os.sep)
        match = _NUMBERED.match(name)
        if match and int(match[2]) == number and (match[1] or any(part in _DECISIONS for part in above)):
            found.append(("/".join(above[-2:]) != "docs/decisions", above.count(".") or len(above), path))
    return [path for *_, path in sorted(found)]


def by_project(vault: str, listed: Sequence[str], wanted: str) -> list[tuple[str, float]]:
    """The index notes of the projects with a number or a name, each with how well it fits."""
    notes: dict[str, list[str]] = {}
    for path in listed:
        parts = os.path.relpath(path, vault).split(os.sep)
        at = next((i for i, part in enumerate(parts[:-1]) if part.lower() in ("projects", "project")), -1)
        if at < 0:
            continue
        # A project is a folder below `Projects`, or a single note there.
        notes.setdefault(os.path.join(vault, *parts[: at + 2]), []).append(path)
    wanted = wanted.strip()
    if wanted.isascii() and wanted.isdigit():
        numbered = [(place, _NUMBERED.match(os.path.basename(place))) for place in notes]
        places = [(place, 1.0) for place, match in numbered if match and int(match[2]) == int(wanted)]
    else:
        places = name_match.best(wanted, [(place, os.path.basename(place)) for place in notes], MOST)
    return [(_index(place, notes[place]) or notes[place][0], score) for place, score in places]


def _index(folder: str, paths: Iterable[str]) -> str:
    """The note among them that stands for the folder, "" where none does."""
    here = {os.path.basename(path).lower(): path for path in paths if os.path.dirname(path) == folder}
    own = os.path.basename(folder).lower()
    for name in (*_INDEXES, f"{own}.md", f"{_NUMBERED.sub('', own, count=1).lstrip('-_ ')}.md"):
        if name in here and os.path.isfile(here[name]) and not os.path.islink(here[name]):
            return here[name]
    return ""


def _unwrapped(reference: str) -> str:
    """Without the brackets of a wiki link, and what it points to inside the note."""
    reference = reference.strip()
    if reference.startswith("[[") and reference.endswith("]]"):
        reference = reference[2:-2].partition("|")[0].partition("#")[0]
    return reference.strip()
