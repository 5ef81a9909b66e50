"""Finds a stored memory that says the same as a new memory. Hot path.

The mirrored CLI merges the nearest neighbour if the token Jaccard is .85 or more. Over whole sentences that would merge
`port 8080` with `port 8081`, and "tabs over spaces" with its opposite. So no word may replace another: all words
of the shorter text must appear in the longer one, in the same order, and the longer one may add only plain words, no
names, numbers or words that change the meaning.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.project import same as same_project
from core.store import documents
from core.store.search import LocalCandidates
from recall.vectors import document_vector

if TYPE_CHECKING:
    import apsw

    from core.records import Document, Filters

_OPENING = "([{\"'`*_<“‘«„:;,"
_CLOSING = ")]}\"'`*_>”’».,;:!…。，；：！、"
_BULLETS = frozenset("- – — • * · ... … 🔴 🟡 🟢".split())
# "The user prefers dark mode" says the same as "User prefers dark mode".
_FILLERS = frozenset(
    "a an the this that these those is are was were be been being am has have had do does did and of as it its there"
    " so also too very really quite just simply actually basically currently now indeed please already still".split()
)


class Tokens:
    """A text in a form that can be compared.

    `key` is the text without white space, punctuation and case; `content` are its stems without filler words.
    """

    __slots__ = ("content", "key")

    def __init__(self, text: str) -> None:
        key: list[str] = []
        for chunk in text.split():
            bare = chunk.rstrip("?？").lstrip(_OPENING).rstrip(_CLOSING)
            is_question = bool(bare) and chunk[-1] in "?？"
            bare = bare or chunk
            if bare not in _BULLETS:
                key += [_folded(bare), "?"] if is_question else [_folded(bare)]
        self.key = " ".join(key)
        self.content = [_stem(token) for token in key if token not in _FILLERS]


def _folded(word: str) -> str:
    """A word in lower case; identifiers, numbers, paths and single letters (option B) keep their case."""
    if word.isascii() and word.isalpha():
        is_name = (len(word) == 1 and word not in "aAI") or not (word.islower() or word.isupper() or word.istitle())
        return word if is_name else word.lower()
    lower = word.lower().replace("\u2019", "'")
    return lower if lower[0] != "-" and lower.replace("'", "").replace("-", "").isalpha() else word


def _stem(token: str) -> str:
    for suffix in ("ing", "ed", "es", "s") if token.isascii() and token.isalpha() and token.islower() else ():
        if token.endswith(suffix) and len(token) - len(suffix) >= 4:  # "is" and "used" are no plurals or past tenses
            return token[: -len(suffix)]
    return token


# Words that negate, limit or qualify a statement, in the languages of the notes we have seen.
_QUALIFIERS = frozenset(map(_stem, (
    "no not never none nothing nobody nowhere neither nor cannot without unless except hardly barely rarely seldom only"
    " if when while until since before after instead but however though half twice almost nearly all some few many most"
    " every each any both either always sometimes often must may might should nicht kein keine keinen nie niemals ohne"
    " ne pas jamais sans nunca jamás sin não sem non mai senza не нет никогда без inte aldrig utan ingen ikke aldri"
    " niet geen nooit zonder nie bez hayır değil"
).split()))  # fmt: skip


def same(first: Tokens, second: Tokens) -> bool:
    """Whether either text may replace the other."""
    if first.key == second.key or (first.content and first.content == second.content):
        return True
    shorter, longer = sorted((first.content, second.content), key=len)
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


def find(db: apsw.Connection, document: Document, *, vectors: bool) -> Document | None:
    """The stored memory that says the same, or None: by fingerprint, else the nearest by vector (or by words)."""
    collection, project = document["collection"], document["project"]
    exact = documents.by_fingerprint(db, document["fingerprint"], collection)
    if exact is not None and _may_merge(exact, project, is_equal=True):
        return exact
    filters: Filters = {"collections": [collection]}
    source = LocalCandidates(db, vectors=vectors)
    tokens, vector = Tokens(document["text"]), document_vector(document["text"], document["context"])
    # The words search takes four times as long as the vector search, and finds no further near duplicates.
    terms = [] if vector and source.semantic else words.query_terms(document["text"][:20_000])
    rarest = sorted(terms, key=lambda term: (" " not in term, -len(term)))[:12]  # the longest are the rarest
    neighbours = source.candidates(rarest, vector, filters, 16, 16)
    duplicates = [
        stored
        for stored in source.documents([candidate["rowid"] for candidate in neighbours])
        if same(tokens, other := Tokens(stored["text"]))
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
