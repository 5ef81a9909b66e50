"""Archived sessions, found by what was said and done, read back as lines, and boiled down to what bears on a topic."""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import apsw

import clients
from core import clock, shell_command, words
from core.config import Config
from core.errors import Failure
from core.quoting import clip
from core.records import Call, Hit
from core.redaction import MARK
from core.store import calls, sessions, sqlite
from memory import curate
from memory.archive import transcript_files
from recall import engine
from recall.hit import snippet
from recall.names import CALL_PREFIX, call_by_id
from recall.query import Query

MOST_LINES = 20_000  # the last of a session; a longer one is cut at its head
LINE_CHARS = 600
BEFORE, AFTER = 4, 10
"""Lines around one that matches, which belong to it."""
HEAD = 80  # lines that are looked at where none matches
_MOST_MATCHES = 8
_MOST_FILES = 80
_SNIPPETS, _SNIPPET_CHARS = 3, 500
_MOST_NOTED = 20
_HITS_A_SESSION, _MOST_HITS = 6, 100
_PARTS: dict[str, tuple[int, str]] = {
    "decisions": (12, r"we (?:will|chose)|decid\w+|decision|chosen|agreed|instead|rather than|because|root cause"
                      r"|trade-?off|adr"),
    "outputsReceipts": (12, r"result\w*|output|returned|commit(?:ted)?|passed|created|written|printed|status"
                            r"|exit(?:ed)?|id"),
    "verification": (12, r"tests?|pytest|vitest|jest|checks?|verif\w+|lint|build|tsc|mypy|ruff|smoke|passe[sd]"),
    "blockers": (12, r"block(?:ed|er|s)|fail(?:ed|s|ure)?|errors?|missing|denied|refused|timed? ?out|cannot|can't"
                     r"|stuck|unavailable"),
    "nextActions": (10, r"next (?:step|action|up)|todo|follow-? ?up|remain(?:s|ing)|still (?:to|open)|left to do"
                        r"|hand-?off"),
}  # fmt: skip
_FILE = re.compile(r"(?<![\w/])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w")
_TITLES = {
    "userPrompts": "User prompts", "decisions": "Decisions", "commandsRun": "Commands run",
    "filesTouched": "Files touched", "outputsReceipts": "Outputs / receipts", "verification": "Verification",
    "blockers": "Blockers", "nextActions": "Next actions", "evidence": "Evidence",
}  # fmt: skip


class Line(NamedTuple):
    """One line: `number` counts from 1, `kind` is `message` or `tool_call`; `file` and `command` are a call's."""

    at: int
    role: str
    kind: str
    text: str
    file: str = ""
    command: str = ""
    failed: bool = False
    number: int = 0
    id: str = ""
    """That of the episode or the call."""

    def shown(self) -> dict[str, object]:
        """As the mirrored CLI prints evidence; the text is cut at LINE_CHARS."""
        return {"line": self.number, "role": self.role, "kind": self.kind, "text": self.text[:LINE_CHARS]}


class Transcript(NamedTuple):
    """A session with its lines; `about` are the keys that every answer about it begins with."""

    session: str
    about: dict[str, Any]
    lines: list[Line]
    redacted: bool


def _about(db: apsw.Connection, session: str) -> dict[str, Any]:
    """What is known of a session's place and time; `cwdKey` is its folder as pi names it, `--home-u-app--`."""
    known: Any = sessions.by_id(db, session) or {"folder": "", "client": "", "project": ""}
    folder = known["folder"]
    return {
        "sessionId": session,
        "startedAt": clock.iso(sessions.spoken(db, session)[1] or None),
        "cwdKey": f"--{folder.strip('/').replace('/', '-')}--" if folder else "",
        **{name: known[name] for name in ("client", "project", "folder")},
    }


def search(
    db: apsw.Connection, query: str, *, raw: bool, limit: int, client: str, machine: str, now: int, config: Config
) -> dict[str, Any]:
    """The sessions of a client ("" or `all` for any) that bear on a query, best first: `found`, `searched`, `hits`.

    `raw`: by what was said and done alone; else also by what was noted of them, which their hits have, too.
    """
    most = min(_MOST_HITS, limit * _HITS_A_SESSION)
    kinds = ("episodes", "calls") if raw else ("observations", "episodes", "calls")
    asked = Query(query, limit=most, budget="balanced", collections=kinds, by_name=True)
    result = engine.recall(db, asked, now=now, vectors=sqlite.load_vectors(db), config=config)
    wanted = next((name for name in clients.NAMES if client.startswith(name)), client)
    by_session: dict[str, list[Hit]] = {}
    for hit in result["hits"]:
        if hit["session"]:
            by_session.setdefault(hit["session"], []).append(hit)
    known = {session: _about(db, session) for session in by_session}
    if wanted not in ("", "all"):
        known = {one: told for one, told in known.items() if wanted == (told["client"] or by_session[one][0]["source"])}
    found = []
    for session, told in list(known.items())[:limit]:
        hits = by_session[session]
        best = hits[0]
        said = [snippet(hit["observation"], query.split(), _SNIPPET_CHARS) for hit in hits]
        role = {"prompt": "user", "agent": "assistant"}.get(best["origin"], "tool")
        found.append({
            "source": "local", "id": session, "runId": session, **told, "machineId": machine, "role": role,
            "client": told["client"] or best["source"], "project": told["project"] or best["project"],
            "score": best["score"], "snippets": list(dict.fromkeys(said))[:_SNIPPETS],
        })  # fmt: skip
        if not raw:
            found[-1] |= _page(db, found[-1], machine, best["privacy"])
    return {"found": len(known), "searched": sessions.totals(db)[0], "hits": found}


def _page(db: apsw.Connection, hit: dict[str, Any], machine: str, privacy: str) -> dict[str, Any]:
    """What was noted of a session, with the keys of the mirrored CLI's observation pages; None is what nobody knows."""
    _, first, last = sessions.spoken(db, hit["sessionId"])
    gist, noted = sessions.noted(db, hit["sessionId"], _MOST_NOTED)
    decision = re.compile(rf"\b(?:{_PARTS['decisions'][1]})\b", re.IGNORECASE)
    return {
        "machine": machine, "agent": hit["client"], "started": hit["startedAt"], "ended": clock.iso(last or None),
        "started_at": first, "tokens": None, "repos": [hit["project"]] if hit["project"] else [], "privacy": privacy,
        "slug": hit["sessionId"], "gist": " ".join(gist.split())[:LINE_CHARS], "observations": noted,
        "decisions": [text for text in noted if decision.search(text)], "open_questions": [], "url": None,
        "snippet": hit["snippets"][0],
    }  # fmt: skip


def read(db: apsw.Connection | None, given: str, *, identity: Callable[[str], str]) -> Transcript:
    """What an id, its beginning or a transcript's path means. Raises Failure SESSION_NOT_FOUND, SESSION_AMBIGUOUS."""
    wanted, path = given, ""
    if os.path.isfile(given):
        path = os.path.abspath(given)
        try:
            wanted = transcript_files.look_at(given)[1]
        except Failure as failure:
            fix = "name a session's transcript, or a session by its id"
            raise Failure("SESSION_NOT_FOUND", failure.message, fix) from None
    session = sessions.whole_id(db, identity(wanted)) if db is not None else ""
    if db is None or not session:
        message = f"no session is archived with an id that starts with {given[:80]!r}"
        fix = "search for it: joelclaw sessions search --help"
        if path:
            shown = "'" + path.replace("'", "'\\''") + "'"
            message, fix = f"{path} is not archived", f"archive it: joelclaw memory archive {shown}"
        raise Failure("SESSION_NOT_FOUND", message, fix)
    called = calls.of_session(db, session, last=MOST_LINES, passages=True)
    lines = _lines(sessions.last_turns(db, session, MOST_LINES), called)
    redacted = any(MARK in line.text for line in lines)
    return Transcript(session, {**_about(db, session), "path": path}, lines, redacted)


def _lines(said: list[tuple[str, str, int]], called: list[Call]) -> list[Line]:
    """What was said and what was called, by time; a call whose time nobody told stands behind the one before it."""
    placed: list[Line] = []
    for identifier, text, at in said:
        role, colon, body = text.partition(": ")
        is_told = colon and role in ("user", "assistant")
        placed.append(Line(at, role if is_told else "assistant", "message", body if is_told else text, id=identifier))
    last = said[0][2] if said else 0
    for call in called:
        last = call["at"] or last
        if call["outcome"] != calls.FORGOTTEN:
            outcome = shell_command.told(call["command"], call["outcome"])
            parts = (call["tool"], call["command"] or call["file"], outcome, call["error"], call["passage"])
            text = " ".join(" ".join(part.split()) for part in parts if part)
            failed = call["outcome"] == "failed"
            whose = f"{CALL_PREFIX}{call['session']}:{call['number']}"
            placed.append(Line(last, "tool", "tool_call", text, call["file"], call["command"], failed, id=whose))
    placed.sort(key=lambda line: line.at)  # what was said goes before what was called for then
    return [line._replace(number=number) for number, line in enumerate(placed[-MOST_LINES:], 1)]


def around(
    db: apsw.Connection | None, identifier: str, before: int, after: int, *, identity: Callable[[str], str]
) -> dict[str, Any]:
    """What was said and called around an episode or call, around the time of an observation, or at a session's end."""
    call, document = call_by_id(db, identifier.replace("work:", CALL_PREFIX, 1)), None
    if call is None and not identifier.startswith((CALL_PREFIX, "work:")):
        try:
            document = curate.find(db, identifier)
        except Failure as failure:
            if db is None or failure.code != "MEMORY_NOT_FOUND" or not sessions.whole_id(db, identity(identifier)):
                raise
    if document and not document["session_id"]:
        said = {"at": clock.iso(document["created_at"]), "role": document["source"], "kind": "memory"}
        entry = {"line": 1, "id": document["id"], **said, "text": document["text"], "match": True}
        about = {"sessionId": "", "client": "", "project": document["project"], "folder": document["path"]}
        return {"id": document["id"], **about, "entries": [entry]}
    given = call["session"] if call else document["session_id"] if document else identifier.removeprefix("work:")
    session = read(db, given, identity=identity)
    whole = call["id"] if call else document["id"] if document else ""
    at = next((number for number, line in enumerate(session.lines) if line.id == whole), -1)
    if at < 0:  # an observation stands behind what was said then
        until = document["created_at"] if document else session.lines[-1].at if session.lines else 0
        at = sum(line.at <= until for line in session.lines) - 1
    entries: list[dict[str, Any]] = []
    for line in session.lines[max(0, at - before) : at + after + 1]:
        match = line.id == whole
        text = document["text"].partition(": ")[2] if match and document else clip(line.text, LINE_CHARS)
        if match and call:
            text = "\n".join(filter(None, (call[name] for name in ("place", "command", "error", "passage"))))
        entries.append({**line.shown(), "id": line.id, "at": clock.iso(line.at or None), "text": text, "match": match})
    if document and document["collection"] != "episodes":
        said = {"at": clock.iso(document["created_at"]), "role": document["source"], "kind": "memory"}
        entry = {"line": 0, "id": document["id"], **said, "text": document["text"], "match": True}
        entries.insert(min(at + 1, before + 1), entry)
    return {"id": whole or given, **session.about, "entries": entries}


def extract(session: Transcript, query: str) -> dict[str, Any]:
    """What the session holds about a topic, word for word or in all its words; of one without, of its beginning."""
    near: set[int] = set()
    wanted, terms = query.lower().strip(), [word for word in words.split(query) if len(word) > 2]
    for at, line in enumerate(session.lines):
        lower = line.text.lower()
        if wanted and (wanted in lower or (terms and all(term in lower for term in terms))):
            near.update(range(max(0, at - BEFORE), min(len(session.lines), at + AFTER + 1)))
    chosen = [session.lines[at] for at in sorted(near)] or session.lines[:HEAD]
    files: dict[str, None] = {}
    for line in chosen:
        named = _FILE.findall(line.text[:4000]) if line.kind == "message" else []
        files |= dict.fromkeys(filter(None, [line.file, *named]))
    made: dict[str, Any] = {
        **session.about,
        "query": query,
        "matched": bool(near),
        "lineCount": len(session.lines),
        "evidence": _shown(chosen, 16),
        "userPrompts": _shown([line for line in chosen if line.role == "user"], 10),
        "commandsRun": _shown([line for line in chosen if line.command], 16),
        "filesTouched": list(files)[:_MOST_FILES],
    }
    for key, (most, telling) in _PARTS.items():
        pattern = re.compile(rf"\b(?:{telling})\b", re.IGNORECASE)
        found = [line for line in chosen if pattern.search(line.text) or (key == "blockers" and line.failed)]
        made[key] = _shown(found, most)
    return {**made, "redacted": session.redacted}


def _shown(lines: Iterable[Line], most: int) -> list[dict[str, object]]:
    return [line.shown() for line in lines if line.text][:most]


def markdown(extraction: dict[str, Any]) -> str:
    """An extraction as markdown: a heading a part, a bullet a line."""
    lines = ["# Session extraction", ""]
    lines += [f"- {name}: {extraction[key] or '–'}" for name, key in (
        ("session", "sessionId"), ("client", "client"), ("started", "startedAt"), ("folder", "folder"),
        ("query", "query"), ("lines", "lineCount"), ("redacted", "redacted"),
    )]  # fmt: skip
    for key, title in _TITLES.items():
        lines += ["", f"## {title}", ""]
        lines += [
            f"- {one}"
            if isinstance(one, str)
            else f"- L{one['line']} {one['role']}/{one['kind']}: {' '.join(one['text'].split())}"
            for one in extraction[key]
        ] or ["- none found"]
    return "\n".join(lines) + "\n"
