"""The JSON form of a memory: times are ISO 8601 in UTC outside, ms since the epoch inside. Off the hot path."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from core import clock, ids, words
from core.records import Document
from core.redaction import redact
from core.store import documents
from core.store.rows import COLLECTIONS
from memory import gate, near_duplicate
from memory.write import COLLECTION, clean_name, clean_tags, set_category, set_ungated, set_verdict
from recall import categories, hit

LONGEST = 1_000_000  # characters of an episode or a piece of knowledge; an observation has `write.MAX_CHARS`
_LONGEST_ID = 200
_LONGEST_PATH = 4096
_LAST_MS = 253_402_300_799_999
_RANGES = {"share": (0, 1), "priority": (-1, 1), "count": (0, 1e15)}
_WANTED = {
    "tags": "a list of strings", "context": "a string or a list of strings", "flag": "true or false",
    "share": "a number from 0 to 1", "priority": "a number from -1 to 1", "count": "a number from 0 to 1e+15",
    "time": "an ISO 8601 time or ms since 1970", "history": "a list of {text, at, source}", "name": "a string",
    "path": "a string",
}  # fmt: skip
# Key in JSON → field of the document, and the kind of its value.
_FIELDS = {
    "context": ("context", "context"), "path": ("path", "path"), "tags": ("tags", "tags"), "title": ("title", "name"),
    "source": ("source", "name"), "session": ("session_id", "name"), "project": ("project", "name"),
    "type": ("observation_type", "name"), "privacy": ("privacy", "name"), "reason": ("write_reason", "name"),
    "gate_version": ("write_gate_version", "name"), "category_source": ("category_source", "name"),
    "superseded_by": ("superseded_by", "name"), "supersedes": ("supersedes", "name"),
    "confidence": ("write_confidence", "share"), "category_confidence": ("category_confidence", "share"),
    "retrieval_priority": ("retrieval_priority", "priority"), "merged_count": ("merged_count", "count"),
    "recall_count": ("recall_count", "count"), "stale": ("stale", "flag"), "history": ("history", "history"),
    "gate_fallback": ("write_gate_fallback", "flag"), "created_at": ("created_at", "time"),
    "updated_at": ("updated_at", "time"), "last_used_at": ("last_used_at", "time"),
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


class BadLineError(ValueError):
    """A line is no memory; the message says why, without its content."""


@dataclass(frozen=True)
class Incoming:
    """A memory as it came in, whole; `given` are the fields that its line names, `where` its place for people."""

    document: Document
    where: str
    given: frozenset[str] = frozenset()
    redacted: list[str] = field(default_factory=list)


def to_line(document: Document) -> dict[str, Any]:
    """A document as `memory export` prints it: everything that `from_line` takes, empty fields left out."""
    view = _outside(document)
    about = {"id": view["id"], "collection": view["collection"], "text": view["text"], "verdict": view["write_verdict"]}
    told = {key: view[name] for key, (name, _) in {**_FIELDS, "category": ("category_id", "name")}.items()}
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


def from_line(line: Any, where: str, *, now: int, longest: int) -> Incoming:
    """The memory that a parsed line describes, redacted, judged and categorised; `now` in ms. Raises BadLineError."""
    _must(isinstance(line, dict), "not a JSON object")
    line = {key: value for key, value in line.items() if value is not None}
    found: list[str] = []
    collection = line.get("collection") or COLLECTION
    _must(str(collection) in COLLECTIONS, f"collection must be one of {', '.join(COLLECTIONS)}")
    _must(isinstance(line.get("text"), str), "text must be a string" if "text" in line else "text is missing")
    text = words.clean(line["text"]).replace("\0", "\ufffd").strip()
    most = longest if collection == COLLECTION else LONGEST
    _must(bool(text), "text is empty")
    _must(len(text) <= most, f"text has {len(text)} characters, at most {most} are taken")
    document = documents.blank(collection, "", _body(text, found), now)
    values: dict[str, Any] = document  # type: ignore[assignment]  # the keys are those of the table
    given = {"text"}
    category, annotated = _value("name", line.get("category", ""), "category", found), ""
    if category:
        given.add("category_id")
    if line.get("verdict"):
        document["write_verdict"] = str(line["verdict"]).lower()
        _must(document["write_verdict"] in gate.VERDICTS, f"verdict must be one of {', '.join(gate.VERDICTS)}")
        given.add("write_verdict")
        set_ungated(document, "imported with this verdict")
    elif collection != COLLECTION:  # archives are allowed
        set_ungated(document, "archived")
    else:
        judged = gate.judge(document["text"])
        _must(bool(judged["text"]), "text is empty behind its annotation")
        document["text"], annotated = judged["text"], "" if category else judged["category"]
        set_verdict(document, judged)
    set_category(document, category, annotated)
    for key, (name, kind) in _FIELDS.items():
        if key in line:
            values[name] = _value(kind, line[key], key, found)
            given.add(name)
    if "updated_at" not in given:
        document["updated_at"] = document["created_at"]
    document["id"] = _id(line.get("id"), document, "created_at" in given)
    document["fingerprint"] = ids.fingerprint(document["text"].lower())
    if collection == COLLECTION:
        document["observation_type"] = document["observation_type"] or "observation_text"
        document["fingerprint"] = ids.fingerprint(near_duplicate.Tokens(document["text"]).key)
    return Incoming(document, where, frozenset(given), found)


def _must(is_so: bool, reason: str) -> None:
    if not is_so:
        raise BadLineError(reason)


def _value(kind: str, value: Any, key: str, found: list[str]) -> Any:
    """A value as it is stored; the kinds of what was redacted go to `found`."""
    try:
        return _read(kind, value, found)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise BadLineError(f"{key} must be {_WANTED[kind]}") from None


def _read(kind: str, value: Any, found: list[str]) -> Any:
    if kind in ("tags", "context"):
        between = "," if kind == "tags" else "\n"
        texts = value.split(between) if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise TypeError
        return clean_tags(texts, found) if kind == "tags" else _body("\n".join(texts).strip(), found)
    if kind in _RANGES:
        low, high = _RANGES[kind]
        if isinstance(value, bool) or not low <= value <= high:
            raise ValueError
        return int(value) if kind == "count" else float(value)
    if kind == "time":
        at = clock.parse_iso(value) if isinstance(value, str) and not value.isdigit() else int(value)
        if at is None or not 0 <= at <= _LAST_MS:
            raise ValueError
        return at
    if kind == "history":
        return [
            {
                "text": _body(entry["text"], found),
                "at": _read("time", entry.get("at", 0), found),
                "source": _read("name", entry.get("source", ""), found),
            }
            for entry in value
        ]
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "flag" or not isinstance(value, str):
        raise TypeError
    if kind == "path":
        return _body(value, found)[:_LONGEST_PATH]
    clean, kinds = _name(value)
    found += kinds
    return clean


def _body(text: str, found: list[str]) -> str:
    """A text of several lines."""
    clean, kinds = redact(words.clean(text).replace("\0", "\ufffd"))
    found += kinds
    return clean[:LONGEST]


@lru_cache(maxsize=4096)  # sources, sessions and tags recur in thousands of lines
def _name(value: str) -> tuple[str, tuple[str, ...]]:
    found: list[str] = []
    return clean_name(value, found), tuple(found)


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
