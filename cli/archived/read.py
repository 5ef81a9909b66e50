"""`joelclaw sessions search`, `extract` and `inspect`: archived sessions, found and read."""

import re
from typing import Any

from cli.answer import Answer, quoted, step
from core import clock, config
from core.errors import usage
from core.store import sqlite
from memory import sessions
from otel.event import host
from session.state import stored_id

_CODE = "SESSIONS_INVALID_ARGS"


def search(options: dict[str, Any]) -> Answer:
    """The sessions that bear on a query."""
    query, source, raw = options["query"], options["source"], options["raw"]
    here = host()
    machine = options["machine"] or here
    db = sqlite.open_reading()
    found: dict[str, Any] = {"found": 0, "searched": 0, "hits": []}
    if db is not None:
        about: Any = {
            "raw": raw,
            "client": options["runtime"],
            "machine": here,
            "now": clock.now_ms(),
            "config": config.load(),
        }
        found = sessions.search(db, query, limit=options["limit"], **about)
    hits = found["hits"]
    for hit in hits if options["extract"] else ():
        read = sessions.read(db, hit["sessionId"], identity=stored_id)
        hit["extraction"] = sessions.extract(read, query)
    result: dict[str, Any] = {
        "query": query, "source": f"raw:{source}" if raw else "observations", "resolvedRawSource": "local",
        "machine": machine, "runtime": options["runtime"] or "all", "sshTarget": options["ssh_target"] or None,
        "found": found["found"], "local": {
            "found": found["found"], "rawReturned": len(hits), "emittedHits": len(hits),
            "searchedSessions": found["searched"],
        },
        "hits": hits,
    }  # fmt: skip
    if options["extract"]:
        result["extractions"] = [hit["extraction"] for hit in hits]
    asked = source if source in ("typesense", "ssh") else machine
    if asked not in (here, "all"):
        reason = "the archive of this machine is searched; no other is asked"
        result["fallback"] = {"from": asked, "to": "local", "reason": reason}
    if not hits:
        return Answer(result, [step("joelclaw memory archive --all", "archive the transcripts on this disk")])
    first = quoted(hits[0]["sessionId"])
    return Answer(result, [
        step(f"joelclaw sessions extract {first} --query {quoted(query)}", "what the first holds about it"),
        step(f"joelclaw recall {quoted(query)} --session {first}", "the memories of that session alone"),
    ])  # fmt: skip


def extract(options: dict[str, Any]) -> Answer:
    """What a session holds about a topic."""
    read = _read(options["session"])
    made = sessions.extract(read, options["query"])
    result: dict[str, Any] = {"format": options["format"], "extraction": made}
    if options["format"] == "markdown":
        result["markdown"] = sessions.markdown(made)
    regex = {"description": "what to look for", "required": True}
    again = f"joelclaw sessions inspect {quoted(read.session)} --around <regex>"
    return Answer(result, [step(again, "the lines", {"regex": regex})])


def inspect(options: dict[str, Any]) -> Answer:
    """The lines of a session around a pattern."""
    if not options["around"]:
        raise usage(_CODE, "--around is not given", "give the words to look for: --around 'retry queue'")
    try:
        pattern = re.compile(options["around"], re.IGNORECASE)
    except re.error as error:
        fix = "put a \\ before characters such as ( [ * ?"
        raise usage(_CODE, f"--around is not a regular expression: {error}", fix) from None
    read = _read(options["session"])
    result = sessions.inspect(read, pattern, options["before"], options["after"])
    again = f"joelclaw sessions extract {quoted(read.session)} --query {quoted(options['around'])}"
    return Answer(result, [step(again, "what the session holds about it")])


def _read(given: str) -> sessions.Transcript:
    return sessions.read(sqlite.open_reading(), given, identity=stored_id)
