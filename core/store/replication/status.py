"""What a cluster has not got yet and how the last try went, as `status` and `store sync` show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import clock
from core.store.replication import outbox

if TYPE_CHECKING:
    import apsw


def waiting(db: apsw.Connection) -> dict[str, Any]:
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


def problems(found: dict[str, Any] | None, backend: str) -> list[dict[str, str]]:
    """What is wrong with the way to the cluster.

    Args:
        found: `waiting`, None where this home was never given a cluster.
        backend: the setting `store.backend`.
    """
    if found is None:
        if backend != "typesense":
            return []
        return [
            {
                "code": "TYPESENSE_NOT_INITIALISED",
                "message": 'store.backend is "typesense", but nothing is carried to a cluster yet',
                "fix": "run `joelclaw store init`",
            }
        ]
    wrong = []
    if found["error"]:
        code, _, message = found["error"].partition(": ")
        wrong.append(
            {
                "code": code,
                "message": f"{message} ({found['tries']} tries, the next at {found['nextTry']})",
                "fix": "see to the cluster, then run `joelclaw store sync`; nothing is lost meanwhile",
            }
        )
    if found["refused"]:
        wrong.append(
            {
                "code": "TYPESENSE_REFUSED",
                "message": f"the cluster refuses {found['refused']} documents or events: {found['refusal']}",
                "fix": "run `joelclaw store init`, then `joelclaw store push`",
            }
        )
    return wrong
