"""Recall: from a query to hits. Hot path.

1. names: places in files and tool calls that contain the names in the query (only with `query.by_name`)
2. documents: candidates by words and meaning, ranked (`recall.ranking`), without those that the trust pass drops
3. document hits: texts that only restate the question are halved, repetitions within a session counted as `more`
4. merge: places first, then calls and documents by score; those of an exchange (a prompt and everything up to the
   next) become one hit, cut to a common length if only the texts will be printed
"""

from __future__ import annotations

from core import TYPE_CHECKING, clock, words
from core.errors import Failure
from core.store import sessions, sqlite
from core.store.documents import ABANDONED
from core.store.search import LocalCandidates
from core.store.sqlite import COLLECTIONS
from recall.hit import EXTERNAL, document_hit, snippet
from recall.query import Scope, expand, resolve_category
from recall.ranking import Ranking, is_work, reasons_to_drop, restates_question
from recall.times import asks_only_for_a_time, period_named, words_of_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.records import Document, Filters, Hit
    from recall.call_hits import CallMatch, QueryNames
    from recall.query import Query
    from recall.ranking import Ranked

PASSAGES = 3  # of an exchange in a hit, such as the prompt, a step and the result
CANDIDATES = 50  # that are searched by words and checked for a name, at least; 100 find no more among ten hits


def recall(
    db: apsw.Connection | None, query: Query, *, now: int, vectors: bool, config: Config,
    patience_ms: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The memories that answer a query, best first.

    Asks the cluster if `store.backend` says so, for `patience_ms` at most, and falls back to the local file if that
    fails (`fallback` says why). `db` is None if there is no store yet; `vectors`: whether sqlite-vec is loaded.
    Raises apsw.Error if the store cannot be read (see `core.store.sqlite.as_failure`).
    """
    if db is None:
        db, vectors = sqlite.open_in_memory(), False
    # a hook has no time to read texts
    local = LocalCandidates(db, vectors=vectors, compounds=patience_ms is None)
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

    def __init__(self, source: LocalCandidates, db: apsw.Connection, query: Query, now: int, config: Config) -> None:
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
            self.source = LocalCandidates(db, vectors=False)
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
        self.names: QueryNames | None = None
        self.places: Hit | None = None
        self.calls: list[CallMatch] = []
        self.ranked: list[Ranked] = []
        self.dropped: list[tuple[Ranked, list[str]]] = []
        self.most = self.limit  # documents and calls to fetch, each
        self.rows: dict[str, int] = {}  # of the messages of work among the hits, by id
        self.prompts: dict[str, list[tuple[int, int]]] = {}  # of the sessions in the hits

    def result(self) -> dict[str, Any]:
        """The result of the contract, with the keys `semantic`, `preferredProject` and `fallback` added."""
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
            "found": len(self.ranked) + len(self.calls) + (self.places is not None),
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
            self.most *= PASSAGES
        has_tags = bool(query.category or query.tags)  # which calls and places do not have
        asked = None if has_tags or query.collections or query.between else call_hits.places_query(self.text)
        if asked is not None:
            from recall.place_hits import place_hit

            self.places = place_hit(self.db, self.text, asked, query, self.filters["projects"], lean=self.is_lean)
        if not has_tags and (not query.collections or "calls" in query.collections):
            matches = call_hits.matching_calls(self.db, self.text, self.names, self.filters, self.scope, self.most)
            self.calls = [match for match in matches if match.score >= query.min_score]

    # 2. Documents

    def _find_documents(self) -> list[Hit]:
        """The hits among the documents; for a single name only those that contain it, or all of its parts."""
        names = self.names
        terms = words.query_terms(self.expanded)
        if names is None:
            return self._search(terms, by_meaning=True)
        if self.places is not None and not self.places["path"]:
            return []  # the places of several names: there is no room for more
        if self.query.collections and not self.filters["collections"]:
            return []  # only calls are asked for
        if self.period:
            self.ranked = self.ranking.newest(self.source, self.filters)
            return self._trusted_hits()
        if not names.is_single:
            return self._search(terms, by_meaning=True) or self._said_then()
        hits = self._search(names.phrases, condition=names.in_text)
        if not self.ranked and not self.calls:
            hits = self._search(terms, condition=names.in_text)
        return hits

    def _said_then(self) -> list[Hit]:
        """The episodes of the time that the query names, since its other words may be in another language."""
        period = period_named(words_of_time(self.text), self.now, exactly=True)
        if period is None or self.calls or self.query.between:
            return []
        self.source, self.most = LocalCandidates(self.db, vectors=False), self.limit
        self.ranked = self.ranking.newest(self.source, {**self.filters, "between": (period[0], period[1] - 1)})
        return self._trusted_hits()

    def _search(
        self, terms: list[str], *, by_meaning: bool = False, condition: Callable[[str], bool] | None = None
    ) -> list[Hit]:
        """The hits for these terms, only those whose text meets the condition, if given."""
        lexical = max(int(self.limit * self.budget["fetchMultiplier"]) + 1, CANDIDATES)
        semantic = max(int(lexical * 0.4), self.limit)  # sqlite-vec takes longer the more it returns
        vector = b""
        if by_meaning and self.query.by_meaning and self.source.semantic:
            from recall.vectors import condition_of_unknown_words, document_vector

            vector = document_vector(self.expanded)
        self.ranked = self.ranking.rank(self.source, terms, vector, self.filters, lexical, semantic)
        if vector and self.ranked and self.source.absent(terms) == 1:
            condition = condition_of_unknown_words(terms)
        if condition is not None:
            first = {ranked.traits["rowid"]: ranked for ranked in self.ranked[:CANDIDATES]}
            self.ranked = [
                first[document["rowid"]]
                for document in (self.source.documents(list(first)) if first else ())
                if condition(f"{document['title']}\n{document['path']}\n{document['text']}")
            ]
        return self._trusted_hits()

    # 3. Document hits

    def _trusted_hits(self) -> list[Hit]:
        """The hits for the ranked documents, without those that the trust pass drops."""
        trusted = []
        for ranked in self.ranked:
            reasons = reasons_to_drop(ranked.traits, ranked.score, self.now, self.query)
            if reasons:
                self.dropped.append((ranked, reasons))
            else:
                trusted.append(ranked)
        return self._document_hits(trusted)

    def _document_hits(self, trusted: Sequence[Ranked]) -> list[Hit]:
        """The best hits. A text that repeats a better hit of its session is counted in that hit's `more`."""
        asked = frozenset(words.split(self.query.text))
        most = self.most if any(is_work(ranked.traits) for ranked in trusted[: self.most]) else self.limit
        # Some more, since those that restate the question lose half of their score.
        considered = {ranked.traits["rowid"]: ranked for ranked in trusted[: most + self.limit + 5]}
        speaking = {r.traits["session"] for r in considered.values() if r.traits["collection"] == "episodes"}
        scored: list[tuple[float, Document, Ranked]] = []
        for document in self.source.documents(list(considered)) if considered else ():
            if document["session_id"] in speaking and "session-task" in document["tags"]:
                continue  # its prompts are among the hits as episodes
            ranked = considered[document["rowid"]]
            score = ranked.score * (0.5 if restates_question(document["text"], asked) else 1.0)
            if score >= self.query.min_score and not self.scope.excludes(document["project"], document["session_id"]):
                scored.append((score, document, ranked))
        # stable: equal scores stay in the order of the ranking
        scored.sort(key=lambda entry: (-entry[0], ABANDONED in entry[1]["tags"]))
        main = {name: sessions.ancestors(self.db, name)[-1] for name in {entry[1]["session_id"] for entry in scored}}
        chosen: list[tuple[set[str], Hit]] = []
        for score, document, ranked in scored:
            if score < 0.25 * scored[0][0]:
                break  # it shares just a common word with the query
            session, own = main[document["session_id"]], set(words.split(document["text"]))
            alike = (
                hit for others, hit in chosen
                if main[hit["session"]] == session
                # two short answers are not a repetition
                and len(own & others) >= 0.75 * max(len(own), len(others), 8)
            )  # fmt: skip
            repeated = next((hit for hit in alike if session and hit["project"] == document["project"]), None)
            if repeated is not None:
                repeated["more"] += 1
            elif len(chosen) < most:
                if is_work(ranked.traits):
                    self.rows[document["id"]] = document["rowid"]
                chosen.append((own, document_hit(document, score, ranked.raw, ranked.boost)))
        return [hit for _, hit in chosen]

    # 4. Merge

    def _merged(self, documents: list[Hit]) -> list[Hit]:
        """Places, then exchanges with their calls and documents, by score; up to the limit."""
        names = self.names
        if names is None:
            return documents
        places = [] if self.places is None else [self.places]
        limit = max(self.limit - len(places), 0)
        passages: list[CallMatch | Hit] = [*self.calls, *documents]
        if names.is_single:  # calls score higher than documents; two hits of five are left to documents
            reserved = min(len(documents), limit * 2 // 5)
            calls = self.calls[: limit - reserved]
            passages = [*calls, *documents[: limit - len(calls)]]
        # among equal scores, abandoned entries come last
        passages.sort(
            key=lambda item: (
                (-item["score"], item["isAbandoned"]) if isinstance(item, dict) else (-item.score, item.is_abandoned)
            )
        )
        used = sum(len(hit["observation"]) + 1 for hit in places)
        return places + self._fitted(self._by_exchange(passages)[:limit], names, used)

    def _by_exchange(self, passages: Sequence[CallMatch | Hit]) -> list[list[CallMatch | Hit]]:
        """The passages of each hit: up to PASSAGES of the same exchange, the best first."""
        groups: list[list[CallMatch | Hit]] = []
        last: dict[object, list[CallMatch | Hit]] = {}
        for passage in passages:
            exchange = self._exchange(passage)
            group = last.get(exchange, []) if exchange else []
            if len(group) in (0, PASSAGES):
                group = last[exchange] = []
                groups.append(group)
            group.append(passage)
        return groups

    def _exchange(self, passage: CallMatch | Hit) -> object:
        """What identifies the exchange that a call or a message of work belongs to; None if that is unknown."""
        if isinstance(passage, dict):
            end = self.rows.get(passage["id"], 0)
            session, part, is_abandoned = passage["session"], 1, passage["isAbandoned"]
        else:
            end = passage.call["number"] - 1
            session, part, is_abandoned = passage.call["session"], 0, passage.is_abandoned
        if self.most == self.limit or (part and not end):
            return None
        if session not in self.prompts:
            self.prompts[session] = sessions.prompts(self.db, session)
        prompt = max((mark for mark in self.prompts[session] if mark[part] <= end), default=None)
        return (session, prompt, is_abandoned) if prompt else None

    def _fitted(self, groups: Sequence[list[CallMatch | Hit]], names: QueryNames, used: int) -> list[Hit]:
        """The hits, with texts cut around the match if the answer is to be short; `used` characters are taken."""
        call_chars = 320  # of a call or of a further passage, if nothing limits the answer
        min_chars = 160  # a shorter extract cannot be understood
        is_short = self.is_lean or (self.query.raw and self.budget["requested"] != "deep")
        if not is_short:
            return [_joined(group, names.wanted, 0, call_chars) for group in groups]
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
            share = max(min_chars, share)
            shown = group[: share // min_chars]
            hits.append(_joined(shown, names.wanted, share - (len(shown) - 1) * (min_chars + 1), min_chars))
            left -= len(hits[-1]["observation"]) + 1
        return hits


def _joined(group: Sequence[CallMatch | Hit], wanted: Sequence[str], room: int, further_room: int) -> Hit:
    """The hit of an exchange: its best passage, in `room` characters (0: whole), and extracts of the others."""
    texts: list[str] = []
    hits: list[Hit] = []
    for passage in group:
        chars = further_room if hits else room
        hit = passage if isinstance(passage, dict) else passage.hit(chars or further_room)
        text = hit["observation"]
        if isinstance(passage, dict) and 0 < chars < len(text):
            speaker = f"{hit['origin']}: " if text.startswith(f"{hit['origin']}: ") else ""
            text = speaker + snippet(text[len(speaker) :], wanted, chars - len(speaker))
        origin = hit["origin"].partition(" ")[0]
        texts.append(f"[{origin}] {text}" if hits and origin in EXTERNAL else text)
        hits.append(hit)
    return {**hits[0], "observation": "\n".join(texts)}
