"""The searches of one recall, and what their answers say.

Server 0.24 ranks by how many of a query's words match, joins them with AND, and takes words away from the right of a
query until enough is found. So a query of n terms goes as n searches a collection, each term once at the head and those
that follow it behind: the answers are the documents that hold the head, first those that hold what follows too, and
their number is the head's document frequency. With the search by vector that is one `multi_search`.
"""

from __future__ import annotations

from core.store.layout import COLLECTIONS as CODES
from core.store.typesense.bm25 import selective
from core.store.typesense.schema import COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from core.records import Filters
    from core.store.typesense.connection import Row

FIELDS = (
    "id,lexicon,lexicon_context,vector,timestamp,updated_at,chars,recall_count,retrieval_priority,write_verdict,stale,"
    "tags,superseded_by,project,session_id"
)
CHAIN = 4
"""Terms of one search: the head, and as many behind it as may move a document up."""
PAGE = 50
"""Documents that each search by words brings, for queries of up to `FEW` terms; the server takes most of its time for
them, and a document that several of many terms find need not be found by each."""
FEW = 6
LEAST_PAGE = 16
MOST_PAGE = 250
"""The server's limit."""
_EVERY = 1_000_000_000
_ALL = "\0"
_LEXICAL = {
    "query_by": "lexicon,lexicon_context",
    "num_typos": "0,0",
    "prefix": "false,false",
    "typo_tokens_threshold": 0,
    "split_join_tokens": "off",
    "prioritize_exact_match": False,
    "enable_overrides": False,
    "highlight_fields": "none",
    "highlight_full_fields": "none",
    "enable_highlight_v1": False,
}


class Plan:
    """What to ask the cluster for one query.

    Args:
        keys: the query's terms (`lexicon`), several words of one are a phrase.
        vector: int8[256], b"" for none.
        lexical, semantic: how many documents are wanted of each kind of search.
        counts: how many documents of a large memory hold each term; None where the searches are to tell.
        documents: how many a large memory has.
    """

    __slots__ = ("_asked", "_searches", "counts", "distances", "found", "matched", "sizes", "together")

    def __init__(
        self,
        keys: Sequence[str],
        vector: bytes,
        filters: Filters,
        lexical: int,
        semantic: int,
        *,
        counts: Mapping[str, int] | None = None,
        documents: int = 0,
    ) -> None:
        self._searches: list[Row] = []
        self._asked: list[tuple[str, str]] = []  # collection, and the term whose frequency the answer tells, or _ALL
        self.counts: dict[str, int] = dict(counts or {})
        """Term → how many documents hold it, in the whole memory."""
        self.together = False
        """No term is rare enough to be searched for alone: only documents that hold all of them are brought."""
        self.matched = 0
        """How many documents those are."""
        self.sizes: dict[str, int] = {}
        """Collection → how many documents it has."""
        self.found: dict[str, dict[str, Row]] = {}
        """Collection → id → what was brought of the document."""
        self.distances: list[tuple[float, str, str]] = []
        """1 - cosine, collection and id of those that the vector found."""
        wanted = list(filters["collections"]) or list(CODES)
        narrowed = filter_by(filters)
        once = list(dict.fromkeys(keys))
        if counts is not None:
            once, self.together = selective(once, counts, documents)
        page = _page(len(once), lexical)
        for collection in wanted:
            if self.together:
                self._add(collection, _ALL, _words(" ".join(map(_quoted, once)), page, narrowed))
            for key in () if self.together else once:
                self._add(
                    collection, "" if narrowed or counts is not None else key, _words(_quoted(key), page, narrowed)
                )
            for chain in () if self.together else _chains(once):
                self._add(collection, "", _words(chain, page, narrowed, drop=True))
            if vector:
                self._add(collection, "", _nearest(vector, min(semantic, MOST_PAGE), narrowed))
        if counts is not None:
            return
        # A term's frequency is that of the whole memory, whatever the filter: it is what makes the score.
        for collection in CODES if narrowed else [name for name in CODES if name not in wanted]:
            for key in once:
                self._searches.append(counting(collection, key))
                self._asked.append((collection, key))

    def _add(self, collection: str, term: str, search: Row) -> None:
        self._searches.append({**search, "collection": COLLECTIONS[collection]})
        self._asked.append((collection, term))

    def searches(self) -> list[Row]:
        """The searches, in the order in which `read` wants their answers."""
        return self._searches

    def read(self, answers: Sequence[Row]) -> None:
        """Take the answers in."""
        for (collection, term), answer in zip(self._asked, answers, strict=True):
            self.sizes[collection] = int(answer.get("out_of", 0))
            rows = self.found.setdefault(collection, {})
            for hit in answer.get("hits", ()):
                row = hit["document"]
                rows[row["id"]] = row
                if "vector_distance" in hit:
                    self.distances.append((float(hit["vector_distance"]), collection, row["id"]))
            if term == _ALL:
                self.matched += int(answer["found"])
            elif term:
                self.counts[term] = self.counts.get(term, 0) + int(answer["found"])

    def add(self, other: Plan) -> None:
        """Take in what a second plan has found."""
        for collection, rows in other.found.items():
            self.found.setdefault(collection, {}).update(rows)


def counting(collection: str, key: str) -> Row:
    """The search that tells no more than how many documents of a collection hold a term."""
    return {**_LEXICAL, "q": _quoted(key), "per_page": 0, "collection": COLLECTIONS[collection]}


def _page(terms: int, lexical: int) -> int:
    """How many documents each of so many searches brings, where `lexical` are wanted in all."""
    wanted = max(PAGE, lexical)
    return min(max(wanted * FEW // max(terms, FEW), LEAST_PAGE), MOST_PAGE)


_MOST_OTHERS = 50


def filter_by(filters: Filters) -> str:
    """The filters but for the collection, in the server's notation; values stand in backticks."""
    parts = [
        f"{field}:={_value(value)}"
        for field, value in (("session_id", filters["session"]), ("category_id", filters["category"]))
        if value
    ]
    parts += [f"tags:={_value(tag)}" for tag in filters.get("tags", ())]
    if filters["projects"] and "" not in filters["projects"]:
        parts.append(f"project:=[{','.join(map(_value, filters['projects']))}]")
    elif filters["others"]:  # the server cannot ask for an empty field, and what is of no project has one
        parts.append(f"project:!=[{','.join(map(_value, filters['others'][:_MOST_OTHERS]))}]")
    if filters["verdicts"]:
        parts.append(f"write_verdict:=[{','.join(map(_value, filters['verdicts']))}]")
    return " && ".join(parts)


def by_ids(identifiers: Sequence[str]) -> str:
    """The filter for documents by their ids, none of which may hold a backtick."""
    return f"id:=[{','.join(map(_value, identifiers))}]"


def _value(value: str) -> str:
    # A backtick ends the value, and has no escape: such a value is compared without it, which finds nothing else.
    return "`" + value.replace("`", "") + "`"


def _quoted(key: str) -> str:
    return f'"{key}"' if " " in key else key


def _words(query: str, page: int, narrowed: str, *, drop: bool = False) -> Row:
    search: Row = {
        **_LEXICAL,
        "q": query,
        "per_page": page,
        "include_fields": FIELDS,
        "drop_tokens_threshold": _EVERY if drop else 0,
        "sort_by": "_text_match:desc,terms:asc",
    }
    return {**search, "filter_by": narrowed} if narrowed else search


def _chains(keys: Sequence[str]) -> Iterator[str]:
    """Each word with those that follow it in the query, round to the beginning."""
    single = [key for key in keys if " " not in key]
    if len(single) < 2:
        return
    for head in range(len(single) if len(single) > 2 else 1):
        yield " ".join([*single[head:], *single[:head]][:CHAIN])


def _nearest(vector: bytes, count: int, narrowed: str) -> Row:
    numbers = ",".join(map(str, memoryview(vector).cast("b").tolist()))
    search: Row = {
        "q": "*",
        "vector_query": f"embedding:([{numbers}], k:{count})",
        "per_page": count,
        "include_fields": FIELDS,
    }
    return {**search, "filter_by": narrowed} if narrowed else search
