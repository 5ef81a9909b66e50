"""`joelclaw memory write` and `joelclaw note`. Hot path."""

from __future__ import annotations

import sys

from cli.answer import Answer, step
from core import TYPE_CHECKING, clock, config, files, project, words
from core.errors import Failure, usage
from core.store import sessions, sqlite
from memory import gate
from memory.write import MAX_CHARS, Draft, clean_text, write

if TYPE_CHECKING:
    from typing import Any

    import apsw

_UTF8_BYTES = 4  # the most that one character takes


def run(options: dict[str, Any]) -> Answer:
    """Store the text, or what stdin holds when it is `-`."""
    if options["for_all"] and options["project"]:
        raise usage("MEMORY_INVALID_ARGS", "--project and --global cannot be used together", "give one of them")
    settings = config.load()
    text = read_stdin(MAX_CHARS) if options["text"] == "-" else options["text"] or ""
    text = clean_text(text)  # before the store is opened: wrong usage leaves no trace
    db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=True)
    # a memory without a project has that of its session: what is for every project has neither
    session = "" if options["for_all"] else options["session"]
    whose = options["project"] or _project(db, options["session"])
    draft = Draft(
        text,
        category=options["category"],
        tags=[*options["tags"].split(","), "" if options["type"] == "observation" else options["type"]],
        source=options["source"],
        session=session,
        by_hand=options.get("by_hand", False),
        project="" if options["for_all"] else whose,
        written_in=whose or project.name_of(files.current_folder()),
    )
    result = write(db, draft, now=clock.now_ms(), vectors=sqlite.load_vectors(db))
    if result["verdict"] == "discard":
        result["hint"] = gate.NOT_REMEMBERED
    forget = step(f"joelclaw memory forget {result['id']}", "remove it from memory")
    return Answer(result, [step(f"joelclaw memory show {result['id']}", "everything known of it"), forget])


_NOTED = {
    "id": "id", "text": "observation", "source": "source", "createdAt": "created_at", "tags": "tags",
    "verdict": "verdict", "category": "category", "categorySource": "categorySource", "hint": "hint",
}  # fmt: skip


def note(options: dict[str, Any]) -> Answer:
    """Keep the text as an observation with the tag `note`; a person wrote it, so it is always kept and found."""
    given = {"category": "", "session": "", "project": "", "for_all": False, "type": "observation", "by_hand": True}
    written = run({**options, **given, "tags": f"note,{options['tags']}"})
    kept: Any = written.result
    result = {key: kept[name] for key, name in _NOTED.items() if name in kept}
    return Answer({**result, "status": "stored"}, written.next_actions)


def _project(db: apsw.Connection, session: str) -> str:
    """The project of a session, else of the repository around the current folder; "" for none."""
    known = sessions.by_id(db, session) if session else None
    if known is not None and known["project"]:
        return known["project"]
    return project.repository_of(files.current_folder())


def read_stdin(longest: int) -> str:
    """What stdin holds, no more of it than tells that it is over `longest` characters; U+FFFD for bad UTF-8."""
    try:
        data = sys.stdin.buffer.read(_UTF8_BYTES * longest + 65_536)  # white space around the text does not count
    except (OSError, AttributeError) as error:
        raise Failure("STDIN_UNREADABLE", f"stdin cannot be read: {error}", "give the text as a word") from None
    return words.clean(data.decode("utf-8", "replace"))
