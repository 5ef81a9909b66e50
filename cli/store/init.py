"""`joelclaw store init`."""

from __future__ import annotations

from cli.answer import Answer
from core import config
from core.store.replication import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction

_NEXT: list[NextAction] = [
    {"command": "joelclaw store push", "description": "move this machine's memory to the cluster"},
    {"command": "joelclaw store verify", "description": "whether both sides hold the same"},
]


def init(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Create the cluster's collections and bring them up to date.

    Raises:
        Failure: as `core.store.replication.sync.initialise`.
    """
    return Answer(sync.initialise(config.load()), _NEXT)
