"""Where the work in a folder stands, for an agent that asks: its last session, and what a compaction dropped of it.

Made of what a new session is told (`session.inject.startup`) and of what `joelclaw lost` lists. Off the hot path.
"""

from __future__ import annotations

from core import clock
from core.config import Config
from core.errors import Failure
from core.project import folder_of, name_of
from core.quoting import clip, one_line
from core.records import Session
from core.store.sessions import name_rows
from core.store.sqlite import apsw, as_failure
from session.inject import startup
from session.lost import report
from session.session_store import SessionStore

LOST_KINDS = ("words", "errors", "names")
_NAMES, _TEXTS, _TEXT_CHARS = 24, 3, 200


def lines(config: Config, folder: str, session: str) -> list[str]:
    """What is known of the session that goes on in a folder; of those with its project, the one named comes first.

    Args:
        folder: where the agent works.
        session: its session's id, where it is known; else "".
    """
    project = name_of(folder)
    now = clock.now_ms()
    store = SessionStore(config, now)
    works = store.left(project, folder_of(folder), without="", first=session)
    db, _ = store.reading()
    if store.faults:
        fault = store.faults[0]
        raise Failure(fault["code"], fault["message"], "look at `joelclaw status`: it says what to do about the store")
    if not works or db is None:
        raise Failure(
            "SESSION_NOT_FOUND",
            f"no session of the project {project or 'of this folder'} is archived yet",
            "it is known from the end of its first turn on; older ones: joelclaw memory archive --all",
        )
    # one that only talked has nothing to tell of, unless it is the one that asks
    known = [one["session"] for one in works if one["session"]["calls"] or one["session"]["id"] == session]
    about = (known or [works[0]["session"]])[0]
    head = f"session {about['id']} of {about['client']}, project {about['project']}, {about['calls']} tool calls"
    compactions = name_rows.compactions(db, about["id"])
    return [
        f"{one_line(head)}, {len(compactions)} compactions",
        *startup.left_of(works, now),
        *(_dropped(db, about) if compactions else ()),
    ]


def _dropped(db: apsw.Connection, about: Session) -> list[str]:
    try:
        found = report.of(db, about, LOST_KINDS).kinds
    except apsw.Error as error:
        raise as_failure(error) from None
    told: list[str] = []
    for kind in ("words", "errors"):
        texts = [str(getattr(one, "text", "") or getattr(one, "error", "")) for one in found.get(kind, [])[:_TEXTS]]
        told += [f"- {kind}: {clip(line, _TEXT_CHARS)}" for line in map(one_line, texts) if line]
    names = " ".join(one_line(str(getattr(one, "name", ""))) for one in found.get("names", [])[:_NAMES])
    if names:
        told.append(f"- names: {names}")
    return ["**Dropped by the last compaction; recall brings it back:**", *told] if told else []
