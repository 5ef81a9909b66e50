"""What a cluster has not got yet, as `status` and `store sync` tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import clock
from core.store.replication import outbox

if TYPE_CHECKING:
    import apsw


def told(db: apsw.Connection) -> dict[str, Any]:
    """Counts, the oldest, what is refused and why, and how the last try went."""
    found = outbox.summary(db, now=clock.now_ms())
    return {
        "documents": found["documents"],
        "events": found["events"],
        "refused": found["refused"],
        "refusal": found["refusal"],
        "oldest": _time(found["oldest"]),
        "tries": found["tries"],
        "error": found["error"],
        "nextTry": _time(found["next_try"]),
        "syncedAt": _time(found["synced_at"]),
    }


def _time(at: int | None) -> str | None:
    return None if at is None else clock.iso(at)


def problems(waiting: dict[str, Any] | None, backend: str) -> list[dict[str, str]]:
    """What is wrong with the way to the cluster; `waiting` is None where this home was never given one."""
    if waiting is None:
        if backend != "typesense":
            return []
        return [
            {
                "code": "TYPESENSE_NOT_INITIALISED",
                "message": 'store.backend is "typesense", but nothing is carried to a cluster yet',
                "fix": "run `joelclaw store init`",
            }
        ]
    found = []
    if waiting["error"]:
        code, _, message = waiting["error"].partition(": ")
        found.append(
            {
                "code": code,
                "message": f"{message} ({waiting['tries']} tries, the next at {waiting['nextTry']})",
                "fix": "see to the cluster, then run `joelclaw store sync`; nothing is lost meanwhile",
            }
        )
    if waiting["refused"]:
        found.append(
            {
                "code": "TYPESENSE_REFUSED",
                "message": f"the cluster refuses {waiting['refused']} documents or events: {waiting['refusal']}",
                "fix": "run `joelclaw store init`, then `joelclaw store push`",
            }
        )
    return found
