"""What the last compaction of a session dropped: which session is meant, and all kinds of it."""

import os
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from core import clock
from core.config import Config
from core.errors import Failure
from core.project import folder_of, name_of
from core.project import names_of as project_names
from core.quoting import clip, one_line
from core.records import Session
from core.store import calls as stored_calls
from core.store import places_and_names, progress
from core.store import sessions as stored_sessions
from core.store.sqlite import as_failure
from session import own_command
from session.lost.work import Entry, Summary, Work, key_of
from session.notes import requests
from session.reactions import startup
from session.session import SessionStore

KINDS = ("files", "names", "commands", "errors", "words")
GIVEN, PROJECT, LAST = "given", "project", "last"
MOST_CALLS = MOST_TURNS = 5_000
TEXT_CHARS = 300
_FOREVER = 1 << 62
_ARCHIVE_ALL = "joelclaw memory archive --all"
_NAMES, _TEXTS, _DROPPED_CHARS = 24, 3, 800


def of_session(db: apsw.Connection | None, given: str, kinds: Sequence[str], *, project: str) -> dict[str, Any]:
    """What the last compaction dropped of the session that is meant, else of the one that was compacted last."""
    if db is None:
        raise _nothing_archived()
    if given:
        return of(db, _session_meant(db, given), kinds)
    ours = stored_sessions.last_compacted(db, project_names(project, stored_sessions.projects(db))) if project else None
    about = ours or stored_sessions.last_compacted(db)
    if about is None:
        latest = stored_sessions.latest(db, 1)
        raise _no_compaction(db, latest[0]["id"]) if latest else _nothing_archived()
    return of(db, about, kinds, chosen=PROJECT if ours else LAST)


def of(db: apsw.Connection, about: Session, kinds: Sequence[str], *, chosen: str = GIVEN) -> dict[str, Any]:
    """The same of this session; `lost` holds the entries of each kind, the most wanted first."""
    session = about["id"]
    compactions = stored_sessions.compactions(db, session)
    if not compactions:
        raise _no_compaction(db, session)
    last = compactions[-1]
    calls = stored_calls.of_session(db, session, last=MOST_CALLS)
    before = [call for call in calls if call["number"] <= last["call"]]
    # What the user said before it; where the client gives no time, up to the prompt of the last call.
    turns = stored_sessions.last_turns(db, session, MOST_TURNS, until=last["at"] or _FOREVER)
    said = [(identifier, text[len("user:") :].strip()) for identifier, text, _ in turns if text.startswith("user:")]
    if before and not last["at"]:
        said = said[: before[-1]["prompt"]]
    prompts = max(len(said), before[-1]["prompt"] if before else 0)
    summary = Summary(last["summary"], {call["file"] for call in before})
    names = places_and_names.names(db, session, every=True)
    places = places_and_names.places(db, session)
    work = Work(session, about["folder"], summary, calls, names, places, last["call"], prompts)
    readers: dict[str, Callable[[], list[Entry]]] = {
        "files": work.files,
        "names": work.found_names,
        "commands": work.commands,
        "errors": work.errors,
        "words": lambda: _words(said, summary),
    }
    return {
        "session": session, "chosen": chosen, "client": about["client"], "project": about["project"],
        "folder": about["folder"],
        "compaction": {
            "number": len(compactions),
            "at": clock.iso(last["at"] or None),
            "callsBefore": last["call"],
            "callsSince": max(0, about["calls"] - last["call"]),
            "promptsBefore": prompts,
            "summaryKnown": bool(last["summary"]),
            "summaryChars": len(last["summary"]),
        },
        "lost": {kind: readers[kind]() for kind in KINDS if kind in kinds},
    }  # fmt: skip


def standing(config: Config, folder: str, session: str) -> list[str]:
    """Where the work in a folder stands: its last session, or the one named, and what a compaction dropped of it."""
    project, now = name_of(folder), clock.now_ms()
    store = SessionStore(config, now)
    sessions: list[Session] = store.attempt(
        "work", lambda db: stored_sessions.last_of_project(db, project, folder_of(folder), first=session), []
    )
    db = store.reading()
    if store.faults:
        fault = store.faults[0]
        raise Failure(fault["code"], fault["message"], "look at `joelclaw status`: it says how to repair the store")
    if not sessions or db is None:
        message = f"no session of the project {project or 'of this folder'} is archived yet"
        fix = "a session is archived at the end of its first turn; older ones: joelclaw memory archive --all"
        raise Failure("SESSION_NOT_FOUND", message, fix)
    # one that only talked has nothing to tell of, unless it is the one that asks
    about = next((one for one in sessions if one["calls"] or one["id"] == session), sessions[0])
    try:
        compactions = len(stored_sessions.compactions(db, about["id"]))
        left = startup.lines_left(db, sessions, sessions[0]["folder"], now)
        dropped = of(db, about, ("words", "errors", "names"))["lost"] if compactions else {}
    except apsw.Error as error:
        raise as_failure(error) from None
    head = f"session {about['id']} of {about['client']}, project {about['project']}, {about['calls']} tool calls"
    lines = [f"{one_line(head)}, {compactions} compactions", *left]
    told = [("words", one["text"]) for one in dropped.get("words", [])[:_TEXTS]]
    told += [("errors", one["error"]) for one in dropped.get("errors", [])[:_TEXTS]]
    told += [("names", line) for line in by_file(dropped.get("names", [])[:_NAMES])]
    if told:
        lines.append("**Dropped by the last compaction; recall brings it back:**")
    return [*lines, *(f"- {kind}: {clip(one_line(text), _DROPPED_CHARS)}" for kind, text in told)]


def by_file(names: Sequence[Entry]) -> list[str]:
    """`file: name:line name:line`, a line a file, that of the first name first."""
    found: dict[str, list[str]] = {}
    for one in names:
        file, _, line = one["place"].rpartition(":")
        found.setdefault(file, []).append(f"{one['name']}:{line}")
    return [f"{file}: {' '.join(entries)}" for file, entries in found.items()]


def _words(said: Sequence[tuple[str, str]], summary: Summary) -> list[Entry]:
    """What the user said, the latest first, each once: no "continue", nothing that the summary repeats."""
    found: dict[str, Entry] = {}
    for behind, (identifier, text) in enumerate(reversed(said)):
        key = key_of(text)
        tells = requests.is_topic(text) or requests.is_request(text)
        if tells and key not in found and not summary.has_text(text):
            get = f"{own_command.word()} memory show {shlex.quote(identifier)}"
            said_then = clip(" ".join(text.split()), TEXT_CHARS)
            found[key] = {"text": said_then, "by": "prompt", "id": identifier, "promptsBefore": behind, "get": get}
    return list(found.values())


def _session_meant(db: apsw.Connection, given: str) -> Session:
    """The session with this id, or the only one whose id begins so."""
    known = stored_sessions.by_id(db, given)
    if known is not None:
        return known
    whole = "" if stored_sessions.is_forgotten(db, given) else stored_sessions.whole_id(db, given, least=1)
    forgotten = "" if whole else stored_sessions.forgotten_beginning(db, given)
    if forgotten:
        said = f"session {forgotten} was forgotten: nothing of it is stored, now or later"
        fix = "ask for another one; without ID it is the last that was compacted: joelclaw lost"
        raise Failure("SESSION_NOT_FOUND", said, fix)
    if not whole:
        fix = f"archive its transcript: joelclaw memory archive PATH, or {_ARCHIVE_ALL}"
        raise Failure("SESSION_NOT_FOUND", f"no session {given[:80]!r} is archived", fix)
    known = stored_sessions.by_id(db, whole)
    if known is None:
        paths = [path for path in progress.sources_naming(db, whole) if os.path.isfile(path)]
        said = f"only the messages of session {whole} are archived, not its tool calls: an older joelclaw archived them"
        path = shlex.quote(paths[0]) if paths else "PATH"
        raise Failure("CALLS_NOT_ARCHIVED", said, f"read its transcript again: joelclaw memory archive {path}")
    return known


def _nothing_archived() -> Failure:
    return Failure("SESSION_NOT_FOUND", "no session is archived yet", f"archive what there is: {_ARCHIVE_ALL}")


def _no_compaction(db: apsw.Connection, session: str) -> Failure:
    other = stored_sessions.last_compacted(db)
    fix = f"the last that was: joelclaw lost {shlex.quote(other['id'])}" if other else "ask again after one"
    return Failure("NO_COMPACTION", f"session {session} has not been compacted: nothing is lost", fix)
