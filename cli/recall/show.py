"""`joelclaw show ID`, or `recall show N`: the conversation around a hit, with its calls."""

import os
from contextlib import suppress
from typing import Any

from cli.answer import Answer, quoted, step
from core import files, ids
from core.errors import Failure
from core.store import sqlite
from memory import sessions
from otel.event import query_excerpt
from recall.hit import AGENT, PROMPT
from session.state import stored_id

_MOST_NUMBER = 3
"""Digits of a hit's number."""
_WIDER = 5
SPOKE = {"user": PROMPT, "assistant": AGENT}


def run(options: dict[str, Any]) -> Answer:
    """Around a hit of the last recall on a terminal, by its number, or around what has this id."""
    given = options["id"]
    hits, query = _last_recall()
    identifier = _hit(hits, query, int(given)) if given.isdecimal() and len(given) <= _MOST_NUMBER else given
    before, after = options["before"], options["after"]
    result = sessions.around(sqlite.open_reading(), identifier, before, after, identity=stored_id)
    result["query"] = query if identifier in hits else ""
    actions = [step(f"joelclaw memory show {quoted(result['id'])}", "everything known of it")]
    if result["sessionId"]:
        wider = f"--before {min(max(before, 1) * _WIDER, 1000)} --after {min(max(after, 1) * _WIDER, 1000)}"
        session = quoted(ids.shown(result["sessionId"]))
        actions = [
            step(f"joelclaw show {quoted(given)} {wider}", "more of the conversation"),
            step(f"joelclaw session show {session} --full", "the whole session, turn by turn"),
        ]
    told = "\n".join(f"{SPOKE.get(entry['role'], entry['role'])}: {entry['text']}" for entry in result["entries"])
    return Answer(result, actions, told if options["raw"] else None)


def keep(hits: list[str], query: str) -> None:
    """Note the ids of hits whose numbers a person sees, and what was asked for."""
    with suppress(OSError):  # they are seen all the same
        files.write_whole(_kept(), "\n".join([*(hits or [""]), "", query_excerpt(" ".join(query.split()))]).encode())


def _last_recall() -> tuple[list[str], str]:
    hits, _, query = files.start_of(_kept(), 1 << 16).partition("\n\n")
    return hits.splitlines(), query


def _hit(hits: list[str], query: str, number: int) -> str:
    if not 1 <= number <= len(hits):
        there = f"the last recall on a terminal found {len(hits)}" if query else "no recall was shown on a terminal"
        raise Failure(
            "NO_SUCH_HIT", f"there is no hit {number}: {there}", "ask first: joelclaw recall QUERY; or give an id"
        )
    return hits[number - 1]


def _kept() -> str:
    return os.path.join(files.home(), "cache", "last-recall")
