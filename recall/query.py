"""What is asked of a recall: one record, its budget, and its words with abbreviations written out. Hot path."""

from __future__ import annotations

from core import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Budget, Rewrite

_PROFILES = {"lean": (False, 1.8, 5), "balanced": (True, 3.0, 10), "deep": (True, 5.0, 10)}
_LONG_QUERY = 90
_PAIRS = (
    "db database auth authentication authz authorization config configuration repo repository env environment"
    " deps dependencies perf performance k8s kubernetes i18n internationalization l10n localization"
    " a11y accessibility ci pipeline pr pull docs documentation dir directory param parameter async asynchronous"
    " sync synchronization ts typescript js javascript py python postgres postgresql tz timezone ui interface"
    " infra infrastructure prod production dev development impl implementation fn function msg message err error"
    " lib library pkg package cmd command ctx context creds credentials"
).split()
"""A short word and what it stands for, in turn."""
_COMMANDS = frozenset(
    "git npm npx pnpm yarn bun node deno python python3 pip uv cargo rustc go make cmake docker kubectl helm terraform"
    " curl ssh scp rsync ls cd cat grep rg sed awk find chmod chown sudo apt brew systemctl psql sqlite3 redis-cli"
    " joelclaw".split()
)


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

    def __init__(
        self, text: str, *, limit: int | None = None, min_score: float = 0.0, budget: str = "auto", category: str = "",
        collections: Sequence[str] = (), tags: Sequence[str] = (), session: str = "", project: str = "",
        strictly: bool = False, apart: bool = False, prefer: str = "", include_hold: bool = False,
        include_discard: bool = False, by_name: bool = False, own: str = "", raw: bool = False, explain: bool = False,
    ) -> None:  # fmt: skip
        self.text, self.limit, self.min_score, self.budget = text, limit, min_score, budget
        self.category, self.collections, self.tags, self.session = category, collections, tags, session
        self.project, self.strictly, self.apart, self.prefer = project, strictly, apart, prefer
        self.include_hold, self.include_discard = include_hold, include_discard
        self.by_name, self.own, self.raw, self.explain = by_name, own, raw, explain

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


def expand(query: str, *, enabled: bool) -> tuple[str, Rewrite]:
    """The query with abbreviations written out at its end (and the other way round), and what was done.

    The skip reasons are those of the mirrored CLI, which asks a model here.
    """
    if not enabled:
        return query, {"rewritten": False, "strategy": "disabled", "reason": "budget.no_rewrite"}
    reason = _skip_reason(query.strip())
    if reason:
        return query, {"rewritten": False, "strategy": "skipped", "reason": reason}
    short, long = _PAIRS[::2], _PAIRS[1::2]
    table = dict(zip(short + long, long + short, strict=True))
    present = words.split(query)
    added = [table[word] for word in dict.fromkeys(present) if word in table and table[word] not in present]
    if not added:
        return query, {"rewritten": False, "strategy": "abbreviations", "reason": "nothing_to_expand"}
    return f"{query} {' '.join(added)}", {"rewritten": True, "strategy": "abbreviations", "reason": "expanded"}


def _skip_reason(text: str) -> str:
    """Why a query is better left as it is, or "" where it may be expanded."""
    if not text:
        return "skip.empty_query"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return "skip.literal_query"
    parts = text.split()
    if len(parts) == 1 and ("/" in text or "\\" in text or "." in text.strip(".") or "::" in text or "_" in text):
        return "skip.direct_identifier"
    if parts[0] in _COMMANDS and len(parts) > 1 and parts[1].isascii() and (parts[1].islower() or parts[1][0] == "-"):
        return "skip.command_like"
    return "skip.short_query" if len(text) <= 24 and len(parts) <= 3 else ""
