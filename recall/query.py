"""What a recall is asked for: the query with its budget and filters, its expansion, its projects and its category.

Hot path. The time that a query names is read in `recall.times`.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.project import names_of, own_names, same
from core.store import documents, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

OTHER_PROJECT = 0.8  # of the score of another project's hit, if a project is preferred: near equals come second


class Query:
    """A question to the memory: `Query("why the lease is 30 s", limit=3, project="acme/gateway")`."""

    limit: int | None = None  # most hits, 1 to 100; None: the setting recall.limit
    min_score = 0.0  # 0 to 1
    budget = "auto"  # lean, balanced, deep or auto
    category = ""  # an id or alias
    collections: Sequence[str] = ()  # all, if empty; with `by_name` also "calls"
    tags: Sequence[str] = ()  # a memory must have all of them
    session = ""
    between: Sequence[int] = ()  # the first and the last time, in ms
    project = ""  # only its memories and global ones; "" for all projects
    isolated = False  # for text that an agent gets unasked: see `Scope`
    prefer = ""  # the project whose hits come before near equals of others
    include_hold = False  # also what the write gate held back
    include_discard = False  # also what the write gate discarded
    include_superseded = False  # also what another memory replaced
    by_meaning = True  # also memories without a word of the query
    by_name = False  # also tool calls and places in files; a query that is a single name gets only what contains it
    asking_session = ""  # with `by_name`: its work in a place comes before that of other sessions
    whole = False  # with `by_name`: each message and call is a hit of its own
    raw = False  # with `by_name`: the texts are all that will be printed, so they are cut to a common length

    def __init__(self, text: str, **fields: Any) -> None:
        self.text = text
        self.__dict__.update(fields)

    def profile(self) -> dict[str, Any]:
        """The budget in force; auto is deep for a query of over 90 characters, or with " and " or "why" (contract)."""
        applied, reason = self.budget, "explicit"
        if applied == "auto":
            lowered = self.text.lower()
            applied, reason = "balanced", "auto.default"
            if len(lowered) > 90:
                applied, reason = "deep", "auto.long_query"
            elif " and " in lowered or "why" in lowered:
                applied, reason = "deep", "auto.complex_query"
        return {
            "requested": self.budget, "applied": applied, "reason": reason,
            "fetchMultiplier": {"lean": 1.8, "balanced": 3.0, "deep": 5.0}[applied],
            "maxInject": 5 if applied == "lean" else 10, "rewriteEnabled": applied != "lean",
        }  # fmt: skip


def expand(query: str, *, enabled: bool) -> tuple[str, dict[str, Any]]:
    """The query with the other forms of its abbreviations appended, and the `rewrite` part of the result."""
    if not enabled:
        return query, {"rewritten": False, "strategy": "disabled", "reason": "budget.no_rewrite"}
    reason = _reason_to_skip(query.strip())
    if reason:
        return query, {"rewritten": False, "strategy": "skipped", "reason": reason}
    forms = (  # a short word and its long form, in turn
        "db database auth authentication authz authorization config configuration repo repository env environment"
        " deps dependencies perf performance k8s kubernetes i18n internationalization a11y accessibility ci pipeline"
        " pr pull docs documentation dir directory param parameter async asynchronous sync synchronization"
        " ts typescript js javascript py python postgres postgresql infra infrastructure prod production"
        " impl implementation fn function msg message err error lib library pkg package cmd command ctx context"
    ).split()
    short, long = forms[::2], forms[1::2]
    other_forms = dict(zip(short + long, long + short, strict=True))
    present = words.split(query)
    added = [other for word in dict.fromkeys(present) if (other := other_forms.get(word)) and other not in present]
    if not added:
        return query, {"rewritten": False, "strategy": "abbreviations", "reason": "nothing_to_expand"}
    return f"{query} {' '.join(added)}", {"rewritten": True, "strategy": "abbreviations", "reason": "expanded"}


def _reason_to_skip(text: str) -> str:
    """Why a query is not expanded (the mirrored CLI's reasons), or ""."""
    if not text:
        return "skip.empty_query"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return "skip.literal_query"
    parts = text.split()
    if len(parts) == 1 and ("/" in text or "\\" in text or "." in text.strip(".") or "::" in text or "_" in text):
        return "skip.direct_identifier"
    programs = (
        "git npm npx pnpm yarn bun node deno python python3 pip uv cargo rustc go make cmake docker kubectl helm"
        " terraform curl ssh scp rsync ls cd cat grep rg sed awk find chmod chown sudo apt brew systemctl psql sqlite3"
        " redis-cli joelclaw"
    )
    argument = parts[1] if len(parts) > 1 else ""
    if parts[0] in programs.split() and argument.isascii() and (argument.islower() or argument[:1] == "-"):
        return "skip.command_like"
    return "skip.short_query" if len(text) <= 24 and len(parts) <= 3 else ""


class Scope:
    """The projects whose memories a query may return. A memory that names no project has that of its session.

    With `query.project`: its memories and global ones. With `query.isolated` as well, sessions that belong to no
    project are left out; without a project, only global memories remain.
    """

    def __init__(self, db: apsw.Connection, query: Query) -> None:
        self._db = db
        self._query = query
        self._is_limited = bool(query.project or query.isolated)
        self._factors: dict[str, float] = {"": 1.0}
        self._session_projects: dict[str, str | None] = {}
        self.prefer = query.prefer
        self.names: Sequence[str] = ()  # the spellings of the project, and "" for global memories; empty for all
        self.others: Sequence[str] = ()  # other projects; with "" if sessions without a project are not ours
        if self._is_limited:
            known = documents.projects(db)
            own = self._own(known)
            self.names = (*own, "")
            self.others = [name for name in known if name not in own]
            if query.isolated and (self.others or sessions.has_others(db, own)):
                self.others = [*self.others, ""]

    def excludes(self, project: str, session: str) -> bool:
        """Whether a memory of this project ("" for none) and session is out of scope."""
        if not self._is_limited:
            return False
        if project:
            return project not in self._own((project,))
        if not self._query.isolated or not session:
            return False
        of_session = self._project_of(session)
        return of_session is not None and of_session not in self._own((of_session,))

    def factor(self, project: str, session: str) -> float:
        """The share of its score that a memory of this project and session keeps: 1, or OTHER_PROJECT."""
        if not self.prefer:
            return 1.0
        if not project and session:
            project = self._project_of(session) or ""
        if project not in self._factors:
            self._factors[project] = 1.0 if same(project, self.prefer) else OTHER_PROJECT
        return self._factors[project]

    def _own(self, names: Iterable[str]) -> list[str]:
        """Those of the names that mean the query's project."""
        return (own_names if self._query.isolated else names_of)(self._query.project, names)

    def _project_of(self, session: str) -> str | None:
        """The project of a session, "" if it has none; None if the session is unknown."""
        if session not in self._session_projects:
            known = sessions.by_id(self._db, session)
            self._session_projects[session] = known["project"] if known else None
        return self._session_projects[session]


def resolve_category(name: str) -> str:
    """The id of a category given by id or alias, in any case; an unknown name x becomes `jc:x`, "" remains ""."""
    slug = "-".join(name.lower().replace("_", " ").split()).removeprefix("jc:")
    aliases = {
        "prefs": "preferences", "rules": "rules-conventions", "conventions": "rules-conventions",
        "architecture": "system-architecture", "arch": "system-architecture", "ops": "operations",
        "memory": "memory-system", "people": "people-relationships", "relationships": "people-relationships",
    }  # fmt: skip
    return f"jc:{aliases.get(slug, slug)}" if slug else ""
