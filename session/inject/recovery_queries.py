"""Before a compaction: the queries that together bring back most of what the session said and will have forgotten.

The archive holds the session's turns. Each query is run as the agent will run it, and what comes back is weighed by
sentence (`selection.weight`); the one that brings back most goes first, then the one that adds most to it.
Queries are short, so that three of them fit into the signpost.
"""

from __future__ import annotations

import time

from core import words
from session.inject import distinctive_words
from session.inject.selection import sentences, weight, weightiest
from session.state import task
from session.state.schema import CACHE_KEPT, HITS_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from core.config import Config
    from core.records import Hit
    from session.session_store import SessionStore
    from session.state.schema import Recalled, SessionState

QUERY_CHARS = 70
RECALLS = 10
CPU_SECONDS = 0.06
SECONDS = 0.25
_FIRST, _LAST = 10, 110
_TURN_CHARS = 1200
_KEY_CHARS = 48
_KNOWN_CHARS = 30
_USER = "user: "
_ASKED_FOR = 0.3  # what the user says is nowhere else
_LEAST_GAIN = 0.5
_TARGETS = 5
_WORDS = 2
_WORD_LEAST = 4
_PROMPTS = 2
_REDACTED = "redacted"
# How people and agents put what must not be lost.
_PROBE = "decision because failed blocked never prefer"


def queries(
    store: SessionStore,
    state: SessionState,
    config: Config,
    *,
    project: str = "",
    everywhere: bool = False,
    cpu_seconds: float = CPU_SECONDS,
) -> list[Recalled]:
    """Up to three recalls for the signpost, in the order in which the cache keeps them: the best one last.

    Args:
        project: whose hits go first, as they will for the agent; of its memories, the session's own and global ones
            some are cached.
        everywhere: of those of all projects instead.

    Empty where the archive holds nothing of the session, or cannot be read: then what is cached stays.
    """
    if store.faults:
        return []
    try:
        from core.store.sessions import transcripts

        db, vectors = store.reading()
        if db is None:
            return []
        turns = transcripts.turns(db, state["sessionId"], first=_FIRST, last=_LAST, characters=_TURN_CHARS)
        if not turns:
            return []
        chosen = _Search(db, vectors, turns, state, config, cpu_seconds, project).cover()
    except Exception as error:  # nothing of this may stop a flush; what was cached before is told then
        code = getattr(error, "code", type(error).__name__)
        store.faults.append({"step": "queries", "code": str(code), "message": str(error)})
        return []
    if not everywhere:
        from recall.query import Query
        from recall.scope import Scope

        scope, own = Scope(db, Query("", project=project, apart=True)), state["sessionId"]
        chosen = [
            (
                query,
                [hit for hit in hits if hit["session"] == own or not scope.is_foreign(hit["project"], hit["session"])],
            )
            for query, hits in chosen
        ]
    return _dealt(chosen, state)


class _Search:
    """The session's turns, and what each query that was tried brings back of them."""

    __slots__ = (
        *("_began", "_config", "_cpu_end", "_db", "_full", "_heavy", "_keys", "_runs", "_spread", "_state", "_tried"),
        *("_turns", "_vectors", "_project"),
    )

    def __init__(
        self,
        db: apsw.Connection,
        vectors: bool,
        turns: Sequence[tuple[str, str]],
        state: SessionState,
        config: Config,
        cpu_seconds: float,
        project: str,
    ) -> None:
        self._began, self._cpu_end = time.perf_counter(), time.process_time() + cpu_seconds
        self._db = db
        self._vectors = vectors
        self._project = project
        self._turns = [text for _, text in turns]
        self._state = state
        self._config = config
        self._runs = 0
        self._tried: dict[str, tuple[dict[str, float], list[Hit]]] = {}
        self._heavy: dict[str, float] = {}
        self._full: dict[str, int] = {}
        self._keys: list[list[str]] = []
        self._spread: dict[str, int] = {}
        shown = state["checkpoint"]["currentTask"].lower()
        for text in self._turns:
            keys: dict[str, None] = {}
            for sentence in sentences(text):
                key = _key(sentence)
                keys[key] = None
                if key not in self._heavy:
                    self._heavy[key] = 0.0 if key[:_KNOWN_CHARS] in shown else _weight(sentence, text)
                    self._full[key] = len(sentence)
            self._keys.append(list(keys))
            for word in distinctive_words.spoken(text):
                self._spread[word] = self._spread.get(word, 0) + 1

    def cover(self) -> list[tuple[str, list[Hit]]]:
        """The chosen queries with their hits, best first."""
        seen: dict[str, float] = {}
        chosen: list[tuple[str, list[Hit]]] = []
        usual = list(self._usual())
        for number in range(CACHE_KEPT):
            self._try(self._aimed(seen), needed=True)
            for query in usual[number::CACHE_KEPT]:
                self._try(query)
            gains = {query: self._gain(brought, seen) for query, (brought, _) in self._tried.items()}
            best = max(gains, key=lambda query: gains[query], default="")
            if not best or gains[best] < _LEAST_GAIN:
                break
            brought, hits = self._tried.pop(best)
            for key, share in brought.items():
                seen[key] = max(share, seen.get(key, 0.0))
            chosen.append((best, hits))
        return chosen

    def _try(self, query: str, *, needed: bool = False) -> None:
        """Run a query while there is time; one that is needed may take the longer of the two limits."""
        if len(query) < task.QUERY_LEAST or query in self._tried or self._runs >= RECALLS:
            return
        late = time.process_time() > self._cpu_end and not needed
        if self._runs and (late or time.perf_counter() - self._began > SECONDS):
            return
        from recall import engine
        from recall.query import Query

        self._runs += 1
        asked = Query(query, prefer=self._project)
        hits = engine.recall(self._db, asked, now=self._state["updatedAt"], vectors=self._vectors, config=self._config)[
            "hits"
        ]
        self._tried[query] = (self._brought(hits), hits)

    def _brought(self, hits: Sequence[Hit]) -> dict[str, float]:
        """The sentences that come back, each with the share of it that is there: neighbours may be cut."""
        brought: dict[str, float] = {}
        for hit in hits:
            if hit["session"] != self._state["sessionId"]:
                continue
            for sentence in (*sentences(hit["observation"]), *sentences(hit["context"])):
                key = _key(sentence)
                if key in self._full:
                    share = min(1.0, len(sentence) / self._full[key])
                    brought[key] = max(share, brought.get(key, 0.0))
        return brought

    def _gain(self, brought: dict[str, float], seen: dict[str, float]) -> float:
        return sum(self._heavy[key] * max(0.0, share - seen.get(key, 0.0)) for key, share in brought.items())

    def _usual(self) -> Iterator[str]:
        """What the user asked last, first, and where it was most; and how what matters is mostly put."""
        yield _short(task.query_of(self._state["messages"]))
        prompts = [at for at, text in enumerate(self._turns) if text.startswith(_USER)]
        heavy = sorted(prompts[1:], key=lambda at: -sum(self._heavy[key] for key in self._keys[at]))
        for at in (*prompts[:1], *heavy[:_PROMPTS]):
            yield _short(_asked(self._turns[at].removeprefix(_USER)))
        yield _PROBE

    def _aimed(self, seen: dict[str, float]) -> str:
        """A query of words that hardly any turns hold but the weightiest of those that have not come back yet."""
        missing = [
            (sum(self._heavy[key] * (1 - seen.get(key, 0.0)) for key in keys), at) for at, keys in enumerate(self._keys)
        ]
        missing.sort(key=lambda entry: (-entry[0], entry[1]))
        picked: dict[str, None] = {}
        for total, at in missing[:_TARGETS]:
            if total < _LEAST_GAIN:
                break
            lines = sorted(
                sentences(self._turns[at]),
                key=lambda one: -self._heavy[_key(one)] * (1 - seen.get(_key(one), 0.0)),
            )
            for word in self._telling(" ".join(lines[:2]), picked):
                picked[word] = None
        return _short(" ".join(picked))

    def _telling(self, text: str, picked: dict[str, None]) -> list[str]:
        """The words of a text that fewest turns hold; plain words before those with digits, since they read better."""
        found = [
            word
            for word in distinctive_words.distinctive(text, picked)
            if len(word) >= _WORD_LEAST or not word.isascii()
        ]
        found = [word for word in found if word != _REDACTED]
        found.sort(key=lambda word: (min(self._spread.get(word, 1), 3), not word.isalpha()))
        return found[:_WORDS]


def _dealt(chosen: Sequence[tuple[str, list[Hit]]], state: SessionState) -> list[Recalled]:
    """The queries as the cache holds them, the best one last; memories are dealt out, so that the weightiest lead."""
    memories = weightiest([hit for _, hits in chosen for hit in hits], state)
    recalled: list[Recalled] = [
        {
            "query": query,
            "hash": state["taskHash"],
            "hits": memories[at :: len(chosen)][:HITS_KEPT],
            "at": state["updatedAt"],
        }
        for at, (query, _) in enumerate(chosen)
    ]
    return recalled[::-1]


def _asked(text: str) -> str:
    entry = task.message(text)
    return task.query_of([entry]) if entry else ""


def _short(query: str) -> str:
    """The query without its stop words, as much of it as fits."""
    if len(query) > QUERY_CHARS:
        query = " ".join(word for word in query.split() if word.strip(".,;:!?()").lower() not in words.STOP_WORDS)
    if len(query) > QUERY_CHARS:
        query = query[: QUERY_CHARS + 1].rpartition(" ")[0] or query[:QUERY_CHARS]
    return query.strip(" .,;:-")  # in front a dash would make an option of it


def _weight(sentence: str, turn: str) -> float:
    return weight(sentence) + _ASKED_FOR * turn.startswith(_USER)


def _key(sentence: str) -> str:
    return sentence[:_KEY_CHARS].lower()
