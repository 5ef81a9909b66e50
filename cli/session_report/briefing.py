"""`joelclaw briefing`: where a repository was left, and its newest memories, each with the command that shows it."""

import os
from typing import Any

from cli.answer import Answer, runnable, step
from cli.memory.commands import COMMANDS
from core import clock, config, project
from core.errors import Failure
from core.quoting import clip, enclose, one_line
from core.records import Session
from core.store import sessions as stored_sessions
from core.store import sqlite
from memory import curation
from session.reactions import startup
from session.session import SessionStore, errors_of

_TITLE_CHARS, _DESCRIPTION_CHARS = 80, 240


def run(options: dict[str, Any]) -> Answer:
    """The heading that a session's start has, and the memories of the repository, newest first."""
    given = os.path.realpath(os.path.expanduser(options["repo"] or "."))
    if not os.path.isdir(given):
        raise Failure("BRIEFING_FAILED", f"{given} is not a folder", "name a repository: --repo DIR")
    folder, name, now = project.folder_of(given), project.name_of(given), clock.now_ms()
    store = SessionStore(config.load(), now)
    sessions: list[Session] = store.attempt("work", lambda db: stored_sessions.last_of_project(db, name, folder), [])
    db = store.reading() or sqlite.open_in_memory()
    task, *unfinished = startup.lines_left(db, sessions, folder, now) or [""]
    if not task.startswith("**Task"):
        task, unfinished = "", [task, *unfinished] if task else []
    since = f"{len(sessions)} sessions, the last on {clock.iso(sessions[0]['updated_at'])[:10]}" if sessions else None
    defaults = next(command.defaults() for command in COMMANDS if command.path == "memory list")
    listed = curation.listing(db, {**defaults, "project": name, "limit": options["budget"]}, now=now)
    heading = {"active_arc": task or None, "frontier": " ".join(unfinished) or None, "since_last_session": since}
    entries = [_entry(one) for one in listed["memories"]]
    result: dict[str, Any] = {
        "repo": folder, "heading": heading, "day_index": None, "entries": entries, "budget": options["budget"],
        "ranking": "recency", "interest_decay": {"status": "reserved"}, **errors_of(store.faults),
    }  # fmt: skip
    lines = [f"# {one_line(name)}"]
    lines += [f"{key.replace('_', ' ').capitalize()}: {told or '–'}" for key, told in heading.items()]
    shown = (f"{one['title']} — {one['description']} ({runnable(one['pointer'])})" for one in entries)
    lines += [f"{at}. {one}" for at, one in enumerate(shown, 1)]
    text = enclose("memory-recall", lines) if options["format"] == "text" else None
    return Answer(result, [step("joelclaw session list", "its sessions")], text, framed=True)


def _entry(memory: dict[str, Any]) -> dict[str, Any]:
    sensitive = memory["privacy"] == "sensitive"
    text = "[sensitive]" if sensitive else one_line(memory["observation"])
    return {
        "title": clip(text, _TITLE_CHARS), "description": clip(text, _DESCRIPTION_CHARS), "sensitive": sensitive,
        "pointer": f"joelclaw show {memory['id']}", "source": "observation", "updated_at": memory["at"],
    }  # fmt: skip
