"""What use or disuse of a recalled memory does to its priority in the store."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

ECHO = 0.1
FIZZLE = -0.05
LIMIT = 1.0


def move(db: apsw.Connection, identifier: str, *, used: bool, at: int) -> float | None:
    """Raise the priority of a memory that was used by .1, lower that of one that was not by .05, within -1 to 1.

    Goes into the caller's transaction. Use is noted as `last_used_at`; the age of the memory stays what it is.

    Args:
        at: ms since the epoch.

    Returns:
        The new priority, None where there is no such memory (any more).
    """
    row = db.execute(
        "UPDATE document SET retrieval_priority = max(?, min(?, round(retrieval_priority + ?, 4))),"
        " last_used_at = CASE WHEN ? THEN ? ELSE last_used_at END"
        " WHERE id = ? AND forgotten_at IS NULL RETURNING retrieval_priority",
        (-LIMIT, LIMIT, ECHO if used else FIZZLE, used, at, identifier),
    ).fetchone()
    return None if row is None else float(row[0])
