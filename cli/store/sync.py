"""`joelclaw store init`, `sync`, `push`, `pull` and `verify`: one memory on several machines, by way of a cluster."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cli import progress, stdout
from cli.answer import Answer, print_envelope, write_json
from core import config, envelope, json_text
from core.errors import FAILED, Failure
from core.process import background_process
from core.store.cluster import sync as replication
from otel.event import search_text
from recall.static_vectors import document_vector

_ADAPTERS = document_vector, search_text
_VERIFY: Any = {"command": "joelclaw store verify", "description": "whether both sides hold the same"}
_AFTER_INIT: Any = [
    {"command": "joelclaw store push", "description": "move this machine's memory to the cluster"},
    _VERIFY,
]
_STATUS: Any = {"command": "joelclaw status", "description": "what waits, and how the last try went"}


def init(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Create the cluster's collections and bring them up to date."""
    return Answer(replication.initialise(config.load()), _AFTER_INIT)


def sync(options: dict[str, Any]) -> Answer | int:
    """Send what waits, and fetch what other machines wrote; with --watch again and again."""
    background = background_process.LIMIT in os.environ
    background_process.stop_in_time()
    settings = config.load()
    if background:
        replication.in_background(settings, *_ADAPTERS)
        return 0
    if options["watch"]:
        return _watch(settings, options["seconds"])
    with replication.opened(settings, *_ADAPTERS) as work:
        return Answer(replication.sync(work), [_VERIFY])


def _watch(settings: config.Config, seconds: float) -> int:
    """Until Ctrl-C or SIGTERM, then exit 0. One line of JSON, or of text on a terminal, for each change."""
    show = _live if _on_terminal() else _line
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        reads = show({"watching": True, "seconds": seconds})
        for change in replication.watch(settings, *_ADAPTERS, seconds) if reads else ():
            if not show(change):
                break
    except KeyboardInterrupt:
        pass
    return 0


def _line(value: dict[str, Any]) -> bool:
    return write_json(json_text.dumps(value))


def _live(value: dict[str, Any]) -> bool:
    from cli.store import view

    view.watched(value)
    return True


def _on_terminal() -> bool:
    return stdout.is_terminal() and "--json" not in sys.argv


def push(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Send whatever the cluster lacks or has otherwise; a run that was cut short goes on where it was."""
    with replication.opened(config.load(), *_ADAPTERS) as work:
        return Answer(replication.push(work, _progress), [_VERIFY])


def pull(options: dict[str, Any]) -> Answer:
    """Fetch whatever the cluster has newer or alone; a run that was cut short goes on where it was."""
    with replication.opened(config.load(), *_ADAPTERS, enable=False) as work:
        return Answer(
            replication.pull(work, _progress, with_events=options["events"], leave=options["leave"]), [_VERIFY]
        )


def verify(options: dict[str, Any]) -> int:  # noqa: ARG001  # every command is called alike
    """Take the fingerprint of every document on both sides; exit 1 where they differ."""
    with _progress("comparing", None) as advance:
        result = replication.verify(config.load(), advance)
    if _on_terminal():
        from cli.store import view

        view.verified(Answer(result))
    elif result["same"]:
        print_envelope(envelope.done("joelclaw store verify", result))
    else:
        different = sum(one["different"] for one in result["collections"].values())
        failure = Failure(
            "STORE_DIFFERS",
            f"the local file and the cluster differ in {different} documents and"
            f" {result['events']['missingThere']} events",
            "run `joelclaw store sync`, or `joelclaw store push` and `pull` where the outbox knows of nothing",
        )
        failed = envelope.failed("joelclaw store verify", failure, [_STATUS])
        failed["error"].update(result)
        print_envelope(failed)
    return 0 if result["same"] else FAILED


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar of one step's documents or events."""
    with progress.in_items(what) as (started, advance):
        if total is not None:
            started(total)
        yield advance
