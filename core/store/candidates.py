"""Finds the documents of the SQLite store that may answer a query, with their BM25 and cosine.

Semantic search is two passes: the sign bits of the 256 dimensions (32 bytes a document) choose, the int8 vectors
decide. Over 100,000 documents the first costs 14 ms, where scanning the int8 vectors costs 65.
"""

from __future__ import annotations

from math import log

from core.store import documents, segments
from core.store.migrations import COLLECTION_SHIFT, COLLECTIONS, row_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.store.interface import Candidate, Document, Filters, Traits

# Columns of the lexical index: text, neighbouring turns, identifier parts.
_CONTEXT_WEIGHT = 0.5
_WEIGHTS = f"1.0, {_CONTEXT_WEIGHT}, 1.0"
_AFFORDABLE = 20_000
"""Matching documents that BM25 may be computed for: about 20 ms."""
_ENOUGH = 50
_SMALL = 64
_WIDER = 4
"""So many times the best of all are looked at first for those of one project.

To narrow a search to its rows all of them are gathered, three times for the vectors: over 13,000 documents 33 ms a
recall instead of 8.
"""


class LocalCandidates:
    """Candidates from the SQLite file. `vectors`: whether sqlite-vec is loaded."""

    backend = "sqlite"
    __slots__ = ("_db", "_vectors")

    def __init__(self, db: apsw.Connection, *, vectors: bool) -> None:
        self._db = db
        self._vectors = vectors and documents.has_signatures(db)

    @property
    def semantic(self) -> bool:
        """Whether vectors can be searched."""
        return self._vectors

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """See `core.store.interface.CandidateSource`."""
        size = self.size()
        scores: dict[int, float] = {}
        if terms and size <= _SMALL:
            scores = self._lexical_small(terms, filters)
        elif terms:
            scores = self._lexical(self._selective(terms), filters, lexical)
        if not (vector and self._vectors):
            return [{"rowid": rowid, "bm25": score, "cosine": None} for rowid, score in scores.items()]
        for rowid in self._nearest(vector, filters, semantic):
            scores.setdefault(rowid, 0.0)
        near = cosines(self._db, documents.STATIC_SPACE, list(scores), vector)
        return [{"rowid": rowid, "bm25": score, "cosine": near.get(rowid)} for rowid, score in scores.items()]

    def around(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[int, tuple[float, float]]:
        """See `core.store.interface.CandidateSource`."""
        return segments.around(self._db, rowids, [_quoted(term) for term in terms]) if self.segments() else {}

    def absent(self, terms: Sequence[str]) -> float:
        """See `core.store.interface.CandidateSource`."""
        single = [term for term in terms if " " not in term]
        return sum(not self._matches(_quoted(term), 1) for term in single) / len(single) if single else 0.0

    def segments(self) -> int:
        """See `core.store.interface.CandidateSource`."""
        return segments.count(self._db)

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """See `core.store.interface.CandidateSource`."""
        return documents.by_rowids(self._db, rowids)

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """See `core.store.interface.CandidateSource`."""
        return documents.traits(self._db, rowids)

    def _lexical(self, match: str, filters: Filters, limit: int) -> dict[int, float]:
        if _is_by_project_alone(filters):
            best = self._scored(*_where({**filters, "projects": ()}), match, limit * _WIDER)
            of_project = self._admitted(list(best), filters)[:limit]
            if len(of_project) == limit or len(best) < limit * _WIDER:
                return {rowid: best[rowid] for rowid in of_project}
        where, parameters = _where(filters)
        return self._scored(where, parameters, match, limit)

    def _scored(self, where: str, parameters: Sequence[Any], match: str, limit: int) -> dict[int, float]:
        rows = self._db.execute(
            f"SELECT rowid, -bm25(lexicon, {_WEIGHTS}) AS score FROM lexicon WHERE lexicon MATCH ?{where}"
            " ORDER BY score DESC LIMIT ?",
            (match, *parameters, limit),
        )
        return {int(rowid): max(float(score), 0.0) for rowid, score in rows}

    def _lexical_small(self, terms: Sequence[str], filters: Filters) -> dict[int, float]:
        """BM25 for a store of few documents: FTS5 gives a word that half of them hold no weight at all.

        So the first memories of a user would score nothing. This is BM25 with the idf that stays positive (Lucene's,
        ln(1 + (N - df + .5) / (df + .5))) and without term frequency, which short notes hardly have.
        """
        where, parameters = _where(filters)
        size = self.size()
        scores: dict[int, float] = {}
        for term in terms:
            found: dict[int, float] = {}
            for columns, weight in (("{text parts}", 1.0), ("{context}", _CONTEXT_WEIGHT)):
                match = f"{columns} : {_quoted(term)}"
                for (rowid,) in self._db.execute(
                    f"SELECT rowid FROM lexicon WHERE lexicon MATCH ?{where}", (match, *parameters)
                ):
                    found.setdefault(rowid, weight)
            frequency = len(found)
            for rowid, weight in found.items():
                idf = log(1 + (max(size - frequency, 0) + 0.5) / (frequency + 0.5))
                scores[rowid] = scores.get(rowid, 0.0) + weight * idf
        return scores

    def _selective(self, terms: Sequence[str]) -> str:
        """The match expression: any of the terms, in a large memory as many of the rarest as can be afforded.

        BM25 costs about a microsecond a matching document, and the commoner a term, the less it tells.
        """
        if len(terms) == 1 or self.size() <= _AFFORDABLE:
            return _match(terms)
        counted = sorted((self._matches(_quoted(term), _AFFORDABLE + 1), term) for term in terms)
        chosen: list[str] = []
        total = 0
        for count, term in counted:
            total += count
            if total > _AFFORDABLE:
                break
            if count:
                chosen.append(term)
        if chosen:
            return _match(chosen)
        together = " AND ".join(_quoted(term) for term in terms)
        return together if self._matches(together, _ENOUGH) >= _ENOUGH else _match([counted[0][1]])

    def size(self) -> int:
        """See `core.store.interface.CandidateSource`."""
        return sum(map(self._size, COLLECTIONS))

    def _size(self, collection: str) -> int:
        base, last = row_range(collection)
        highest = self._db.execute("SELECT max(rowid) FROM document WHERE rowid BETWEEN ? AND ?", (base, last)).get
        return int(highest or base) - base

    def _matches(self, match: str, limit: int) -> int:
        return int(
            self._db.execute(
                "SELECT count(*) FROM (SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT ?)", (match, limit)
            ).get
        )

    def _nearest(self, vector: bytes, filters: Filters, limit: int) -> list[int]:
        inner, parameters = _document_filter(filters)
        narrowed = f" AND rowid IN (SELECT rowid FROM document WHERE {inner})" if inner else ""
        codes = _codes(filters)
        every = [""] if len(codes) == len(COLLECTIONS) else [f" AND collection = {code}" for code in codes]
        if _is_by_project_alone(filters):
            near = [found for one in every for found in self._signatures(one, vector, limit * _WIDER)]
            nearest = [rowid for _, rowid in sorted(near)[: limit * _WIDER]]
            of_project = self._admitted(nearest, filters)[:limit]
            if len(of_project) == limit or len(nearest) < limit * _WIDER:
                return of_project
        # sqlite-vec 0.1.9 lets rows of other partitions through `rowid IN` when it searches several, so that one at a
        # time is searched with it, and what it finds is held to the filter again.
        passes = [f" AND collection = {code}" for code in codes] if narrowed else every
        found: list[tuple[float, int]] = []
        for one in passes:
            found += self._signatures(f"{one}{narrowed}", vector, limit, parameters)
        found.sort()
        if narrowed:
            marks = ", ".join("?" * len(found))
            rowids = [rowid for _, rowid in found]
            admitted = self._db.execute(
                f"SELECT rowid FROM document WHERE {inner} AND rowid IN ({marks})", (*parameters, *rowids)
            )
            kept = {int(rowid) for (rowid,) in admitted}
            return [rowid for rowid in rowids if rowid in kept][:limit]
        return [rowid for _, rowid in found[:limit]]

    def _signatures(
        self, where: str, vector: bytes, limit: int, parameters: Sequence[Any] = ()
    ) -> list[tuple[float, int]]:
        rows = self._db.execute(
            "SELECT distance, rowid FROM signature WHERE bits MATCH vec_quantize_binary(vec_int8(?)) AND k = ?" + where,
            (vector, limit, *parameters),
        )
        return sorted((float(distance), int(rowid)) for distance, rowid in rows)

    def _admitted(self, rowids: Sequence[int], filters: Filters) -> list[int]:
        """Those of a few rows that belong to the projects; `+` keeps SQLite from walking an index of all rows."""
        named = [name for name in filters["projects"] if name]
        marks = ", ".join("?" * len(named))
        none = ""
        if len(named) < len(filters["projects"]):
            none = f" OR +project = '' AND +session_id NOT IN ({_of_others(len(named))})"
        rows = self._db.execute(
            f"SELECT rowid FROM document WHERE rowid IN ({', '.join('?' * len(rowids))})"
            f" AND (+project IN ({marks}){none})",
            (*rowids, *named, *(named if none else ())),
        )
        kept = {int(rowid) for (rowid,) in rows}
        return [rowid for rowid in rowids if rowid in kept]


def _is_by_project_alone(filters: Filters) -> bool:
    """Whether rows of other projects are left out, and nothing else but collections."""
    more = (filters["session"], filters["category"], filters["verdicts"])
    return bool(filters["projects"] and filters["others"]) and not any(more)


def cosines(db: apsw.Connection, number: int, rowids: Sequence[int], vector: bytes) -> dict[int, float]:
    """The cosine, -1 to 1, of those documents that have a vector in the space; sqlite-vec must be loaded."""
    if not (number and vector and rowids):
        return {}
    marks = ", ".join("?" * len(rowids))
    rows = db.execute(
        "SELECT document, vec_distance_cosine(vec_int8(value), vec_int8(?)) FROM vector"
        f" WHERE document IN ({marks}) AND space = ?",
        (vector, *rowids, number),
    )
    return {int(rowid): 1.0 - float(distance) for rowid, distance in rows}


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'


def _match(terms: Sequence[str]) -> str:
    return " OR ".join(_quoted(term) for term in terms)


def _codes(filters: Filters) -> list[int]:
    return [COLLECTIONS[name] for name in filters["collections"]] or list(COLLECTIONS.values())


def _document_filter(filters: Filters) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    parameters: list[Any] = []
    for column, value in (("session_id", filters["session"]), ("category_id", filters["category"])):
        if value:
            clauses.append(f"{column} = ?")
            parameters.append(value)
    if filters["projects"] and filters["others"]:
        named = [name for name in filters["projects"] if name]
        clauses.append(f"rowid IN ({_of_projects(len(named), none=len(named) < len(filters['projects']))})")
        parameters += [*named, *named] if len(named) < len(filters["projects"]) else named
    if filters["verdicts"]:
        clauses.append(f"write_verdict IN ({', '.join('?' * len(filters['verdicts']))})")
        parameters.extend(filters["verdicts"])
    return " AND ".join(clauses), parameters


def _of_projects(names: int, *, none: bool) -> str:
    """The rows of so many projects; with `none` those that belong to none too.

    A memory that names no project belongs to that of its session, and to none where that is not known. Three queries,
    each with an index of its own: one condition of all three stops SQLite 3.54 with "internal query planner error".
    """
    marks = ", ".join("?" * names)
    rows = f"SELECT rowid FROM document WHERE project <> '' AND project IN ({marks})"
    if none:
        rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id = ''"
        rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id <> ''"
        rows += f" AND session_id NOT IN ({_of_others(names)})"
    return rows


def _of_others(names: int) -> str:
    """The sessions that are known to belong to another project than so many."""
    return f"SELECT id FROM session WHERE project <> '' AND project NOT IN ({', '.join('?' * names)})"


def _where(filters: Filters) -> tuple[str, list[Any]]:
    """Conditions on the lexical index. `+rowid` keeps FTS5 from looking each row up by itself."""
    clauses = ""
    parameters: list[Any] = []
    codes = _codes(filters)
    if len(codes) == 1:
        clauses += " AND rowid BETWEEN ? AND ?"
        parameters += [codes[0] << COLLECTION_SHIFT, ((codes[0] + 1) << COLLECTION_SHIFT) - 1]
    elif len(codes) < len(COLLECTIONS):
        clauses += f" AND (+rowid >> {COLLECTION_SHIFT}) IN ({', '.join(map(str, codes))})"
    inner, more = _document_filter(filters)
    if inner:
        clauses += f" AND +rowid IN (SELECT rowid FROM document WHERE {inner})"
        parameters += more
    return clauses, parameters
