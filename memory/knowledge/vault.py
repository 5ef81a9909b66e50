"""The notes of a vault: those that a reference names (ADR-0204), those that contain words, and its folders.

Links that lead out of the vault are not followed.
"""

import contextlib
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

from core import config, words
from core.errors import Failure
from core.project import is_below
from core.store import documents, sqlite
from memory.knowledge import markdown, search, snippet

SECTIONS = {"projects": "Projects", "decisions": "docs/decisions", "inbox": "inbox", "resources": "Resources"}
MAX_NOTES = 3  # that a reference may name (the contract's)


class Match(NamedTuple):
    """A note that a reference names: the reason is `path`, `adr`, `project`, `fuzzy` or `semantic`."""

    path: str
    reason: str
    score: float


def root() -> str:
    """The real path of the vault: `$VAULT_PATH`, else `~/Vault`. Raises Failure CAPABILITY_NOT_CONFIGURED."""
    folder = os.path.realpath(os.path.expanduser(os.environ.get("VAULT_PATH", "").strip() or "~/Vault"))
    if not os.path.isdir(folder):
        fix = "set VAULT_PATH to the folder of your notes, or make ~/Vault"
        raise Failure("CAPABILITY_NOT_CONFIGURED", f"there is no vault at {folder}", fix)
    return folder


def find(vault: str, reference: str) -> list[tuple[Match, dict[str, Any]]]:
    """The notes that a reference names, with their first lines; without any, the synced sections that answer it.

    Raises Failure NO_MATCH.
    """
    is_path = reference.startswith(("/", "~/", "../", "./")) or "/../" in reference or reference in ("~", "..")
    if is_path and _inside(vault, reference) is None:
        message = f"{reference[:200]!r} is outside the vault {vault}"
        raise Failure("NO_MATCH", message, "name a note below it, or set VAULT_PATH")
    texts = [(match, markdown.text_of(match.path)) for match in _resolve(vault, reference.strip())]
    if notes := [(match, _beginning(match.path, text)) for match, text in texts if text is not None]:
        return notes
    min_score = config.load().get_float("inject.min_score")
    for hit in search(reference, limit=MAX_NOTES, per_file=1, min_score=min_score)[0]["hits"]:
        path = _inside(vault, hit["path"]) if hit["path"] else None
        text = (markdown.text_of(path) if path else None) or hit["snippet"]  # the file may be elsewhere or gone
        notes.append((Match(hit["path"], "semantic", hit["score"]), _beginning(path or hit["path"], text)))
    if not notes:
        fix = f"look for its words: joelclaw vault search {reference[:80]!r}"
        raise Failure("NO_MATCH", f"nothing in {vault} matches {reference[:200]!r}", fix)
    return notes


def _beginning(path: str, text: str) -> dict[str, Any]:
    """The first lines of a note."""
    lines = text.splitlines(keepends=True)
    shown = "".join(lines[:500])  # the contract's limit
    return {"path": path, "content": shown, "total_lines": len(lines), "truncated": len(shown) < len(text)}


def is_synced(vault: str) -> bool:
    """Whether any file of the vault has been synced."""
    return any(is_below(path, vault) for path in documents.sections_by_file(sqlite.open_or_empty()))


def _inside(vault: str, reference: str) -> str | None:
    """The real path that a reference names in the vault (`~/Vault` is the vault), even if it does not exist."""
    if reference.startswith("~/Vault/"):
        reference = reference.removeprefix("~/Vault/")
    try:
        path = os.path.realpath(os.path.join(vault, os.path.expanduser(reference)))
    except (OSError, ValueError):
        return None
    return path if is_below(path, vault) else None


def _resolve(vault: str, reference: str) -> list[Match]:
    """The notes that a reference names: by path, `ADR-n`, `project n` or name, the best first."""
    if reference.startswith("[[") and reference.endswith("]]"):  # a wiki link, without its heading and its label
        reference = reference[2:-2].partition("|")[0].partition("#")[0].strip()
    for ending in ("", *markdown.ENDINGS) if reference else ():
        path = _inside(vault, reference + ending)
        note = _note_at(path) if path and path != vault else ""
        if note:
            return [Match(note, "path", 1.0)]
    if numbers := re.findall(r"(?i)\badr[-_ #]*0*(\d{1,6})\b", reference):
        records = _children(os.path.join(vault, SECTIONS["decisions"]))
        number_of = {path: re.match(r"(?i)(?:adr[-_ #]*)?0*(\d{1,6})", os.path.basename(path)) for path in records}
        named = [path for path, number in number_of.items() if number and number[1] in numbers]
        return [Match(path, "adr", 1.0) for path in named[:MAX_NOTES]]
    project = re.match(r"(?is)projects?[\s:#/-]+(.+)$", reference)
    places = _children(os.path.join(vault, SECTIONS["projects"])) if project else []
    if project and (ranked := _by_name(project[1], [(place, os.path.basename(place)) for place in places])):
        return [Match(note, "project", score) for place, score in ranked if (note := _note_at(place))]
    names = [(path, os.path.relpath(path, vault)) for path in markdown.files_below(vault)]
    return [Match(path, "fuzzy", score) for path, score in _by_name(reference, names)]


def _note_at(path: str) -> str:
    """The file with this path, or the note that describes this folder (its README or index); "" for none."""
    if os.path.isfile(path):
        return path
    notes = (os.path.join(path, name) for name in ("README.md", "index.md", f"{os.path.basename(path)}.md"))
    return next((note for note in notes if os.path.isfile(note) and not os.path.islink(note)), "")


def _by_name(reference: str, names: Iterable[tuple[str, str]]) -> list[tuple[str, float]]:
    """The best matches among (key, relative path) pairs as (key, score), the best first.

    The score is the share of the reference's words in the path. Two thirds are needed; misspelled words count.
    """
    asked = words.split(reference.strip())
    wanted = {word.lstrip("0") for word in asked if word not in words.STOP_WORDS}
    scored = []
    for key, name in names if len(wanted) <= 12 else ():  # a longer text is not a name
        stem = os.path.splitext(name)[0]
        own = {word.lstrip("0") for word in (*words.split(stem), *words.parts(stem).split())}
        named = [word for word in wanted if word in own or (word.isalpha() and get_close_matches(word, own, 1, 0.8))]
        if len(named) >= 0.66 * len(wanted) > 0:
            scored.append((key, round(len(named) / len(wanted), 4)))
    return sorted(scored, key=lambda entry: (-entry[1], len(entry[0]), entry[0]))[:MAX_NOTES]


def by_words(vault: str, query: str, *, limit: int) -> dict[str, Any]:
    """The notes with half of the words of a query or more: `hits`, the best first, and how many were `found`.

    The score is .5 for the words in the note, .3 for those in its best line and .2 for those in its path.
    """
    wanted = [word for word in words.split(query) if word not in words.STOP_WORDS] or words.split(query)
    hits: list[dict[str, Any]] = []
    listed = markdown.files_below(vault) if wanted else {}

    def share(text: str) -> float:
        return sum(word in text for word in wanted) / len(wanted)

    for path in listed:
        text = markdown.text_of(path) or ""
        name = os.path.relpath(path, vault).lower()
        covered = share(f"{name}\n{text.lower()}")
        if covered < 0.5:
            continue
        lines = text.split("\n")
        shares = [share(line.lower()) for line in lines]
        best = shares.index(max(shares))
        hits.append({
            "path": path, "title": os.path.splitext(os.path.basename(path))[0],
            "score": round(0.5 * covered + 0.3 * shares[best] + 0.2 * share(name), 4),
            "snippet": snippet(lines[best], query) if shares[best] else "", "line": best + 1 if shares[best] else 0,
        })  # fmt: skip
    hits.sort(key=lambda hit: (-hit["score"], hit["path"]))
    return {"found": len(hits), "hits": hits[:limit], "files": len(listed)}


def entries(vault: str, section: str) -> list[Any]:
    """The entries of a section: paths; for projects and decisions, notes with the status that they state."""
    paths = _children(os.path.join(vault, SECTIONS[section]))
    if section == "inbox":
        return paths
    if section == "resources":
        return [path for path in paths if os.path.isdir(path)]
    if section == "projects":
        paths = [os.path.join(project, "index.md") for project in paths]
    notes = [path for path in paths if path.endswith(".md") and os.path.isfile(path) and not os.path.islink(path)]
    declared = {path: markdown.stated(*markdown.front_matter(markdown.text_of(path) or "")) for path in notes}
    return [{"path": path, "status": of_note.get("status", "").lower() or None} for path, of_note in declared.items()]


def folders(vault: str) -> list[dict[str, Any]]:
    """The vault (a real path) and its folders down to two levels, without hidden ones and links."""
    listed: list[dict[str, Any]] = [{"path": ".", "depth": 0}]
    for first in filter(os.path.isdir, _children(vault)):
        listed.append({"path": os.path.relpath(first, vault), "depth": 1})
        below = filter(os.path.isdir, _children(first))
        listed += [{"path": os.path.relpath(second, vault), "depth": 2} for second in below]
    return listed


def _children(folder: str) -> list[str]:
    """The paths in a folder, sorted, without hidden ones and links."""
    paths: list[str] = []
    with contextlib.suppress(OSError):
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    return [path for path in paths if not os.path.islink(path)]
