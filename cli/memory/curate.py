"""`joelclaw memory list`, `edit`, `tag`, `pin`, `supersede` and `forget`: what a person changes."""

from __future__ import annotations

from typing import Any

import apsw

from cli.answer import Answer, quoted, refuse_terminal, step, write_verbatim
from cli.memory.write import read_stdin
from core import clock, config
from core.errors import Failure, usage
from core.store import sqlite
from core.store.sessions import observed
from memory import curation, json_form
from memory import forget as forgetting
from recall.by_name import calls as found_calls
from recall.by_name.calls import PREFIX

_CODE = "MEMORY_INVALID_ARGS"
_PASSED_ON = ("category", "project", "verdict", "source", "days", "older_than")
_MOST_NAMED = 500
"""Ids in a command that is printed: a shell takes them all."""
_PURGING = ("purge", "project", "before", "match", "yes", "dry_run")


def list_(options: dict[str, Any]) -> Answer:
    """A page of the observations, the newest first."""
    result = curation.listing(sqlite.open_reading(), options, now=clock.now_ms())
    steps = []
    if result["memories"]:
        first = quoted(result["memories"][0]["id"])
        steps.append(step(f"joelclaw memory show {first}", "everything known of the first"))
    if result["found"] > options["page"] * options["limit"]:
        steps.append(step(_next_page(options), "the next page"))
    if not result["found"]:
        steps.append(step("joelclaw memory stats", "what there is"))
    return Answer(result, steps)


def _next_page(options: dict[str, Any]) -> str:
    words = [f"--tag {quoted(tag)}" for tag in options["tag"]]
    for name in _PASSED_ON:
        value = options[name]
        if value is not None:
            shown = f"{value:g}" if isinstance(value, float) else quoted(str(value))
            words.append(f"--{name.replace('_', '-')} {shown}")
    if options["all"]:
        words.append("--all")
    return " ".join(["joelclaw memory list", *words, f"--limit {options['limit']} --page {options['page'] + 1}"])


def show(options: dict[str, Any]) -> Answer | int:
    """One memory with everything known of it, forgotten or not; or a tool call, `call:<session>:<number>`."""
    if options["verbatim"]:
        refuse_terminal("MEMORY_INVALID_ARGS")
    db = sqlite.open_reading()
    if options["id"].startswith(PREFIX):
        call: Any = found_calls.view(db, options["id"])
        if call is None:
            message = f"there is no tool call {options['id']}"
            raise Failure("MEMORY_NOT_FOUND", message, "take the id from `joelclaw recall NAME --json`")
        if options["verbatim"]:
            return write_verbatim(call["passage"])
        name = {"name": {"description": "a name in it", "required": True}}
        more = step(f"joelclaw recall <name> --session {call['session']}", "more of this session", name)
        return Answer(call, [more])
    document = forgetting.find(db, options["id"])
    if options["verbatim"]:
        return write_verbatim(document["text"])
    view = {**json_form.to_view(document), "evidence": observed.evidence(db, document["id"]) if db else []}
    undo = " --undo" if view["forgotten"] else ""
    what = "bring it back" if view["forgotten"] else "take it out of memory"
    steps = [step(f"joelclaw memory forget{undo} {view['id']}", what)]
    if view["supersededBy"] and not view["forgotten"]:
        steps.append(step(f"joelclaw memory supersede {view['id']} --undo", "hand it out again"))
    return Answer(view, steps)


def edit(options: dict[str, Any]) -> Answer:
    """Give a memory another text."""
    settings = config.load()
    text = _text(options, settings)
    db, about = _writing(options["id"], settings)
    result = curation.edit(db, options["id"], text, **about, config=settings)
    what = {"text": {"description": "what holds now", "required": True}}
    other = step(f"joelclaw memory supersede {result['id']} <text>", "say that something else holds now", what)
    return Answer(result, [_show(result), other])


def tag(options: dict[str, Any]) -> Answer:
    """Add tags to a memory, or take some away."""
    db, _ = _writing(options["id"], config.load())
    result = curation.tag(db, options["id"], add=options["add"].split(","), remove=options["remove"].split(","))
    steps = [_show(result)]
    if result["tags"]:
        steps.append(step(f"joelclaw memory list --tag {quoted(result['tags'][-1])}", "all with this tag"))
    return Answer(result, steps)


def pin(options: dict[str, Any]) -> Answer:
    """Pin a memory, or let it age again."""
    undo = bool(options["undo"])
    db, _ = _writing(options["id"], config.load())
    result = curation.pin(db, options["id"], undo=undo)
    reverse = f"joelclaw memory pin {result['id']}" + ("" if undo else " --undo")
    return Answer(
        result, [step(reverse, "the reverse"), step("joelclaw memory list --tag pinned", "all that are pinned")]
    )


def supersede(options: dict[str, Any]) -> Answer:
    """Say what holds now in the place of a memory; `--undo` takes that back."""
    settings = config.load()
    call = f"joelclaw memory supersede {quoted(options['id'])}"
    if options["undo"]:
        if options["text"] is not None:
            raise usage(_CODE, "--undo takes no text", f"{call} --undo")
        db, about = _writing(options["id"], settings)
        back = curation.bring_back(db, options["id"], **about)
        return Answer(back, [_show(back)])
    if options["text"] is None:
        raise usage(_CODE, "there is no text that says what holds now", f"{call} 'what holds now'")
    text = _text(options, settings)
    db, about = _writing(options["id"], settings)
    result = curation.supersede(db, options["id"], text, **about, config=settings)
    undo = f"joelclaw memory supersede {result['superseded']['id']} --undo"
    return Answer(result, [_show(result), step(undo, "the reverse")])


def forget(options: dict[str, Any]) -> Answer:
    """Take memories out of recall and export, all or none; `--undo` brings them back. Tool calls go for good."""
    if any(options[name] for name in _PURGING):
        from cli.memory import purge

        return purge.run(options)
    ids, undo = options["ids"], bool(options["undo"])
    calls = [name for name in ids if name.startswith(PREFIX)]
    if options["session"]:
        return _forget_session(options)
    if not ids:
        raise usage(_CODE, "no memory is named", "give ids, or --session ID for all of a session")
    if calls and undo:
        message = "a tool call that was forgotten cannot be brought back: its text was deleted"
        raise usage(_CODE, message, "bring back memories by their ids")
    if calls and len(calls) < len(ids):
        raise usage(
            _CODE,
            "tool calls are forgotten for good, memories can be brought back: not both at once",
            f"begin with joelclaw memory forget {' '.join(map(quoted, calls[:5]))}",
        )
    if calls and sqlite.open_reading() is None:
        raise Failure("MEMORY_NOT_FOUND", f"there is no tool call {calls[0]}", "nothing is stored yet")
    db, about = _writing("" if calls else ids[0], config.load())
    if calls:
        names = forgetting.forget_calls(db, calls)
        return Answer({"ids": names, "forgotten": names, "unchanged": [], "undo": False, "toolCalls": len(names)})
    found = (forgetting.bring_back if undo else forgetting.forget)(db, ids, **about)
    names = [document["id"] for document in found]
    changed = [document["id"] for document in found if (document["forgotten_at"] is not None) == undo]
    unchanged = [name for name in names if name not in changed]
    other = "" if undo else " --undo"
    return Answer(
        {"ids": names, "restored" if undo else "forgotten": changed, "unchanged": unchanged, "undo": undo},
        [step(f"joelclaw memory forget{other} {' '.join(names[:5])}", "the reverse")],
    )


def _forget_session(options: dict[str, Any]) -> Answer:
    if options["undo"]:
        raise usage(
            _CODE,
            "--session cannot be undone as a whole: its tool calls were deleted",
            "bring its memories back by their ids, which `forget --session` printed: joelclaw memory forget --undo ID",
        )
    if options["ids"]:
        raise usage(_CODE, "--session and ids do not go together", "give --session alone, or ids alone")
    from session.session_report import listing

    db, about = _writing("", config.load())
    names, kept = forgetting.forget_session(db, listing.meant(db, options["session"]), **about)
    back = f"joelclaw memory forget --undo {' '.join(names[:_MOST_NAMED])}"
    what = "bring its memories back"
    if len(names) > _MOST_NAMED:
        what = f"bring the first {_MOST_NAMED} of its memories back; `ids` has them all"
    result = {"ids": names, "forgotten": names, "unchanged": [], "undo": False, "toolCalls": kept}
    return Answer(result, [step(back, what)] if names else [])


def _show(result: dict[str, Any]) -> Any:
    return step(f"joelclaw memory show {result['id']}", "everything known of it")


def _text(options: dict[str, Any], settings: config.Config) -> str:
    return read_stdin(settings.get_int("memory.max_chars")) if options["text"] == "-" else options["text"]


def _writing(identifier: str, settings: config.Config) -> tuple[apsw.Connection, dict[str, Any]]:
    """The store, and what most changes take. An unknown id makes no store, and waits for no lock."""
    if identifier:
        forgetting.find(sqlite.open_reading(), identifier)
    db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=True)
    return db, {"now": clock.now_ms(), "vectors": sqlite.load_vectors(db)}
