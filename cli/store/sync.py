"""`joelclaw store init`, `push` and `pull`: a copy of the memory in a Typesense cluster."""

from typing import Any

from cli import bulk
from cli.answer import Answer, step
from core import config
from core.process import background
from core.store.cluster import sync
from otel import log

_STATUS = step("joelclaw status", "what waits to be pushed, and the last error")


def init(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Create the cluster's collections or upgrade them."""
    settings = config.load()
    done = sync.initialise(settings)
    what = "copy this machine's memory to the cluster"
    if settings.get_str("store.backend") != "typesense":
        what += '; recall reads it after you set backend = "typesense" in the table [store]'
    return Answer(done, [step("joelclaw store push", what), _STATUS])


def push(options: dict[str, Any]) -> Answer | int:  # noqa: ARG001  # every command is called alike
    """Push everything that waits; also run in the background of other commands."""
    in_background = background.obey_limit()
    settings = config.load()
    log.store_spooled()
    if in_background:
        sync.push_in_background(settings)
        return 0
    with bulk.bar("push") as (_, advance):
        return Answer(sync.push(settings, advance), [_STATUS])


def pull(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Fill a new home from the cluster."""
    with bulk.bar("pull") as (_, advance):
        return Answer(sync.pull(config.load(), advance), [_STATUS])
