"""The notes of a vault: those that a reference means (ADR-0204), and those that hold words, or a meaning.

Nothing outside the vault is named, whatever links lie in it. A name fits a file by how much of the reference the name
has, .75, and the reverse, .25: a word counts 1 when it is the same, .85 when one begins the other, its likeness when it
is a misspelling, and .6 of that when only a folder above has it. A question needs all of its words in the name.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

from core import clock, config, words
from core.errors import Failure
from core.store import documents, sqlite
from memory.knowledge import markdown, markdown_files
from memory.knowledge import search as sections

SECTIONS = {"projects": "Projects", "decisions": "docs/decisions", "inbox": "inbox", "resources": "Resources"}
"""The sections of a vault, each with its folder."""
MOST = 3
"""Notes that one reference may mean."""
MOST_LINES, MOST_CHARS = 500, 400_000
"""What is shown of a note."""
SLOWEST_S = 5.0  # seconds that listing or searching a vault may take
_LARGEST = 64 * 1024 * 1024
_LEAST, _LEAST_COVERED = 0.55, 0.66
_BEGINS, _LEAST_ALIKE, _FOLDER = 0.85, 0.8, 0.6
_SHORTEST = 3
"""Letters of a word that may be misspelt or abbreviated."""
_MOST_WORDS = 12
_ASKING = frozenset("what why how which when who where whose".split())
_ADR = re.compile(r"\badr[-_ #]*0*(\d{1,6})\b", re.IGNORECASE)
_PROJECT = re.compile(r"projects?[\s:#/-]+(.+)$", re.IGNORECASE | re.DOTALL)
_NUMBERED = re.compile(r"(adr[-_ #]*)?0*(\d{1,6})(?!\d)", re.IGNORECASE)
_DECISIONS = ("decisions", "decision", "adr", "adrs")
_INDEXES = ("readme.md", "index.md", "_index.md")
_ENDINGS = markdown_files.ENDINGS
_NAME_WEIGHT, _LEAST_HELD = 0.3, 0.5
_MOST_SEARCHED, _MOST_SKIPPED = 16, 20

Means = tuple[str, str, float]  # A note that a reference may mean: its path, why, and how sure that is (0 to 1)


def root() -> str:
    """The real path of the vault: `$VAULT_PATH`, else `~/Vault`. Raises Failure CAPABILITY_NOT_CONFIGURED."""
    folder = os.path.realpath(os.path.expanduser(os.environ.get("VAULT_PATH", "").strip() or "~/Vault"))
    if not os.path.isdir(folder):
        fix = "set VAULT_PATH to the folder of your notes, or make ~/Vault"
        raise Failure("CAPABILITY_NOT_CONFIGURED", f"there is no vault at {folder}", fix)
    return folder


def find(vault: str, reference: str) -> list[tuple[Means, dict[str, Any]]]:
    """The notes that a reference means, each with its beginning; else the synced sections that answer it."""
    is_path = reference.startswith(("/", "~/", "../", "./")) or "/../" in reference or reference in ("~", "..")
    if is_path and _inside(vault, reference) is None:
        message = f"{reference[:200]!r} is outside the vault {vault}"
        raise Failure("NO_MATCH", message, "name a note below it, or set VAULT_PATH")
    named = _resolve(vault, reference.strip())
    try:
        notes = [(one, content) for one in named if (content := _read(one[0])) is not None]
    except OSError as error:
        raise Failure("NO_MATCH", f"{error.filename or reference}: {error.strerror}", "check its permissions") from None
    if notes:
        return notes
    if named:
        raise Failure("NO_MATCH", f"{named[0][0]} cannot be read as text", "open it with another program")
    hits, _, synced = by_meaning(vault, reference, limit=MOST, unasked=True)
    if hits:
        return [((hit["path"], "semantic", hit["score"]), _of_hit(vault, hit)) for hit in hits]
    fix = f"look for its words: joelclaw vault search {reference[:80]!r}"
    if not synced:
        fix = f"sync the vault, so that questions find notes by meaning: joelclaw knowledge sync {vault}"
    raise Failure("NO_MATCH", f"nothing in {vault} matches {reference[:200]!r}", fix)


def _read(path: str) -> dict[str, Any] | None:
    """The beginning of a note as it is; None for what is binary."""
    data, more = markdown_files.read(path, _LARGEST)
    text = markdown_files.decode(data)
    return None if text is None else _cut(path, text, more)


def _cut(path: str, text: str, more: bool = False) -> dict[str, Any]:
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    shown = "\n".join([*lines[:MOST_LINES], ""] if len(lines) > MOST_LINES else lines)[:MOST_CHARS]
    return {"path": path, "content": shown, "total_lines": total, "truncated": more or len(shown) < len(text)}


def _of_hit(vault: str, hit: dict[str, Any]) -> dict[str, Any]:
    """A note of the vault as a whole; of what lies elsewhere, or has gone, the section that the store has."""
    path = _inside(vault, hit["path"]) if hit["path"] else None
    with contextlib.suppress(OSError):  # gone since the last sync
        content = _read(path) if path else None
        if content is not None:
            return content
    db = sqlite.open_reading()
    document = documents.by_id(db, hit["id"]) if db else None
    return _cut(hit["path"], document["text"] if document else "")


def _inside(vault: str, reference: str) -> str | None:
    """The real path, there or not, that a reference names inside the vault (`~/Vault`, wherever it lies); else None."""
    parts = reference.split("/")
    if parts[:2] == ["~", "Vault"]:
        reference = "/".join(parts[2:]) or "."
    try:
        path = os.path.realpath(os.path.join(vault, os.path.expanduser(reference)))
    except (OSError, ValueError):
        return None
    return path if markdown_files.is_below(path, vault) else None


def _resolve(vault: str, reference: str) -> list[Means]:
    """The notes that a reference names, best first, at most MOST; empty where names do not help."""
    if reference.startswith("[[") and reference.endswith("]]"):  # a wiki link, without what it says inside the note
        reference = reference[2:-2].partition("|")[0].partition("#")[0].strip()
    path = _by_path(vault, reference)
    if path:
        return [(path, "path", 1.0)]
    # Listed only now: a path needs none of it.
    listed = list(markdown_files.below(vault, until=time.monotonic() + SLOWEST_S).files)
    numbers = list(dict.fromkeys(int(number) for number in _ADR.findall(reference)))
    found = [one for number in numbers for one in _by_decision(vault, listed, number)[: max(1, MOST // len(numbers))]]
    if found:
        return [(one, "adr", 1.0) for one in found[:MOST]]
    if project := _PROJECT.match(reference):
        folders = _by_project(vault, listed, project[1].strip())
        if folders:
            return [(one, "project", score) for one, score in folders[:MOST]]
    if numbers and _ADR.fullmatch(reference):
        return []  # another decision is not what was asked for
    names = [(one, os.path.relpath(one, vault)) for one in listed]
    return [(one, "fuzzy", score) for one, score in _best(reference, names)]


def _by_path(vault: str, reference: str) -> str:
    """The file that a path names, with or without its ending; of a folder its index. "" where there is none."""
    for ending in ("", *_ENDINGS) if reference else ():
        path = _inside(vault, reference + ending)
        if path and os.path.isfile(path):
            return path
        if path and not ending and path != vault and (index := _index(path)):
            return index
    return ""


def _by_decision(vault: str, listed: Sequence[str], number: int) -> list[str]:
    """The decision records with a number, whatever zeros stand before it: those in `docs/decisions` first."""
    found = []
    for path in listed:
        folder, name = os.path.split(path)
        above = os.path.relpath(folder, vault).lower().split(os.sep)
        match = _NUMBERED.match(name)
        if match and int(match[2]) == number and (match[1] or any(part in _DECISIONS for part in above)):
            found.append((above[-2:] != ["docs", "decisions"], len(above), path))
    return [path for *_, path in sorted(found)]


def _by_project(vault: str, listed: Sequence[str], wanted: str) -> list[tuple[str, float]]:
    """The index notes of the projects with a number or a name, each with how well it fits."""
    notes: dict[str, str] = {}
    for path in listed:
        parts = os.path.relpath(path, vault).split(os.sep)
        at = next((i for i, part in enumerate(parts[:-1]) if part.lower() in ("projects", "project")), -1)
        if at >= 0:  # a project is a folder below `Projects`, or a single note there
            notes.setdefault(os.path.join(vault, *parts[: at + 2]), path)
    if wanted.isascii() and wanted.isdigit():
        numbered = [(place, _NUMBERED.match(os.path.basename(place))) for place in notes]
        places = [(place, 1.0) for place, match in numbered if match and int(match[2]) == int(wanted)]
    else:
        places = _best(wanted, [(place, os.path.basename(place)) for place in notes])
    return [(_index(place) or notes[place], score) for place, score in places]


def _index(folder: str) -> str:
    """The note that stands for the folder, "" where none does."""
    own = os.path.basename(folder).lower()
    try:
        here = {name.lower(): os.path.join(folder, name) for name in sorted(os.listdir(folder))}
    except OSError:
        return ""
    for name in (*_INDEXES, f"{own}.md", f"{_NUMBERED.sub('', own, count=1).lstrip('-_ ')}.md"):
        if name in here and os.path.isfile(here[name]) and not os.path.islink(here[name]):
            return here[name]
    return ""


def _best(reference: str, names: Iterable[tuple[str, str]]) -> list[tuple[str, float]]:
    """The best matches among (key, relative path) pairs as (key, score), best first, at most MOST."""
    found = words.split(os.path.splitext(reference)[0] if reference.lower().endswith(_ENDINGS) else reference)
    wanted = list(dict.fromkeys([word for word in found if word not in words.STOP_WORDS] or found))
    if not wanted or len(wanted) > _MOST_WORDS:
        return []
    asks = reference.rstrip().endswith("?") or found[0] in _ASKING
    scored = []
    for key, name in names:
        folder, base = os.path.split(name)
        own, above = _spelt(base), [] if asks else _spelt(folder)
        covers = [max(_nearest(word, own), _FOLDER * _nearest(word, above)) for word in wanted]
        covered = sum(covers) / len(wanted)
        named = [word for word in own if not word.isdigit()] or own
        back = sum(_nearest(word, wanted) for word in named) / max(len(named), 1)
        score = round(0.75 * covered + 0.25 * back, 4)
        if score >= _LEAST and covered >= _LEAST_COVERED and (all(covers) or not asks):
            scored.append((key, score))
    return sorted(scored, key=lambda one: (-one[1], len(one[0]), one[0]))[:MOST]


def _spelt(name: str) -> list[str]:
    """The words of a name, with the parts of camelCase ones."""
    stem = os.path.splitext(name)[0] if name.lower().endswith(_ENDINGS) else name
    return list(dict.fromkeys([*words.split(stem), *words.parts(stem).split()]))


def _nearest(word: str, among: Sequence[str]) -> float:
    """How much the most alike of some words is this one: 1 is the same."""
    best = 0.0
    for other in among:
        if word == other or (word.isdigit() and other.isdigit() and int(word) == int(other)):
            return 1.0
        if word.isdigit() or min(len(word), len(other)) < _SHORTEST:
            continue
        begins = other.startswith(word) or word.startswith(other)
        alike = _BEGINS if begins else SequenceMatcher(None, word, other).ratio()
        best = max(best, alike if alike >= _LEAST_ALIKE else 0.0)
    return best


def by_meaning(
    vault: str, query: str, *, limit: int, below: str = "", unasked: bool = False
) -> tuple[list[dict[str, Any]], int, bool]:
    """Hits among the synced sections, how many there are, and whether any file of the vault is synced."""
    settings = config.load()
    least, most = (settings.get_float("inject.min_score"), 1) if unasked else (0.0, sections.PER_FILE)
    result, db = sections.search(
        query, limit=limit, below=below, min_score=least, per_file=most, now=clock.now_ms(), config=settings
    )
    synced = documents.sections_by_file(db) if db is not None else ()
    return result["hits"], result["found"], any(path.startswith(vault.rstrip("/") + "/") for path in synced)


def by_words(vault: str, query: str, *, limit: int) -> dict[str, Any]:
    """The notes that hold half of the words of a query or more: `hits`, best first, and how many were `found`."""
    until = time.monotonic() + SLOWEST_S
    asked = [word for word in words.split(query) if word not in words.STOP_WORDS] or words.split(query)
    wanted = list(dict.fromkeys(asked))[:_MOST_SEARCHED]
    listed = markdown_files.below(vault, until=until)
    hits: list[dict[str, Any]] = []
    files = 0
    for path in listed.files if wanted else ():
        if time.monotonic() > until:
            listed.complete = False
            break
        files += 1
        text = markdown_files.text_of(path) or ""
        name, lower = os.path.relpath(path, vault).lower(), text.lower()
        covered = sum(word in name or word in lower for word in wanted) / len(wanted)
        if covered < _LEAST_HELD:
            continue
        held = [sum(word in line for word in wanted) for line in lower.split("\n")]
        best = max(held)
        line = held.index(best) + 1 if best else 0
        # All words in one line beat all words in one note; the name beats both.
        in_name = sum(word in name for word in wanted) / len(wanted)
        score = covered * (1 - _NAME_WEIGHT) * (0.6 + 0.4 * best / len(wanted)) + _NAME_WEIGHT * in_name
        shown = text.split("\n")[line - 1].strip() if line else ""
        title = os.path.splitext(os.path.basename(path))[0]
        score = round(min(score, 1.0), 4)
        hits.append({"path": path, "title": title, "score": score, "snippet": shown, "line": line})
    hits.sort(key=lambda hit: (-hit["score"], hit["path"]))
    for hit in hits[:limit]:  # only those that are shown
        hit["snippet"] = sections.snippet(hit["snippet"], query)
    skipped = [{"path": path, "reason": reason} for path, reason in listed.problems[:_MOST_SKIPPED]]
    return {
        "found": len(hits), "hits": hits[:limit], "files": files, "complete": listed.complete, "skipped": skipped,
    }  # fmt: skip


def entries(vault: str, section: str) -> list[Any]:
    """The entries of a section: paths; for projects and decisions, notes with the status that they state."""
    folder = os.path.join(vault, SECTIONS[section])
    paths = _children(folder)
    if section == "inbox":
        return paths
    if section == "resources":
        return [path for path in paths if os.path.isdir(path)]
    if section == "projects":
        notes = [os.path.join(project, "index.md") for project in [folder, *filter(os.path.isdir, paths)]]
        paths = [path for path in notes if not os.path.islink(path)]
    return [{"path": path, "status": _status(path)} for path in paths if path.endswith(".md") and os.path.isfile(path)]


def _status(path: str) -> str | None:
    status = markdown.told(*markdown.front_matter(markdown_files.text_of(path) or "")).get("status")
    return None if status is None else status.lower()


def folders(vault: str) -> list[dict[str, Any]]:
    """The vault (a real path) and its folders down to two levels, without hidden ones and links."""
    found: list[dict[str, Any]] = [{"path": ".", "depth": 0}]
    for first in filter(os.path.isdir, _children(vault)):
        found.append({"path": os.path.relpath(first, vault), "depth": 1})
        found += [
            {"path": os.path.relpath(path, vault), "depth": 2} for path in _children(first) if os.path.isdir(path)
        ]
    return found


def _children(folder: str) -> list[str]:
    """The paths in a folder, sorted, without hidden ones and links."""
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    except OSError:
        return []
    return [path for path in paths if not os.path.islink(path)]
