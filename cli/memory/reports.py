"""`joelclaw memory recent`, `scorecard`, `show`, `forget` and `stats`."""

from __future__ import annotations

from cli.answer import Answer, quoted, refuse_terminal, step, write_verbatim
from core import clock, config
from core.errors import Failure, usage
from core.store import sqlite
from core.store.sqlite import apsw
from memory import reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


CALL = "call:"
"""How the id of a tool call begins."""

_MOST_NAMED = 500
"""Ids in a command that is printed: a shell takes them all."""


def recent(options: dict[str, Any]) -> Answer:
    """The newest observations of the last hours that were not forgotten, whatever the gate said of them."""
    hours, count = options["hours"], options["count"]
    observations = _reading(lambda db: reports.recent(db, hours=hours, count=count, now=clock.now_ms()))
    return Answer({"count": len(observations), "hours": hours, "observations": observations})


def scorecard(options: dict[str, Any]) -> Answer:
    """How well memory did in the last hours."""
    return Answer(_reading(lambda db: reports.scorecard(db, hours=options["hours"], now=clock.now_ms())))


def stats(_options: dict[str, Any]) -> Answer:
    """How many memories there are, and which."""
    return Answer(_reading(reports.stats))


def show(options: dict[str, Any]) -> Answer | int:
    """One memory with everything known of it, forgotten or not; or a tool call, `call:<session>:<number>`.

    Raises:
        Failure: MEMORY_NOT_FOUND, MEMORY_AMBIGUOUS; MEMORY_INVALID_ARGS for `--verbatim` to a terminal.
    """
    from core.store.sessions import observed
    from memory import forget as forgetting
    from memory import json_form
    from recall.by_name import session_calls

    if options["verbatim"]:
        refuse_terminal("MEMORY_INVALID_ARGS")
    if options["id"].startswith(session_calls.PREFIX):
        call = _show_call(options["id"])
        return write_verbatim(call.result["passage"]) if options["verbatim"] else call  # type: ignore[index]

    def read(db: apsw.Connection | None) -> dict[str, Any]:
        document = forgetting.find(db, options["id"])
        return {**json_form.to_view(document), "evidence": observed.evidence(db, document["id"]) if db else []}

    view = _reading(read)
    if options["verbatim"]:
        return write_verbatim(view["observation"])
    undo = " --undo" if view["forgotten"] else ""
    what = "bring it back" if view["forgotten"] else "take it out of memory"
    steps = [step(f"joelclaw memory forget{undo} {view['id']}", what)]
    if view["supersededBy"] and not view["forgotten"]:
        steps.append(step(f"joelclaw memory supersede {view['id']} --undo", "hand it out again"))
    return Answer(view, steps)


def _show_call(identifier: str) -> Answer:
    from recall.by_name import session_calls

    call = _reading(lambda db: session_calls.view(db, identifier))
    if call is None:
        raise Failure(
            "MEMORY_NOT_FOUND", f"there is no tool call {identifier}", "take the id from `joelclaw recall NAME --json`"
        )
    return Answer(
        call,
        [
            {
                "command": f"joelclaw recall <name> --session {call['session']}",
                "description": "more of this session",
                "params": {"name": {"description": "a name in it", "required": True}},
            }
        ],
    )


def forget(options: dict[str, Any]) -> Answer:
    """Take memories out of recall and export, all or none; `--undo` brings them back. Tool calls go for good.

    Raises:
        Failure: MEMORY_NOT_FOUND, MEMORY_AMBIGUOUS, SESSION_NOT_FOUND, MEMORY_INVALID_ARGS; nothing was changed.
    """
    from memory import forget as forgetting

    if any(options[name] for name in ("purge", "project", "before", "match", "yes", "dry_run")):
        from cli.memory import purge

        return purge.run(options)
    settings = config.load()
    if options["session"]:
        return _forget_session(options, settings)
    if not options["ids"]:
        raise usage("MEMORY_INVALID_ARGS", "no memory is named", "give ids, or --session ID for all of a session")
    named = [name for name in options["ids"] if name.startswith(CALL)]
    if named:
        return _forget_calls(options["ids"], named, bool(options["undo"]), settings)
    _reading(lambda db: [forgetting.find(db, identifier) for identifier in options["ids"][:1]])
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
    undo = bool(options["undo"])
    act = forgetting.bring_back if undo else forgetting.forget
    found = act(db, options["ids"], now=clock.now_ms(), vectors=sqlite.load_vectors(db))
    names = [document["id"] for document in found]
    changed = [document["id"] for document in found if (document["forgotten_at"] is not None) == undo]
    key = "restored" if undo else "forgotten"
    other = "" if undo else " --undo"
    return Answer(
        {"ids": names, key: changed, "unchanged": [name for name in names if name not in changed], "undo": undo},
        [{"command": f"joelclaw memory forget{other} {' '.join(names[:5])}", "description": "the reverse"}],
    )


def _forget_calls(given: list[str], named: list[str], undo: bool, settings: config.Config) -> Answer:
    from memory import forget as forgetting

    if undo:
        raise usage(
            "MEMORY_INVALID_ARGS",
            "a tool call that was forgotten cannot be brought back: its text was deleted",
            "bring back memories by their ids",
        )
    if len(named) < len(given):
        raise usage(
            "MEMORY_INVALID_ARGS",
            "tool calls are forgotten for good, memories can be brought back: not both at once",
            f"begin with joelclaw memory forget {' '.join(map(quoted, named[:5]))}",
        )
    if _reading(lambda db: db) is None:
        raise Failure("MEMORY_NOT_FOUND", f"there is no tool call {named[0]}", "nothing is stored yet")
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
    names = forgetting.forget_calls(db, named)
    return Answer({"ids": names, "forgotten": names, "unchanged": [], "undo": False, "toolCalls": len(names)})


def _forget_session(options: dict[str, Any], settings: config.Config) -> Answer:
    if options["undo"]:
        raise usage(
            "MEMORY_INVALID_ARGS",
            "--session cannot be undone as a whole: its tool calls were deleted",
            "bring its memories back by their ids, which `forget --session` printed: joelclaw memory forget --undo ID",
        )
    if options["ids"]:
        raise usage("MEMORY_INVALID_ARGS", "--session and ids do not go together", "give --session alone, or ids alone")
    from memory import forget as forgetting
    from session.session_report import listing

    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
    session = listing.meant(db, options["session"])
    names, kept = forgetting.forget_session(db, session, now=clock.now_ms(), vectors=sqlite.load_vectors(db))
    result = {"ids": names, "forgotten": names, "unchanged": [], "undo": False, "toolCalls": kept}
    if not names:
        return Answer(result)
    back = f"joelclaw memory forget --undo {' '.join(names[:_MOST_NAMED])}"
    what = "bring its memories back"
    if len(names) > _MOST_NAMED:
        what = f"bring the first {_MOST_NAMED} of its memories back; `ids` has them all"
    return Answer(result, [{"command": back, "description": what}])


def _reading(read: Callable[[apsw.Connection | None], Any]) -> Any:
    """What `read` makes of the store, None where there is none yet; SQLite's errors become failures."""
    try:
        return read(sqlite.open_reading())
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
