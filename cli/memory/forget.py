"""`joelclaw memory forget`, and `--purge`, which asks, deletes, and shows what went."""

import os
from collections.abc import Sequence
from glob import escape, glob
from typing import Any

from cli.answer import Answer, is_for_person, quoted, step
from cli.memory.curate import CODE, writing
from core import clock, config, files
from core.errors import usage
from core.store import documents, sqlite
from core.store.purge import PURGED, folded
from memory import curation
from otel import log
from recall.by_name.calls import PREFIX
from session import known_sessions
from session.state_file import remove_state, state_path

_FILTERS = ("session", "project", "before", "match")
_PURGING = ("purge", "project", "before", "match", "yes", "dry_run")
_LEAST_MATCH = 3
_MOST_SHOWN, _SHOWN_CHARS = 10, 100
_MOST_NAMED = 500  # ids in a command that is printed: a shell takes them all


def run(options: dict[str, Any]) -> Answer:
    """Take memories out of recall and export, all or none; `--undo` brings them back. Tool calls go for good."""
    if any(options[name] for name in _PURGING):
        return _purge(options)
    if options["session"]:
        return _session(options)
    ids, undo = options["ids"], bool(options["undo"])
    if not ids:
        raise usage(CODE, "no memory was given", "give ids, or --session ID for all of a session")
    calls = [name for name in ids if name.startswith(PREFIX)]
    if calls:
        return _calls(ids, calls, undo=undo)
    db, about = writing(ids[0])
    found = (curation.undo_forget if undo else curation.forget)(db, ids, **about)
    names = [document["id"] for document in found]
    changed = [document["id"] for document in found if (document["forgotten_at"] is not None) == undo]
    unchanged = [name for name in names if name not in changed]
    purged = [one["id"] for one in found if one["write_reason"] == PURGED and not one["text"]]
    other = "" if undo else " --undo"
    told = {"ids": names, "restored" if undo else "forgotten": changed, "unchanged": unchanged, "undo": undo}
    return Answer(
        {**told, "purged": purged}, [step(f"joelclaw memory forget{other} {' '.join(names[:5])}", "undo this")]
    )


def _calls(ids: list[str], calls: list[str], *, undo: bool) -> Answer:
    if undo or len(calls) < len(ids):
        fix = "run --undo with memory ids only" if undo else "forget memories and tool calls in two commands"
        raise usage(CODE, "tool calls cannot be brought back", fix)
    curation.find_call(sqlite.open_reading(), calls[0])  # where there is no store, none is made
    names = curation.forget_calls(writing()[0], calls)
    told = {"ids": names, "forgotten": names, "deletedForGood": names, "unchanged": [], "undo": False}
    return Answer({**told, "toolCalls": len(names)})


def _session(options: dict[str, Any]) -> Answer:
    if options["undo"] or options["ids"]:
        fix = "give --session alone; its memories come back by their ids: joelclaw memory forget --undo ID"
        raise usage(CODE, "--session takes no ids and no --undo: the session's tool calls are deleted", fix)
    # An event of the session that waits would come behind this.
    log.store_spooled(busy_ms=config.load().get_int("store.busy_ms"))
    db, about = writing()
    session = known_sessions.resolve(db, options["session"])
    remove_state(session)  # first: where it is locked, nothing has happened yet
    files.remove(*glob(escape(state_path(session)) + ".damaged-*"))
    names, kept = curation.forget_session(db, session, **about)
    back = f"joelclaw memory forget --undo {' '.join(names[:_MOST_NAMED])}"
    result = {"ids": names, "forgotten": names, "unchanged": [], "undo": False, "toolCalls": kept}
    return Answer(result, [step(back, "bring its memories back; `ids` has all of them")] if names else [])


def _purge(options: dict[str, Any]) -> Answer:
    """Delete what fits for good, or say what would go."""
    before = clock.parse_iso(options["before"]) if options["before"] else None
    wrong, fix = _wrong(options, before)
    if wrong:
        raise usage(CODE, wrong, fix)
    from session.backup.purge import Purge

    purge = Purge(
        config.load(), options["ids"], session=(options["session"] or "").strip(), project=options["project"].strip(),
        before=before, match=options["match"],
    )  # fmt: skip
    if options["dry_run"]:
        words = [quoted(one) for one in options["ids"]]
        words += [f"--{name} {quoted(options[name])}" for name in _FILTERS if options[name]]
        same = f"joelclaw memory forget --purge {' '.join(words)} --yes"
        return _expected(purge.result(done=False), [step(same, "delete it permanently")])
    if not options["yes"] and not _agreed(_expected(purge.result(done=False))):
        return Answer({"declined": "nothing was deleted"})
    result = purge.run()
    actions = [step("joelclaw store push", "delete it in the cluster too")] if result["cluster"] else []
    return Answer(result, [*actions, step("joelclaw memory stats", "what is left")])


def _expected(result: dict[str, Any], actions: Sequence[Any] = ()) -> Answer:
    """What would go, with the first words of it for a person."""
    db = sqlite.open_reading()
    texts = documents.beginnings(db, result["ids"][:_MOST_SHOWN], _SHOWN_CHARS) if db is not None else {}
    shown = [f"  {' '.join(text.split())}" for text in texts.values()]
    more = len(result["ids"]) - len(shown)
    lines = ["Would be deleted permanently:", *shown, *([f"  and {more} more"] if more > 0 else [])]
    return Answer(result, list(actions), said="\n".join(lines))


def _wrong(options: dict[str, Any], before: int | None) -> tuple[str, str]:
    """What is wrong with the words of a purge, and what to do about it."""
    has_filters = any(options[name] for name in _FILTERS)
    if not options["purge"]:
        return "--project, --before, --match, --yes and --dry-run go with --purge", "give --purge; see --dry-run"
    if options["undo"]:
        return "what is purged cannot be brought back", "leave --undo or --purge out"
    if bool(options["ids"]) == has_filters:
        wrong = "ids and filters do not go together" if has_filters else "nothing says what to delete"
        return wrong, "give ids, or some of --session, --project, --before and --match"
    if options["match"] and len(folded(options["match"])) < _LEAST_MATCH:
        return "--match is too short", f"give {_LEAST_MATCH} characters or more"
    if options["before"] and before is None:
        return f"--before is {options['before'][:60]!r}, which is not a date", "give it as 2026-01-31"
    if not (options["dry_run"] or options["yes"] or _on_terminal()):
        return ("--purge deletes permanently, and nobody can be asked here", "give --yes, or --dry-run first")
    return "", ""


def _agreed(expected: Answer) -> bool:
    from cli.terminal import agreed, told

    told(expected, without=("ids",))
    return agreed("delete it permanently?")


def _on_terminal() -> bool:
    return is_for_person() and os.isatty(0)
