"""Whose memories a recall returns, and whose go first: those of one project, of none, of all. Hot path.

A memory that names no project belongs to that of its session, where that is known.
"""

from __future__ import annotations

from core.project import names_of, own_names, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

ABROAD = 0.9
"""What is left of the score of another project's hit, where one project is preferred. Measured, see docs/recall.md."""


class Reach:
    """Which projects a recall reaches.

    Args:
        project: only this one's memories, and those of none; "" for all.
        strictly: those of none are left out.
        apart: as an injection is to be: with `project` "" those of none alone, and what was said in a session that is
            known to belong to no project is nobody's.
        prefer: the project before whose memories, and those of none, others' go only where they are clearly better; ""
            for none.
    """

    __slots__ = ("_db", "_factors", "_of_session", "_strictly", "apart", "names", "others", "prefer", "project")

    def __init__(
        self,
        db: apsw.Connection | None,
        project: str = "",
        *,
        strictly: bool = False,
        apart: bool = False,
        prefer: str = "",
    ) -> None:
        self._db = db
        self._strictly = strictly
        self.apart = apart
        self._factors: dict[str, float] = {"": 1.0}
        self._of_session: dict[str, str | None] = {}
        self.project = project
        self.prefer = prefer
        self.names: Sequence[str] = ()
        """Those that mean the project, with "" for memories of none; empty for all."""
        self.others: Sequence[str] = ()
        """Names in use of others; with "" where something of none is left out, too."""
        if project or apart:
            from core.store import documents

            known = documents.projects(db) if db is not None else []
            named = own_names(project, known) if apart else names_of(project, known)
            others = [name for name in known if name not in named]
            self.names = named if strictly else (*named, "")
            self.others = [*others, ""] if strictly or (apart and (others or self._has_others(named))) else others

    def is_foreign(self, found: str, session: str) -> bool:
        """Whether what names this project, "" for none, and is of this session is out of reach.

        A cluster has names that this machine does not know.
        """
        if not (self.project or self.apart):
            return False
        if found:
            return not _means(found, self.project, self.apart)
        if self._strictly or not self.apart or not session:
            return self._strictly
        of_session = self._project_of(session)
        return of_session is not None and not _means(of_session, self.project, self.apart)

    def factor(self, project: str, session: str) -> float:
        """What a memory's project leaves of its score, by what it names and the session it is of."""
        if not self.prefer:
            return 1.0
        if not project and session:
            project = self._project_of(session) or ""
        known = self._factors.get(project)
        if known is None:
            known = self._factors[project] = 1.0 if same(project, self.prefer) else ABROAD
        return known

    def _has_others(self, named: Sequence[str]) -> bool:
        """Whether a session is known to belong to another project, or to none: what was said in it is out of reach."""
        from core.store.sessions import call_search, calls

        return self._db is not None and call_search.exists(self._db) and calls.has_others(self._db, named)

    def _project_of(self, session: str) -> str | None:
        """The project of a session, "" where it has none; None where the session is not known."""
        if session not in self._of_session:
            from core.store.sessions import call_search, calls

            known = None
            if self._db is not None and call_search.exists(self._db):
                known = calls.session(self._db, session)
            self._of_session[session] = known["project"] if known else None
        return self._of_session[session]


def _means(found: str, project: str, apart: bool) -> bool:
    """Whether a name in use means the project."""
    return bool(project) and found in (own_names if apart else names_of)(project, (found,))
