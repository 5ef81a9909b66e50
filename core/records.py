"""The records that go between rooms: memories, hits, events, what archived sessions did; and what a store must offer.

Types only: nothing here is imported at run time, and nothing of ours is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, Protocol, TypedDict


class Document(TypedDict):
    """One memory: an observation, an episode or a piece of knowledge. Times are ms since the epoch."""

    rowid: int
    id: str
    collection: str
    text: str
    context: str
    title: str
    path: str
    category_id: str
    category_confidence: float
    category_source: str
    taxonomy_version: str
    tags: list[str]
    source: str
    session_id: str
    project: str
    observation_type: str
    privacy: str
    created_at: int
    updated_at: int
    write_verdict: str
    write_confidence: float
    write_reason: str
    write_gate_version: str
    write_gate_fallback: bool
    merged_count: int
    recall_count: int
    retrieval_priority: float
    last_used_at: int | None
    superseded_by: str
    supersedes: str
    stale: bool
    fingerprint: str
    history: list[dict[str, Any]]
    forgotten_at: int | None


class Filters(TypedDict, total=False):
    """Which documents a search may return; what is empty or not there means any."""

    collections: Sequence[str]
    session: str
    projects: Sequence[str]
    """The names of a project, and "" for what belongs to none, nor to a session: see `core.project`."""
    others: Sequence[str]
    """The names in use that mean other projects, with "" where what is of none is left out too."""
    category: str
    tags: Sequence[str]
    """All of them."""
    between: Sequence[int]
    """The first and the last time (ms)."""
    apart: bool
    """Where "" is among the projects: what was said in a session that is known to have none is left out."""


class Candidate(TypedDict):
    """A document found by either search, with the raw scores of both."""

    rowid: int
    bm25: float
    """Okapi BM25 of the lexical index, 0 where no word matched, higher is better."""
    cosine: float | None
    """Cosine of the vectors, -1..1; None where the document or the query has no vector."""


class Traits(TypedDict):
    """What the ranking needs to know of a document beyond its raw scores."""

    rowid: int
    collection: str
    chars: int
    """Its length; a character of three bytes (Chinese, Thai …), which says more, counts as two."""
    confirmed_at: int
    """When it was written, or last written again (a near duplicate was merged into it); ms since the epoch."""
    recall_count: int
    retrieval_priority: float
    write_verdict: str
    stale: bool
    pinned: bool
    superseded_by: str
    project: str
    session: str
    stage: str
    """In a session that made calls "asked", "under way", "ended" (a turn); in a talk "question", or ""."""


class CandidateSource(Protocol):
    """The read side of a backend: raw scores out, fusion and everything after it is `recall`'s."""

    backend: str

    @property
    def semantic(self) -> bool:
        """Whether vectors can be searched here."""

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """The best `lexical` documents by BM25, the best `semantic` by cosine (b"" for no vector), with both scores."""

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """The documents themselves, in the order asked for."""

    def around(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[int, tuple[float, float]]:
        """What the segments around episodes say, if any: BM25, and how much of the query's weight they cover."""

    def weights(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[str, dict[int, float]]:
        """What each term of `candidates` adds to the BM25 of these documents: term → row → weight, over 0."""

    def absent(self, terms: Sequence[str]) -> float:
        """The share of a query's single words that stand in no document, 0 to 1; asked after `candidates`."""

    def segments(self) -> int:
        """How many segments there are, roughly."""

    def size(self) -> int:
        """How many documents there are, roughly: forgotten ones may count."""

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """What the ranking needs to know of these documents, in any order."""


class Hit(TypedDict):
    """One memory or tool call that answers a query. `score` is 0 to 1."""

    id: str
    score: float
    rawScore: float
    usageBoost: float
    observation: str
    type: str
    source: str
    collection: str
    writeVerdict: str
    categoryId: str
    categoryConfidence: float
    session: str
    timestamp: str
    recallCount: int
    retrievalPriority: float
    privacy: str
    path: str
    title: str
    tags: list[str]
    project: str
    context: str
    origin: str
    """Who said it: see `recall.hit`."""
    more: int
    """How many further ones of its session say nearly the same."""


class Budget(TypedDict):
    """How much work a recall may do. `fetchMultiplier` times the limit is what the trust pass gets to choose from."""

    requested: str
    applied: str
    reason: str
    fetchMultiplier: float
    maxInject: int
    rewriteEnabled: bool


class RecallResult(TypedDict):
    """The result of the mirrored CLI's `recall`."""

    query: str
    rewrittenQuery: str
    rewrite: dict[str, Any]
    filtersApplied: list[str]
    includeHold: bool
    includeDiscard: bool
    categoryFilter: dict[str, Any]
    budget: Budget
    semantic: str
    contextualCandidates: int
    droppedByTrustPass: int
    droppedDiagnostics: list[dict[str, Any]]
    hits: list[Hit]
    count: int
    found: int
    backend: str
    preferredProject: str | None
    """Whose hits go before near equals of other projects."""
    fallback: NotRequired[dict[str, str]]
    explanation: NotRequired[dict[str, Any]]
    """With `explain`: see `recall.score_trace`."""
    warnings: NotRequired[list[str]]
    """That the store was lost, and what brings it back."""


class Event(TypedDict):
    """One OpenTelemetry log record as `otel` keeps it."""

    id: str
    timestamp: int
    sessionId: str
    systemId: str
    level: str
    source: str
    component: str
    action: str
    success: bool
    metadata: dict[str, Any]
    duration_ms: NotRequired[float]
    error: NotRequired[str]
    injected: NotRequired[dict[str, str]]
    """Of an injection its `kind` and `text`, in a table of their own: no list of events and no collector has them."""
    hook: NotRequired[dict[str, Any]]
    """Of a hook its event's `kind`, and `percent`, `tokens` and `window` of the context; likewise."""


class EventQuery(TypedDict, total=False):
    """Which events a search returns; an empty value means any."""

    words: Sequence[str]
    levels: Sequence[str]
    sources: Sequence[str]
    components: Sequence[str]
    session: str
    system: str
    success: bool | None
    since: int
    """ms since the epoch, inclusive."""


class Session(TypedDict):
    """An archived session. `prompts` and `calls` count them; `plan` holds [id, step, status]."""

    id: str
    client: str
    project: str
    folder: str
    updated_at: int
    prompts: int
    calls: int
    plan: list[list[str]]
    plan_at: NotRequired[list[int]]
    """How many calls and prompts stood before the plan was changed or read last; not known from older versions."""
    ended_at: NotRequired[int]
    """When the agent ended its turn last (ms); 0 where the client does not note it."""


class Call(TypedDict):
    """A tool call: see the table `call` in `core.store.migrations`."""

    session: str
    number: int
    key: str
    prompt: int
    at: int | None
    tool: str
    file: str
    command: str
    outcome: str
    error: str
    """Why it failed; of one that runs in the background what its client calls the process."""
    passage: str


class Name(TypedDict):
    """A name in a session's calls: see the table `name` in `core.store.migrations`."""

    name: str
    first: int
    last: int
    calls: int
    weight: float
    place: str
    written: int


class Place(TypedDict):
    """Where a name stands in a file, as its session saw it last: see the table `place` in `core.store.migrations`."""

    file: str
    name: str
    """"" for none."""
    line: int
    number: int
    shown: int
    defines: bool


class Edit(TypedDict):
    """Lines of a file that a call changed, the `hunk`th time in that call."""

    number: int
    file: str
    first: int
    last: int
    hunk: int


class FoundCall(Call):
    """A call, and what is known of its session."""

    rowid: int
    project: str
    client: str
    folder: str
