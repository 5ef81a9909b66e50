"""The records that packages exchange: memories, hits, events, archived sessions and their calls. Types only."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict


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
    """Which documents a search may return; an empty or missing value means any."""

    collections: Sequence[str]
    session: str
    projects: Sequence[str]
    """The names of a project, and "" for documents of no project and no session: see `core.project`."""
    others: Sequence[str]
    """The names that mean other projects, with "" if documents of no project are excluded too."""
    category: str
    tags: Sequence[str]
    """All of them."""
    between: Sequence[int]
    """The first and the last time (ms)."""
    apart: bool
    """With "" among the projects: whether to exclude documents of sessions without a project."""


class Candidate(TypedDict):
    """A document found by either search, with the raw scores of both."""

    rowid: int
    bm25: float
    """BM25 of the lexical index, or what `core.store.search` has instead; 0 if the search by words did not find it."""
    cosine: float | None
    """Cosine of the vectors, -1..1; None if the document or the query has no vector."""


class Traits(TypedDict):
    """The facts about a document that the ranking needs, besides its raw scores."""

    rowid: int
    collection: str
    chars: int
    """Its length; a character of three bytes (Chinese, Thai …) counts as two."""
    confirmed_at: int
    """When it was written, or last merged with a near duplicate; ms since the epoch."""
    recall_count: int
    retrieval_priority: float
    write_verdict: str
    by_hand: bool
    """Whether the gate allowed it only because a person wrote it (`note`)."""
    stale: bool
    pinned: bool
    superseded_by: str
    project: str
    session: str
    stage: str
    """In a session with calls "asked", "under way" or "ended" (a turn); in a conversation "question" or ""."""


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
    """Its origin: see `recall.hit`."""
    more: int
    """How many more hits of its session, or of sessions that it began, say nearly the same."""
    isAbandoned: bool
    """The user went back to before it, so that it is no longer part of its conversation."""


class Event(TypedDict):
    """One OpenTelemetry log record as `otel` stores it."""

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
    """An injection's `kind` and `text`, in a table of their own: no event list and no collector gets them."""
    recalled: NotRequired[Sequence[str]]
    """The memories that an injection handed out: each is counted as recalled once the event is stored; likewise."""
    hook: NotRequired[dict[str, Any]]
    """A hook's event `kind`, and `percent`, `tokens` and `window` of the context; likewise."""


class EventQuery(TypedDict, total=False):
    """Which events a search returns; an empty value means any."""

    any_of: Sequence[Sequence[str]]
    """An event must hold all words of any of these lists."""
    inverted: bool
    """Whether the words must not be there."""
    levels: Sequence[str]
    sources: Sequence[str]
    components: Sequence[str]
    actions: Sequence[str]
    hidden: Sequence[str]
    """Actions that are left out."""
    hidden_components: Sequence[str]
    session: str
    sessions: Sequence[str] | None
    """Only these; None means any."""
    client: str
    """Only hooks of this client, and other events of `sessions`; "" for all events of `sessions`."""
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
    """How many calls and prompts came before the plan was last changed or read; unknown for older versions."""
    ended_at: NotRequired[int]
    """When the agent last ended its turn (ms); 0 if the client does not record it."""
    worktree: NotRequired[str]
    """The worktree of its project in which it edited last, if that is not its folder."""
    parent: NotRequired[str]
    """The session that began it, or that it is a fork of."""
    kind: NotRequired[str]
    """main, fork, subagent or review."""
    forked_at: NotRequired[int]
    """The time (ms) of the last entry that a fork copied from its parent; 0 if unknown."""
    folders: NotRequired[list[str]]
    """The folders of its entries."""


class Call(TypedDict):
    """A tool call: see the table `call` in `core/store/migrations`."""

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
    """Why it failed; for a background call, the client's name for the process."""
    passage: str
    project: str
    """Of the folder in which it ran; "" for that of its session."""
    abandoned: NotRequired[int]


class Name(TypedDict):
    """A name in a session's calls: see the table `name` in `core/store/migrations`."""

    name: str
    first: int
    last: int
    calls: int
    weight: float
    place: str
    written: int


class Place(TypedDict):
    """The line of a name in a file, as its session last saw it: see the table `place` in `core/store/migrations`."""

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
    """A call, with facts about its session."""

    rowid: int
    client: str
    folder: str


class Episode(TypedDict):
    """One archived message, such as a prompt or an answer. `created_at` is in ms since the epoch."""

    rowid: int
    id: str
    text: str
    project: str
    created_at: int
