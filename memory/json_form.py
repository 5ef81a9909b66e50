"""The JSON form of a memory: what `memory show` and `memory export` print, and what `memory import` reads.

Off the hot path. Times are ISO 8601 in UTC outside, ms since the epoch inside; ms are read too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from core import clock, ids, words
from core.records import Document
from core.redaction import redact
from core.store import documents
from core.store.layout import COLLECTIONS
from memory import gate, near_duplicate
from memory.write import COLLECTION, archived, clean_name, clean_tags, set_category, set_verdict
from recall import categories, hit

LONGEST = 1_000_000
"""Characters of an episode or a piece of knowledge; an observation has `memory.max_chars`."""
_LONGEST_ID = 200
_LONGEST_PATH = 4096
_LAST_MS = 253_402_300_799_999


class BadLineError(ValueError):
    """A line is no memory; the message says why, without its content."""


@dataclass(frozen=True)
class Incoming:
    """A line as it was understood.

    `document` is complete; `given` are the fields that the line names, which alone tell whether a stored one differs.
    """

    document: Document
    given: frozenset[str]
    redacted: list[str] = field(default_factory=list)
    number: int = 0


@lru_cache(maxsize=4096)
def _named(value: str) -> tuple[str, tuple[str, ...]]:
    """`clean_name` with a memory: sources, sessions and tags recur in thousands of lines."""
    found: list[str] = []
    return clean_name(value, found), tuple(found)


def _name(value: Any, key: str, found: list[str]) -> str:
    clean, kinds = _named(_text(value, key))
    found += kinds
    return clean


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise BadLineError(f"{key} must be a string")
    return value


def _body(value: Any, key: str, found: list[str], most: int = LONGEST) -> str:
    """A text of several lines."""
    clean, kinds = redact(words.clean(_text(value, key)).replace("\0", "\ufffd"))
    found += kinds
    return clean[:most]


def _context(value: Any, key: str, found: list[str]) -> str:
    turns = [value] if isinstance(value, str) else value
    if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
        raise BadLineError("context must be a string or a list of strings")
    return _body("\n".join(turns).strip(), key, found)


def _path(value: Any, key: str, found: list[str]) -> str:
    return _body(value, key, found, _LONGEST_PATH)


def _tags(value: Any, _key: str, found: list[str]) -> list[str]:
    tags = value.split(",") if isinstance(value, str) else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise BadLineError("tags must be a list of strings")
    return clean_tags(tags, found)


def _number(low: float, high: float, kind: type[int] | type[float] = float) -> Callable[[Any, str, list[str]], float]:
    def read(value: Any, key: str, _found: list[str]) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise BadLineError(f"{key} must be a number from {low:g} to {high:g}")
        return kind(value)

    return read


def _flag(value: Any, key: str, _found: list[str]) -> bool:
    if not isinstance(value, bool):
        raise BadLineError(f"{key} must be true or false")
    return value


def _time(value: Any, key: str, _found: list[str]) -> int:
    at: int | None = None
    if isinstance(value, str):
        at = int(value) if value.isascii() and value.isdigit() else clock.parse_iso(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value == value and abs(value) < 1e18:
        at = int(value)
    if at is None or not 0 <= at <= _LAST_MS:
        raise BadLineError(f"{key} must be an ISO 8601 time or ms since 1970")
    return at


def _history(value: Any, _key: str, found: list[str]) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(e, dict) and isinstance(e.get("text"), str) for e in value):
        raise BadLineError("history must be a list of {text, at, source}")
    return [
        {
            "text": _body(entry["text"], "history.text", found),
            "at": _time(entry.get("at", 0), "history.at", found),
            "source": _name(entry.get("source", ""), "history.source", found),
        }
        for entry in value
    ]


_COUNT = _number(0, 1e15, int)
# Key in JSON → field of the document, and what reads a value.
_FIELDS: dict[str, tuple[str, Callable[[Any, str, list[str]], Any]]] = {
    "context": ("context", _context), "path": ("path", _path), "tags": ("tags", _tags), "title": ("title", _name),
    "source": ("source", _name), "session": ("session_id", _name), "project": ("project", _name),
    "type": ("observation_type", _name), "privacy": ("privacy", _name), "reason": ("write_reason", _name),
    "gate_version": ("write_gate_version", _name), "category_source": ("category_source", _name),
    "superseded_by": ("superseded_by", _name), "supersedes": ("supersedes", _name),
    "confidence": ("write_confidence", _number(0, 1)), "category_confidence": ("category_confidence", _number(0, 1)),
    "retrieval_priority": ("retrieval_priority", _number(-1, 1)), "merged_count": ("merged_count", _COUNT),
    "recall_count": ("recall_count", _COUNT), "stale": ("stale", _flag), "history": ("history", _history),
    "gate_fallback": ("write_gate_fallback", _flag), "created_at": ("created_at", _time),
    "updated_at": ("updated_at", _time), "last_used_at": ("last_used_at", _time),
}  # fmt: skip


# Key of `memory show` → field of the document, or what is made of it.
_SHOWN = {
    "id": "id", "collection": "collection", "observation": "text", "context": "context", "origin": "origin",
    "title": "title", "path": "path", "category": "category", "categoryId": "category_id",
    "categoryConfidence": "category_confidence", "categorySource": "category_source",
    "taxonomyVersion": "taxonomy_version", "tags": "tags", "source": "source", "session": "session_id",
    "project": "project", "type": "observation_type", "privacy": "privacy", "created_at": "created_at",
    "updated_at": "updated_at", "verdict": "write_verdict", "confidence": "write_confidence",
    "reason": "write_reason", "gateVersion": "write_gate_version", "gateFallback": "write_gate_fallback",
    "mergedCount": "merged_count", "recallCount": "recall_count", "retrievalPriority": "retrieval_priority",
    "last_used_at": "last_used_at", "supersededBy": "superseded_by", "supersedes": "supersedes", "stale": "stale",
    "history": "history", "forgotten": "forgotten", "forgotten_at": "forgotten_at",
}  # fmt: skip


def to_line(document: Document) -> dict[str, Any]:
    """A document as `memory export` prints it: everything that `from_line` takes, empty fields left out."""
    view = _outside(document)
    about = {"id": view["id"], "collection": view["collection"], "text": view["text"], "verdict": view["write_verdict"]}
    told = {key: view[name] for key, (name, _) in {**_FIELDS, "category": ("category_id", _name)}.items()}
    return {**about, **{key: value for key, value in told.items() if value}}


def to_view(document: Document) -> dict[str, Any]:
    """A document as `memory show` prints it: every field, under the names of the contract."""
    view = _outside(document)
    view["origin"] = hit.origin_of(document)
    view["category"] = categories.short(document["category_id"])
    view["forgotten"] = document["forgotten_at"] is not None
    return {key: view[name] for key, name in _SHOWN.items()}


def _outside(document: Document) -> dict[str, Any]:
    """The fields with times as people write them."""
    view: dict[str, Any] = {**document}
    for name in ("created_at", "updated_at", "last_used_at", "forgotten_at"):
        view[name] = None if view[name] is None else clock.iso(view[name])
    view["history"] = [{**entry, "at": clock.iso(entry.get("at"))} for entry in document["history"]]
    return view


def from_line(line: Any, *, now: int, longest: int, number: int = 0) -> Incoming:
    """The memory that a parsed line describes, redacted, judged and categorised.

    Args:
        now: ms, for a line that names no time.
        longest: most characters of an observation.
        number: of the line, for reports.

    Raises:
        BadLineError: a key is missing, or its value is of a wrong type or out of range.
    """
    if not isinstance(line, dict):
        raise BadLineError("not a JSON object")
    line = {key: value for key, value in line.items() if value is not None}
    found: list[str] = []
    collection = _text(line.get("collection") or COLLECTION, "collection")
    if collection not in COLLECTIONS:
        raise BadLineError(f"collection must be one of {', '.join(COLLECTIONS)}")
    if "text" not in line:
        raise BadLineError("text is missing")
    text = words.clean(_text(line["text"], "text")).replace("\0", "\ufffd").strip()
    most = longest if collection == COLLECTION else LONGEST
    if not text:
        raise BadLineError("text is empty")
    if len(text) > most:
        raise BadLineError(f"text has {len(text)} characters, at most {most} are taken")
    document = documents.blank(collection, "", _body(text, "text", found), now)
    values: dict[str, Any] = document  # type: ignore[assignment]  # the keys are those of the table
    given = {"text"}
    for key, (name, read) in _FIELDS.items():
        if key in line:
            values[name] = read(line[key], key, found)
            given.add(name)
    _judge(line, document, given)
    _categorise(line, document, given, found)
    if "updated_at" not in given:
        document["updated_at"] = document["created_at"]
    document["id"] = _id(line.get("id"), document, "created_at" in given)
    document["fingerprint"] = ids.fingerprint(document["text"].lower())
    if collection == COLLECTION:
        document["observation_type"] = document["observation_type"] or "observation_text"
        document["fingerprint"] = ids.fingerprint(near_duplicate.Tokens(document["text"]).key)
    return Incoming(document, frozenset(given), found, number)


def _judge(line: dict[str, Any], document: Document, given: set[str]) -> None:
    """The line's verdict; else the gate's for an observation; episodes and knowledge are allowed, they are archives."""
    verdict = _text(line.get("verdict", ""), "verdict").lower()
    told = {name: document[name] for name in given if name.startswith("write_")}  # type: ignore[literal-required]
    if verdict:
        if verdict not in gate.VERDICTS:
            raise BadLineError(f"verdict must be one of {', '.join(gate.VERDICTS)}")
        document["write_verdict"] = verdict
        given.add("write_verdict")
        archived(document, "imported with this verdict")
        document.update(told)  # type: ignore[typeddict-item]
    elif document["collection"] != COLLECTION:
        archived(document, "archived")
    else:
        judged = gate.judge(document["text"])
        if not judged["text"]:
            raise BadLineError("text is empty behind its annotation")
        document["text"] = judged["text"]
        set_verdict(document, judged)
        if judged["category"] and not line.get("category"):
            set_category(document, "", judged["category"])


def _categorise(line: dict[str, Any], document: Document, given: set[str], found: list[str]) -> None:
    category = _name(line.get("category", ""), "category", found)
    if document["category_id"] and not category:
        return
    told = (document["category_source"], document["category_confidence"])
    set_category(document, category, "")
    if category:
        given.add("category_id")
        if "category_source" in given:
            document["category_source"], document["category_confidence"] = told


def _id(identifier: Any, document: Document, timed: bool) -> str:
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    if identifier is None:  # the same line is the same memory, whenever it is imported
        at = str(document["created_at"]) if timed else ""
        about = (document["collection"], document["text"], document["session_id"], at)
        return "im-" + ids.fingerprint("\0".join(about))
    if not isinstance(identifier, str) or not 0 < len(identifier) <= _LONGEST_ID:
        raise BadLineError(f"id must be 1 to {_LONGEST_ID} characters")
    identifier = words.clean(identifier)
    clean = clean_name(identifier, [])
    return clean if clean == identifier else "im-" + ids.fingerprint(identifier)
