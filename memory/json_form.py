"""Memories as JSON: the lines of `memory export` and `import`, and the object of `memory show`.

Times are ISO 8601 in UTC outside, ms since the epoch inside.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from core import clock, ids, words
from core.records import Document
from core.redaction import redact
from core.store import documents
from core.store.rows import COLLECTIONS
from memory import gate, near_duplicate
from memory.write import COLLECTION, MAX_CHARS, clean_name, clean_tags, set_category, set_ungated, set_verdict
from recall import hit
from recall.query import short_category

MAX_TEXT_CHARS = 1_000_000  # of an episode or a section; an observation has write.MAX_CHARS

_EXPECTED = {
    "tags": "a list of strings", "context": "a string or a list of strings", "flag": "true or false",
    "share": "a number from 0 to 1", "priority": "a number from -1 to 1", "count": "a number from 0 to 1e+15",
    "time": "an ISO 8601 time or ms since 1970", "history": "a list of {text, at, source}", "name": "a string",
    "path": "a string",
}  # fmt: skip
# Key of a line → field of the document, and the kind of its value.
_LINE_FIELDS = {
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
# Key of `memory show` → field of the document, for those with another name.
_VIEW_NAMES = {
    "observation": "text", "categoryId": "category_id", "categoryConfidence": "category_confidence",
    "categorySource": "category_source", "taxonomyVersion": "taxonomy_version", "session": "session_id",
    "type": "observation_type", "verdict": "write_verdict", "confidence": "write_confidence",
    "reason": "write_reason", "gateVersion": "write_gate_version", "gateFallback": "write_gate_fallback",
    "mergedCount": "merged_count", "recallCount": "recall_count", "retrievalPriority": "retrieval_priority",
    "supersededBy": "superseded_by",
}  # fmt: skip
_VIEW_KEYS = (
    "id collection observation context origin title path category categoryId categoryConfidence categorySource"
    " taxonomyVersion tags source session project type privacy created_at updated_at verdict confidence reason"
    " gateVersion gateFallback mergedCount recallCount retrievalPriority last_used_at supersededBy supersedes stale"
    " history forgotten forgotten_at".split()
)


class BadLineError(ValueError):
    """A line is not a memory; the message says why, without its content."""


@dataclass(frozen=True)
class Incoming:
    """An imported memory. `given`: the fields that its line names; `where`: its place in the file, for people."""

    document: Document
    where: str
    given: frozenset[str] = frozenset()
    redacted: list[str] = field(default_factory=list)


def to_line(document: Document) -> dict[str, Any]:
    """A document as `memory export` prints it: everything that `from_line` takes, without empty fields."""
    view = _with_iso_times(document)
    about = {"id": view["id"], "collection": view["collection"], "text": view["text"], "verdict": view["write_verdict"]}
    fields = {key: view[name] for key, (name, _) in {**_LINE_FIELDS, "category": ("category_id", "name")}.items()}
    return {**about, **{key: value for key, value in fields.items() if value}}


def to_view(document: Document) -> dict[str, Any]:
    """A document as `memory show` prints it: every field, under the contract's names."""
    view = _with_iso_times(document)
    view["origin"] = hit.origin_of(document)
    view["category"] = short_category(document["category_id"])
    view["forgotten"] = document["forgotten_at"] is not None
    return {key: view[_VIEW_NAMES.get(key, key)] for key in _VIEW_KEYS}


def _with_iso_times(document: Document) -> dict[str, Any]:
    view: dict[str, Any] = {**document}
    for name in ("created_at", "updated_at", "last_used_at", "forgotten_at"):
        view[name] = None if view[name] is None else clock.iso(view[name])
    view["history"] = [{**entry, "at": clock.iso(entry.get("at"))} for entry in document["history"]]
    return view


def from_line(line: Any, where: str, *, now: int) -> Incoming:
    """The memory in a parsed line, redacted, judged and categorised; `now` in ms. Raises BadLineError."""
    _require(isinstance(line, dict), "not a JSON object")
    line = {key: value for key, value in line.items() if value is not None}
    collection = line.get("collection") or COLLECTION
    _require(str(collection) in COLLECTIONS, f"collection must be one of {', '.join(COLLECTIONS)}")
    _require(isinstance(line.get("text"), str), "text must be a string" if "text" in line else "text is missing")
    text = words.clean(line["text"]).replace("\0", "\ufffd").strip()
    most = MAX_CHARS if collection == COLLECTION else MAX_TEXT_CHARS
    _require(bool(text), "text is empty")
    _require(len(text) <= most, f"text has {len(text)} characters, at most {most} are taken")
    redacted: list[str] = []
    document = documents.blank(collection, "", _clean_text(text, redacted), now)
    given = {"text"}
    category, annotated = _checked("name", line.get("category", ""), "category", redacted), ""
    if category:
        given.add("category_id")
    if line.get("verdict"):
        document["write_verdict"] = str(line["verdict"]).lower()
        _require(document["write_verdict"] in gate.VERDICTS, f"verdict must be one of {', '.join(gate.VERDICTS)}")
        given.add("write_verdict")
        set_ungated(document, "imported with this verdict")
    elif collection != COLLECTION:
        set_ungated(document, "archived")
    else:
        verdict = gate.judge(document["text"])
        _require(bool(verdict["text"]), "text is empty behind its annotation")
        document["text"], annotated = verdict["text"], "" if category else verdict["category"]
        set_verdict(document, verdict)
    set_category(document, category, annotated)
    for key, (name, kind) in _LINE_FIELDS.items():
        if key in line:
            document[name] = _checked(kind, line[key], key, redacted)  # type: ignore[literal-required]
            given.add(name)
    if "updated_at" not in given:
        document["updated_at"] = document["created_at"]
    document["id"] = _identifier(line.get("id"), document, has_time="created_at" in given)
    document["fingerprint"] = ids.fingerprint(document["text"].lower())
    if collection == COLLECTION:
        document["observation_type"] = document["observation_type"] or "observation_text"
        document["fingerprint"] = ids.fingerprint(near_duplicate.Tokens(document["text"]).key)
    return Incoming(document, where, frozenset(given), redacted)


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise BadLineError(reason)


def _checked(kind: str, value: Any, key: str, redacted: list[str]) -> Any:
    """A value as it is stored. Raises BadLineError if it is not of its kind."""
    try:
        return _converted(kind, value, redacted)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise BadLineError(f"{key} must be {_EXPECTED[kind]}") from None


def _converted(kind: str, value: Any, redacted: list[str]) -> Any:
    if kind in ("tags", "context"):
        separator = "," if kind == "tags" else "\n"
        texts = value.split(separator) if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise TypeError
        return clean_tags(texts, redacted) if kind == "tags" else _clean_text("\n".join(texts).strip(), redacted)
    if kind in ("share", "priority", "count"):
        lowest, highest = -1 if kind == "priority" else 0, 1e15 if kind == "count" else 1
        if isinstance(value, bool) or not lowest <= value <= highest:
            raise ValueError
        return int(value) if kind == "count" else float(value)
    if kind == "time":
        at = clock.parse_iso(value) if isinstance(value, str) and not value.isdigit() else int(value)
        if at is None or not 0 <= at <= 253_402_300_799_999:  # the end of the year 9999
            raise ValueError
        return at
    if kind == "history":
        return [
            {
                "text": _clean_text(entry["text"], redacted),
                "at": _converted("time", entry.get("at", 0), redacted),
                "source": _converted("name", entry.get("source", ""), redacted),
            }
            for entry in value
        ]
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "flag" or not isinstance(value, str):
        raise TypeError
    if kind == "path":
        return _clean_text(value, redacted)[:4096]
    clean, kinds = _clean_name(value)
    redacted += kinds
    return clean


def _clean_text(text: str, redacted: list[str]) -> str:
    clean, kinds = redact(words.clean(text).replace("\0", "\ufffd"))
    redacted += kinds
    return clean[:MAX_TEXT_CHARS]


@lru_cache(maxsize=4096)  # sources, sessions and projects recur in thousands of lines
def _clean_name(value: str) -> tuple[str, tuple[str, ...]]:
    redacted: list[str] = []
    return clean_name(value, redacted), tuple(redacted)


def _identifier(given: Any, document: Document, *, has_time: bool) -> str:
    """The given id, or else a hash of the line, so that importing it again is recognised."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if given is None:
        at = str(document["created_at"]) if has_time else ""
        about = (document["collection"], document["text"], document["session_id"], at)
        return "im-" + ids.fingerprint("\0".join(about))
    if not isinstance(given, str) or not 0 < len(given) <= 200:
        raise BadLineError("id must be 1 to 200 characters")
    identifier = words.clean(given)
    clean = clean_name(identifier, [])
    return clean if clean == identifier else "im-" + ids.fingerprint(identifier)
