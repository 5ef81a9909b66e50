"""Whose memories a recall returns, and whose go first: those of one project, of none, of all. Hot path.

A memory that names no project belongs to that of its session, where that is known.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from recall.query import Query

OTHER_PROJECT = 0.9
"""What is left of the score of another project's hit, where one project is preferred. Measured, see docs/recall.md."""


class Scope:
    """Which projects a query asks for.

    Of the query it reads `project`: only this one's memories, and those of none, "" for all; `strictly`: those of none
    are left out; `apart`: as an injection is to be, with `project` "" those of none alone, and what was said in a
    session that is known to belong to no project is nobody's; `prefer`: the project before whose memories, and those
    of none, others' go only where they are clearly better.
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
            from core.store import document_rows
            from core.store.sessions import session_rows

            known = document_rows.projects(db)
            named = self._meant(known)
            others = [name for name in known if name not in named]
            none_too = query.strictly or (query.apart and (others or session_rows.has_others(db, named)))
            self.names = named if query.strictly else (*named, "")
            self.others = [*others, ""] if none_too else others

    def is_foreign(self, found: str, session: str) -> bool:
        """Whether what names this project, "" for none, and is of this session is out of reach.

        A cluster has names that this machine does not know.
        """
        if not self._limited:
            return False
        if found:
            return found not in self._meant((found,))
        if self._query.strictly or not self._query.apart or not session:
            return self._query.strictly
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
            from core.store.sessions import session_rows

            known = session_rows.session(self._db, session)
            self._of_session[session] = known["project"] if known else None
        return self._of_session[session]
