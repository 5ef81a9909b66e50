"""The write pipeline: trim, size, redaction, gate, category, near duplicate, store. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, clock, ids, words
from core.errors import usage
from core.redaction import redact
from core.store import BY_HAND, documents, sqlite
from memory import gate, near_duplicate
from recall import categories
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.records import Document

COLLECTION = "observations"
_DEFAULT_CATEGORY = "ops"
_MOST_TAGS = 64
_LONGEST_NAME = 400
_VERDICT = {
    "write_verdict": "verdict", "write_confidence": "confidence", "write_reason": "reason",
    "write_gate_version": "version", "write_gate_fallback": "fallback",
}  # fmt: skip
VERDICT_FIELDS = tuple(_VERDICT)
CATEGORY_FIELDS = ("category_id", "category_confidence", "category_source")
_LEARNT = ("rowid", "id", "created_at", "recall_count", "retrieval_priority", "last_used_at", "history")
_RESULT = {
    "observation": "text", "category": "category_id", "source": "source", "tags": "tags", "id": "id",
    "verdict": "write_verdict", "confidence": "write_confidence", "reason": "write_reason",
    "categoryId": "category_id", "categoryConfidence": "category_confidence", "categorySource": "category_source",
    "mergedCount": "merged_count", "session": "session_id", "project": "project",
}  # fmt: skip
_SOURCE_RANK = ("fallback", "keyword", "annotation", "flag")


def write(db: apsw.Connection, text: str, *, now: int, vectors: bool, config: Config, **about: Any) -> dict[str, Any]:
    """Store an observation, or merge it into the one that says the same; returns what became of it."""
    found: list[str] = []
    document = composed(text, found, now=now, config=config, **about)
    with sqlite.transaction(db):
        document, was_merged = placed(db, document, now=now, vectors=vectors)
    is_plain = document["category_id"] == categories.OPERATIONS
    category = _DEFAULT_CATEGORY if is_plain else categories.short(document["category_id"])
    told: dict[str, Any] = {**document}
    result = {key: told[name] for key, name in _RESULT.items()} | {
        "category": clean_name(about.get("category", ""), []) or category,
        "merged": was_merged,
        "redacted": list(dict.fromkeys(found)),
        "created_at": clock.iso(document["created_at"]),
        "isGlobal": is_for_all(document),
    }
    return {**result, "mergedInto": document["id"]} if was_merged else result


def composed(
    text: str,
    found: list[str],
    *,
    category: str = "",
    tags: Sequence[str] = (),
    source: str = "cli",
    session: str = "",
    project: str = "",
    where: str = "",
    by_hand: bool = False,
    now: int,
    config: Config,
) -> Document:
    """The observation as it is to be stored; `found` gets the kinds of what was redacted. What a person wrote
    `by_hand` is allowed whatever the gate's rules say; `where` stays with what every project sees."""
    body, kinds = redact(trimmed(text, config.get_int("memory.max_chars")))
    found += kinds
    judged = gate.judge(body)
    if by_hand and judged["fallback"]:
        judged = {**judged, "verdict": "allow", "confidence": 1.0, "reason": BY_HAND}
    document = documents.blank(COLLECTION, ids.uuid7(), judged["text"] or trimmed("", 0), now)
    document["tags"] = clean_tags(tags, found)
    document["source"] = clean_name(source, found)
    document["session_id"] = clean_name(session, found)
    document["project"] = clean_name(project, found)
    document["path"] = clean_name(where, found) if is_for_all(document) else ""
    document["observation_type"] = "observation_text"
    set_category(document, clean_name(category, found), judged["category"])
    set_verdict(document, judged)
    document["fingerprint"] = ids.fingerprint(near_duplicate.Tokens(document["text"]).key)
    return document


def placed(db: apsw.Connection, document: Document, *, now: int, vectors: bool) -> tuple[Document, bool]:
    """Store an observation inside the caller's transaction; as it is stored, and whether it was merged into another."""
    older = near_duplicate.find(db, document, vectors=vectors)
    one = document if older is None else merged(older, document, now)
    return store(db, one, vectors=vectors), older is not None


def store(db: apsw.Connection, document: Document, *, vectors: bool) -> Document:
    """Store a document with its vector inside the caller's transaction, in its row, or in a new one; as it is then."""
    if vectors:
        documents.ensure_signatures(db)
    vector = document_vector(document["text"], document["context"], document["title"])
    if document["rowid"]:
        documents.replace(db, document, vector, signatures=vectors)
    else:
        document["rowid"] = documents.insert(db, document, vector, signatures=vectors)
    return document


def trimmed(text: str, longest: int) -> str:
    """The text as it may be stored: UTF-8, no NUL, nothing around it. Raises Failure EMPTY_TEXT, TEXT_TOO_LONG."""
    text = words.clean(text).replace("\0", "\ufffd").strip()
    if not text:
        fix = "put the text in quotes, or give - to read it from stdin"
        raise usage("EMPTY_TEXT", "no text was given", fix)
    if len(text) > longest:
        message = f"the text has {len(text)} characters; the limit is {longest}"
        fix = "write the fact only, or raise memory.max_chars in config.toml"
        raise usage("TEXT_TOO_LONG", message, fix)
    return text


def clean_name(name: str, found: list[str]) -> str:
    """A short field (source, session …) without secrets, on one line; the kinds of what was redacted go to `found`."""
    clean, kinds = redact(words.clean(name).replace("\0", ""))
    found += kinds
    line = " ".join(clean.split())
    if line != clean:  # a line break tells some secrets from prose, and may part others
        line, kinds = redact(line)
        found += kinds
    return line[:_LONGEST_NAME]


def clean_tags(tags: Sequence[str], found: list[str]) -> list[str]:
    """Tags without secrets, blanks and repetitions, 64 at most."""
    clean = [clean_name(tag, found) for tag in tags[:_MOST_TAGS]]
    return list(dict.fromkeys(tag for tag in clean if tag))


def set_category(document: Document, given: str, annotated: str) -> None:
    """Fill in the category: an explicit one, else the annotation's, else by the text's words."""
    category, confidence, source = "", 0.0, ""
    if given and not (annotated and given == _DEFAULT_CATEGORY):
        category, confidence, source = categories.resolve(given), 1.0, "flag"
    elif annotated:
        category, confidence, source = categories.resolve(annotated), 0.9, "annotation"
    if not category:
        category, confidence = categories.classify(document["text"])
        source = "keyword" if confidence > categories.FALLBACK_CONFIDENCE else "fallback"
    document["category_id"], document["category_confidence"] = category, confidence
    document["category_source"] = source
    document["taxonomy_version"] = categories.TAXONOMY_VERSION


def set_verdict(document: Document, judged: gate.Gated) -> None:
    """Fill in what the gate said."""
    said: dict[str, Any] = {**judged, "version": gate.VERSION}
    for name, key in _VERDICT.items():
        document[name] = said[key]  # type: ignore[literal-required]  # keys of the TypedDict


def archived(document: Document, reason: str) -> None:
    """Fill in what the gate would say: archives are kept as they are."""
    document["write_confidence"] = 1.0
    document["write_reason"] = reason
    document["write_gate_version"] = gate.VERSION


def take(one: Document, other: Document, names: Sequence[str]) -> None:
    """Give a document some fields of another one."""
    for name in names:
        one[name] = other[name]  # type: ignore[literal-required]  # keys of the TypedDict


def succeeding(older: Document | None, newer: Document, now: int) -> Document:
    """The newer document in the row of the older one, if any, with what was learnt of its use."""
    one: Document = {**newer, "updated_at": now}
    if older is not None:
        take(one, older, _LEARNT)
    return one


def with_history(older: Document) -> list[dict[str, Any]]:
    """The history of a memory whose text is about to change."""
    return [*older["history"], {"text": older["text"], "at": older["updated_at"], "source": older["source"]}]


def merged(older: Document, newer: Document, now: int) -> Document:
    """The older memory with the newer one's text; what it said before goes to its history."""
    one: Document = {**older}
    if older["text"] != newer["text"]:
        one["history"] = with_history(older)
    take(one, newer, ("text", "fingerprint"))
    one["tags"] = list(dict.fromkeys([*older["tags"], *newer["tags"]]))
    one["source"] = newer["source"] or older["source"]
    for_all = is_for_all(older) or is_for_all(newer)
    one["session_id"] = "" if for_all else newer["session_id"] or older["session_id"]
    one["project"] = "" if for_all else newer["project"] or older["project"]
    if for_all:
        one["path"] = newer["path"] or newer["project"]
    one["merged_count"] += 1
    one["updated_at"] = now
    if gate.VERDICTS.index(newer["write_verdict"]) <= gate.VERDICTS.index(older["write_verdict"]):
        take(one, newer, VERDICT_FIELDS)
    if _category_rank(newer) >= _category_rank(older):
        take(one, newer, CATEGORY_FIELDS)
    return one


def is_for_all(document: Document) -> bool:
    """Whether a memory is seen in every project: it names neither one nor a session, whose project it would have."""
    return not document["project"] and not document["session_id"]


def _category_rank(document: Document) -> int:
    source = document["category_source"]
    if source == "flag" and document["category_id"] == categories.OPERATIONS:
        return 0  # more often the flag's default than anybody's choice
    return _SOURCE_RANK.index(source) if source in _SOURCE_RANK else 0
