"""`joelclaw memory list`, `show`, `recent`, `stats`, `scorecard`, `edit`, `tag`, `pin` and `supersede`."""

from typing import Any

import apsw

from cli.answer import Answer, quoted, refuse_terminal, step, write_verbatim
from cli.memory.write import read_stdin
from core import clock, config
from core.errors import usage
from core.store import progress, sqlite
from memory import curation, json_form
from memory.write import MAX_CHARS
from recall.by_name.calls import PREFIX

CODE = "MEMORY_INVALID_ARGS"
_PASSED_ON = ("category", "project", "verdict", "source", "days", "older_than")


def list_(options: dict[str, Any]) -> Answer:
    """A page of the observations, the newest first."""
    result = curation.listing(sqlite.open_reading() or sqlite.open_in_memory(), options, now=clock.now_ms())
    words = ["joelclaw memory list", *(f"--tag {quoted(tag)}" for tag in options["tag"])]
    for name in _PASSED_ON:
        value = options[name]
        if value is not None:
            shown = f"{value:g}" if isinstance(value, float) else quoted(str(value))
            words.append(f"--{name.replace('_', '-')} {shown}")
    words += ["--all"] if options["all"] else []
    words.append(f"--limit {options['limit']} --page {options['page'] + 1}")
    steps = [_show(result["memories"][0])] if result["memories"] else []
    if result["found"] > options["page"] * options["limit"]:
        steps.append(step(" ".join(words), "the next page"))
    return Answer(result, steps or [step("joelclaw memory stats", "what there is")])


def show(options: dict[str, Any]) -> Answer | int:
    """One memory with everything known of it, forgotten or not; or a tool call, `call:<session>:<number>`."""
    if options["verbatim"]:
        refuse_terminal(CODE)
    db = sqlite.open_reading()
    if options["id"].startswith(PREFIX):
        call = curation.find_call(db, options["id"])
        if options["verbatim"]:
            return write_verbatim(call["passage"])
        name = {"name": {"description": "a name in it", "required": True}}
        return Answer(call, [step(f"joelclaw recall <name> --session {call['session']}", "more of this session", name)])
    document = curation.find(db, options["id"])
    curation.refuse_purged(document)
    if options["verbatim"]:
        return write_verbatim(document["text"])
    view = {**json_form.to_view(document), "evidence": progress.evidence(db, document["id"]) if db else []}
    undo = " --undo" if view["forgotten"] else ""
    what = "bring it back" if view["forgotten"] else "remove it from memory"
    steps = [step(f"joelclaw memory forget{undo} {view['id']}", what)]
    if view["supersededBy"] and not view["forgotten"]:
        steps.append(step(f"joelclaw memory supersede {view['id']} --undo", "bring it back"))
    return Answer(view, steps)


def edit(options: dict[str, Any]) -> Answer:
    """Give a memory another text."""
    text, (db, about) = _text(options), writing(options["id"])
    result = curation.edit(db, options["id"], text, **about)
    what = {"text": {"description": "what holds now", "required": True}}
    other = step(f"joelclaw memory supersede {result['id']} <text>", "replace it with what holds now", what)
    return Answer(result, [_show(result), other])


def tag(options: dict[str, Any]) -> Answer:
    """Add tags to a memory, or remove some."""
    db, _ = writing(options["id"])
    result = curation.tag(db, options["id"], add=options["add"].split(","), remove=options["remove"].split(","))
    steps = [_show(result)]
    if result["tags"]:
        steps.append(step(f"joelclaw memory list --tag {quoted(result['tags'][-1])}", "all with this tag"))
    return Answer(result, steps)


def pin(options: dict[str, Any]) -> Answer:
    """Pin a memory, or let it age again."""
    undo = bool(options["undo"])
    result = curation.pin(writing(options["id"])[0], options["id"], undo=undo)
    reverse = f"joelclaw memory pin {result['id']}" + ("" if undo else " --undo")
    return Answer(result, [step(reverse, "undo this"), step("joelclaw memory list --tag pinned", "what is pinned")])


def supersede(options: dict[str, Any]) -> Answer:
    """Say what holds now in the place of a memory; `--undo` takes that back."""
    call = f"joelclaw memory supersede {quoted(options['id'])}"
    if options["undo"]:
        if options["text"] is not None:
            raise usage(CODE, "--undo takes no text", f"{call} --undo")
        db, about = writing(options["id"])
        back = curation.undo_supersede(db, options["id"], **about)
        return Answer(back, [_show(back)])
    if options["text"] is None:
        raise usage(CODE, "no new text was given", f"{call} 'what holds now'")
    text, (db, about) = _text(options), writing(options["id"])
    result = curation.supersede(db, options["id"], text, **about)
    undo = f"joelclaw memory supersede {result['superseded']['id']} --undo"
    return Answer(result, [_show(result), step(undo, "undo this")])


def _show(result: dict[str, Any]) -> Any:
    return step(f"joelclaw memory show {quoted(result['id'])}", "everything known of it")


def _text(options: dict[str, Any]) -> str:
    return read_stdin(MAX_CHARS) if options["text"] == "-" else options["text"]


def writing(identifier: str = "") -> tuple[apsw.Connection, dict[str, Any]]:
    """The store, and what most changes take. An unknown id makes no store, and waits for no lock."""
    if identifier:
        curation.find(sqlite.open_reading(), identifier)
    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=True)
    return db, {"now": clock.now_ms(), "vectors": sqlite.load_vectors(db)}
