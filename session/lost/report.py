"""What the last compaction of a session dropped: which session is meant, and all kinds of it."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import apsw

from core.errors import Failure
from core.project import names_of as project_names
from core.quoting import clip
from core.records import Call, Session
from core.store import documents
from core.store.sessions import call_rows, name_rows, session_rows, transcripts, turn_rows
from session.inject import topics
from session.lost.entry import Entry, Words, by_id
from session.lost.summary_coverage import SummaryCoverage
from session.lost.work import Work

KINDS = ("files", "names", "commands", "errors", "words")
GIVEN, PROJECT, LAST = "given", "project", "last"
MOST_CALLS = MOST_TURNS = 5_000
TEXT_CHARS = 300
_KEY_CHARS = 60
_FOREVER = 1 << 62
_SHORTEST_ID = 8
_ARCHIVE_ALL = "joelclaw memory archive --all"


@dataclass(frozen=True, slots=True)
class Lost:
    """What the last compaction of a session dropped, by kind, the most wanted first."""

    session: str
    client: str
    project: str
    folder: str
    at: int
    """When it was compacted, ms since the epoch; 0 where the client does not say so."""
    compactions: int
    calls_before: int
    calls_since: int
    prompts_before: int
    summary_chars: int
    """0: the summary is not known, and everything before the compaction counts as dropped."""
    kinds: dict[str, list[Entry]]
    chosen: str = GIVEN
    """How the session was found: GIVEN, PROJECT or LAST."""


def of_session(db: apsw.Connection | None, given: str, kinds: Sequence[str] = KINDS, *, project: str = "") -> Lost:
    """What the last compaction dropped, of the session that is meant.

    Args:
        given: its id, or how it begins; "" for the one of the project that was compacted last, else of all.
    """
    if db is None:
        raise _nothing_archived()
    if given:
        return of(db, _session_meant(db, given), kinds)
    ours = session_rows.last_compacted(db, project_names(project, session_rows.projects(db))) if project else None
    about = ours or session_rows.last_compacted(db)
    if about is None:
        latest = session_rows.latest_sessions(db, 1)
        raise _no_compaction(db, latest[0]["id"]) if latest else _nothing_archived()
    return replace(of(db, about, kinds), chosen=PROJECT if ours else LAST)


def of(db: apsw.Connection, about: Session, kinds: Sequence[str]) -> Lost:
    """What the last compaction of a session dropped."""
    session = about["id"]
    compactions = name_rows.compactions(db, session)
    if not compactions:
        raise _no_compaction(db, session)
    last = compactions[-1]
    every = call_rows.calls(db, session, last=MOST_CALLS)
    before = [call for call in every if call["number"] <= last["call"]]
    said = _said_before(db, session, last["at"], before)
    prompts = max(said[-1][0] if said else 0, before[-1]["prompt"] if before else 0)
    names = Counter(file.rpartition("/")[2] for file in {call["file"] for call in before})
    summary = SummaryCoverage(last["summary"], frozenset(base for base, files in names.items() if files > 1))
    work = Work(
        session=session, folder=about["folder"], summary=summary, before=before,
        after=[call for call in every if call["number"] > last["call"]],
        names=name_rows.names(db, session, every=True), call=last["call"], prompts=prompts,
    )  # fmt: skip
    readers: dict[str, Callable[[], Sequence[Entry]]] = {
        "files": work.files,
        "names": work.found_names,
        "commands": work.commands,
        "errors": work.errors,
        "words": lambda: _words(db, said, summary),
    }
    return Lost(
        session=session, client=about["client"], project=about["project"], folder=about["folder"], at=last["at"],
        compactions=len(compactions), calls_before=last["call"],
        calls_since=max(0, about["calls"] - last["call"]), prompts_before=prompts,
        summary_chars=len(last["summary"]),
        kinds={kind: list(readers[kind]()) for kind in KINDS if kind in kinds},
    )  # fmt: skip


def _said_before(db: apsw.Connection, session: str, at: int, before: Sequence[Call]) -> list[tuple[int, str, str]]:
    """What the user said before the compaction: the number of the prompt, its id and its text.

    Where the client gives no time, up to the prompt of the last call.
    """
    turns = turn_rows.last_turns(db, session, MOST_TURNS, until=at or _FOREVER)
    prompts = [(identifier, text[len("user:") :].strip()) for identifier, text, _ in turns if text.startswith("user:")]
    said = [(number, *prompt) for number, prompt in enumerate(prompts, 1)]
    return said if at or not before else [one for one in said if one[0] <= before[-1]["prompt"]]


def _words(db: apsw.Connection, said: Sequence[tuple[int, str, str]], summary: SummaryCoverage) -> list[Words]:
    """What the user said, the latest first, each once: no "continue", nothing that the summary repeats."""
    found: dict[str, Words] = {}
    for number, identifier, text in reversed(said):
        key = "".join(filter(str.isalnum, text.lower()))[:_KEY_CHARS]
        tells = topics.is_topic(text) or topics.is_request(text)
        if tells and key not in found and not summary.text(text):
            found[key] = Words(
                text=clip(" ".join(text.split()), TEXT_CHARS), by="user", id=identifier,
                prompts_before=said[-1][0] - number, get=by_id(_shortest(db, identifier)),
            )  # fmt: skip
    return list(found.values())


def _shortest(db: apsw.Connection, identifier: str) -> str:
    """The shortest beginning of an id, in steps, that no other memory has."""
    start = len(identifier.partition(":")[0]) + 1 if ":" in identifier else 0
    for length in range(start + _SHORTEST_ID, len(identifier), 4):
        if len(documents.ids_beginning(db, identifier[:length], 2)) == 1:
            return identifier[:length]
    return identifier


def _session_meant(db: apsw.Connection, given: str) -> Session:
    """The session with this id, or the only one whose id begins so."""
    known = session_rows.session(db, given)
    if known is not None:
        return known
    whole = "" if session_rows.is_forgotten(db, given) else session_rows.whole_id(db, given, least=1)
    forgotten = "" if whole else session_rows.forgotten_beginning(db, given)
    if forgotten:
        said = f"session {forgotten} was forgotten: nothing of it is kept, nor will be"
        fix = "ask for another one; without ID it is the last that was compacted: joelclaw lost"
        raise Failure("SESSION_NOT_FOUND", said, fix)
    if not whole:
        fix = f"take in its transcript: joelclaw memory archive PATH, or {_ARCHIVE_ALL}"
        raise Failure("SESSION_NOT_FOUND", f"no session {given[:80]!r} is archived", fix)
    known = session_rows.session(db, whole)
    if known is None:
        paths = [path for path in transcripts.sources_naming(db, whole) if os.path.isfile(path)]
        said = f"only the messages of session {whole} are archived, not its tool calls: an older joelclaw took them in"
        path = shlex.quote(paths[0]) if paths else "PATH"
        raise Failure("CALLS_NOT_ARCHIVED", said, f"read its transcript again: joelclaw memory archive {path}")
    return known


def _nothing_archived() -> Failure:
    return Failure("SESSION_NOT_FOUND", "no session is archived yet", f"take in what there is: {_ARCHIVE_ALL}")


def _no_compaction(db: apsw.Connection, session: str) -> Failure:
    other = session_rows.last_compacted(db)
    fix = f"the last one that was: joelclaw lost {shlex.quote(other['id'])}" if other else "ask again after one"
    return Failure("NO_COMPACTION", f"session {session} has not been compacted: nothing is lost", fix)
