"""What leaves this machine beside the commands that agents run: memories to a cluster, events to a collector."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config


def begin_due(config: Config) -> None:
    """Start what is switched on and due, each in a process of its own; off, that is a look at two settings."""
    if config.text("store.backend") == "typesense":
        from core.process import syncing

        syncing.begin_due(config)
    if config.text("otel.export") == "auto":
        from core.process import exporting

        exporting.begin_due(config)
