"""What one export did for one destination."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Delivered:
    """One destination's share.

    Args:
        sent: what was taken: log records, spans, or the events that the metrics count.
        rejected: items (log records, spans, data points) that the receiver dropped.
        waiting: how many events are left.
        error: why it ended early; empty where it did not.
        warning: what a receiver said that took a batch.
        status: of HTTP, in case of an error; 0 where there was no answer.
        again_at: ms since the epoch before which another try makes no sense; 0 after success.
    """

    signal: str
    endpoint: str
    sent: int = 0
    rejected: int = 0
    waiting: int = 0
    error: str = ""
    warning: str = ""
    status: int = 0
    again_at: int = 0
