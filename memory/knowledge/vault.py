"""The notes of a vault: those that a reference names (ADR-0204), those that contain words, and its folders.

Links that lead out of the vault are not followed.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from core import config, words
from core.errors import Failure
from core.store import documents, sqlite
from memory.knowledge import markdown, search, snippet

SECTIONS = {"projects": "Projects", "decisions": "docs/decisions", "inbox": "inbox", "resources": "Resources"}
MAX_NOTES = 3  # that a reference may name (the contract's)
LISTING_S = 5.0  # the time limit for listing or searching a vault

_NUMBERED = re.compile(r"(adr[-_ #]*)?0*(\d{1,6})(?!\d)", re.IGNORECASE)


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
    matches = _resolve(vault, reference.strip())
    try:
        notes = [(match, content) for match in matches if (content := _read(match.path)) is not None]
    except OSError as error:
        raise Failure("NO_MATCH", f"{error.filename or reference}: {error.strerror}", "check its permissions") from None
    if notes:
        return notes
    if matches:
        raise Failure("NO_MATCH", f"{matches[0].path} cannot be read as text", "open it with another program")
    min_score = config.load().get_float("inject.min_score")
    result, _ = search(reference, limit=MAX_NOTES, per_file=1, min_score=min_score)
    if result["hits"]:
        return [(Match(hit["path"], "semantic", hit["score"]), _read_hit(vault, hit)) for hit in result["hits"]]
    fix = f"look for its words: joelclaw vault search {reference[:80]!r}"
    if not is_synced(vault):
        fix = f"sync the vault, so that questions find notes by meaning: joelclaw knowledge sync {vault}"
    raise Failure("NO_MATCH", f"nothing in {vault} matches {reference[:200]!r}", fix)


def _read(path: str) -> dict[str, Any] | None:
    """The beginning of a note; None for a binary file. Raises OSError."""
    data, is_longer = markdown.read(path, 64 * 1024 * 1024)
    text = markdown.decode(data)
    return None if text is None else _beginning(path, text, is_longer)


def _beginning(path: str, text: str, is_longer: bool = False) -> dict[str, Any]:
    lines = text.split("\n")
    most = 500  # lines (the contract's)
    shown = "\n".join([*lines[:most], ""] if len(lines) > most else lines)[:400_000]
    total = len(lines) - (not lines[-1])
    return {"path": path, "content": shown, "total_lines": total, "truncated": is_longer or len(shown) < len(text)}


def _read_hit(vault: str, hit: dict[str, Any]) -> dict[str, Any]:
    """The note of a hit; its stored section if the file is elsewhere or gone."""
    path = _inside(vault, hit["path"]) if hit["path"] else None
    with contextlib.suppress(OSError):
        content = _read(path) if path else None
        if content is not None:
            return content
    db = sqlite.open_reading()
    document = documents.by_id(db, hit["id"]) if db else None
    return _beginning(hit["path"], document["text"] if document else "")


def is_synced(vault: str) -> bool:
    """Whether any file of the vault has been synced."""
    db = sqlite.open_reading()
    stored = documents.sections_by_file(db) if db is not None else ()
    return any(path.startswith(vault.rstrip("/") + "/") for path in stored)


def _inside(vault: str, reference: str) -> str | None:
    """The real path that a reference names in the vault (`~/Vault` is the vault), even if it does not exist."""
    parts = reference.split("/")
    if parts[:2] == ["~", "Vault"]:
        reference = "/".join(parts[2:]) or "."
    try:
        path = os.path.realpath(os.path.join(vault, os.path.expanduser(reference)))
    except (OSError, ValueError):
        return None
    return path if markdown.is_below(path, vault) else None


def _resolve(vault: str, reference: str) -> list[Match]:
    """The notes that a reference names: by path, `ADR-n`, `project n` or name, the best first."""
    if reference.startswith("[[") and reference.endswith("]]"):  # a wiki link, without its heading and its label
        reference = reference[2:-2].partition("|")[0].partition("#")[0].strip()
    path = _by_path(vault, reference)
    if path:
        return [Match(path, "path", 1.0)]
    listed = list(markdown.files_below(vault, until=time.monotonic() + LISTING_S).files)
    decision = re.compile(r"\badr[-_ #]*0*(\d{1,6})\b", re.IGNORECASE)
    numbers = list(dict.fromkeys(int(number) for number in decision.findall(reference)))
    share = max(1, MAX_NOTES // max(len(numbers), 1))
    records = [path for number in numbers for path in _by_decision(vault, listed, number)[:share]]
    if records:
        return [Match(path, "adr", 1.0) for path in records[:MAX_NOTES]]
    project = re.match(r"(?is)projects?[\s:#/-]+(.+)$", reference)
    if project and (folders := _by_project(vault, listed, project[1].strip())):
        return [Match(path, "project", score) for path, score in folders[:MAX_NOTES]]
    if numbers and decision.fullmatch(reference):
        return []  # another decision is not an answer
    names = [(path, os.path.relpath(path, vault)) for path in listed]
    return [Match(path, "fuzzy", score) for path, score in _by_name(reference, names)]


def _by_path(vault: str, reference: str) -> str:
    """The file that a path names, with or without its ending, or a folder's index; "" for none."""
    for ending in ("", *markdown.ENDINGS) if reference else ():
        path = _inside(vault, reference + ending)
        if path and os.path.isfile(path):
            return path
        if path and not ending and path != vault and (index := _index_of(path)):
            return index
    return ""


def _by_decision(vault: str, listed: Sequence[str], number: int) -> list[str]:
    """The decision records with a number; those in `docs/decisions` first."""
    records = []
    for path in listed:
        folder, name = os.path.split(path)
        above = os.path.relpath(folder, vault).lower().split(os.sep)
        match = _NUMBERED.match(name)
        in_decisions = any(part in ("decisions", "decision", "adr", "adrs") for part in above)
        if match and int(match[2]) == number and (match[1] or in_decisions):
            records.append((above[-2:] != ["docs", "decisions"], len(above), path))
    return [path for *_, path in sorted(records)]


def _by_project(vault: str, listed: Sequence[str], wanted: str) -> list[tuple[str, float]]:
    """The index notes of the projects with a number or a name, each with a score."""
    notes: dict[str, str] = {}
    for path in listed:
        parts = os.path.relpath(path, vault).split(os.sep)
        at = next((i for i, part in enumerate(parts[:-1]) if part.lower() in ("projects", "project")), -1)
        if at >= 0:  # a project is a folder below `Projects`, or a note in it
            notes.setdefault(os.path.join(vault, *parts[: at + 2]), path)
    if wanted.isascii() and wanted.isdigit():
        numbered = [(place, _NUMBERED.match(os.path.basename(place))) for place in notes]
        places = [(place, 1.0) for place, match in numbered if match and int(match[2]) == int(wanted)]
    else:
        places = _by_name(wanted, [(place, os.path.basename(place)) for place in notes])
    return [(_index_of(place) or notes[place], score) for place, score in places]


def _index_of(folder: str) -> str:
    """The note that describes a folder: its README, index, or the note with its name; "" for none."""
    own = os.path.basename(folder).lower()
    try:
        here = {name.lower(): os.path.join(folder, name) for name in sorted(os.listdir(folder))}
    except OSError:
        return ""
    plain = _NUMBERED.sub("", own, count=1).lstrip("-_ ")
    for name in ("readme.md", "index.md", "_index.md", f"{own}.md", f"{plain}.md"):
        if name in here and os.path.isfile(here[name]) and not os.path.islink(here[name]):
            return here[name]
    return ""


def _by_name(reference: str, names: Iterable[tuple[str, str]]) -> list[tuple[str, float]]:
    """The best matches among (key, relative path) pairs as (key, score), the best first.

    The score is .75 of how much of the reference is in the path, and .25 of the reverse. A question needs all of its
    words in the file's own name.
    """
    asked = words.split(_stem(reference))
    wanted = list(dict.fromkeys([word for word in asked if word not in words.STOP_WORDS] or asked))
    if not wanted or len(wanted) > 12:  # a longer text is not a name
        return []
    is_question = reference.rstrip().endswith("?") or asked[0] in "what why how which when who where whose".split()
    scored = []
    for key, name in names:
        folder, base = os.path.split(name)
        own, above = _name_words(base), [] if is_question else _name_words(folder)
        covers = [max(_likeness(word, own), 0.6 * _likeness(word, above)) for word in wanted]
        covered = sum(covers) / len(wanted)
        named = [word for word in own if not word.isdigit()] or own
        reverse = sum(_likeness(word, wanted) for word in named) / max(len(named), 1)
        score = round(0.75 * covered + 0.25 * reverse, 4)
        if score >= 0.55 and covered >= 0.66 and (all(covers) or not is_question):
            scored.append((key, score))
    return sorted(scored, key=lambda entry: (-entry[1], len(entry[0]), entry[0]))[:MAX_NOTES]


def _stem(name: str) -> str:
    return os.path.splitext(name)[0] if name.lower().endswith(markdown.ENDINGS) else name


def _name_words(name: str) -> list[str]:
    """The words of a name, and the parts of its camelCase words."""
    stem = _stem(name)
    return list(dict.fromkeys([*words.split(stem), *words.parts(stem).split()]))


def _likeness(word: str, others: Sequence[str]) -> float:
    """How like a word is to the nearest of others: 1 for the same, .85 for a prefix, .8 or more for a misspelling."""
    best = 0.0
    for other in others:
        if word == other or (word.isdigit() and other.isdigit() and int(word) == int(other)):
            return 1.0
        if word.isdigit() or min(len(word), len(other)) < 3:
            continue
        is_prefix = other.startswith(word) or word.startswith(other)
        likeness = 0.85 if is_prefix else SequenceMatcher(None, word, other).ratio()
        best = max(best, likeness if likeness >= 0.8 else 0.0)
    return best


def by_words(vault: str, query: str, *, limit: int) -> dict[str, Any]:
    """The notes with half of the words of a query or more: `hits`, the best first, and how many were `found`."""
    until = time.monotonic() + LISTING_S
    asked = [word for word in words.split(query) if word not in words.STOP_WORDS] or words.split(query)
    wanted = list(dict.fromkeys(asked))[:16]
    listed = markdown.files_below(vault, until=until)
    hits: list[dict[str, Any]] = []
    searched = 0
    for path in listed.files if wanted else ():
        if time.monotonic() > until:
            listed.complete = False
            break
        searched += 1
        text = markdown.text_of(path) or ""
        name, lower = os.path.relpath(path, vault).lower(), text.lower()
        covered = sum(word in name or word in lower for word in wanted) / len(wanted)
        if covered < 0.5:
            continue
        counts = [sum(word in line for word in wanted) for line in lower.split("\n")]
        best = max(counts)
        line = counts.index(best) + 1 if best else 0
        # Words in the name count most, then all words in one line, then all words in one note.
        in_name = sum(word in name for word in wanted) / len(wanted)
        score = 0.7 * covered * (0.6 + 0.4 * best / len(wanted)) + 0.3 * in_name
        title = os.path.splitext(os.path.basename(path))[0]
        shown = text.split("\n")[line - 1].strip() if line else ""
        score = round(min(score, 1.0), 4)
        hits.append({"path": path, "title": title, "score": score, "snippet": shown, "line": line})
    hits.sort(key=lambda hit: (-hit["score"], hit["path"]))
    for hit in hits[:limit]:
        hit["snippet"] = snippet(hit["snippet"], query)
    skipped = [{"path": path, "reason": reason} for path, reason in listed.problems[:20]]
    return {
        "found": len(hits), "hits": hits[:limit], "files": searched, "complete": listed.complete, "skipped": skipped,
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
    status = markdown.stated(*markdown.front_matter(markdown.text_of(path) or "")).get("status")
    return None if status is None else status.lower()


def folders(vault: str) -> list[dict[str, Any]]:
    """The vault (a real path) and its folders down to two levels, without hidden ones and links."""
    found: list[dict[str, Any]] = [{"path": ".", "depth": 0}]
    for first in filter(os.path.isdir, _children(vault)):
        found.append({"path": os.path.relpath(first, vault), "depth": 1})
        below = filter(os.path.isdir, _children(first))
        found += [{"path": os.path.relpath(second, vault), "depth": 2} for second in below]
    return found


def _children(folder: str) -> list[str]:
    """The paths in a folder, sorted, without hidden ones and links."""
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    except OSError:
        return []
    return [path for path in paths if not os.path.islink(path)]
