"""Chooses the store that a recall reads: the local file, or the cluster of the settings, else the local file."""

from __future__ import annotations

import os

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypedDict, TypeVar

    import apsw

    from core.config import Config
    from core.store.interface import Candidate, CandidateSource, Document, Traits

    Answer = TypeVar("Answer")

    Fallback = TypedDict("Fallback", {"from": str, "to": str, "reason": str, "code": str})


# Faults of the cluster, and not of one query.
_CLUSTER_FAULTS = (
    "TYPESENSE_UNREACHABLE",
    "TYPESENSE_UNAUTHORIZED",
    "TYPESENSE_NOT_INITIALISED",
    "TYPESENSE_API_KEY_MISSING",
)


class EmptySource:
    """The candidates of a store that is not there yet."""

    backend = "sqlite"
    semantic = False
    __slots__ = ()

    def candidates(self, *_: object) -> list[Candidate]:
        """Nothing."""
        return []

    def around(self, *_: object) -> dict[int, tuple[float, float]]:
        """Nothing."""
        return {}

    def weights(self, *_: object) -> dict[str, dict[int, float]]:
        """Nothing."""
        return {}

    def absent(self, _: Sequence[str]) -> float:
        """0."""
        return 0.0

    def segments(self) -> int:
        """None."""
        return 0

    def documents(self, _: Sequence[int]) -> list[Document]:
        """Nothing."""
        return []

    def traits(self, _: Sequence[int]) -> list[Traits]:
        """Nothing."""
        return []

    def size(self) -> int:
        """0."""
        return 0


def local(db: apsw.Connection | None, *, vectors: bool) -> CandidateSource:
    """Where candidates come from: the SQLite file, or nowhere when there is none yet."""
    if db is None:
        return EmptySource()
    from core.store.candidates import LocalCandidates

    return LocalCandidates(db, vectors=vectors)


def ask_cluster(
    config: Config,
    patience_ms: float | None,
    answer: Callable[[CandidateSource], Answer],
    db: apsw.Connection | None,
) -> Answer:
    """What `answer` makes of the cluster as a source.

    Args:
        db: the local file, which has what the cluster has not got yet.
        patience_ms: the longest that a recall waits for it, where that is less than `store.timeout_ms`.

    Raises:
        Failure: there is no way to the cluster, or there was none a moment ago; what a broken answer brings with it.
    """
    from core.store.typesense import circuit_breaker

    known = circuit_breaker.read(_nodes(config))
    if known is not None:
        raise Failure(known[0], known[1], "wait some seconds")
    from core.store.typesense import search_client
    from core.store.typesense.source import ClusterSource

    limit = config.number("store.timeout_ms") / 1000
    if patience_ms is not None:
        limit = min(limit, patience_ms / 1000)
    client = search_client.connect(config, limit_s=limit)
    try:
        return answer(ClusterSource(client, limit_s=limit, local=db))
    finally:
        client.close()


def fallback(config: Config, error: Exception) -> Fallback:
    """What a result says of a cluster that could not be used; where no recall could, it is left alone for some seconds.

    Anything may come out of a server that is not ours, and none of it may stop a recall.
    """
    from core.store.typesense import circuit_breaker

    code = error.code if isinstance(error, Failure) else type(error).__name__
    message = error.message if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
    if code in _CLUSTER_FAULTS and circuit_breaker.read(_nodes(config)) is None:
        circuit_breaker.note(_nodes(config), code, message)
    return {"from": "typesense", "to": "sqlite", "reason": message, "code": code}


def _nodes(config: Config) -> str:
    """What tells one cluster, and one key's source, from another; holds no key."""
    keyed = "key" if os.environ.get("TYPESENSE_API_KEY") else "command"
    given = os.environ.get("JOELCLAW_STORE_URLS") or os.environ.get("TYPESENSE_URL") or config.text("store.urls")
    return f"{given} {config.text('store.prefix')} {keyed}"
