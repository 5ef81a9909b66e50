"""Past sessions that the clients still have and nobody archived: found, offered, and taken in."""

import os
import re
from collections.abc import Callable
from typing import Any

import apsw

import clients
from cli.answer import Answer, is_for_person, quoted, step
from cli.terminal import agreed
from core import clock, config, files, ids, shell_command
from core.store import calls, sqlite
from core.store import sessions as stored_sessions
from memory.archive import transcript_files
from recall import engine, hit
from recall.query import Query
from session import lost, past_runs
from session.notes import requests

_BYTES_A_SECOND = 5_000_000  # archived by two cores that were busy: 74 MB took 13 to 18 s
_FREQUENT = 30
_MOST_WORDS = 3
_QUESTION = re.compile(r"(?:^|[.,:!?\n] *)((?:why|where|how(?! about)|what(?! if)) [a-z_ ,'-]{12,75})\?", re.IGNORECASE)


def found() -> dict[str, Any]:
    """How many there are, of which clients, how large they are, and how long archiving them takes."""
    db = sqlite.open_reading()
    left = {name: transcript_files.not_archived(db, [name]) for name in clients.keeping_files()}
    size = sum(file.size for some in left.values() for file in some)
    counts = {name: len(some) for name, some in left.items() if some}
    seconds = max(1, round(size / _BYTES_A_SECOND))
    return {"sessions": sum(counts.values()), "clients": counts, "bytes": size, "seconds": seconds}


def sentence(about: dict[str, Any]) -> str:
    """What was found, in a line."""
    sessions = f"{about['sessions']:,} past session{'s' * (about['sessions'] != 1)}"
    return (
        f"{sessions} found ({', '.join(about['clients'])}), {about['bytes'] / 1e6:,.1f} MB, about {about['seconds']} s"
    )


def offer(
    archive: Callable[[dict[str, Any]], Answer], *, yes: bool = False, no: bool = False, again: bool = False
) -> tuple[dict[str, Any], list[Any]]:
    """Archive what was found, by that command, if the user agrees on a terminal; returns what to tell and to do next.

    Who declined is asked, and told, `again` only where another client has sessions.
    """
    about, path = found(), os.path.join(files.home(), "cache", "declined-history")
    known = () if yes or again else files.start_of(path, 1000).split()
    if not about["clients"].keys() - known:
        return {"history": about}, []
    asking = is_for_person() and os.isatty(0) and not (yes or no)
    if (yes and not no) or (asking and agreed(f"{sentence(about)}: archive them now?", otherwise=True)):
        done = archive({"paths": [], "all": True, "agent": ""})
        return {"history": about, "archived": done.result}, done.next_actions
    if asking:
        files.write_whole(path, " ".join(about["clients"]).encode())
    return {"history": about}, [step("joelclaw memory archive --all", sentence(about))]


def offered(archive: Callable[[dict[str, Any]], Answer]) -> Answer:
    """The answer of `memory archive` without an argument."""
    told, actions = offer(archive, again=True)
    if "archived" in told:
        return Answer(told["archived"], actions)
    some = told["history"]["sessions"]
    return Answer(told, actions, said=f"{sentence(told['history'])}." if some else "All past sessions are archived.")


def questions() -> list[Any]:
    """Three to try on what is archived, each with an answer: a late question, a frequent command, a compaction."""
    db = sqlite.open_reading()
    if db is None:
        return []
    text = _answered_question(db)
    asked = [step(f"joelclaw recall {quoted(text)}", "a question you asked before")] if text else []
    for command in calls.frequent_commands(db, _FREQUENT):
        steps = [one for one in shell_command.steps(command) if shell_command.does(one)]
        words = " ".join(steps[0]["words"][:_MOST_WORDS]) if steps else ""
        if words and past_runs.ways(db, words, 1):
            asked.append(step(f"joelclaw how {quoted(words)}", "how it was run here"))
            break
    if (session := stored_sessions.last_compacted(db)) and any(
        lost.of_session(db, session, lost.KINDS)["lost"].values()
    ):
        asked.append(step(f"joelclaw lost {quoted(ids.shown(session['id']))}", "what its last compaction dropped"))
    return asked


def _answered_question(db: apsw.Connection) -> str:
    """What was asked last in words, and has words of the agent's as its best hit; "" where nothing is so."""
    vectors, now, settings = sqlite.load_vectors(db), clock.now_ms(), config.load()
    for session in stored_sessions.latest(db, _FREQUENT):
        for prompt in reversed(stored_sessions.timed_prompts(db, session["id"], _FREQUENT)):
            asked = _QUESTION.search(prompt["text"])
            if asked and requests.is_topic(text := asked[1]):
                found = engine.recall(db, Query(text, limit=1), now=now, vectors=vectors, config=settings)
                if found["hits"] and found["hits"][0]["origin"] == hit.AGENT:
                    return text
    return ""
