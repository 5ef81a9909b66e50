"""Finds the documents that may answer a query, with their BM25 and cosine. Hot path."""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, json_text
from core.store import documents
from core.store.rows import BY_HAND, COLLECTION_SHIFT, COLLECTIONS, NAME_OF, marks, row_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Candidate, Document, Filters, Traits

    Condition = tuple[str, list[Any]]
    """SQL, and its parameters."""

_CONTEXT_WEIGHT = 0.5
_WEIGHTS = f"1.0, {_CONTEXT_WEIGHT}, 1.0"
"""Weights of the lexical index's columns: text, neighbouring turns, identifier parts."""
_AFFORDABLE = 20_000  # matching documents that BM25 may be computed for: about 20 ms
_ENOUGH = 50
_SMALL = 64
_FIRST, _LAST = row_range("episodes")
_STAGE = (
    f"CASE WHEN rowid NOT BETWEEN {_FIRST} AND {_LAST} THEN '' WHEN session_id = '' OR NOT EXISTS"
    " (SELECT 1 FROM call WHERE call.session_id = document.session_id)"
    " THEN iif(substr(rtrim(text), -1) IN ('?', '？', '؟'), 'question', '') WHEN text LIKE 'user:%' THEN 'asked'"
    " WHEN coalesce((SELECT next.text LIKE 'user:%' FROM document AS next WHERE next.session_id = document.session_id"
    f" AND next.session_id <> '' AND next.rowid > document.rowid AND next.rowid <= {_LAST}"
    " ORDER BY next.rowid LIMIT 1), 1) THEN 'ended' ELSE 'under way' END"
)


class LocalCandidates:
    """Candidates from the SQLite file: a `core.records.CandidateSource`. `vectors`: whether sqlite-vec is loaded."""

    backend = "sqlite"

    def __init__(self, db: apsw.Connection, *, vectors: bool) -> None:
        self._db = db
        self.semantic = vectors and documents.has_signatures(db)

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """The best by words and the best by meaning, each with both scores."""
        size = self.size()
        chosen = None
        others = filters.get("projects") and filters.get("others")
        if others or any(filters.get(name) for name in ("session", "category", "tags", "between")):
            chosen = RowFilter(self._db, filters, size)
        scores: dict[int, float] = {}
        if terms and size <= _SMALL:
            scores = self._lexical_small(terms, filters, chosen)
        elif terms:
            scores = self._lexical(self._selective(terms), filters, lexical, chosen)
        near: dict[int, float] = {}
        if vector and self.semantic:
            for rowid in self._nearest(vector, filters, semantic, chosen):
                scores.setdefault(rowid, 0.0)
            near = cosines(self._db, documents.STATIC_SPACE, list(scores), vector)
        return [{"rowid": rowid, "bm25": score, "cosine": near.get(rowid)} for rowid, score in scores.items()]

    def around(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[int, tuple[float, float]]:
        """The segments around episodes: BM25, and the share of the query's weight that they cover."""
        first, last = row_range("episodes")
        episodes = [rowid for rowid in rowids if first <= rowid <= last]
        placed = {
            int(rowid): int(segment)
            for rowid, segment in self._db.execute(
                "SELECT rowid, (SELECT rowid FROM segment WHERE session_id = document.session_id"
                " AND first <= document.rowid ORDER BY first DESC LIMIT 1) FROM document"
                f" WHERE rowid IN ({marks(episodes)})",
                episodes,
            )
            if segment is not None
        }
        if not placed:
            return {}
        wanted = tuple(set(placed.values()))
        query = (
            "SELECT rowid, max(-bm25(segment_lexicon), 0.0) FROM segment_lexicon WHERE segment_lexicon MATCH ?"
            f" AND +rowid IN ({marks(wanted)})"
        )
        scores = dict.fromkeys(wanted, 0.0)
        covered = dict.fromkeys(wanted, 0.0)
        total = 0.0
        for term in terms:
            found = list(self._db.execute(query, (_quoted(term), *wanted)))
            weight = max((score for _, score in found), default=0.0)
            total += weight
            for segment, score in found:
                scores[segment] += score
                covered[segment] += weight
        return {row: (scores[segment], covered[segment] / total if total else 0.0) for row, segment in placed.items()}

    def absent(self, terms: Sequence[str]) -> float:
        """The share of a query's single words that no document has."""
        single = [term for term in terms if " " not in term]
        return sum(not self._matches(_quoted(term), 1) for term in single) / len(single) if single else 0.0

    def segments(self) -> int:
        """Roughly how many segments there are."""
        return int(self._db.execute("SELECT max(rowid) FROM segment").get or 0)

    def size(self) -> int:
        """Roughly how many documents there are; forgotten ones may count."""
        total = 0
        for base, last in map(row_range, COLLECTIONS):
            highest = self._db.execute("SELECT max(rowid) FROM document WHERE rowid BETWEEN ? AND ?", (base, last)).get
            total += int(highest or base) - base
        return total

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """The documents themselves, in the requested order."""
        return documents.by_rowids(self._db, rowids)

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """What the ranking needs to know of these documents."""
        rows = self._db.execute(
            "SELECT rowid, (length(text) + octet_length(text)) / 2, max(created_at, updated_at), recall_count,"
            " retrieval_priority, write_verdict, stale OR tags LIKE '%\"stale\"%',"
            f" tags LIKE '%\"pinned\"%', write_reason = '{BY_HAND}', superseded_by, project, session_id, {_STAGE}"
            f" FROM document WHERE rowid IN ({marks(rowids)})",
            tuple(rowids),
        )
        return [
            {
                "rowid": rowid, "collection": NAME_OF[rowid >> COLLECTION_SHIFT], "chars": chars,
                "confirmed_at": confirmed, "recall_count": recalls, "retrieval_priority": priority,
                "write_verdict": verdict, "stale": bool(stale), "pinned": bool(pinned), "superseded_by": superseded,
                "by_hand": bool(hand), "project": project, "session": session, "stage": stage,
            }
            for rowid, chars, confirmed, recalls, priority, verdict, stale, pinned, hand, superseded, project, session,
            stage in rows
        ]  # fmt: skip

    def _lexical(self, match: str, filters: Filters, limit: int, chosen: RowFilter | None) -> dict[int, float]:
        codes = _codes(filters)  # `+rowid` keeps FTS5 from looking each row up by itself
        where = "" if len(codes) == len(COLLECTIONS) else f" AND {_of('+rowid', codes)}"
        parameters: tuple[int, ...] = ()
        if len(codes) == 1:
            where, parameters = " AND rowid BETWEEN ? AND ?", row_range(NAME_OF[codes[0]])
        if chosen is None:
            return self._scored(where, parameters, match, limit)
        best = chosen.first(lambda wide: self._scored(where, parameters, match, wide), limit)
        return best if best is not None else self._scored(where + chosen.where("+rowid"), parameters, match, limit)

    def _scored(self, where: str, parameters: Sequence[Any], match: str, limit: int) -> dict[int, float]:
        rows = self._db.execute(
            f"SELECT rowid, -bm25(lexicon, {_WEIGHTS}) AS score FROM lexicon WHERE lexicon MATCH ?{where}"
            " ORDER BY score DESC LIMIT ?",
            (match, *parameters, limit),
        )
        return {int(rowid): max(float(score), 0.0) for rowid, score in rows}

    def _lexical_small(self, terms: Sequence[str], filters: Filters, chosen: RowFilter | None) -> dict[int, float]:
        """BM25 where FTS5 gives 0 because half of the few documents have the word: Lucene's idf, without frequency."""
        size = self.size()
        scores: dict[int, float] = {}
        for term in terms:
            found: dict[int, float] = {}
            for columns, weight in (("{text parts}", 1.0), ("{context}", _CONTEXT_WEIGHT)):
                match = f"{columns} : {_quoted(term)}"
                for (rowid,) in self._db.execute("SELECT rowid FROM lexicon WHERE lexicon MATCH ?", (match,)):
                    found.setdefault(rowid, weight)
            idf = log(1 + (max(size - len(found), 0) + 0.5) / (len(found) + 0.5))
            for rowid, weight in found.items():
                scores[rowid] = scores.get(rowid, 0.0) + weight * idf
        codes = _codes(filters)
        rows = [rowid for rowid in scores if rowid >> COLLECTION_SHIFT in codes]
        return {rowid: scores[rowid] for rowid in (rows if chosen is None else chosen.among(rows))}

    def _selective(self, terms: Sequence[str]) -> str:
        """Any of the terms; in a large memory, as many of the rarest as are affordable (1 µs a document)."""
        if len(terms) == 1 or self.size() <= _AFFORDABLE:
            return " OR ".join(map(_quoted, terms))
        counted = sorted((self._matches(_quoted(term), _AFFORDABLE + 1), _quoted(term)) for term in terms)
        chosen: list[str] = []
        total = 0
        for count, term in counted:
            total += count
            if total > _AFFORDABLE:
                break
            if count:
                chosen.append(term)
        if chosen:
            return " OR ".join(chosen)
        together = " AND ".join(map(_quoted, terms))
        return together if self._matches(together, _ENOUGH) >= _ENOUGH else counted[0][1]

    def _matches(self, match: str, limit: int) -> int:
        counted = "SELECT count(*) FROM (SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT ?)"
        return int(self._db.execute(counted, (match, limit)).get)

    def _nearest(self, vector: bytes, filters: Filters, limit: int, chosen: RowFilter | None) -> Iterable[int]:
        """The rows with the nearest signatures, nearest first."""
        codes = _codes(filters)
        if chosen is None:
            return self._signatures(codes, vector, limit)
        best = chosen.first(lambda wide: self._signatures(codes, vector, wide), limit)
        if best is not None:
            return best
        # the signatures of the rows that were gathered, made of their vectors: few are read sooner than all signatures
        rows = self._db.execute(
            f"SELECT document FROM vector WHERE space = ?{chosen.where('document')} AND {_of('document', codes)}"
            " ORDER BY vec_distance_hamming(vec_quantize_binary(vec_int8(value)), vec_quantize_binary(vec_int8(?))),"
            " document LIMIT ?",
            (documents.STATIC_SPACE, vector, limit),
        )
        return [int(rowid) for (rowid,) in rows]

    def _signatures(self, codes: Sequence[int], vector: bytes, limit: int) -> dict[int, float]:
        found: list[tuple[float, int]] = []
        for where in [f" AND collection = {code}" for code in codes] if len(codes) < len(COLLECTIONS) else [""]:
            near = "SELECT distance, rowid FROM signature WHERE bits MATCH vec_quantize_binary(vec_int8(?)) AND k = ?"
            found += self._db.execute(near + where, (vector, limit))
        return {rowid: distance for distance, rowid in sorted(found)[:limit]}


def cosines(db: apsw.Connection, number: int, rowids: Sequence[int], vector: bytes) -> dict[int, float]:
    """The cosine, -1 to 1, of the documents that have a vector in the space; sqlite-vec must be loaded."""
    if not (number and vector and rowids):
        return {}
    rows = db.execute(
        "SELECT document, vec_distance_cosine(vec_int8(value), vec_int8(?)) FROM vector"
        f" WHERE document IN ({marks(rowids)}) AND space = ?",
        (vector, *rowids, number),
    )
    return {int(rowid): 1.0 - float(distance) for rowid, distance in rows}


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'


def _codes(filters: Filters) -> list[int]:
    return [COLLECTIONS[name] for name in filters.get("collections", ())] or list(COLLECTIONS.values())


def _of(row: str, codes: Sequence[int]) -> str:
    return f"({row} >> {COLLECTION_SHIFT}) IN ({', '.join(map(str, codes))})"


_FEW, _MANY = 4_096, 1 / 3
"""This many rows are never too many to collect (it takes a millisecond); nor is this share of all."""
_GUESSED = 1 / 4  # the share of a category or a tag, which no index counts
_ROOM = 1.5
"""How many times as many of the best to look at as would do if matches were spread evenly."""
_MOST = 400
"""The nearest 200 of 100,000 signatures take three times as long as the nearest 50, and the nearest 1,000 25 times."""


class RowFilter:
    """The rows that a filter (of more than collections) admits, of about `size`; one at a time on a connection."""

    def __init__(self, db: apsw.Connection, filters: Filters, size: int) -> None:
        session, category = filters.get("session"), filters.get("category")
        names = filters["projects"] if filters.get("others") else ()
        self._db = db
        self._gathered = False
        self._indexed: Condition | None = None
        self._asked: list[Condition] = []
        asked = self._asked
        if session:
            asked.append(("+session_id = ?", [session]))
            # without its second condition SQLite does not take the index of sessions, which has no row without one
            self._indexed = "SELECT rowid FROM document WHERE session_id = ? AND session_id <> ''", [session]
        rows = size
        if names:
            condition, indexed, rows = _of_projects(db, names, filters.get("apart", False))
            asked.append(condition)
            self._indexed = self._indexed or indexed
        if category:
            asked.append(("+category_id = ?", [category]))
        between, tags = filters.get("between", ()), filters.get("tags", ())
        if between:
            asked.append(("+created_at BETWEEN ? AND ?", [*between]))
        for tag in tags:  # few hold the letters, so that few lists are taken apart
            found = "instr(tags, ?) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
            asked.append((found, [json_text.dumps(tag), tag]))
        self._share = 0.0
        if not session and rows > max(_FEW, size * _MANY):
            self._share = rows / size * (_GUESSED if category or tags or between else 1)

    def first(self, search: Callable[[int], dict[int, float]], limit: int) -> dict[int, float] | None:
        """The first admitted rows of a search among this many of the best; None if `where` is quicker."""
        wide = int(limit / self._share * _ROOM) + 1 if self._share and not self._gathered else 0
        if not 0 < wide <= _MOST:
            return None
        best = search(wide)
        kept = self.among(list(best))[:limit]
        return {row: best[row] for row in kept} if len(kept) == limit or len(best) < wide else None

    def among(self, rows: Sequence[int]) -> list[int]:
        """The admitted ones of a few rows, in order."""
        where, parameters = self._conditions()
        found = self._db.execute(
            f"SELECT rowid FROM document WHERE rowid IN ({marks(rows)}) AND {where}", (*rows, *parameters)
        )
        kept = {int(row) for (row,) in found}
        return [row for row in rows if row in kept]

    def where(self, row: str) -> str:
        """A condition that only admitted rows meet; `row` has their number. The first call collects them."""
        if not self._gathered:
            rows, parameters = self._indexed or ("", [])
            if not rows or len(self._asked) > 1:
                where, more = self._conditions()
                rows = f"SELECT rowid FROM document WHERE {f'rowid IN ({rows}) AND ' if rows else ''}{where}"
                parameters = [*parameters, *more]
            self._db.execute("PRAGMA temp_store = MEMORY")
            self._db.execute("CREATE TABLE IF NOT EXISTS temp.admitted (id INTEGER PRIMARY KEY)")
            self._db.execute("DELETE FROM temp.admitted")
            self._db.execute(f"INSERT INTO temp.admitted {rows}", parameters)
            self._gathered = True
        return f" AND {row} IN (SELECT id FROM temp.admitted)"

    def _conditions(self) -> Condition:
        return " AND ".join(sql for sql, _ in self._asked), [value for _, values in self._asked for value in values]


def _of_projects(db: apsw.Connection, names: Sequence[str], apart: bool) -> tuple[Condition, Condition, int]:
    """A condition for the rows of these projects, a query for them, and (by the table `tally`) their number.

    With "" among the names also what belongs to none. A memory that names no project belongs to that of its session,
    and to none where that is not known, or with `apart` where that has none. Three queries, each with an index of its
    own: one condition of all three stops SQLite 3.54 with "internal query planner error".
    """
    named = [name for name in names if name]
    ours = f"project IN ({marks(named)})"
    rows = f"SELECT rowid FROM document WHERE project <> '' AND {ours}"
    count = int(
        db.execute(f"SELECT coalesce(sum(documents), 0) FROM tally WHERE project IN ({marks(names)})", names).get
    )
    if len(named) == len(names):
        return (f"+{ours}", named), (rows, named), count
    placed = "" if apart else "project <> '' AND "
    of_others = f"(SELECT id FROM session WHERE {placed}project NOT IN ({marks(named)}))"
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id = ''"
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id <> ''"
    left_out = f"SELECT count(*) FROM document WHERE project = '' AND session_id <> '' AND session_id IN {of_others}"
    count -= int(db.execute(left_out, named).get)
    twice = [*named, *named]
    # `+` keeps SQLite from walking an index of all rows
    belongs = f"(+{ours} OR +project = '' AND +session_id NOT IN {of_others})"
    return (belongs, twice), (f"{rows} AND session_id NOT IN {of_others}", twice), count
