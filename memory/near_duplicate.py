"""Do two texts say the same? They do where one has a few plain words more, and nothing else differs.

The mirrored CLI's rule is the nearest neighbour with a Jaccard of .85 or more. Over sentences that lets `port 8080`
meet `port 8081`, and "tabs over spaces" its opposite. So no word may stand in another's place: whatever both have is
equal and in the same order, and what one has more is no name, no number and no word that turns what is said. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.project import same as same_project
from core.store import documents
from core.store.candidates import LocalCandidates
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    import apsw

    from core.records import Document, Filters

_NEIGHBOURS = 16
_TERMS = 12
_LONGEST = 20_000
_OPENING = "([{\"'`*_<“‘«„:;,"
_CLOSING = ")]}\"'`*_>”’».,;:!…。，；：！、"
_DROPPED = frozenset("- – — • * · ... … 🔴 🟡 🟢".split())
# What may come and go: "The user prefers dark mode" and "User prefers dark mode".
_FILLERS = frozenset(
    "a an the this that these those is are was were be been being am has have had do does did and of as it its there"
    " so also too very really quite just simply actually basically currently now indeed please already still".split()
)
_LEAST_JACCARD = 0.85
_ENDINGS = ("ing", "ed", "es", "s")
_SHORTEST_STEM = 4


class Tokens:
    """A text as it is compared: its `key` without white space, punctuation and case; `content`, its telling tokens."""

    __slots__ = ("content", "key")

    def __init__(self, text: str) -> None:
        key: list[str] = []
        for chunk in text.split():
            bare = chunk.rstrip("?？").lstrip(_OPENING).rstrip(_CLOSING)
            asks = bool(bare) and chunk[-1] in "?？"
            bare = bare or chunk
            if bare not in _DROPPED:
                key += [_token(bare), "?"] if asks else [_token(bare)]
        self.key = " ".join(key)
        self.content = [_stem(token) for token in key if token not in _FILLERS]


def _token(bare: str) -> str:
    """A word in lower case; an identifier, a number, a path or a single letter (option B) as it stands."""
    if bare.isascii() and bare.isalpha():
        is_name = (len(bare) == 1 and bare not in "aAI") or not (bare.islower() or bare.isupper() or bare.istitle())
        return bare if is_name else bare.lower()
    lower = bare.lower().replace("\u2019", "'")
    return lower if lower[0] != "-" and lower.replace("'", "").replace("-", "").isalpha() else bare


def _stem(token: str) -> str:
    for ending in _ENDINGS if token.isascii() and token.isalpha() and token.islower() else ():
        if token.endswith(ending) and len(token) - len(ending) >= _SHORTEST_STEM:
            return token[: -len(ending)]
    return token


_TURNING = frozenset(map(_stem, (
    "no not never none nothing nobody nowhere neither nor cannot without unless except hardly barely rarely seldom only"
    " if when while until since before after instead but however though half twice almost nearly all some few many most"
    " every each any both either always sometimes often must may might should nicht kein keine keinen nie niemals ohne"
    " ne pas jamais sans nunca jamás sin não sem non mai senza не нет никогда без inte aldrig utan ingen ikke aldri"
    " niet geen nooit zonder nie bez hayır değil"
).split()))  # fmt: skip
"""Words that turn or limit what is said."""


def same(one: Tokens, other: Tokens) -> bool:
    """Whether one text may take the place of the other."""
    if one.key == other.key or (one.content and one.content == other.content):
        return True
    fewer, more = sorted((one.content, other.content), key=len)
    if len(set(fewer)) < _LEAST_JACCARD * len(set(more)):
        return False
    added, rest = [], iter(more)
    for token in fewer:  # each in its turn, and what stands between them is added
        for candidate in rest:
            if candidate == token:
                break
            added.append(candidate)
        else:
            return False
    return all(word.isalpha() and word.islower() and word not in _TURNING for word in (*added, *rest))


def find(db: apsw.Connection, document: Document, *, vectors: bool) -> Document | None:
    """The stored document that says the same, by fingerprint, else by vector (without, by words), or None."""
    collection, project = document["collection"], document["project"]
    exact = documents.by_fingerprint(db, document["fingerprint"], collection)
    if exact is not None and _may_merge(exact, project, is_equal=True):
        return exact
    filters: Filters = {"collections": [collection]}
    source = LocalCandidates(db, vectors=vectors)
    tokens, vector = Tokens(document["text"]), document_vector(document["text"], document["context"])
    # Words cost four times what the vector does, and find nothing of this likeness that it does not.
    terms = [] if vector and source.semantic else words.query_terms(document["text"][:_LONGEST])
    rare = sorted(terms, key=lambda term: (" " not in term, -len(term)))[:_TERMS]
    near = source.candidates(rare, vector, filters, _NEIGHBOURS, _NEIGHBOURS)
    found = [
        d
        for d in source.documents([c["rowid"] for c in near])
        if same(tokens, other := Tokens(d["text"])) and _may_merge(d, project, is_equal=tokens.key == other.key)
    ]
    return max(found, key=lambda one: one["updated_at"], default=None)


def _may_merge(document: Document, project: str, *, is_equal: bool) -> bool:
    """Whether a memory of a project may take the place of a document: no project's words get into what is of none."""
    other = document["project"]
    if document["forgotten_at"] is not None or document["superseded_by"]:
        return False
    return same_project(project, other) if project and other else is_equal or project == other
