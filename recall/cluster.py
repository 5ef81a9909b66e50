"""Asks the cluster of the settings for a recall, and says why it could not be asked. Imported where it is set."""

from __future__ import annotations

from core.errors import Failure
from core.store.cluster import client
from core.store.cluster.source import ClusterSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    import apsw

    from core.config import Config
    from core.records import CandidateSource, Fallback

    Answer = TypeVar("Answer")


def ask(
    config: Config, patience_ms: float | None, answer: Callable[[CandidateSource], Answer], db: apsw.Connection
) -> Answer:
    """What `answer` makes of the cluster as a source.

    Args:
        db: the local file, which has what the cluster has not got yet.
        patience_ms: the longest that a recall waits for it, where that is less than `store.timeout_ms`.

    Raises:
        Failure: there is no way to the cluster, or there was none a moment ago; what a broken answer brings with it.
    """
    known = client.recent_fault(config)
    if known is not None:
        raise known
    limit = config.get_float("store.timeout_ms") / 1000
    if patience_ms is not None:
        limit = min(limit, patience_ms / 1000)
    link = client.connect(config, limit_s=limit)
    try:
        return answer(ClusterSource(link, db))
    finally:
        link.close()


def fallback(config: Config, error: Exception) -> Fallback:
    """What a result says of a cluster that could not be used; where no recall can, it is left alone for some time."""
    code = error.code if isinstance(error, Failure) else type(error).__name__
    message = error.message if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
    client.note_fault(config, code, message)
    return {"from": "typesense", "to": "sqlite", "reason": message, "code": code}
