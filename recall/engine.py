"""Recall: from a query to hits. Hot path.

1. names: places in files and tool calls that contain the names in the query (only with `query.by_name`)
2. documents: candidates by words and meaning, ranked (`recall.ranking`)
3. matches: what the trust pass lets through; what only restates the question keeps half of its score, and repetitions
   within a session are counted as `more`
4. merge: places first, then calls and documents by score; those of an exchange (a prompt and everything up to the
   next) become one hit, cut to a common length if only the texts will be printed
"""

from __future__ import annotations

from core import TYPE_CHECKING, clock, words
from core.errors import Failure
from core.store import sessions
from core.store.search import Candidates
from core.store.sqlite import COLLECTIONS
from recall.hit import CALL_CHARS, EXTERNAL, SPEAKERS, DocumentMatch
from recall.query import Scope, expand, resolve_category
from recall.ranking import Ranking, reasons_to_drop, restates_question
from recall.times import asks_only_for_a_time, period_named, words_of_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.records import Filters, Hit
    from recall.call_hits import CallMatch, QueryNames
    from recall.query import Query
    from recall.ranking import Ranked

    Match = CallMatch | DocumentMatch

PASSAGES = 3  # of an exchange in a hit, such as the prompt, a step and the result
CANDIDATES = 50  # that are searched by words and checked for a name, at least; 100 find no more among ten hits


def recall(
    db: apsw.Connection, query: Query, *, now: int, config: Config, patience_ms: float | None = None
) -> dict[str, Any]:
    """The memories that answer a query, best first.

    Asks the cluster if `store.backend` says so, for `patience_ms` at most, and falls back to the local file if that
    fails (`fallback` says why).
    Raises apsw.Error if the store cannot be read (see `core.store.sqlite.as_failure`).
    """
    # a hook has no time to read texts
    local = Candidates(db, by_meaning=query.by_meaning, compounds=patience_ms is None)
    if config.get_str("store.backend") == "sqlite":
        return _Recall(local, db, query, now, config).result()
    from core.store.cluster import ClusterSource

    try:
        limit_ms = config.get_float("store.timeout_ms")
        limit_s = (limit_ms if patience_ms is None else min(limit_ms, patience_ms)) / 1000
        return _Recall(ClusterSource(config, db, limit_s=limit_s), db, query, now, config).result()
    except Exception as error:  # a server may answer anything
        code = error.code if isinstance(error, Failure) else type(error).__name__
        reason = error.message if isinstance(error, Failure) else f"{code}: {error}"
    fallback = {"from": "typesense", "to": "sqlite", "reason": reason, "code": code}
    return {**_Recall(local, db, query, now, config).result(), "fallback": fallback}


class _Recall:
    """One recall and what its stages found."""

    def __init__(self, source: Candidates, db: apsw.Connection, query: Query, now: int, config: Config) -> None:
        self.source = source
        self.db = db
        self.query = query
        self.now = now
        self.text = query.text
        if len(self.text) > 4_000:  # a pasted text: its beginning and its end are searched
            self.text = f"{self.text[:2_000]} {self.text[-2_000:]}"
        self.period = self._period_asked_for()
        if self.period:
            self.text = ""
            self.source = Candidates(db, by_meaning=False)
        self.budget = query.profile()
        self.is_lean = self.budget["applied"] == "lean"
        self.expanded, self.rewrite = expand(self.text, enabled=self.budget["rewriteEnabled"])
        self.limit = query.limit if query.limit is not None else config.get_int("recall.limit")
        self.scope = Scope(db, query)
        self.category = resolve_category(query.category)
        self.filters: Filters = {
            "collections": [name for name in query.collections if name in COLLECTIONS], "session": query.session,
            "projects": self.scope.names, "others": self.scope.others, "category": self.category,
            "apart": query.isolated, "tags": query.tags, "between": self.period or query.between,
        }  # fmt: skip
        self.ranking = Ranking(self.text, self.scope, now, config.get_float("recall.episode_decay"))
        self.names: QueryNames | None = None  # unless the query is `by_name`
        self.places: Hit | None = None
        self.calls: list[CallMatch] = []
        self.ranked_count = 0
        self.dropped: list[tuple[Ranked, list[str]]] = []
        self.passages_per_hit = 1
        self.prompts: dict[str, list[tuple[int, int]]] = {}  # of the sessions in the hits

    def result(self) -> dict[str, Any]:
        """The result of the contract, with the keys `semantic` and `preferredProject` added."""
        query, source = self.query, self.source
        if query.by_name:
            self._find_names()
        hits = self._merged(self._find_documents())
        shown = {ranked.traits["rowid"]: reasons for ranked, reasons in self.dropped[:10]}
        return {
            "query": query.text, "rewrittenQuery": self.expanded, "rewrite": self.rewrite,
            "filtersApplied": self._filters_applied(),
            "includeHold": query.include_hold, "includeDiscard": query.include_discard,
            "categoryFilter": {
                "input": query.category or None, "resolved": self.category or None, "applied": bool(self.category),
                "reason": "category.resolved" if self.category else "category.none",
            },
            "budget": self.budget, "semantic": "static" if source.semantic else "none",
            "droppedByTrustPass": len(self.dropped),
            "droppedDiagnostics": [
                {"id": document["id"], "observation": document["text"][:220], "reasons": shown[document["rowid"]]}
                for document in (source.documents(list(shown)) if shown else ())
            ],
            "hits": hits, "count": len(hits),
            "found": self.ranked_count + len(self.calls) + (self.places is not None),
            "backend": source.backend, "preferredProject": query.prefer or None,
        }  # fmt: skip

    def _period_asked_for(self) -> Sequence[int]:
        """The first and last time (ms) of a query that asks only for a time: by its words, or without words."""
        text, between = self.text, self.query.between
        if not (self.query.by_name and asks_only_for_a_time(text)):
            return ()
        named = period_named(words.split(text), self.now, exactly=True)
        if named is None:
            has_number = any(character.isdigit() for character in text)
            return () if has_number else between
        first, last = between or (0, named[1])
        return max(first, named[0]), min(last, named[1] - 1)

    def _filters_applied(self) -> list[str]:
        query = self.query
        named = {
            "collection": ",".join(query.collections), "session": query.session, "project": query.project,
            "category": self.category, "tag": ",".join(query.tags),
            "min_score": f"{query.min_score:g}" if query.min_score > 0 else "",
            "between": "..".join(map(clock.iso, self.filters["between"])),
        }  # fmt: skip
        return [
            *(f"{name}:{value}" for name, value in named.items() if value),
            *(() if query.include_hold else ["write_verdict:!=hold"]),
            *(() if query.include_discard else ["write_verdict:!=discard"]),
        ]

    # 1. Names

    def _find_names(self) -> None:
        """Find the places of a query that consists of names and files, and the tool calls that answer it."""
        from recall import call_hits

        query = self.query
        self.names = call_hits.QueryNames(self.text)
        if self.names.wanted and not (self.names.is_single or query.whole):
            self.passages_per_hit = PASSAGES
        has_tags = bool(query.category or query.tags)  # which calls and places do not have
        asked = None if has_tags or query.collections or query.between else call_hits.places_query(self.text)
        if asked is not None:
            from recall.place_hits import place_hit

            self.places = place_hit(self.db, self.text, asked, query, self.filters["projects"], lean=self.is_lean)
        if not has_tags and (not query.collections or "calls" in query.collections):
            most = self.limit * self.passages_per_hit
            matches = call_hits.matching_calls(self.db, self.text, self.names, self.filters, self.scope, most)
            self.calls = [match for match in matches if match.score >= query.min_score]

    # 2. Documents

    def _find_documents(self) -> list[DocumentMatch]:
        """The matches among the documents; for a single name only those that contain it, or all of its parts."""
        names = self.names
        terms = words.query_terms(self.expanded)
        if names is None:
            return self._matches(self._search(terms, by_meaning=True))
        if self.places is not None and not self.places["path"]:
            return []  # the places of several names: there is no room for more
        if self.query.collections and not self.filters["collections"]:
            return []  # only calls are asked for
        if self.period:
            return self._matches(self.ranking.newest(self.source, self.filters))
        if not names.is_single:
            return self._matches(self._search(terms, by_meaning=True)) or self._said_then()
        ranked = self._search(names.phrases, condition=names.in_text)
        if not ranked and not self.calls:
            ranked = self._search(terms, condition=names.in_text)
        return self._matches(ranked)

    def _said_then(self) -> list[DocumentMatch]:
        """The episodes of the time that the query names, since its other words may be in another language."""
        period = period_named(words_of_time(self.text), self.now, exactly=True)
        if period is None or self.calls or self.query.between:
            return []
        self.source, self.passages_per_hit = Candidates(self.db, by_meaning=False), 1
        return self._matches(self.ranking.newest(self.source, {**self.filters, "between": (period[0], period[1] - 1)}))

    def _search(
        self, terms: list[str], *, by_meaning: bool = False, condition: Callable[[str], bool] | None = None
    ) -> list[Ranked]:
        """The ranked documents for these terms, only those whose text meets the condition, if given."""
        lexical = max(int(self.limit * self.budget["fetchMultiplier"]) + 1, CANDIDATES)
        semantic = max(int(lexical * 0.4), self.limit)  # sqlite-vec takes longer the more it returns
        vector = b""
        if by_meaning and self.query.by_meaning and self.source.semantic:
            from recall.vectors import condition_of_unknown_words, document_vector

            vector = document_vector(self.expanded)
        ranked = self.ranking.rank(self.source, terms, vector, self.filters, lexical, semantic)
        if vector and ranked and self.source.absent(terms) == 1:
            condition = condition_of_unknown_words(terms)
        if condition is None:
            return ranked
        first = {entry.traits["rowid"]: entry for entry in ranked[:CANDIDATES]}
        return [
            first[document["rowid"]]
            for document in (self.source.documents(list(first)) if first else ())
            if condition(f"{document['title']}\n{document['path']}\n{document['text']}")
        ]

    # 3. Document matches

    def _matches(self, ranked: list[Ranked]) -> list[DocumentMatch]:
        """The best of the ranked documents that the trust pass lets through."""
        self.ranked_count = len(ranked)
        trusted = []
        for entry in ranked:
            reasons = reasons_to_drop(entry.traits, entry.score, self.now, self.query)
            if reasons:
                self.dropped.append((entry, reasons))
            else:
                trusted.append(entry)
        most = self.limit * self.passages_per_hit
        if not any(entry.is_work for entry in trusted[:most]):
            most = self.limit  # other messages are hits of their own
        # Some more, since those that restate the question lose half of their score.
        return self._without_repetitions(self._scored(trusted[: most + self.limit + 5]), most)

    def _scored(self, trusted: Sequence[Ranked]) -> list[DocumentMatch]:
        """The matches within the scope, with their final scores, best first."""
        asked = frozenset(words.split(self.query.text))
        entries = {entry.traits["rowid"]: entry for entry in trusted}
        speaking = {entry.traits["session"] for entry in trusted if entry.traits["collection"] == "episodes"}
        matches = []
        for document in self.source.documents(list(entries)) if entries else ():
            session, entry, text = document["session_id"], entries[document["rowid"]], document["text"]
            if session in speaking and "session-task" in document["tags"]:
                continue  # its prompts are among the matches as episodes
            speaker, _, said = text.partition(": ")
            if words.is_only_redacted(said if speaker in SPEAKERS else text) and not self.query.include_discard:
                continue
            score = entry.score * (0.5 if restates_question(text, asked) else 1.0)
            if score >= self.query.min_score and not self.scope.excludes(document["project"], session):
                matches.append(DocumentMatch(document, score, entry, self.names.wanted if self.names else ()))
        # stable: equal scores stay in the order of the ranking
        matches.sort(key=lambda match: (-match.score, match.is_abandoned))
        return matches

    def _without_repetitions(self, matches: Sequence[DocumentMatch], most: int) -> list[DocumentMatch]:
        """The first `most`. One that repeats a better match of its session and project is counted in its `more`."""
        begun = {session: sessions.ancestors(self.db, session)[-1] for session in {match.session for match in matches}}

        def repeats(match: DocumentMatch, other: DocumentMatch) -> bool:
            session, project = begun[match.session], match.document["project"]
            if not session or (session, project) != (begun[other.session], other.document["project"]):
                return False
            # two short answers are not a repetition
            return len(match.words & other.words) >= 0.75 * max(len(match.words), len(other.words), 8)

        chosen: list[DocumentMatch] = []
        for match in matches:
            if match.score < 0.25 * matches[0].score:
                break  # it shares just a common word with the query
            repeated = next((other for other in chosen if repeats(match, other)), None)
            if repeated is not None:
                repeated.more += 1
            elif len(chosen) < most:
                chosen.append(match)
        return chosen

    # 4. Merge

    def _merged(self, documents: list[DocumentMatch]) -> list[Hit]:
        """Places, then exchanges with their calls and documents, by score; up to the limit."""
        names = self.names
        if names is None:
            return [match.hit(0) for match in documents]
        places = [] if self.places is None else [self.places]
        limit = max(self.limit - len(places), 0)
        passages: list[Match] = [*self.calls, *documents]
        if names.is_single:  # calls score higher than documents; two hits of five are left to documents
            reserved = min(len(documents), limit * 2 // 5)
            calls = self.calls[: limit - reserved]
            passages = [*calls, *documents[: limit - len(calls)]]
        for match in documents:
            match.score = round(match.score, 4)  # as it is printed
        # among equal scores, abandoned entries come last
        passages.sort(key=lambda match: (-match.score, match.is_abandoned))
        used = sum(len(hit["observation"]) + 1 for hit in places)
        return places + self._fitted(self._by_exchange(passages)[:limit], names, used)

    def _by_exchange(self, passages: Sequence[Match]) -> list[list[Match]]:
        """The passages of each hit: some of the same exchange, the best first."""
        groups: list[list[Match]] = []
        last: dict[object, list[Match]] = {}
        for passage in passages:
            exchange = self._exchange(passage) if self.passages_per_hit > 1 and passage.is_work else None
            group = last.get(exchange, []) if exchange else []
            if len(group) in (0, self.passages_per_hit):
                group = last[exchange] = []
                groups.append(group)
            group.append(passage)
        return groups

    def _exchange(self, passage: Match) -> object:
        """What identifies the exchange that a call or a message of work belongs to; None if that is unknown."""
        session = passage.session
        if session not in self.prompts:
            self.prompts[session] = sessions.prompts(self.db, session)
        prompt = max((mark for mark in self.prompts[session] if passage.follows(*mark)), default=None)
        return (session, prompt, passage.is_abandoned) if prompt else None

    def _fitted(self, groups: Sequence[list[Match]], names: QueryNames, used: int) -> list[Hit]:
        """The hits, with texts cut around the match if the answer is to be short; `used` characters are taken."""
        min_chars = 160  # a shorter extract cannot be understood
        is_short = self.is_lean or (self.query.raw and self.budget["requested"] != "deep")
        if not is_short:
            return [_joined(group, 0, CALL_CHARS) for group in groups]
        # Characters of five hits; more hits get more. Longer answers use up the context that recall is to save.
        room = 820 if names.is_single else 1_000 if self.is_lean else 1_800
        left = max(room, used) * max(self.limit, 5) // 5 - used
        hits: list[Hit] = []
        for at, group in enumerate(groups):
            if used and left < min_chars:
                break
            others = len(groups) - at - 1
            share = left // (others + 1) - 1
            if at == 0:  # the first hit holds the answer as often as the next four
                share = min(int(2.5 * share), left - (min_chars + 1) * others)
            hits.append(_joined(group, max(min_chars, share), min_chars))
            left -= len(hits[-1]["observation"]) + 1
        return hits


def _joined(group: Sequence[Match], room: int, further_chars: int) -> Hit:
    """The hit of an exchange, in `room` characters (0: any number): its best passage, and extracts of the others."""
    first_chars = 0
    if room:
        group = group[: room // further_chars]
        first_chars = room - (len(group) - 1) * (further_chars + 1)
    best, *others = [passage.hit(further_chars if number else first_chars) for number, passage in enumerate(group)]
    texts = [best["observation"]]
    for hit in others:
        origin = hit["origin"].partition(" ")[0]
        texts.append(f"[{origin}] {hit['observation']}" if origin in EXTERNAL else hit["observation"])
    return {**best, "observation": "\n".join(texts)}
