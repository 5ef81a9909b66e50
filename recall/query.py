"""What is asked of a recall, and whose memories it returns: the query, its budget, its scope. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Budget

_PROFILES = {"lean": (False, 1.8, 5), "balanced": (True, 3.0, 10), "deep": (True, 5.0, 10)}
_LONG_QUERY = 90
OTHER_PROJECT = 0.8
"""What is left of the score of another project's hit, where one project is preferred. Measured, see docs/recall.md."""
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
        limit, min_score: most hits, 1 to 100, by default `recall.limit`; and 0 to 1, lower ones are dropped.
        budget: lean, balanced, deep or auto.
        category, collections, tags, session: only these (all of the tags); with `by_name` also the collection `calls`.
        between: only what is not before the first of two times (ms), nor after the second.
        project, apart, prefer: whose memories, and whose go first: see `Scope`.
        include_hold, include_discard: include what the write gate held back or discarded.
        by_name: tool calls of the sessions in the local file are hits too, a query that is one name gets only what
            holds it, and texts are cut as the budget says. Not for injections: there, traces of tools are noise.
        own: with `by_name`, the session that asks: its work in a place goes before that of others; "" for none.
        raw: with `by_name`, nothing but the texts will be shown.
    """

    def __init__(
        self, text: str, *, limit: int | None = None, min_score: float = 0.0, budget: str = "auto", category: str = "",
        collections: Sequence[str] = (), tags: Sequence[str] = (), session: str = "", project: str = "",
        apart: bool = False, prefer: str = "", include_hold: bool = False,
        include_discard: bool = False, by_name: bool = False, own: str = "", raw: bool = False,
        between: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.text, self.limit, self.min_score, self.budget = text, limit, min_score, budget
        self.category, self.collections, self.tags, self.session = category, collections, tags, session
        self.project, self.apart, self.prefer = project, apart, prefer
        self.include_hold, self.include_discard = include_hold, include_discard
        self.by_name, self.own, self.raw = by_name, own, raw
        self.between = between

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


def expand(query: str, *, enabled: bool) -> tuple[str, dict[str, Any]]:
    """The query with abbreviations written out at its end, and what was done; skip reasons are the mirrored CLI's."""
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


class Scope:
    """Which projects a query asks for; a memory that names none belongs to that of its session, where that is known.

    Of a query it reads `project`: only its memories, and those of none, "" for all;
    `apart`: as an injection is to be, with `project` "" those of none alone, and what was said in a session that is
    known to belong to no project is nobody's; `prefer`: others' go first only where they are clearly better.
    """

    def __init__(self, db: apsw.Connection, query: Query) -> None:
        self._db = db
        self._query = query
        self._limited = bool(query.project or query.apart)
        self._factors: dict[str, float] = {"": 1.0}
        self._of_session: dict[str, str | None] = {}
        self.prefer = query.prefer
        self.names: Sequence[str] = ()
        """Those that mean the project, with "" for memories of none; empty for all."""
        self.others: Sequence[str] = ()
        """Names in use of others; with "" where something of none is left out, too."""
        if self._limited:
            from core.store import documents, sessions

            known = documents.projects(db)
            named = self._meant(known)
            others = [name for name in known if name not in named]
            none_too = query.apart and (others or sessions.has_others(db, named))
            self.names = (*named, "")
            self.others = [*others, ""] if none_too else others

    def is_foreign(self, found: str, session: str) -> bool:
        """Whether what names this project, "" for none, and is of this session is out of reach."""
        if not self._limited:
            return False
        if found:
            return found not in self._meant((found,))
        if not self._query.apart or not session:
            return False
        of_session = self._project_of(session)
        return of_session is not None and of_session not in self._meant((of_session,))

    def factor(self, project: str, session: str) -> float:
        """What a memory's project leaves of its score, by what it names and the session it is of."""
        if not self.prefer:
            return 1.0
        if not project and session:
            project = self._project_of(session) or ""
        if project not in self._factors:
            from core.project import same

            self._factors[project] = 1.0 if same(project, self.prefer) else OTHER_PROJECT
        return self._factors[project]

    def _meant(self, known: Iterable[str]) -> list[str]:
        """Those names that mean the project that is asked for."""
        from core.project import names_of, own_names

        return (own_names if self._query.apart else names_of)(self._query.project, known)

    def _project_of(self, session: str) -> str | None:
        """The project of a session, "" where it has none; None where the session is not known."""
        if session not in self._of_session:
            from core.store import sessions

            known = sessions.by_id(self._db, session)
            self._of_session[session] = known["project"] if known else None
        return self._of_session[session]
