"""`joelclaw memory write`. Hot path."""

from __future__ import annotations

import os

from cli.answer import Answer, step
from core import clock, config, project, words
from core.errors import Failure, usage
from core.store import sqlite
from core.store.sessions import session_rows
from memory import gate
from memory.write import trimmed, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

_PLAIN = "observation"
_UTF8_BYTES = 4  # the most that one character takes


def run(options: dict[str, Any]) -> Answer:
    """Store the text, or what stdin holds when it is `-`."""
    if options["for_all"] and options["project"]:
        raise usage("MEMORY_INVALID_ARGS", "--project and --global exclude each other", "give one of them")
    settings = config.load()
    text = options["text"] or ""
    if text == "-":
        text = read_stdin(settings.get_int("memory.max_chars"))
    text = trimmed(
        text, settings.get_int("memory.max_chars")
    )  # before the store is opened: wrong usage leaves no trace
    db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=True)
    # a memory without a project has that of its session: what is for every project has neither
    session = "" if options["for_all"] else options["session"]
    result = write(
        db,
        text,
        category=options["category"],
        tags=(options["tags"] if options["type"] == _PLAIN else f"{options['tags']},{options['type']}").split(","),
        source=options["source"],
        session=session,
        project="" if options["for_all"] else options["project"] or _project(db, session),
        now=clock.now_ms(),
        vectors=sqlite.load_vectors(db),
        config=settings,
    )
    hint = {"hint": gate.NOT_REMEMBERED} if result["verdict"] == "discard" else {}
    return Answer(
        {**result, **hint},
        [
            step(f"joelclaw memory show {result['id']}", "everything known of it"),
            step(f"joelclaw memory forget {result['id']}", "take it out of memory"),
        ],
    )


def note(options: dict[str, Any]) -> Answer:
    """Keep the text as an observation with the tag `note`, its category told by its words."""
    tags = ",".join(part for part in ("note", options["tags"]) if part)
    given = {"category": "", "session": "", "project": "", "for_all": False, "type": "observation"}
    written = run({**options, **given, "tags": tags})
    kept: Any = written.result
    return Answer(
        {
            "id": kept["id"],
            "text": kept["observation"],
            "source": kept["source"],
            "createdAt": kept["created_at"],
            "tags": kept["tags"],
            "status": "stored",
            "verdict": kept["verdict"],
            "category": kept["category"],
            "categorySource": kept["categorySource"],
            **({"hint": kept["hint"]} if "hint" in kept else {}),
        },
        written.next_actions,
    )


def _project(db: apsw.Connection, session: str) -> str:
    """The project of a session, else of the repository around the current folder; "" for none."""
    known = session_rows.session(db, session) if session else None
    if known is not None and known["project"]:
        return known["project"]
    try:
        return project.repository_of(os.getcwd())
    except OSError:  # the folder is gone
        return ""


def read_stdin(longest: int) -> str:
    """What stdin holds, of which no more is read than tells that it is over `longest` characters.

    Bytes that are not UTF-8 become U+FFFD.
    """
    limit = _UTF8_BYTES * longest + 65_536  # white space around the text does not count
    data = bytearray()
    while len(data) <= limit:
        try:
            block = os.read(0, 65_536)
        except OSError as error:
            raise Failure(
                "STDIN_UNREADABLE", f"stdin cannot be read: {error.strerror}", "give the text as a word"
            ) from None
        if not block:
            break
        data += block
    return words.clean(data.decode("utf-8", "replace"))
