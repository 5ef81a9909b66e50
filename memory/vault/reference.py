"""What a reference to a note of the vault means: a path inside it, `ADR-n`, `project n`, or a name (ADR-0204).

Nothing outside the vault is named, whatever links lie in it. A name fits a file by its words:
.75 · (how much of the reference the name has) + .25 · (how much of the name the reference has), where a word counts 1
when it is the same, .85 when one begins the other, its likeness when it is a misspelling, and .6 of that when only a
folder above has it. A question needs all of its words in the name: what is asked about is seldom what a file is called.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from core import words
from core.errors import Failure
from memory.knowledge import markdown_files

MOST = 3
"""Notes that one reference may mean."""
SLOWEST_S = 5.0
"""Seconds that listing or searching a vault may take."""
LEAST = 0.55
_LEAST_COVERED = 0.66
_BEGINS = 0.85
_LEAST_ALIKE = 0.8
_FOLDER = 0.6
_SHORTEST = 3
"""Letters of a word that may be misspelt or abbreviated."""
_MOST_WORDS = 12
_ASKING = [[word] for word in "what why how which when who where whose".split()]
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
    folder = os.path.realpath(os.path.expanduser(os.environ.get("VAULT_PATH", "").strip() or "~/Vault"))
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
        reference: relative to the vault, absolute, or beginning with `~`; `~/Vault` is the vault wherever it lies.
    """
    parts = reference.split("/")
    if parts[:2] == ["~", "Vault"]:
        reference = "/".join(parts[2:]) or "."
    try:
        path = os.path.realpath(os.path.join(vault, os.path.expanduser(reference)))
    except (OSError, ValueError):
        return None
    return path if markdown_files.is_below(path, vault) else None


def names_outside(vault: str, reference: str) -> bool:
    """Whether a reference is plainly a path, and one that leads out of the vault."""
    plain = reference.startswith(("/", "~/", "../", "./")) or "/../" in reference or reference in ("~", "..")
    return plain and inside(vault, reference) is None


def resolve(vault: str, reference: str) -> list[Resolution]:
    """The notes that a reference names, best first, at most MOST; empty where names do not help."""
    reference = reference.strip()
    if reference.startswith("[[") and reference.endswith("]]"):  # a wiki link, without what it says inside the note
        reference = reference[2:-2].partition("|")[0].partition("#")[0].strip()
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
    if project := _PROJECT.match(reference):
        folders = by_project(vault, listed, project[1])
        if folders:
            return [Resolution(one, "project", score) for one, score in folders[:MOST]]
    if numbers and _ADR.fullmatch(reference):
        return []  # another decision is not what was asked for
    names = best(reference, [(one, os.path.relpath(one, vault)) for one in listed], MOST)
    return [Resolution(one, "fuzzy", score) for one, score in names]


def by_path(vault: str, reference: str) -> str:
    """The file that a path names, with or without its ending; of a folder its index. "" where there is none."""
    for ending in ("", *markdown_files.ENDINGS) if reference else ():
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
            found.append((above[-2:] != ["docs", "decisions"], len(above), path))
    return [path for *_, path in sorted(found)]


def by_project(vault: str, listed: Sequence[str], wanted: str) -> list[tuple[str, float]]:
    """The index notes of the projects with a number or a name, each with how well it fits."""
    notes: dict[str, list[str]] = {}
    for path in listed:
        parts = os.path.relpath(path, vault).split(os.sep)
        at = next((i for i, part in enumerate(parts[:-1]) if part.lower() in ("projects", "project")), -1)
        if at >= 0:  # a project is a folder below `Projects`, or a single note there
            notes.setdefault(os.path.join(vault, *parts[: at + 2]), []).append(path)
    wanted = wanted.strip()
    if wanted.isascii() and wanted.isdigit():
        numbered = [(place, _NUMBERED.match(os.path.basename(place))) for place in notes]
        places = [(place, 1.0) for place, match in numbered if match and int(match[2]) == int(wanted)]
    else:
        places = best(wanted, [(place, os.path.basename(place)) for place in notes], MOST)
    return [(_index(place, notes[place]) or notes[place][0], score) for place, score in places]


def _index(folder: str, paths: Iterable[str]) -> str:
    """The note among them that stands for the folder, "" where none does."""
    here = {os.path.basename(path).lower(): path for path in paths if os.path.dirname(path) == folder}
    own = os.path.basename(folder).lower()
    for name in (*_INDEXES, f"{own}.md", f"{_NUMBERED.sub('', own, count=1).lstrip('-_ ')}.md"):
        if name in here and os.path.isfile(here[name]) and not os.path.islink(here[name]):
            return here[name]
    return ""


def best(reference: str, names: Iterable[tuple[str, str]], most: int) -> list[tuple[str, float]]:
    """The best matches among (key, relative path) pairs as (key, score), best first, at most `most`."""
    found = words.split(_stem(reference))
    wanted = list(dict.fromkeys([word for word in found if word not in words.STOP_WORDS] or found))
    if not wanted or len(wanted) > _MOST_WORDS:
        return []
    if reference.rstrip().endswith("?") or found[:1] in _ASKING:
        named = [(key, os.path.basename(name)) for key, name in names]
        names = [(key, name) for key, name in named if all(_nearest(word, _spelt(name)) for word in wanted)]
    scored = [(key, score(wanted, name)) for key, name in names]
    kept = [one for one in scored if one[1] >= LEAST]
    return sorted(kept, key=lambda one: (-one[1], len(one[0]), one[0]))[:most]


def score(wanted: Sequence[str], name: str) -> float:
    """0 to 1: how well the words name the file with this relative path; 0 for no match."""
    folder, base = os.path.split(name)
    own, above = _spelt(base), _spelt(folder)
    covered = sum(max(_nearest(word, own), _FOLDER * _nearest(word, above)) for word in wanted) / len(wanted)
    if covered < _LEAST_COVERED:
        return 0.0
    named = [word for word in own if not word.isdigit()] or own
    back = sum(_nearest(word, wanted) for word in named) / max(len(named), 1)
    return round(0.75 * covered + 0.25 * back, 4)


def _stem(name: str) -> str:
    stem, ending = os.path.splitext(name)
    return stem if ending.lower() in markdown_files.ENDINGS else name


def _spelt(name: str) -> list[str]:
    """The words of a name, with the parts of camelCase ones."""
    stem = _stem(name)
    return list(dict.fromkeys([*words.split(stem), *words.parts(stem).split()]))


def _nearest(word: str, among: Sequence[str]) -> float:
    """How much the most alike of some words is this one: 1 is the same."""
    if word.isdigit():
        return float(any(other.isdigit() and int(other) == int(word) for other in among))
    return max((_alike(word, other) for other in among), default=0.0)


def _alike(word: str, other: str) -> float:
    if word == other:
        return 1.0
    if min(len(word), len(other)) < _SHORTEST:
        return 0.0
    if other.startswith(word) or word.startswith(other):
        return _BEGINS
    alike = SequenceMatcher(None, word, other).ratio()
    return alike if alike >= _LEAST_ALIKE else 0.0
