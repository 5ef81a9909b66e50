"""What a recall answers. Types only: nothing here is imported at run time."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from recall.backend import Fallback
from recall.budget import Budget
from recall.rewrite import Rewrite


class Hit(TypedDict):
    """One memory or tool call that answers the query. `score` is 0 to 1."""

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
    """Who said it: see `recall.origin`."""


class RecallResult(TypedDict):
    """The result of the mirrored CLI's `recall`."""

    query: str
    rewrittenQuery: str
    rewrite: Rewrite
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
    fallback: NotRequired[Fallback]
    explanation: NotRequired[dict[str, Any]]
    """With `explain`: see `recall.explain.account`."""
