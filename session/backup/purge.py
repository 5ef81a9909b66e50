"""`memory forget --purge`: deletes for good what fits, and everything that quotes it, in every file of the home.

Files come before the store and once more after it: where this is killed between, the words by which a quote is known
are still in the store, and the same command does the rest. The client's own transcripts are not ours.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import escape, glob
from typing import Any

from core import clock, files
from core import project as projects
from core.config import Config
from core.errors import Failure
from core.store import sqlite
from core.store.replication import outbox
from core.store.sessions import transcripts
from core.store.sqlite import apsw
from core.store.upkeep import purge as rows
from core.store.upkeep import store_file
from core.store.upkeep.purge import Criteria
from memory import forget
from otel import log
from recall.by_name import call_text
from recall.static_vectors import document_vector
from session.backup import archive
from session.backup.traces import Sweeper, Traces
from session.session_report import listing

CALL = "call:"
_MOST_LISTED = 50


class Purge:
    """One purge: what fits is looked up when it is made, and once more when it is deleted.

    Args:
        ids: of memories and calls; they go with no other criterion.
        session: its id, or a beginning that no other has.
        before: ms since the epoch.

    Raises:
        Failure: PURGE_NOTHING, nothing fits; MEMORY_NOT_FOUND, MEMORY_AMBIGUOUS, SESSION_AMBIGUOUS, the store's codes.
    """

    def __init__(
        self, config: Config, ids: Sequence[str], *, session: str, project: str, before: int | None, match: str
    ) -> None:
        log.store_waiting()
        if sqlite.open_reading() is None:
            raise Failure("PURGE_NOTHING", "nothing is stored yet", "see joelclaw status")
        self._config = config
        self._db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=True)
        self._vectors = sqlite.load_vectors(self._db)
        self._criteria = _criteria(self._db, ids, session, project, before, match)
        self._selection = rows.select(self._db, self._criteria)
        self._traces = self._sweep(dry=True)
        found = self._selection
        in_store = (
            found.documents, found.calls, found.compactions, found.events, found.injections, found.hook_calls,
            found.plans, found.names, found.carries,
        )  # fmt: skip
        if not store_file.is_owed(self._db) and not any(in_store) and not self._traces:
            fix = "look with joelclaw recall, or joelclaw memory stats"
            raise Failure("PURGE_NOTHING", "nothing that is kept fits", fix)

    def result(self, *, done: bool) -> dict[str, Any]:
        """What goes, or has gone, in numbers."""
        found, traces = self._selection, self._traces
        return {
            "purged": done,
            "memories": len(found.documents),
            "ids": found.ids[:_MOST_LISTED],
            "toolCalls": len(found.calls),
            "summaries": len(found.compactions),
            "events": len(found.events),
            "injectedTexts": len(found.injections),
            "hookCalls": len(found.hook_calls),
            "sessions": found.sessions[:_MOST_LISTED],
            "states": traces.states,
            "statesChanged": traces.changed_states,
            "logSections": traces.log_sections,
            "waitingEvents": traces.spooled,
            "filesDeleted": traces.deleted,
            "namedOnly": traces.by_hand,
            "bytes": os.stat(sqlite.path()).st_size,
            "cluster": self._cluster(),
            "notTouched": self._not_touched(),
        }

    def run(self) -> dict[str, Any]:
        """Delete it.

        Raises:
            Failure: PURGE_UNFINISHED, PURGE_UNWRITABLE, or what the store says; run it again then.
        """
        self._selection = rows.select(self._db, self._criteria)  # the question may have stood for an hour
        self._traces = self._sweep()
        self._selection = rows.erase(
            self._db, self._criteria, at=clock.now_ms(), vectors=self._vectors, vector_of=document_vector
        )
        self._traces.add(self._sweep())  # what was written meanwhile
        store_file.wipe(self._db)
        return self.result(done=True)

    def _sweep(self, *, dry: bool = False) -> Traces:
        return Sweeper(self._criteria, self._selection, self._config, dry=dry).run()

    def _cluster(self) -> dict[str, Any] | None:
        """What a cluster has not got yet; None where there is none."""
        if not outbox.enabled(self._db):
            return None
        waiting = outbox.waiting(self._db)
        return {"pending": waiting["documents"], "refused": waiting["refused"], "error": waiting["error"]}

    def _not_touched(self) -> list[str]:
        """Where the text may still stand: copies of the home, and what belongs to others."""
        copies = [one["file"] for one in archive.known() if os.path.exists(one["file"])]
        copies += sorted(glob(escape(files.home()) + ".before-restore-*"))
        named = {one for session in self._selection.touched for one in transcripts.sources_naming(self._db, session)}
        return [*copies, *sorted(filter(os.path.exists, named))[:_MOST_LISTED], *self._traces.linked]


def _whole(db: apsw.Connection, given: str) -> str:
    """The id of the session that is meant; of one that is not known (any more) what was given, as files may name it."""
    try:
        return listing.meant(db, given) if given else ""
    except Failure as failure:
        if failure.code != listing.NOT_FOUND:
            raise
        return given


def _criteria(
    db: apsw.Connection, ids: Sequence[str], session: str, project: str, before: int | None, match: str
) -> Criteria:
    if not ids:
        known = listing.known(db) if project else []
        live = frozenset(one.id for one in known if projects.same(project, one.read().project))
        return Criteria(session=_whole(db, session), project=project, live=live, before=before, match=match)
    found, numbered = set(), set()
    for identifier in ids:
        if identifier.startswith(CALL):
            call = call_text.view(db, identifier)
            if call is None:
                raise Failure("MEMORY_NOT_FOUND", f"there is no tool call {identifier}", "see `joelclaw recall NAME`")
            numbered.add((call["session"], call["number"]))
        else:
            found.add(forget.find(db, identifier)["id"])
    return Criteria(documents=frozenset(found), calls=frozenset(numbered))
