"""What is asked of a recall: one record, from the command line to the searches. Hot path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Budget

_PROFILES = {"lean": (False, 1.8, 5), "balanced": (True, 3.0, 10), "deep": (True, 5.0, 10)}
_LONG_QUERY = 90


class Query:
    """A question to the memory.

    Args:
        text: what to look for.
        limit: most hits, 1 to 100; by default `recall.limit`.
        min_score: 0 to 1; lower hits are dropped.
        budget: lean, balanced, deep or auto.
        category: an alias or id, "" for any.
        collections: names of collections, empty for all; with `by_name` also `calls`.
        tags: only what has all of them.
        session: only its memories, "" for all.
        project, strictly, apart, prefer: whose memories, and whose go first: see `recall.scope`.
        include_hold, include_discard: also what the write gate held back or discarded.
        by_name: tool calls of the sessions in the local file are hits too, a query that is one name gets only what
            holds it, and texts are cut as the budget says. Not for injections: there, traces of tools are noise.
        own: with `by_name`, the session that asks: its work in a place goes before that of others; "" for none.
        raw: with `by_name`, nothing but the texts will be shown.
        explain: say in `explanation` how each score came about, and why each candidate was dropped.
    """

    __slots__ = (
        *("apart", "budget", "by_name", "category", "collections", "explain", "include_discard", "include_hold"),
        *("limit", "min_score", "own", "prefer", "project", "raw", "session", "strictly", "tags", "text"),
    )

    def __init__(
        self, text: str, *, limit: int | None = None, min_score: float = 0.0, budget: str = "auto", category: str = "",
        collections: Sequence[str] = (), tags: Sequence[str] = (), session: str = "", project: str = "",
        strictly: bool = False, apart: bool = False, prefer: str = "", include_hold: bool = False,
        include_discard: bool = False, by_name: bool = False, own: str = "", raw: bool = False, explain: bool = False,
    ) -> None:  # fmt: skip
        self.text = text
        self.limit = limit
        self.min_score = min_score
        self.budget = budget
        self.category = category
        self.collections = collections
        self.tags = tags
        self.session = session
        self.project = project
        self.strictly = strictly
        self.apart = apart
        self.prefer = prefer
        self.include_hold = include_hold
        self.include_discard = include_discard
        self.by_name = by_name
        self.own = own
        self.raw = raw
        self.explain = explain

    def profile(self) -> Budget:
        """The budget in force. auto is deep for a query of over 90 characters or one that holds " and " or "why"."""
        applied, reason = self.budget, "explicit"
        if applied == "auto":
            lowered = self.text.lower()
            applied, reason = "balanced", "auto.default"
            if len(lowered) > _LONG_QUERY:
                applied, reason = "deep", "auto.long_query"
            elif " and " in lowered or "why" in lowered:
                applied, reason = "deep", "auto.complex_query"
        rewrite, multiplier, most = _PROFILES[applied]
        return {
            "requested": self.budget, "applied": applied, "reason": reason, "fetchMultiplier": multiplier,
            "maxInject": most, "rewriteEnabled": rewrite,
        }  # fmt: skip
