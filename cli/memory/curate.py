"""`joelclaw memory list`, `edit`, `tag`, `pin` and `supersede`."""

from __future__ import annotations

from cli.answer import Answer, quoted, step
from cli.memory.write import read_stdin
from core import clock, config
from core.errors import usage
from core.store import sqlite
from core.store.sqlite import apsw
from memory import curation
from memory.forget import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CODE = "MEMORY_INVALID_ARGS"
_PASSED_ON = ("category", "project", "verdict", "source", "days", "older_than")


def list_(options: dict[str, Any]) -> Answer:
    """A page of the observations, the newest first.

    Raises:
        Failure: what the store says.
    """
    try:
        result = curation.listing(
            sqlite.open_reading(),
            tags=options["tag"],
            category=options["category"] or "",
            project=options["project"] or "",
            verdict=options["verdict"] or "",
            source=options["source"] or "",
            newer_than=options["days"],
            older_than=options["older_than"],
            whatever=options["all"],
            limit=options["limit"],
            page=options["page"],
            now=clock.now_ms(),
        )
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    steps = []
    if result["memories"]:
        steps.append(
            step(f"joelclaw memory show {quoted(result['memories'][0]['id'])}", "everything known of the first")
        )
    if result["found"] > options["page"] * options["limit"]:
        steps.append(step(_next_page(options), "the next page"))
    if not result["found"]:
        steps.append(step("joelclaw memory stats", "what there is"))
    return Answer(result, steps)


def _next_page(options: dict[str, Any]) -> str:
    words = [f"--tag {quoted(tag)}" for tag in options["tag"]]
    for name in _PASSED_ON:
        if options[name] is not None:
            value = options[name]
            words.append(
                f"--{name.replace('_', '-')} {f'{value:g}' if isinstance(value, float) else quoted(str(value))}"
            )
    if options["all"]:
        words.append("--all")
    return " ".join(["joelclaw memory list", *words, f"--limit {options['limit']} --page {options['page'] + 1}"])


def edit(options: dict[str, Any]) -> Answer:
    """Give a memory another text.

    Raises:
        Failure: EMPTY_TEXT, TEXT_TOO_LONG, MEMORY_DUPLICATE, MEMORY_NOT_FOUND and its like; nothing was changed.
    """
    settings = config.load()
    text = _text(options["text"], settings)
    result = _writing(
        options["id"],
        settings,
        lambda db: curation.edit(
            db, options["id"], text, now=clock.now_ms(), vectors=sqlite.load_vectors(db), config=settings
        ),
    )
    return Answer(result, [_show(result), step(f"joelclaw memory supersede {result['id']} <text>", "say that something "
                  "else holds now", {"text": {"description": "what holds now", "required": True}})])  # fmt: skip


def tag(options: dict[str, Any]) -> Answer:
    """Add tags to a memory, or take some away.

    Raises:
        Failure: MEMORY_INVALID_ARGS, MEMORY_NOT_FOUND and its like; nothing was changed.
    """
    result = _writing(
        options["id"],
        config.load(),
        lambda db: curation.tag(db, options["id"], add=options["add"].split(","), remove=options["remove"].split(",")),
    )
    steps = [_show(result)]
    if result["tags"]:
        steps.append(step(f"joelclaw memory list --tag {quoted(result['tags'][-1])}", "all with this tag"))
    return Answer(result, steps)


def pin(options: dict[str, Any]) -> Answer:
    """Pin a memory, or let it age again.

    Raises:
        Failure: MEMORY_NOT_FOUND and its like; nothing was changed.
    """
    undo = bool(options["undo"])
    result = _writing(options["id"], config.load(), lambda db: curation.pin(db, options["id"], undo=undo))
    reverse = f"joelclaw memory pin {result['id']}" + ("" if undo else " --undo")
    return Answer(
        result, [step(reverse, "the reverse"), step("joelclaw memory list --tag pinned", "all that are pinned")]
    )


def supersede(options: dict[str, Any]) -> Answer:
    """Say what holds now in the place of a memory; `--undo` takes that back.

    Raises:
        Failure: EMPTY_TEXT, MEMORY_INVALID_ARGS, MEMORY_NOT_FOUND, MEMORY_NOT_ALLOWED and its like; nothing was
            changed.
    """
    if options["undo"]:
        if options["text"] is not None:
            raise usage(_CODE, "--undo takes no text", f"joelclaw memory supersede {quoted(options['id'])} --undo")
        back = _writing(
            options["id"],
            config.load(),
            lambda db: curation.bring_back(db, options["id"], now=clock.now_ms(), vectors=sqlite.load_vectors(db)),
        )
        return Answer(back, [_show(back)])
    if options["text"] is None:
        raise usage(
            _CODE,
            "there is no text that says what holds now",
            f"joelclaw memory supersede {quoted(options['id'])} 'what holds now'",
        )
    settings = config.load()
    text = _text(options["text"], settings)
    result = _writing(
        options["id"],
        settings,
        lambda db: curation.supersede(
            db, options["id"], text, now=clock.now_ms(), vectors=sqlite.load_vectors(db), config=settings
        ),
    )
    undo = f"joelclaw memory supersede {result['superseded']['id']} --undo"
    return Answer(result, [_show(result), step(undo, "the reverse")])


def _show(result: dict[str, Any]) -> Any:
    return step(f"joelclaw memory show {result['id']}", "everything known of it")


def _text(given: str, settings: config.Config) -> str:
    return read_stdin(settings.whole("memory.max_chars")) if given == "-" else given


def _writing(identifier: str, settings: config.Config, act: Callable[[apsw.Connection], Any]) -> dict[str, Any]:
    """What `act` does to the store, which must have the memory: an unknown id makes no store, and waits for no lock."""
    try:
        find(sqlite.open_reading(), identifier)
        result: dict[str, Any] = act(sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True))
        return result
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
