"""`joelclaw store init`, `sync`, `push`, `pull` and `verify`: one memory on several machines, by way of a cluster."""

from typing import Any

from cli import bulk
from cli.answer import Answer, failed, is_for_person, print_envelope, step
from core import config
from core.errors import FAILED, Failure
from core.process import background_process
from core.store.cluster import sync as replication
from otel import unstored
from otel.log import search_text
from recall.static_vectors import document_vector

_ADAPTERS = document_vector, search_text
_VERIFY = step("joelclaw store verify", "whether both sides are the same")


def init(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Create the cluster's collections and bring them up to date."""
    settings = config.load()
    done = replication.initialise(settings)
    what = "move this machine's memory there"
    if settings.get_str("store.backend") != "typesense":
        what += '; recall asks it once backend = "typesense" stands in the table [store]'
    return Answer(done, [step("joelclaw store push", what), _VERIFY])


def sync(options: dict[str, Any]) -> Answer | int:  # noqa: ARG001  # every command is called alike
    """Send what waits, and fetch what other machines wrote."""
    background = background_process.stop_in_time()
    settings = config.load()
    unstored.store_waiting()
    if background:
        replication.in_background(settings, *_ADAPTERS)
        return 0
    with replication.opened(settings, *_ADAPTERS) as work:
        return Answer(replication.sync(work), [_VERIFY])


def push(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Send whatever the cluster lacks or has otherwise; a run that was cut short goes on where it was."""
    unstored.store_waiting()
    with replication.opened(config.load(), *_ADAPTERS) as work, bulk.bar("push") as (_, advance):
        return Answer(replication.push(work, advance), [_VERIFY])


def pull(options: dict[str, Any]) -> Answer:
    """Fetch whatever the cluster has newer or alone; a run that was cut short goes on where it was."""
    opened = replication.opened(config.load(), *_ADAPTERS, enable=False)
    with opened as work, bulk.bar("pull") as (_, advance):
        done = replication.pull(work, advance, with_events=options["events"], leave=options["leave"])
        return Answer(done, [_VERIFY])


def verify(options: dict[str, Any]) -> Answer | int:  # noqa: ARG001  # every command is called alike
    """Take the fingerprint of every document on both sides; exit 1 where they differ."""
    with bulk.bar("comparing") as (_, advance):
        result = replication.verify(config.load(), advance)
    if result["same"]:
        return Answer(result)
    different = sum(one["different"] for one in result["collections"].values())
    failure = Failure(
        "STORE_DIFFERS",
        f"the local file and the cluster differ in {different} documents and {result['events']['missingThere']} events",
        "run `joelclaw store sync`, or `joelclaw store push` and `pull` if nothing is pending",
    )
    if is_for_person():
        return Answer(result, [step("joelclaw store push", failure.message)], exit_code=FAILED)
    told = failed("joelclaw store verify", failure, [step("joelclaw status", "what is pending, and why")])
    told["error"].update(result)
    print_envelope(told)
    return FAILED
