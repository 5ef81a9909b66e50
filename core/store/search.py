"""Finds the documents that may answer a query, with their BM25 and cosine. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store import documents, sqlite
from core.store.sqlite import COLLECTION_SHIFT, COLLECTIONS, NAME_OF, marks, quoted, row_range, small_idf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Candidate, Document, Filters, Traits

    Condition = tuple[str, list[Any]]
    """SQL, and its parameters."""

CONTEXT_WEIGHT = 0.5  # of a word in the episodes around a document, compared with its own text
FEW_ROWS = 4_096  # rows that are always gathered for a filter: it takes a millisecond
LARGE_SHARE = 1 / 3  # a filter that admits more is checked against the best matches instead


class Candidates:
    """Candidates from the SQLite file, with raw scores; `recall` ranks them.

    Args:
        by_meaning: whether vectors are compared, if sqlite-vec is there.
        compounds: whether a word that no document has is also looked for inside longer words, which reads texts.
    """

    backend = "sqlite"

    def __init__(self, db: apsw.Connection, *, by_meaning: bool = True, compounds: bool = False) -> None:
        self._db = db
        self._compounds = compounds
        self._matches: dict[str, str] = {}
        self._size = -1  # not counted yet
        self.semantic = by_meaning and sqlite.has_vectors(db) and documents.has_signatures(db)

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """The best `lexical` documents by words and the best `semantic` by meaning, each with both scores.

        A document that only the search by meaning finds has the BM25 score 0. In a small store, the score is a sum of
        idfs, without term frequency. A word inside a longer word counts as one idf.
        """
        rows = RowFilter(self._db, filters, self.size())
        scores: dict[int, float] = {}
        if terms and self.size() <= sqlite.SMALL_INDEX:
            scores = self._lexical_small(terms, filters, rows)
        elif terms and (match := self._match(terms)):
            scores = self._lexical(match, filters, lexical, rows)
        if self._compounds:
            for term in [term for term in terms if not self._forms(term)][:3]:  # each takes some milliseconds
                self._add_compounds(term, scores, filters, rows)
        near: dict[int, float] = {}
        if vector and self.semantic:
            for rowid in self._nearest(vector, filters, semantic, rows):
                scores.setdefault(rowid, 0.0)
            near = cosines(self._db, list(scores), vector)
        return [{"rowid": rowid, "bm25": score, "cosine": near.get(rowid)} for rowid, score in scores.items()]

    def newest(self, filters: Filters, limit: int) -> list[int]:
        """The rows of the newest documents that the filters admit, newest first."""
        where, parameters = RowFilter(self._db, filters, self.size()).condition()
        first, last = filters["between"]
        rows = self._db.execute(
            f"SELECT rowid FROM document WHERE created_at BETWEEN ? AND ? AND forgotten_at IS NULL AND {where}"
            f" AND {_in_collections('rowid', _codes(filters))} ORDER BY created_at DESC, rowid DESC LIMIT ?",
            (first, last, *parameters, limit),
        )
        return [int(row) for (row,) in rows]

    def around(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[int, float]:
        """The BM25 of the segment around each of the rows that is an episode."""
        if not (episodes := _episodes(rowids)):
            return {}
        segment_of = {
            int(rowid): int(segment)
            for rowid, segment in self._db.execute(
                "SELECT rowid, (SELECT rowid FROM segment WHERE session_id = document.session_id"
                " AND first <= document.rowid ORDER BY first DESC LIMIT 1) FROM document"
                f" WHERE rowid IN ({marks(episodes)})",
                episodes,
            )
            if segment is not None
        }
        if not segment_of:
            return {}
        segments = tuple(set(segment_of.values()))
        query = (
            "SELECT rowid, max(-bm25(segment_lexicon), 0.0) FROM segment_lexicon WHERE segment_lexicon MATCH ?"
            f" AND +rowid IN ({marks(segments)})"
        )
        scores = dict.fromkeys(segments, 0.0)
        for term in terms:
            for segment, score in self._db.execute(query, (self._forms(term) or quoted(term), *segments)):
                scores[segment] += score
        return {row: scores[segment] for row, segment in segment_of.items()}

    def absent(self, terms: Sequence[str]) -> float:
        """The share of a query's single words that no document has. A word in other forms only counts half."""
        single = [term for term in terms if " " not in term]
        forms = [(quoted(word), self._forms(word)) for word in single]
        missing = sum((0 if form.startswith(exact) else 0.5) if form else 1 for exact, form in forms)
        return missing / len(single) if single else 0.0

    def segments(self) -> int:
        """Roughly the number of segments."""
        return int(self._db.execute("SELECT max(rowid) FROM segment").get or 0)

    def size(self) -> int:
        """Roughly the number of documents; forgotten ones may count. A cluster knows it after a search."""
        if self._size < 0:
            newest = "SELECT max(rowid) FROM document WHERE rowid BETWEEN ? AND ?"
            ranges = list(map(row_range, COLLECTIONS))
            self._size = sum(int(self._db.execute(newest, rows).get or rows[0]) - rows[0] for rows in ranges)
        return self._size

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """The documents, in the requested order."""
        return documents.by_rowids(self._db, rowids)

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """The facts that the ranking needs about these documents, in any order."""
        stage = _stage_sql() if _episodes(rowids) else "''"
        sql = (
            "SELECT rowid, '' AS collection, (length(text) + octet_length(text)) / 2 AS chars,"
            " max(created_at, updated_at) AS confirmed_at, recall_count, retrieval_priority, write_verdict,"
            " stale OR tags LIKE '%\"stale\"%' AS stale, tags LIKE '%\"pinned\"%' AS pinned,"
            f" write_reason = '{sqlite.BY_HAND}' AS by_hand, superseded_by, project, session_id AS session,"
            f" {stage} AS stage FROM document WHERE rowid IN ({marks(rowids)})"
        )
        found: list[Traits] = sqlite.fetch_dicts(self._db, sql, tuple(rowids))
        for traits in found:
            traits["collection"] = NAME_OF[traits["rowid"] >> COLLECTION_SHIFT]
        return found

    def _lexical(self, match: str, filters: Filters, limit: int, rows: RowFilter) -> dict[int, float]:
        codes, where = _codes(filters), ""
        if len(codes) == 1:  # FTS5 skips all other rows
            where = " AND rowid BETWEEN {} AND {}".format(*row_range(NAME_OF[codes[0]]))
        elif len(codes) < len(COLLECTIONS):  # `+rowid` keeps FTS5 from looking up each row
            where = f" AND {_in_collections('+rowid', codes)}"
        best = rows.first(lambda wide: self._scored(where, match, wide), limit)
        return self._scored(where + rows.where("+rowid"), match, limit) if best is None else best

    def _scored(self, where: str, match: str, limit: int) -> dict[int, float]:
        weights = f"1.0, {CONTEXT_WEIGHT}, 1.0"  # text, context, parts of identifiers
        rows = self._db.execute(
            f"SELECT rowid, -bm25(lexicon, {weights}) AS score FROM lexicon WHERE lexicon MATCH ?{where}"
            " ORDER BY score DESC LIMIT ?",
            (match, limit),
        )
        return {int(rowid): max(float(score), 0.0) for rowid, score in rows}

    def _lexical_small(self, terms: Sequence[str], filters: Filters, rows: RowFilter) -> dict[int, float]:
        """BM25 in a small memory: Lucene's idf, without term frequency."""
        size = self.size()
        scores: dict[int, float] = {}
        for term in terms:
            weights: dict[int, float] = {}
            for columns, weight in (("{text parts}", 1.0), ("{context}", CONTEXT_WEIGHT)):
                match = f"{columns} : ({self._forms(term) or quoted(term)})"
                for (rowid,) in self._db.execute("SELECT rowid FROM lexicon WHERE lexicon MATCH ?", (match,)):
                    weights.setdefault(rowid, weight)
            idf = small_idf(len(weights), size)
            for rowid, weight in weights.items():
                scores[rowid] = scores.get(rowid, 0.0) + weight * idf
        codes = _codes(filters)
        admitted = rows.among([rowid for rowid in scores if rowid >> COLLECTION_SHIFT in codes])
        return {rowid: scores[rowid] for rowid in admitted}

    def _match(self, terms: Sequence[str]) -> str:
        """A query for any of the terms that tell documents apart; in a large memory, for the rarest of them.

        FTS5 gives no weight to a term that half of the rows contain. If it gives none to any term, "".
        """
        affordable_matches = 20_000  # BM25 takes about 1 µs per matching document
        size = self.size()
        most = min(size // 2, affordable_matches)
        if len(terms) == 1:
            return self._forms(terms[0]) or quoted(terms[0])
        counted = sorted((self._count(match, most + 1), match) for match in map(self._forms, terms) if match)
        if not counted:
            return quoted(terms[0])
        rarest: list[str] = []
        total = 0
        for count, term in counted:
            total += count
            if count > most or (total > affordable_matches and size > affordable_matches):
                break
            rarest.append(term)
        if rarest or counted[0][0] > size // 2:
            return " OR ".join(rarest)
        together = " AND ".join(map(quoted, terms))
        enough = 50  # then no single term needs to be searched for
        return together if self._count(together, enough) >= enough else counted[0][1]

    def _forms(self, term: str) -> str:
        """A query for a term in the forms that documents have; "" if they have none.

        English words are stemmed by the index. Words of other alphabets, and words that no document has, are also
        looked up by their beginning, and in their other spellings.
        """
        if term not in self._matches:
            exact = quoted(term)
            forms = [exact] if self._count(exact, 1) else []
            stem = words.stem(term)
            if not forms or not term.isascii():
                others = [quoted(other) for other in words.spellings(term)] + ([f"{quoted(stem)} *"] if stem else [])
                forms += [form for form in others if self._count(form, 1)]
            self._matches[term] = " OR ".join(forms)
        return self._matches[term]

    def _add_compounds(self, term: str, scores: dict[int, float], filters: Filters, rows: RowFilter) -> None:
        """Add the documents in which an absent word is part of a longer word: Zähler in Wiederholungszähler."""
        if len(term) < 5 or not term.isalpha():
            return
        read_rows = 10_000  # the newest of each collection: the texts themselves are read, .2 ms for 1,000
        found: list[int] = []
        for code in _codes(filters):
            first, last = row_range(NAME_OF[code])
            newest = f"(SELECT max(rowid) FROM document WHERE rowid <= {last})"
            query = (
                f"SELECT rowid FROM document WHERE rowid BETWEEN max({first}, {newest} - {read_rows}) AND {last}"
                " AND forgotten_at IS NULL AND text LIKE ? LIMIT 50"
            )
            found += [int(row) for (row,) in self._db.execute(query, (f"%{term}%",))]
        weight = small_idf(len(found), self.size())
        for row in rows.among(found):
            scores[row] = scores.get(row, 0.0) + weight

    def _count(self, match: str, limit: int) -> int:
        counted = "SELECT count(*) FROM (SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT ?)"
        return int(self._db.execute(counted, (match, limit)).get)

    def _nearest(self, vector: bytes, filters: Filters, limit: int, rows: RowFilter) -> Iterable[int]:
        """The rows with the nearest signatures, nearest first."""
        codes = _codes(filters)
        best = rows.first(lambda wide: self._signatures(codes, vector, wide), limit)
        if best is not None:
            return best
        # Signatures of the gathered rows, computed from their vectors: faster than reading all signatures.
        near = self._db.execute(
            f"SELECT document FROM vector WHERE space = ?{rows.where('document')}"
            f" AND {_in_collections('document', codes)}"
            " ORDER BY vec_distance_hamming(vec_quantize_binary(vec_int8(value)), vec_quantize_binary(vec_int8(?))),"
            " document LIMIT ?",
            (documents.STATIC_SPACE, vector, limit),
        )
        return [int(rowid) for (rowid,) in near]

    def _signatures(self, codes: Sequence[int], vector: bytes, limit: int) -> dict[int, float]:
        near: list[tuple[float, int]] = []
        for where in [f" AND collection = {code}" for code in codes] if len(codes) < len(COLLECTIONS) else [""]:
            query = "SELECT distance, rowid FROM signature WHERE bits MATCH vec_quantize_binary(vec_int8(?)) AND k = ?"
            near += self._db.execute(query + where, (vector, limit))
        return {rowid: distance for distance, rowid in sorted(near)[:limit]}


class RowFilter:
    """The documents that filters admit, or all of them.

    A few are gathered in a temporary table, which narrows both searches: those of a session by its index, those of a
    project by three. If a third of all documents or more is admitted, it is faster to check the best matches. `size`:
    roughly the number of documents. A connection has a single filter at a time.
    """

    def __init__(self, db: apsw.Connection, filters: Filters, size: int) -> None:
        session = filters.get("session")
        category = filters.get("category")
        between = filters.get("between", ())
        tags = filters.get("tags", ())
        projects = filters["projects"] if filters.get("others") else ()
        self._db = db
        self._is_gathered = False
        self._indexed: Condition | None = None
        """A query by index for rows that include all that are admitted."""
        self._conditions: list[Condition] = []
        rows = size
        if session:
            self._conditions.append(("+session_id = ?", [session]))
            # without its second condition SQLite does not use the index, which is partial
            self._indexed = "SELECT rowid FROM document WHERE session_id = ? AND session_id <> ''", [session]
        if projects:
            condition, indexed, rows = _of_projects(db, projects, filters.get("apart", False))
            self._conditions.append(condition)
            self._indexed = self._indexed or indexed
        if category:
            self._conditions.append(("+category_id = ?", [category]))
        if between:
            self._conditions.append(("+created_at BETWEEN ? AND ?", [*between]))
        for tag in tags:  # `instr` first: few rows hold the letters, which saves parsing lists
            holds = "instr(tags, ?) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
            self._conditions.append((holds, [json_text.dumps(tag), tag]))
        self._share = 0.0
        if not session and rows > max(FEW_ROWS, size * LARGE_SHARE):
            # no index counts a category, a tag or a time: a quarter is assumed
            self._share = rows / size * (1 / 4 if category or tags or between else 1)

    def first(self, search: Callable[[int], dict[int, float]], limit: int) -> dict[int, float] | None:
        """The first admitted rows of a search for its best matches; None if `where` is faster."""
        if not self._conditions:
            return search(limit)
        # half as many again as would do if matches were spread evenly
        wide = int(limit / self._share * 1.5) + 1 if self._share and not self._is_gathered else 0
        if not 0 < wide <= 400:  # the nearest 1,000 of 100,000 signatures take 25 times as long as the nearest 50
            return None
        best = search(wide)
        admitted = self.among(list(best))[:limit]
        return {row: best[row] for row in admitted} if len(admitted) == limit or len(best) < wide else None

    def among(self, rows: Sequence[int]) -> list[int]:
        """Those of a few rows that are admitted, in order."""
        if not self._conditions:
            return list(rows)
        where, parameters = self.condition()
        query = f"SELECT rowid FROM document WHERE rowid IN ({marks(rows)}) AND {where}"
        admitted = {int(row) for (row,) in self._db.execute(query, (*rows, *parameters))}
        return [row for row in rows if row in admitted]

    def where(self, row: str) -> str:
        """A condition for the admitted rows; `row` is an expression for their number. The first call gathers them."""
        if not self._conditions:
            return ""
        if not self._is_gathered:
            rows, parameters = self._indexed or ("", [])
            if not rows or len(self._conditions) > 1:
                where, more = self.condition()
                rows = f"SELECT rowid FROM document WHERE {f'rowid IN ({rows}) AND ' if rows else ''}{where}"
                parameters = [*parameters, *more]
            self._db.execute("PRAGMA temp_store = MEMORY")
            self._db.execute("CREATE TABLE IF NOT EXISTS temp.admitted (id INTEGER PRIMARY KEY)")
            self._db.execute("DELETE FROM temp.admitted")
            self._db.execute(f"INSERT INTO temp.admitted {rows}", parameters)
            self._is_gathered = True
        return f" AND {row} IN (SELECT id FROM temp.admitted)"

    def condition(self) -> Condition:
        """The condition for a row of `document`."""
        sql = " AND ".join(condition for condition, _ in self._conditions)
        return sql or "true", [value for _, values in self._conditions for value in values]


def cosines(db: apsw.Connection, rowids: Sequence[int], vector: bytes) -> dict[int, float]:
    """The cosine, -1 to 1, of the documents that have a vector; sqlite-vec must be loaded."""
    if not vector:
        return {}
    rows = db.execute(
        "SELECT document, vec_distance_cosine(vec_int8(value), vec_int8(?)) FROM vector"
        f" WHERE document IN ({marks(rowids)}) AND space = ?",
        (vector, *rowids, documents.STATIC_SPACE),
    )
    return {int(rowid): 1.0 - float(distance) for rowid, distance in rows}


def _of_projects(db: apsw.Connection, names: Sequence[str], apart: bool) -> tuple[Condition, Condition, int]:
    """A condition for the rows of these projects, a query for them, and (from the table `tally`) their number.

    With "" among the names also the rows of no project. A memory without a project belongs to its session's project;
    if that is unknown, to none; with `apart`, to none only if the session has none. The query has three parts, each
    with an index of its own: one condition for all three stops SQLite 3.54 with "internal query planner error".
    """
    named = [name for name in names if name]
    ours = f"project IN ({marks(named)})"
    rows = f"SELECT rowid FROM document WHERE project <> '' AND {ours}"
    counted = f"SELECT coalesce(sum(documents), 0) FROM tally WHERE project IN ({marks(names)})"
    count = int(db.execute(counted, names).get)
    if len(named) == len(names):
        return (f"+{ours}", named), (rows, named), count
    in_project = "" if apart else "project <> '' AND "
    of_others = f"(SELECT id FROM session WHERE {in_project}project NOT IN ({marks(named)}))"
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id = ''"
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id <> ''"
    left_out = f"SELECT count(*) FROM document WHERE project = '' AND session_id <> '' AND session_id IN {of_others}"
    count -= int(db.execute(left_out, named).get)
    twice = [*named, *named]
    # `+` keeps SQLite from walking an index of all rows
    belongs = f"(+{ours} OR +project = '' AND +session_id NOT IN {of_others})"
    return (belongs, twice), (f"{rows} AND session_id NOT IN {of_others}", twice), count


def _stage_sql() -> str:
    """SQL for `Traits.stage` of episodes; "" for other documents."""
    first, last = row_range("episodes")
    return (
        f"CASE WHEN rowid NOT BETWEEN {first} AND {last} THEN '' WHEN session_id = '' OR NOT EXISTS"
        " (SELECT 1 FROM call WHERE call.session_id = document.session_id)"
        " THEN iif(substr(rtrim(text), -1) IN ('?', '？', '؟'), 'question', '') WHEN text LIKE 'user:%' THEN 'asked'"
        " WHEN coalesce((SELECT next.text LIKE 'user:%' FROM document AS next"
        " WHERE next.session_id = document.session_id AND next.session_id <> '' AND next.rowid > document.rowid"
        f" AND next.rowid <= {last} ORDER BY next.rowid LIMIT 1), 1) THEN 'ended' ELSE 'under way' END"
    )


def _episodes(rowids: Sequence[int]) -> list[int]:
    """Those of the rows that hold episodes."""
    first, last = row_range("episodes")
    return [row for row in rowids if first < row <= last]


def _codes(filters: Filters) -> list[int]:
    return [COLLECTIONS[name].code for name in filters.get("collections") or COLLECTIONS]


def _in_collections(row: str, codes: Sequence[int]) -> str:
    return f"({row} >> {COLLECTION_SHIFT}) IN ({', '.join(map(str, codes))})"
