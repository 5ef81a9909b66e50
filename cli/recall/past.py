"""`joelclaw how` and `joelclaw fix`: commands that were run here, and the runs that worked after an error."""

from collections.abc import Callable, Iterator
from typing import Any

from apsw import Connection

from cli.answer import Answer, quoted, step
from core import ids
from core.quoting import clip
from core.store import sqlite
from session import past_runs

_ERROR_CHARS, _COMMAND_CHARS = 200, 300


def how(options: dict[str, Any]) -> Answer:
    """Commands of a tool, or with these words."""
    return _answer(options, "commands", past_runs.ways)


def fix(options: dict[str, Any]) -> Answer:
    """What was done after an error like this."""
    return _answer(options, "errors", past_runs.endings)


def _answer(options: dict[str, Any], name: str, find: Callable[[Connection, str, int], list[dict[str, Any]]]) -> Answer:
    found = find(sqlite.open_reading() or sqlite.open_in_memory(), options["query"], options["limit"])
    result = {"query": options["query"], "count": len(found), name: found}
    following = step(f"joelclaw recall {quoted(result['query'])}", "what was said about it")
    if found:
        first = found[0].get("ended") or found[0]
        following = step(f"joelclaw recall show {quoted(_id(first))}", "the conversation around the best one")
    return Answer(result, [following], "\n".join(lines(result)) if options["raw"] else None)


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The answer as text: a command, how it came out, where it is from; of an error what was done, and what worked."""
    for one in result.get("commands", ()):
        yield _done(one)
        runs = f"{one['runs']} runs, the last" if one["runs"] > 1 else ""
        yield f"    {one['outcome'] or 'no outcome'} · {_from(one, runs)}"
    for one in result.get("errors", ()):
        yield f"{one['error'][:_ERROR_CHARS] or one['tool'] + ' failed'} · {_from(one)}"
        called = f"{one['outcome'] or 'no outcome'}: {_done(one)}"
        yield f"    {called if one['origin'] == 'tool' else 'pasted in a prompt'}"
        if one["said"]:
            yield f"    said: {one['said']}"
        yield from (f"    then: {what}" for what in one["did"])
        for run in {run["id"]: run for run in (one["next"], one["ended"]) if run}.values():
            yield f"    {run['outcome'] or 'no outcome'}: {_done(run)} ({_id(run)})"
    if not result["count"]:
        yield f"No results for {result['query'][:120]!r}."


def _done(one: dict[str, Any]) -> str:
    first, more, _ = one["command"].strip().partition("\n")
    told = clip(first, _COMMAND_CHARS) + " …" * bool(more)
    return f"$ {told}" if first and not one["file"] else f"{one['tool']} {one['file']}"


def _from(one: dict[str, Any], runs: str = "") -> str:
    return " · ".join(filter(None, (_id(one), runs, one["at"][:10], one["project"], one["folder"])))


def _id(one: dict[str, Any]) -> str:
    return str(one["id"]).replace(one["session"], ids.shown(one["session"]))
