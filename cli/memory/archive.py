"""`joelclaw memory archive`: take in transcripts that agents left on disk, every message as an episode.

Also what is offered of past sessions, and what to ask of them at first.
"""

from __future__ import annotations

import os
import re

import clients
from cli.answer import Answer, is_for_person, quoted, step
from cli.stdout import tell
from core import TYPE_CHECKING, clock, config, files, ids, shell_command
from core.errors import Failure, usage
from core.store import sqlite
from core.store.sessions import session_lists, session_rows
from memory.archive import known_files
from memory.archive.known_files import Archived, KnownFiles
from recall import engine, hit
from recall.query import Query
from session import past_runs
from session.inject import topics
from session.lost import report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from memory.archive.known_files import File

_BYTES_A_SECOND = 5_000_000  # archived by two cores that were busy: 74 MB took 13 to 18 s
_FREQUENT = 30
_MOST_WORDS = 3
_QUESTION = re.compile(r"(?:^|[.,:!?\n] *)((?:why|where|how(?! about)|what(?! if)) [a-z_ ,'-]{12,75})\?", re.IGNORECASE)


def run(options: dict[str, Any]) -> Answer:
    """Archive the files named, or those that the clients keep; one that the archive has as it is is not opened."""
    agent: str = options["agent"] or ""
    if not options["paths"] and not options["all"]:
        if agent:
            fix = "name files or folders, or give --all for those that the clients keep"
            raise usage("MEMORY_INVALID_ARGS", "no transcript is named", fix)
        return _offered()
    now = clock.now_ms()
    every = known_files.find(options["paths"], agent, every=options["all"])
    if options["paths"] and not every:
        raise _refused(f"there is no transcript in {options['paths'][0]}")
    known = KnownFiles(sqlite.open_reading(), agent, now)
    seen = [(file, known.of(file)) for file in every]
    new = [file for file, one in seen if one is None]
    done = _archived(new, known, agent, now, every if options["all"] and not agent else None) if new else Archived()
    for file, one in seen:
        if one is not None and one["client"]:
            done.take(one["client"])
        elif one is not None:
            done.leave_out(file.path, one["reason"])
    result = done.result
    if result["skipped"] and not result["transcripts"] and not options["all"]:
        first = result["skipped"][0]
        about = f"none of {result['skippedCount']} files could be archived; {first['path']}: {first['reason']}"
        raise _refused(about)
    actions = _questions() if done.has_new else []
    return Answer(result, actions or [step("joelclaw recall <query>", "find what was said")])


def _refused(about: str) -> Failure:
    fix = f"name transcripts of {', '.join(clients.keeping_files())}, not packed; --agent NAME says who wrote them"
    return Failure("ARCHIVE_FAILED", about, fix)


def _archived(new: Sequence[File], known: KnownFiles, agent: str, now: int, every: Sequence[File] | None) -> Archived:
    """Take in files that are new or have changed; `every` file that there is, where that is known."""
    from cli import bulk
    from memory.archive import transcript_files
    from session.state.state_file import identity

    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=False)
    vectors = sqlite.load_vectors(db)
    try:
        with bulk.bar("archiving", sum(file.size for file in new), in_bytes=True) as (_, advance):
            done = transcript_files.ingest_all(
                db, new, agent=agent, identity=identity, now=now, vectors=vectors, progress=advance, note=known.note
            )
    except KeyboardInterrupt:
        tell(f"stopped: {known.noted} of {len(new)} session files archived; run it again to go on\n")
        raise
    known.save(db, every)
    return done


def _left() -> dict[str, Any]:
    """How many there are, of which clients, how large they are, and how long archiving them takes."""
    db = sqlite.open_reading()
    left = {name: known_files.not_archived(db, [name]) for name in clients.keeping_files()}
    size = sum(file.size for some in left.values() for file in some)
    counts = {name: len(some) for name, some in left.items() if some}
    seconds = max(1, round(size / _BYTES_A_SECOND))
    return {"sessions": sum(counts.values()), "clients": counts, "bytes": size, "seconds": seconds}


def _sentence(about: dict[str, Any]) -> str:
    """What was found, in a line."""
    sessions = f"{about['sessions']:,} past session{'s' * (about['sessions'] != 1)}"
    return (
        f"{sessions} found ({', '.join(about['clients'])}), {about['bytes'] / 1e6:,.1f} MB, about {about['seconds']} s"
    )


def offer(*, yes: bool = False, no: bool = False, again: bool = False) -> tuple[dict[str, Any], list[Any]]:
    """Archive what is not archived yet, if the user agrees on a terminal; returns what to tell and to do next.

    Who declined is asked, and told, `again` only where another client has sessions.
    """
    about, path = _left(), os.path.join(files.home(), "cache", "declined-history")
    known = () if yes or again else files.start_of(path, 1000).split()
    if not about["clients"].keys() - known:
        return {"history": about}, []
    asking = is_for_person() and os.isatty(0) and not (yes or no)
    if (yes and not no) or (asking and _agreed(about)):
        done = run({"paths": [], "all": True, "agent": ""})
        return {"history": about, "archived": done.result}, done.next_actions
    if asking:
        files.write_whole(path, " ".join(about["clients"]).encode())
    return {"history": about}, [step("joelclaw memory archive --all", _sentence(about))]


def _agreed(about: dict[str, Any]) -> bool:
    from cli.terminal import agreed

    return agreed(f"{_sentence(about)}: archive them now?", otherwise=True)


def _offered() -> Answer:
    """The answer of `memory archive` without an argument."""
    told, actions = offer(again=True)
    if "archived" in told:
        return Answer(told["archived"], actions)
    some = told["history"]["sessions"]
    return Answer(told, actions, said=f"{_sentence(told['history'])}." if some else "All past sessions are archived.")


def _questions() -> list[Any]:
    """Three to try on what is archived, each with an answer: a late question, a frequent command, a compaction."""
    db = sqlite.open_reading()
    if db is None:
        return []
    text = _answered_question(db)
    asked = [step(f"joelclaw recall {quoted(text)}", "a question you asked before")] if text else []
    for command in session_lists.often_ran(db, _FREQUENT):
        steps = [one for one in shell_command.steps(command) if shell_command.does(one)]
        words = " ".join(steps[0]["words"][:_MOST_WORDS]) if steps else ""
        if words and past_runs.ways(db, words, 1):
            asked.append(step(f"joelclaw how {quoted(words)}", "how it was run here"))
            break
    if (session := session_lists.last_compacted(db)) and any(report.of(db, session, report.KINDS)["lost"].values()):
        asked.append(step(f"joelclaw lost {quoted(ids.shown(session['id']))}", "what its last compaction dropped"))
    return asked


def _answered_question(db: apsw.Connection) -> str:
    """What was asked last in words, and has words of the agent's as its best hit; "" where nothing is so."""
    vectors, now, settings = sqlite.load_vectors(db), clock.now_ms(), config.load()
    for session in session_lists.latest_sessions(db, _FREQUENT):
        for prompt in reversed(session_rows.timed_prompts(db, session["id"], _FREQUENT)):
            asked = _QUESTION.search(prompt["text"])
            if asked and topics.is_topic(text := asked[1]):
                found = engine.recall(db, Query(text, limit=1), now=now, vectors=vectors, config=settings)
                if found["hits"] and found["hits"][0]["origin"] == hit.AGENT:
                    return text
    return ""
