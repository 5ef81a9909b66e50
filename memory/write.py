"""The write pipeline: size, redaction, write gate, category, near duplicates, store. Hot path.

`write` takes a draft through all of it. A session's task has a memory of its own, which `write_task` keeps up to date.
Other kinds of documents (sections of files, imported lines) use its steps.
"""

from __future__ import annotations

from itertools import count

from core import TYPE_CHECKING, clock, words
from core.errors import usage
from core.project import same as same_project
from core.redaction import redact
from core.store import documents, sqlite
from core.store.search import Candidates
from core.store.sqlite import BY_HAND
from memory import gate
from recall.query import resolve_category
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Document, Filters

MAX_CHARS = 20_000  # of an observation: a memory is a fact, not a document
DEFAULT_CATEGORY = "ops"  # as in the mirrored CLI
MAX_TAGS = 64
MAX_TASK_CHARS = 1_500  # of a session's task memory: the last three prompts and some ten before them

VERDICT_FIELDS = ("write_verdict", "write_confidence", "write_reason", "write_gate_version", "write_gate_fallback")
CATEGORY_FIELDS = ("category_id", "category_confidence", "category_source")

_EARLIER_TASKS = "\nEarlier: "


class Draft:
    """An observation as it was given, before redaction and the write gate."""

    category = ""  # an id or alias; without it the annotation's, else a guess from the words
    tags: Sequence[str] = ()
    source = "cli"
    session = ""
    project = ""
    written_in = ""  # the project or folder, noted with a memory that every project sees
    by_hand = False  # written by a person: allowed, whatever the gate's rules say

    def __init__(self, text: str, **fields: Any) -> None:
        self.text = text
        self.__dict__.update(fields)


def write(db: apsw.Connection, draft: Draft, *, now: int) -> dict[str, Any]:
    """Store an observation, or merge it into a near duplicate; returns the result of `memory write`.

    `now` in ms. Raises Failure EMPTY_TEXT, TEXT_TOO_LONG, or of the store.
    """
    redacted: list[str] = []
    document = compose(draft, redacted, now=now)
    with sqlite.transaction(db):
        document, is_merged = place(db, document, now=now)
    guessed = document["category_id"].removeprefix("jc:")
    result: dict[str, Any] = {
        "observation": document["text"], "source": document["source"], "tags": document["tags"], "id": document["id"],
        "verdict": document["write_verdict"], "confidence": document["write_confidence"],
        "reason": document["write_reason"], "categoryId": document["category_id"],
        "categoryConfidence": document["category_confidence"], "categorySource": document["category_source"],
        "mergedCount": document["merged_count"], "session": document["session_id"], "project": document["project"],
        "category": clean_name(draft.category, []) or (DEFAULT_CATEGORY if guessed == "operations" else guessed),
        "merged": is_merged, "redacted": list(dict.fromkeys(redacted)), "created_at": clock.iso(document["created_at"]),
        "isGlobal": is_global(document),
    }  # fmt: skip
    return {**result, "mergedInto": document["id"]} if is_merged else result


def compose(draft: Draft, redacted: list[str], *, now: int) -> Document:
    """The document of a draft: redacted, judged and categorised. Appends the kinds of secrets found to `redacted`."""
    text, kinds = redact(clean_text(draft.text))
    redacted += kinds
    verdict = gate.judge(text)
    if draft.by_hand and verdict["fallback"]:
        verdict = {**verdict, "verdict": "allow", "confidence": 1.0, "reason": BY_HAND}
    document: Document = {
        **documents.blank("observations", clock.uuid7(), verdict["text"] or clean_text(""), now),
        "tags": clean_tags(draft.tags, redacted), "source": clean_name(draft.source, redacted),
        "session_id": clean_name(draft.session, redacted), "project": clean_name(draft.project, redacted),
        "observation_type": "observation_text", "write_verdict": verdict["verdict"],
        "write_confidence": verdict["confidence"], "write_reason": verdict["reason"], "write_gate_version": "v1",
        "write_gate_fallback": verdict["fallback"],
    }  # fmt: skip
    if is_global(document):
        document["path"] = clean_name(draft.written_in, redacted)
    set_category(document, clean_name(draft.category, redacted), verdict["category"])
    set_fingerprint(document)
    return document


def place(db: apsw.Connection, document: Document, *, now: int) -> tuple[Document, bool]:
    """Store an observation in the caller's transaction; returns it as stored, and whether it was merged."""
    older = near_duplicate(db, document)
    return store(db, merged(older, document, now) if older else document), older is not None


def store(db: apsw.Connection, document: Document) -> Document:
    """Insert a document, or replace it if it has a row number, in the caller's transaction; returns it as stored."""
    vector = document_vector(document["text"], document["context"], document["title"])
    if document["rowid"]:
        documents.replace(db, document, vector)
    else:
        document["rowid"] = documents.insert(db, document, vector)
    return document


def clean_text(text: str) -> str:
    """The text in valid Unicode, without NUL and surrounding white space. Raises Failure EMPTY_TEXT, TEXT_TOO_LONG."""
    text = words.clean(text).replace("\0", "\ufffd").strip()
    if not text:
        raise usage("EMPTY_TEXT", "no text was given", "put the text in quotes, or give - to read it from stdin")
    if len(text) > MAX_CHARS:
        message = f"the text has more than {MAX_CHARS} characters"
        raise usage("TEXT_TOO_LONG", message, "write only the fact")
    return text


def clean_name(name: str, redacted: list[str]) -> str:
    """A short field (source, session …) without secrets, on one line. Appends the kinds of secrets to `redacted`."""
    clean, kinds = redact(words.clean(name).replace("\0", ""))
    redacted += kinds
    line = " ".join(clean.split())
    if line != clean:  # some secrets are recognised only within a line
        line, kinds = redact(line)
        redacted += kinds
    return line[:400]


def clean_tags(tags: Sequence[str], redacted: list[str]) -> list[str]:
    """The first MAX_TAGS tags without secrets, blanks and repetitions."""
    clean = [clean_name(tag, redacted) for tag in tags[:MAX_TAGS]]
    return list(dict.fromkeys(tag for tag in clean if tag))


def set_category(document: Document, given: str, annotated: str) -> None:
    """Set the category: as given, else the annotation's, else a guess from the words.

    An annotation beats the default category, which callers give without thinking.
    """
    category, confidence, source = resolve_category(given), 1.0, "flag"
    if annotated and given in ("", DEFAULT_CATEGORY):
        category, confidence, source = resolve_category(annotated), 0.9, "annotation"
    if not category:
        category, confidence, source = gate.classify(document["text"])
    document.update({"category_id": category, "category_confidence": confidence, "category_source": source})


def ungated(collection: str, identifier: str, text: str, category: str, at: int) -> Document:
    """A document that the write gate does not judge, such as a section of a file; `at` in ms."""
    document = documents.blank(collection, identifier, text, at)
    document.update({"write_confidence": 1.0, "write_reason": "archived", "write_gate_version": "v1"})
    set_category(document, category, "")
    set_fingerprint(document)
    return document


def set_fingerprint(document: Document) -> None:
    """Set the hash that finds the same text again: of an observation's tokens, or of any other text in lower case."""
    text = document["text"]
    is_observation = document["collection"] == "observations"
    document["fingerprint"] = words.fingerprint(Tokens(text).key if is_observation else text.lower())


def copy_fields(target: Document, source: Document, names: Sequence[str]) -> None:
    """Copy some fields of a document to another."""
    for name in names:
        target[name] = source[name]  # type: ignore[literal-required]  # keys of the TypedDict


def replacing(older: Document | None, newer: Document, now: int) -> Document:
    """The newer document in the row of the older, with its id, history and use."""
    document: Document = {**newer, "updated_at": now}
    if older is not None:
        kept = ("rowid", "id", "created_at", "recall_count", "retrieval_priority", "last_used_at", "history")
        copy_fields(document, older, kept)
    return document


def extended_history(document: Document) -> list[dict[str, Any]]:
    """The history of a memory whose text is about to change."""
    entry = {"text": document["text"], "at": document["updated_at"], "source": document["source"]}
    return [*document["history"], entry]


def merged(older: Document, newer: Document, now: int) -> Document:
    """The older memory with the newer text; its own text goes to its history.

    The better verdict wins, and a category that was chosen. If either is global, so is the result.
    """
    document: Document = {**older}
    if older["text"] != newer["text"]:
        document["history"] = extended_history(older)
    copy_fields(document, newer, ("text", "fingerprint"))
    document["tags"] = list(dict.fromkeys([*older["tags"], *newer["tags"]]))
    document["source"] = newer["source"] or older["source"]
    if is_global(older) or is_global(newer):
        document["session_id"] = document["project"] = ""
        document["path"] = newer["path"] or newer["project"]
    else:
        document["session_id"] = newer["session_id"] or older["session_id"]
        document["project"] = newer["project"] or older["project"]
    document["merged_count"] += 1
    document["updated_at"] = now
    if gate.VERDICTS.index(newer["write_verdict"]) <= gate.VERDICTS.index(older["write_verdict"]):
        copy_fields(document, newer, VERDICT_FIELDS)
    is_default = newer["category_id"] == "jc:operations"  # most often the flag's default, not a choice
    if newer["category_source"] == "annotation" or (newer["category_source"] == "flag" and not is_default):
        copy_fields(document, newer, CATEGORY_FIELDS)
    return document


def is_global(document: Document) -> bool:
    """Whether every project sees a memory: it names no project, and no session whose project it would have."""
    return not document["project"] and not document["session_id"]


def write_task(db: apsw.Connection, draft: Draft, *, now: int) -> str:
    """Write a session's current task into its task memory, keeping its earlier tasks; returns the memory's id.

    A session has a single task memory. Its id follows from the session's, so that a process that was killed finds it
    again. After the user forgot a task memory, the next is created.
    """
    with sqlite.transaction(db):
        session = clean_name(draft.session, [])
        for number in count(1):
            digits = words.fingerprint(f"session-task\0{session}\0{number}")
            identifier = f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
            older = documents.by_id(db, identifier)
            if older is None or not (older["forgotten_at"] is not None or older["superseded_by"]):
                break
        if older is not None:
            draft.text = _with_earlier(draft.text, older["text"])
        document = compose(draft, [], now=now)
        if older is None:
            document["id"] = identifier
            return place(db, document, now=now)[0]["id"]
        if document["text"] != older["text"]:
            document = replacing(older, document, now)
            document["tags"] = list(dict.fromkeys([*older["tags"], *document["tags"]]))  # the user may have pinned it
            document["supersedes"] = older["supersedes"]
            document["project"] = document["project"] or older["project"]
            document["merged_count"] = older["merged_count"] + 1
            store(db, document)
        return identifier


def _with_earlier(text: str, before: str) -> str:
    """The new task, followed by the messages of the memory's old text that it lacks, newest first."""
    last_task, _, earlier_tasks = before.partition(_EARLIER_TASKS)
    new = _task_messages(text)
    earlier = [
        message for message in dict.fromkeys([*reversed(_task_messages(last_task)), *earlier_tasks.split(" | ")])
        if message and not any(other.startswith(message.removesuffix("…")) for other in new)
    ]  # fmt: skip
    while earlier and len(text) + len(_EARLIER_TASKS) + len(" | ".join(earlier)) > MAX_TASK_CHARS:
        earlier.pop()
    return text + _EARLIER_TASKS + " | ".join(earlier) if earlier else text


def _task_messages(task: str) -> list[str]:
    """The messages of `Task: message | message | Files: path, path`, oldest first."""
    without_files = task.rpartition(" | Files: ")[0] if " | Files: " in task else task
    return without_files.removeprefix("Task: ").split(" | ")


# Near duplicates


def near_duplicate(db: apsw.Connection, document: Document) -> Document | None:
    """The stored memory that says the same, or None: by fingerprint, else the nearest by vector (or by words)."""
    collection, project = document["collection"], document["project"]
    exact = documents.by_fingerprint(db, document["fingerprint"], collection)
    if exact is not None and _may_merge(exact, project, is_equal=True):
        return exact
    filters: Filters = {"collections": [collection]}
    source = Candidates(db)
    tokens, vector = Tokens(document["text"]), document_vector(document["text"], document["context"])
    # The words search takes four times as long as the vector search, and finds no further near duplicates.
    terms = [] if vector and source.semantic else words.query_terms(document["text"][:20_000])
    rarest = sorted(terms, key=lambda term: (" " not in term, -len(term)))[:12]  # the longest are the rarest
    neighbours = source.candidates(rarest, vector, filters, 16, 16)
    duplicates = [
        stored
        for stored in source.documents([candidate["rowid"] for candidate in neighbours])
        if says_same(tokens, other := Tokens(stored["text"]))
        and _may_merge(stored, project, is_equal=tokens.key == other.key)
    ]
    return max(duplicates, key=lambda stored: stored["updated_at"], default=None)


def _may_merge(stored: Document, project: str, *, is_equal: bool) -> bool:
    """Whether a project's memory may be merged into a stored memory. No project's text ends up in a global memory."""
    if stored["forgotten_at"] is not None or stored["superseded_by"]:
        return False
    if project and stored["project"]:
        return same_project(project, stored["project"])
    return is_equal or project == stored["project"]


def says_same(first: Tokens, second: Tokens) -> bool:
    """Whether either text may replace the other.

    The mirrored CLI merges the nearest neighbour if the token Jaccard is .85 or more. Over whole sentences that would
    merge `port 8080` with `port 8081`, and "tabs over spaces" with its opposite. So no word may replace another: all
    words of the shorter text must appear in the longer text, in the same order, and the longer may add only plain
    words, no names, numbers or words that change the meaning.
    """
    shorter, longer = sorted((first.tokens, second.tokens), key=len)
    if len(set(shorter)) < 0.85 * len(set(longer)):  # the mirrored CLI's bound
        return False
    added = []
    rest = iter(longer)
    for token in shorter:
        for candidate in rest:
            if candidate == token:
                break
            added.append(candidate)
        else:
            return False
    return all(word.isalpha() and word.islower() and word not in _QUALIFIERS for word in (*added, *rest))


class Tokens:
    """A text in a form that can be compared: its words without punctuation and case, and `key`, the words joined."""

    __slots__ = ("key", "tokens")

    def __init__(self, text: str) -> None:
        opening, closing = "([{\"'`*_<“‘«„:;,", ")]}\"'`*_>”’».,;:!…。，；：！、"
        bullets = "- – — • * · ... … 🔴 🟡 🟢".split()
        self.tokens: list[str] = []
        for chunk in text.split():
            bare = chunk.rstrip("?？").lstrip(opening).rstrip(closing)
            is_question = bool(bare) and chunk[-1] in "?？"
            bare = bare or chunk
            if bare not in bullets:
                self.tokens += [_folded(bare), "?"] if is_question else [_folded(bare)]
        self.key = " ".join(self.tokens)


def _folded(word: str) -> str:
    """A word in lower case; identifiers, numbers, paths and single letters (option B) keep their case."""
    if word.isascii() and word.isalpha():
        is_name = (len(word) == 1 and word not in "aAI") or not (word.islower() or word.isupper() or word.istitle())
        return word if is_name else word.lower()
    lower = word.lower().replace("\u2019", "'")
    return lower if lower[0] != "-" and lower.replace("'", "").replace("-", "").isalpha() else word


# Words that negate, limit or qualify a statement, in the languages of the notes we have seen.
_QUALIFIERS = frozenset(
    "no not never none nothing nobody nowhere neither nor cannot without unless except hardly barely rarely seldom only"
    " if when while until since before after instead but however though half twice almost nearly all some few many most"
    " every each any both either always sometimes often must may might should nicht kein keine keinen nie niemals ohne"
    " ne pas jamais sans nunca jamás sin não sem non mai senza не нет никогда без inte aldrig utan ingen ikke aldri"
    " niet geen nooit zonder nie bez hayır değil".split()
)
