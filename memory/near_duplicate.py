"""Do two texts say the same? Token Jaccard, and never where a small difference changes the meaning.

The mirrored CLI's rule is the nearest neighbour with a Jaccard of .85 or more. Over sentences that lets `port 8080`
meet `port 8081`, "enable" "disable", and "tabs over spaces" its opposite, so what carries the meaning must be equal, in
the same order: numbers, identifiers, paths, negations, quantities. Text in scripts without spaces must be equal as a
whole.
Hot path: no imports beyond `core`.
"""

from __future__ import annotations

from core import ids, words
from core.project import same as same_project
from core.store import documents
from core.store.candidates import LocalCandidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.records import Document, Filters

THRESHOLD = 0.85
"""Least Jaccard of the token sets (the mirrored CLI)."""
_NEIGHBOURS = 16
_TERMS = 12
_LONGEST = 20_000

_OPENING = "([{\"'`*_<“‘«„:;,"
_CLOSING = ")]}\"'`*_>”’».,;:!…。，；：！、"
# Words whose change changes what a sentence says, in lower case.
# Negations, numbers, quantities, obligations, days.
_STRICT = frozenset(
    (
        "no not never none nothing nobody nowhere neither nor cannot without unless except hardly barely rarely"
        " seldom zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty"
        " sixty hundred thousand million first second third once twice half double all some few many most only"
        " every each any both either always sometimes often must may might should monday tuesday wednesday"
        " thursday friday saturday sunday january february march april june july august september october november"
        " december today tomorrow yesterday"
    ).split()
)
# Negations of other languages, which carry a whole sentence's sense.
_FOREIGN_NEGATIONS = frozenset(
    (
        "nicht kein keine keinen nie niemals ohne ne pas jamais sans aucun aucune nunca jamás sin ningún não sem"
        " nem non mai senza не нет никогда без inte aldrig utan ingen ikke aldri niet geen nooit zonder nie bez"
        " nikdy hayır değil"
    ).split()
)
# Directions, states, opposite actions, people.
_POLAR = frozenset(
    (
        "to from in out on off before after over under above below up down left right into onto until since"
        " between with enable enabled enables enabling disable disabled disables disabling allow allows allowed"
        " deny denies denied forbid forbids forbidden block blocks blocked permit permits permitted accept accepts"
        " accepted reject rejects rejected increase increases increased decrease decreases decreased raise raises"
        " raised lower lowers lowered more less higher larger smaller bigger faster slower longer shorter fewer"
        " true false yes start starts started stop stops stopped begin begins end ends add adds added remove"
        " removes removed install installed uninstall uninstalled include includes included exclude excludes"
        " excluded open opens opened close closes closed lock locked unlock unlocked last next previous min max"
        " minimum maximum least sync async synchronous asynchronous public private pass passes passed fail fails"
        " failed succeeds succeeded success failure read reads write writes import imports export exports push"
        " pull upgrade upgraded downgrade downgraded old new early late safe unsafe good bad best worst better"
        " worse hot cold warm inside outside internal external incoming outgoing upper front back top bottom same"
        " different likes dislikes like dislike loves hates love hate prefers prefer avoids avoid use uses avoided"
        " used works broke broken fixed required optional mandatory keep keeps delete deletes deleted create"
        " creates created local remote staging production development dev prod he she they i we you my your his"
        " her our their him them"
    ).split()
)
_NEGATING = ("un", "in", "im", "ir", "il", "dis", "non", "de", "mis", "anti", "re", "en")
_NEGATING_ENDS = ("less", "free")
_DROPPED = frozenset("- – — • * · ... …".split())


class Tokens:
    """A text as it is compared.

    `key` is the whole as a text, the same for texts that differ only in white space, punctuation around words, or the
    case of words; `strict` are the tokens that must be equal in order; `words` the set that Jaccard is taken of;
    `order` the words that are no stop words, as they first appear; `names` those written with a capital, `first` the
    one that opens the text.
    """

    __slots__ = ("first", "key", "names", "order", "strict", "words")

    def __init__(self, text: str) -> None:
        self.strict: list[str] = []
        self.order: list[str] = []
        self.words: set[str] = set()
        self.names: set[str] = set()
        self.first = ""
        key: list[str] = []
        for chunk in text.split():
            bare = chunk.rstrip("?？").lstrip(_OPENING).rstrip(_CLOSING)
            asks = bool(bare) and chunk[-1] in "?？"
            bare = bare or chunk
            if bare in _DROPPED:
                continue
            token, strict = _token(bare)
            key.append(token)
            if strict:
                self.strict.append(token)
            elif token not in self.words and token not in words.STOP_WORDS:
                self.order.append(token)
            if bare[0].isupper() and not strict:
                self.names.add(token)
                self.first = self.first or (token if len(key) == 1 else "")
            self.words.add(token)
            if asks:
                self.strict.append("?")
                key.append("?")
        self.key = " ".join(key)


def _token(bare: str) -> tuple[str, bool]:
    """The form in which a chunk is compared, and whether it must be equal in both texts."""
    lower = bare.lower()
    if bare.isascii() and bare.isalpha():
        if len(bare) == 1 and bare not in "aAI":
            return bare, True
        humped = not (bare.islower() or bare.isupper() or bare.istitle())
        return (bare, True) if humped else (lower, lower in _STRICT or lower in _FOREIGN_NEGATIONS)
    straight = lower.replace("\u2019", "'")
    if straight.replace("'", "").isalpha() and not any(map(_is_unspaced, straight)):
        return straight, straight in _STRICT or straight in _FOREIGN_NEGATIONS or straight.endswith("n't")
    if straight.replace("-", "").isalpha() and straight[0] != "-":
        return straight, True
    return bare, True


def _is_unspaced(character: str) -> bool:
    return "\u0e00" <= character <= "\u0e7f" or character >= "\u3040"


def same(one: Tokens, other: Tokens) -> bool:
    """Whether one text may take the place of the other."""
    if one.key == other.key:
        return True
    if len(one.words & other.words) < THRESHOLD * len(one.words | other.words):
        return False
    if one.strict != other.strict:
        return False
    left, right = one.words - other.words, other.words - one.words
    if _changes_meaning(one, left, other, right):
        return False
    return [w for w in one.order if w in other.words] == [w for w in other.order if w in one.words]


def _changes_meaning(one: Tokens, left: set[str], other: Tokens, right: set[str]) -> bool:
    """Whether the words that only one text has make it say something else."""
    if left & _POLAR and right & _POLAR:
        return True
    for tokens, own, across in ((one, left, right), (other, right, left)):
        for word in own & tokens.names:
            # A capital at the beginning is a name only if another word stands in its place.
            if word not in words.STOP_WORDS and (word != tokens.first or across):
                return True
    return any(_opposed(a, b) or _opposed(b, a) for a in left for b in right)


def _opposed(longer: str, shorter: str) -> bool:
    """`unsafe` and `safe`, `careless` and `careful`."""
    if longer.endswith(shorter) and longer[: -len(shorter)] in _NEGATING:
        return True
    return longer.endswith(_NEGATING_ENDS) and shorter.startswith(longer[:-4])


def find(db: apsw.Connection, document: Document, tokens: Tokens, vector: bytes, *, vectors: bool) -> Document | None:
    """The stored document that says the same as this one, not forgotten and not of another project; None for none.

    Looks at the document with the same fingerprint, and at the nearest by vector (by words where there is none).
    """
    collection, project = document["collection"], document["project"]
    exact = documents.by_fingerprint(db, ids.fingerprint(tokens.key), collection)
    if exact is not None and _may_merge(exact, project, is_equal=True):
        return exact
    filters: Filters = {
        "collections": [collection], "session": "", "projects": (), "others": (), "category": "", "verdicts": [],
    }  # fmt: skip
    source = LocalCandidates(db, vectors=vectors)
    # Words cost four times what the vector does, and find nothing of this likeness that it does not.
    terms = [] if vector and source.semantic else _terms(document["text"])
    near = source.candidates(terms, vector, filters, _NEIGHBOURS, _NEIGHBOURS)
    found = [
        d
        for d in source.documents([c["rowid"] for c in near])
        if same(tokens, other := Tokens(d["text"])) and _may_merge(d, project, is_equal=tokens.key == other.key)
    ]
    return max(found, key=lambda one: one["updated_at"], default=None)


def _may_merge(document: Document, project: str, *, is_equal: bool) -> bool:
    """Whether a memory of a project may take the place of a document; where one is of none, both must be equal.

    What is of no project is seen in every one: the words of a project do not get there. What was superseded is not
    handed out: who writes it again means that it holds again.
    """
    other = document["project"]
    if document["forgotten_at"] is not None or document["superseded_by"]:
        return False
    return same_project(project, other) if project and other else is_equal or project == other


def _terms(text: str) -> list[str]:
    """A dozen terms that hardly any other text has: phrases of identifiers first, then the longest words."""
    terms = words.query_terms(text[:_LONGEST])
    return sorted(terms, key=lambda term: (" " not in term, -len(term)))[:_TERMS]
