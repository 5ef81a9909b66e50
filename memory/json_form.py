"""The JSON form of a memory: what `memory show` and `memory export` print, and what `memory import` reads.

Off the hot path. Times are ISO 8601 in UTC outside, ms since the epoch inside; ms are read too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core import clock, ids, words
from core.redaction import redact
from core.store import documents
from core.store.layout import COLLECTIONS
from memory import gate, near_duplicate
from memory.write import clean_name, clean_tags, set_category, set_verdict
from recall import categories, hit

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.records import Document

LONGEST = 1_000_000
"""Characters of an episode or a piece of knowledge; an observation has `memory.max_chars`."""
_LONGEST_ID = 200
_LONGEST_PATH = 4096
_LAST_MS = 253_402_300_799_999

# Key in JSON, field of the document, what a value must be.
_TEXTS = (
    ("title", "title"), ("source", "source"), ("session", "session_id"), ("project", "project"),
    ("type", "observation_type"), ("privacy", "privacy"), ("reason", "write_reason"),
    ("gate_version", "write_gate_version"),
    ("category_source", "category_source"), ("superseded_by", "superseded_by"), ("supersedes", "supersedes"),
)  # fmt: skip
_NUMBERS = (
    ("confidence", "write_confidence", 0.0, 1.0),
    ("category_confidence", "category_confidence", 0.0, 1.0),
    ("retrieval_priority", "retrieval_priority", -1.0, 1.0),
)
_COUNTS = (("merged_count", "merged_count"), ("recall_count", "recall_count"))
_FLAGS = (("gate_fallback", "write_gate_fallback"), ("stale", "stale"))
_TIMES = (("created_at", "created_at"), ("updated_at", "updated_at"), ("last_used_at", "last_used_at"))


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


def to_line(document: Document) -> dict[str, Any]:
    """A document as `memory export` prints it: everything that `from_line` takes, empty fields left out."""
    line: dict[str, Any] = {
        "id": document["id"],
        "collection": document["collection"],
        "text": document["text"],
        "context": document["context"],
        "path": document["path"],
        "category": document["category_id"],
        "tags": document["tags"],
        "verdict": document["write_verdict"],
    }
    values: dict[str, Any] = {**document}
    for key, name, *_ in (*_TEXTS, *_NUMBERS, *_COUNTS, *_FLAGS):
        line[key] = values[name]
    for key, name in _TIMES:
        line[key] = clock.iso(values[name]) if values[name] is not None else None
    line["history"] = [{**entry, "at": clock.iso(entry.get("at"))} for entry in document["history"]]
    kept = {"id", "collection", "text", "verdict"}
    return {key: value for key, value in line.items() if value or key in kept}


def to_view(document: Document) -> dict[str, Any]:
    """A document as `memory show` prints it: every field, under the names of the contract."""
    return {
        "id": document["id"],
        "collection": document["collection"],
        "observation": document["text"],
        "context": document["context"],
        "origin": hit.origin_of(document),
        "title": document["title"],
        "path": document["path"],
        "category": categories.short(document["category_id"]),
        "categoryId": document["category_id"],
        "categoryConfidence": document["category_confidence"],
        "categorySource": document["category_source"],
        "taxonomyVersion": document["taxonomy_version"],
        "tags": document["tags"],
        "source": document["source"],
        "session": document["session_id"],
        "project": document["project"],
        "type": document["observation_type"],
        "privacy": document["privacy"],
        "created_at": clock.iso(document["created_at"]),
        "updated_at": clock.iso(document["updated_at"]),
        "verdict": document["write_verdict"],
        "confidence": document["write_confidence"],
        "reason": document["write_reason"],
        "gateVersion": document["write_gate_version"],
        "gateFallback": document["write_gate_fallback"],
        "mergedCount": document["merged_count"],
        "recallCount": document["recall_count"],
        "retrievalPriority": document["retrieval_priority"],
        "last_used_at": _time(document["last_used_at"]),
        "supersededBy": document["superseded_by"],
        "supersedes": document["supersedes"],
        "stale": document["stale"],
        "history": [{**entry, "at": clock.iso(entry.get("at"))} for entry in document["history"]],
        "forgotten": document["forgotten_at"] is not None,
        "forgotten_at": _time(document["forgotten_at"]),
    }


def _time(at: int | None) -> str | None:
    return None if at is None else clock.iso(at)


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
    found: list[str] = []
    collection = _text(line, "collection") or "observations"
    if collection not in COLLECTIONS:
        raise BadLineError(f"collection must be one of {', '.join(COLLECTIONS)}")
    text = _body(line, longest if collection == "observations" else LONGEST, found)
    document = documents.blank(collection, "", text, now)
    values: dict[str, Any] = document  # type: ignore[assignment]  # the keys are those of the tables above
    given = {"text"}

    def put(name: str, value: Any) -> None:
        values[name] = value
        given.add(name)

    if line.get("context") is not None:
        put("context", _redacted(_joined(line), found)[:LONGEST])
    if line.get("tags") is not None:
        put("tags", clean_tags(_tags(line), found))
    for key, name in _TEXTS:
        if line.get(key) is not None:
            put(name, _name(_text(line, key), found))
    if line.get("path") is not None:
        put("path", _redacted(words.clean(_text(line, "path")).replace("\0", "\ufffd"), found)[:_LONGEST_PATH])
    _put_plain(line, put)
    if line.get("history") is not None:
        put("history", _history(line, found))
    _judge(line, document, given, put)
    _categorise(line, document, given, found)
    if "updated_at" not in given:
        document["updated_at"] = document["created_at"]
    document["id"] = _id(line, document, "created_at" in given)
    if document["collection"] == "observations":
        document["observation_type"] = document["observation_type"] or "observation_text"
        document["fingerprint"] = near_duplicate.fingerprint(document["text"])
    else:
        document["fingerprint"] = ids.fingerprint(document["text"].lower())
    return Incoming(document, frozenset(given), found, number)


def _put_plain(line: dict[str, Any], put: Callable[[str, Any], None]) -> None:
    for key, name, low, high in _NUMBERS:
        if line.get(key) is not None:
            put(name, _number(line, key, low, high))
    for key, name in _COUNTS:
        if line.get(key) is not None:
            put(name, int(_number(line, key, 0, 1e15)))
    for key, name in _FLAGS:
        if line.get(key) is not None:
            if not isinstance(line[key], bool):
                raise BadLineError(f"{key} must be true or false")
            put(name, line[key])
    for key, name in _TIMES:
        if line.get(key) is not None:
            put(name, _moment(line[key], key))


def _judge(line: dict[str, Any], document: Document, given: set[str], put: Callable[[str, Any], None]) -> None:
    """The line's verdict; else the gate's for an observation; episodes and knowledge are allowed, they are archives."""
    verdict = _text(line, "verdict").lower()
    if verdict:
        if verdict not in gate.VERDICTS:
            raise BadLineError(f"verdict must be one of {', '.join(gate.VERDICTS)}")
        put("write_verdict", verdict)
        if "write_reason" not in given:
            document["write_reason"] = "imported with this verdict"
        if "write_confidence" not in given:
            document["write_confidence"] = 1.0
        if "write_gate_version" not in given:
            document["write_gate_version"] = gate.VERSION
    elif document["collection"] == "observations":
        judged = gate.judge(document["text"])
        if not judged["text"]:
            raise BadLineError("text is empty behind its annotation")
        document["text"] = judged["text"]
        set_verdict(document, judged)
        if judged["category"] and not line.get("category"):
            set_category(document, "", judged["category"])
    else:
        document["write_confidence"] = 1.0
        document["write_reason"] = "archived"
        document["write_gate_version"] = gate.VERSION


def _categorise(line: dict[str, Any], document: Document, given: set[str], found: list[str]) -> None:
    source, confidence = document["category_source"], document["category_confidence"]
    name = _name(_text(line, "category"), found)
    if name or not document["category_id"]:
        set_category(document, name, "")
    if name:
        given.add("category_id")
        if "category_source" in given:
            document["category_source"], document["category_confidence"] = source, confidence


def _id(line: dict[str, Any], document: Document, timed: bool) -> str:
    identifier = line.get("id")
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    if identifier is None:
        # The same line is the same memory, whenever it is imported.
        about = (
            document["collection"],
            document["text"],
            document["session_id"],
            str(document["created_at"]) if timed else "",
        )
        return "im-" + ids.fingerprint("\0".join(about))
    if not isinstance(identifier, str) or not 0 < len(identifier) <= _LONGEST_ID:
        raise BadLineError(f"id must be 1 to {_LONGEST_ID} characters")
    identifier = words.clean(identifier)
    clean = clean_name(identifier, [])
    return clean if clean == identifier else "im-" + ids.fingerprint(identifier)


def _body(line: dict[str, Any], longest: int, found: list[str]) -> str:
    if not isinstance(line.get("text"), str):
        raise BadLineError("text is missing" if line.get("text") is None else "text must be a string")
    text = words.clean(line["text"]).replace("\0", "\ufffd").strip()
    if not text:
        raise BadLineError("text is empty")
    if len(text) > longest:
        raise BadLineError(f"text has {len(text)} characters, at most {longest} are taken")
    return _redacted(text, found)


@lru_cache(maxsize=4096)
def _named(value: str) -> tuple[str, tuple[str, ...]]:
    """`clean_name` with a memory: sources, sessions and tags recur in thousands of lines."""
    found: list[str] = []
    return clean_name(value, found), tuple(found)


def _name(value: str, found: list[str]) -> str:
    clean, kinds = _named(value)
    found += kinds
    return clean


def _redacted(text: str, found: list[str]) -> str:
    clean, kinds = redact(text)
    found += kinds
    return clean


def _text(line: dict[str, Any], key: str) -> str:
    value = line.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadLineError(f"{key} must be a string")
    return value


def _joined(line: dict[str, Any]) -> str:
    value = line["context"]
    turns = [value] if isinstance(value, str) else value
    if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
        raise BadLineError("context must be a string or a list of strings")
    return words.clean("\n".join(turns)).replace("\0", "\ufffd").strip()


def _tags(line: dict[str, Any]) -> list[str]:
    value = line["tags"]
    tags = value.split(",") if isinstance(value, str) else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise BadLineError("tags must be a list of strings")
    return tags


def _number(line: dict[str, Any], key: str, low: float, high: float) -> float:
    value = line[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise BadLineError(f"{key} must be a number from {low:g} to {high:g}")
    return float(value)


def _moment(value: object, key: str) -> int:
    at: int | None = None
    if isinstance(value, str):
        at = int(value) if value.isascii() and value.isdigit() else clock.parse_iso(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value == value and abs(value) < 1e18:
        at = int(value)
    if at is None or not 0 <= at <= _LAST_MS:
        raise BadLineError(f"{key} must be an ISO 8601 time or ms since 1970")
    return at


def _history(line: dict[str, Any], found: list[str]) -> list[dict[str, Any]]:
    entries = line["history"]
    if not isinstance(entries, list) or not all(
        isinstance(e, dict) and isinstance(e.get("text"), str) for e in entries
    ):
        raise BadLineError("history must be a list of {text, at, source}")
    return [
        {
            "text": _redacted(words.clean(entry["text"])[:LONGEST], found),
            "at": _moment(entry.get("at", 0), "history.at"),
            "source": clean_name(_text(entry, "source"), found),
        }
        for entry in entries
    ]
