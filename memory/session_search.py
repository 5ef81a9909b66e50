"""Archived sessions, read back as lines: search them, show a part of them, extract what they say on a topic."""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import apsw

import clients
from core import clock, shell_command, words
from core.errors import Failure
from core.quoting import clip
from core.records import Call, Hit
from core.redaction import MARK
from core.store import calls, sessions
from memory import curate
from memory.archive import transcript_files
from recall.call_hits import CALL_PREFIX
from recall.hit import snippet

MAX_LINES = 20_000  # of a session: the last lines are read
MAX_LINE_CHARS = 600

# The lists of an extraction (the mirrored CLI's), and the words of the lines in them.
_TOPICS = {
    "decisions": r"we (?:will|chose)|decid\w+|decision|chosen|agreed|instead|rather than|because|root cause|adr",
    "outputsReceipts": r"result\w*|output|returned|commit(?:ted)?|passed|created|written|printed|status|exit(?:ed)?",
    "verification": r"tests?|pytest|vitest|jest|checks?|verif\w+|lint|build|tsc|mypy|ruff|smoke|passe[sd]",
    "blockers": r"block(?:ed|er|s)|fail(?:ed|s|ure)?|errors?|missing|denied|refused|timed? ?out|cannot|can't|stuck",
    "nextActions": r"next (?:step|action|up)|todo|follow-? ?up|remain(?:s|ing)|still (?:to|open)|left to do|hand-?off",
}


class Line(NamedTuple):
    """One line of a session: `kind` is `message` or `tool_call`; `file` and `command` are a call's."""

    at: int
    role: str
    kind: str
    text: str
    file: str = ""
    command: str = ""
    failed: bool = False
    number: int = 0  # from 1
    id: str = ""  # of the episode or the call

    def shown(self) -> dict[str, object]:
        """The line as the mirrored CLI prints evidence."""
        return {"line": self.number, "role": self.role, "kind": self.kind, "text": self.text[:MAX_LINE_CHARS]}


class Transcript(NamedTuple):
    """A session with its lines. `about`: the keys with which every answer about it begins."""

    session: str
    about: dict[str, Any]
    lines: list[Line]


def by_session(
    db: apsw.Connection, query: str, hits: Iterable[Hit], *, client: str, machine: str, with_notes: bool
) -> list[dict[str, Any]]:
    """The sessions of a recall's hits, the best first, as the mirrored CLI's `sessions search` prints them.

    A hit in a subagent counts for the session that began it. Only those of `client`, unless that is "" or "all".
    `with_notes` adds the observations of each session.
    """
    grouped: dict[str, list[Hit]] = {}
    for hit in hits:
        if hit["session"]:
            main = sessions.ancestors(db, hit["session"], sessions.STARTED)[-1]
            grouped.setdefault(main, []).append(hit)
    wanted = next((name for name in clients.NAMES if client.startswith(name)), client)
    rows = []
    for session, own in grouped.items():
        best, about = own[0], _about(db, session)
        about["client"] = about["client"] or best["source"]
        about["project"] = about["project"] or best["project"]
        if wanted not in ("", "all", about["client"]):
            continue
        snippets = [snippet(hit["observation"], query.split(), 500) for hit in own]
        role = {"prompt": "user", "agent": "assistant"}.get(best["origin"], "tool")
        row = {
            "source": "local", "id": session, "runId": session, **about, "machineId": machine, "role": role,
            "score": best["score"], "snippets": list(dict.fromkeys(snippets))[:3],
        }  # fmt: skip
        rows.append(row | _notes(db, row, best["privacy"]) if with_notes else row)
    return rows


def read(db: apsw.Connection, given: str, *, identity: Callable[[str], str]) -> Transcript:
    """The session that an id, its beginning or a transcript's path names.

    `identity` maps a client's id of a session to the stored id. Raises Failure SESSION_NOT_FOUND, SESSION_AMBIGUOUS,
    TRANSCRIPT_UNREADABLE.
    """
    path = os.path.abspath(given) if os.path.isfile(given) else ""
    wanted = transcript_files.look_at(given)[1] if path else given
    session = sessions.whole_id(db, identity(wanted))
    if not session:
        curate.refuse_forgotten(db, identity(wanted))
        fix = "archive it: joelclaw memory archive PATH; to find another: joelclaw sessions search QUERY"
        raise Failure("SESSION_NOT_FOUND", f"no session {given[:80]!r} is archived", fix)
    called = calls.of_session(db, session, last=MAX_LINES, passages=True, live="TRUE")
    lines = _lines(sessions.last_episodes(db, session, MAX_LINES, live="TRUE"), called)
    return Transcript(session, {**_about(db, session), "path": path}, lines)


def around(
    db: apsw.Connection, identifier: str, before: int, after: int, *, identity: Callable[[str], str]
) -> dict[str, Any]:
    """The lines around an episode or a call, or at the end of a session; any other memory by itself."""
    given = identifier.replace("work:", CALL_PREFIX, 1)
    call = document = None
    try:
        if given.startswith(CALL_PREFIX):
            call = curate.find_call(db, given)
        else:
            document = curate.find(db, given)
    except Failure as failure:  # it may be a session's id
        given = given.removeprefix(CALL_PREFIX)
        if failure.code not in ("MEMORY_NOT_FOUND", "SESSION_NOT_FOUND"):
            raise
        if not sessions.whole_id(db, identity(given)):
            curate.refuse_forgotten(db, identity(given))
            raise
    if document and (document["collection"] != "episodes" or not document["session_id"]):
        entry = {
            "line": 1, "id": document["id"], "at": clock.iso(document["created_at"]), "role": document["source"],
            "kind": "memory", "text": document["text"], "match": True,
        }  # fmt: skip
        about = {"sessionId": document["session_id"], "client": "", "folder": document["path"]}
        return {"id": document["id"], **about, "project": document["project"], "entries": [entry]}
    matched = call["id"] if call else document["id"] if document else ""
    session = read(db, call["session"] if call else document["session_id"] if document else given, identity=identity)
    at = next((number for number, line in enumerate(session.lines) if line.id == matched), len(session.lines) - 1)
    entries: list[dict[str, Any]] = []
    for line in session.lines[max(0, at - before) : at + after + 1]:
        text = line.text if line.id == matched else clip(line.text, MAX_LINE_CHARS)
        if call and line.id == matched:
            text = "\n".join(filter(None, (call[name] for name in ("place", "command", "error", "passage"))))
        at_iso, is_match = clock.iso(line.at or None), line.id == matched
        entries.append({**line.shown(), "id": line.id, "at": at_iso, "text": text, "match": is_match})
    return {"id": matched or given, **session.about, "entries": entries}


def extract(session: Transcript, query: str) -> dict[str, Any]:
    """What a session says on a topic: lines near those with the query or all of its words, else the first 80 lines."""
    near: set[int] = set()
    wanted, terms = query.lower().strip(), [word for word in words.split(query) if len(word) > 2]
    for at, line in enumerate(session.lines):
        lower = line.text.lower()
        if wanted and (wanted in lower or (terms and all(term in lower for term in terms))):
            near.update(range(max(0, at - 4), min(len(session.lines), at + 11)))
    chosen = [session.lines[at] for at in sorted(near)] or session.lines[:80]
    path = re.compile(r"(?<![\w/])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w")
    files: dict[str, None] = {}
    for line in chosen:
        named = path.findall(line.text[:4000]) if line.kind == "message" else []
        files |= dict.fromkeys(filter(None, [line.file, *named]))
    extraction: dict[str, Any] = {
        **session.about, "query": query, "matched": bool(near), "lineCount": len(session.lines),
        "evidence": _shown(chosen, 16), "userPrompts": _shown([line for line in chosen if line.role == "user"], 10),
        "commandsRun": _shown([line for line in chosen if line.command], 16), "filesTouched": list(files)[:80],
    }  # fmt: skip
    for topic in _TOPICS:
        found = [line for line in chosen if _is_about(topic, line.text) or (topic == "blockers" and line.failed)]
        extraction[topic] = _shown(found, 10 if topic == "nextActions" else 12)  # the mirrored CLI's bounds
    return {**extraction, "redacted": any(MARK in line.text for line in session.lines)}


def markdown(extraction: dict[str, Any]) -> str:
    """An extraction as Markdown: a heading for each list, a bullet for each line."""
    lines = ["# Session extraction", ""]
    lines += [f"- {key}: {value or '–'}" for key, value in extraction.items() if not isinstance(value, list)]
    for key, value in extraction.items():
        if isinstance(value, list):
            lines += ["", "## " + re.sub("(?=[A-Z])", " ", key).capitalize(), ""]
            for entry in value or ["none found"]:
                shown = entry if isinstance(entry, str) else "L{line} {role}/{kind}: {text}".format_map(entry)
                lines.append("- " + " ".join(shown.split()))
    return "\n".join(lines) + "\n"


def _about(db: apsw.Connection, session: str) -> dict[str, Any]:
    """A session's client, project, folder and start; `cwdKey` is the folder in pi's form, `--home-u-app--`."""
    known: Any = sessions.by_id(db, session) or {"folder": "", "client": "", "project": ""}
    folder = known["folder"]
    return {
        "sessionId": session,
        "title": sessions.title(db, session),
        "startedAt": clock.iso(sessions.episode_times(db, session)[1] or None),
        "cwdKey": f"--{folder.strip('/').replace('/', '-')}--" if folder else "",
        **{name: known[name] for name in ("client", "project", "folder")},
    }


def _notes(db: apsw.Connection, row: dict[str, Any], privacy: str) -> dict[str, Any]:
    """The observations of a session, with the keys of the mirrored CLI's observation pages."""
    _, first, last = sessions.episode_times(db, row["id"])
    gist, noted = sessions.subject_and_notes(db, row["id"], 20)
    return {
        "machine": row["machineId"], "agent": row["client"], "started": row["startedAt"],
        "ended": clock.iso(last or None), "started_at": first, "tokens": None, "privacy": privacy,
        "repos": [row["project"]] if row["project"] else [], "slug": row["id"],
        "gist": " ".join(gist.split())[:MAX_LINE_CHARS], "observations": noted,
        "decisions": [text for text in noted if _is_about("decisions", text)], "open_questions": [], "url": None,
        "snippet": row["snippets"][0],
    }  # fmt: skip


def _lines(turns: list[tuple[str, str, int]], called: list[Call]) -> list[Line]:
    """Turns and calls by time. A call without a time follows the call before it."""
    lines: list[Line] = []
    for identifier, text, at in turns:
        role, colon, body = text.partition(": ")
        has_role = colon and role in ("user", "assistant")
        lines.append(Line(at, role if has_role else "assistant", "message", body if has_role else text, id=identifier))
    last = turns[0][2] if turns else 0
    for call in called:
        last = call["at"] or last
        if call["outcome"] == calls.FORGOTTEN:
            continue
        outcome = shell_command.reliable_outcome(call["command"], call["outcome"])
        parts = (call["tool"], call["command"] or call["file"], outcome, call["error"], call["passage"])
        text = " ".join(" ".join(part.split()) for part in parts if part)
        failed = call["outcome"] == "failed"
        identifier = f"{CALL_PREFIX}{call['session']}:{call['number']}"
        lines.append(Line(last, "tool", "tool_call", text, call["file"], call["command"], failed, id=identifier))
    lines.sort(key=lambda line: line.at)  # stable: a turn comes before the calls of the same moment
    return [line._replace(number=number) for number, line in enumerate(lines[-MAX_LINES:], 1)]


def _is_about(topic: str, text: str) -> bool:
    return re.search(rf"(?i)\b(?:{_TOPICS[topic]})\b", text) is not None


def _shown(lines: Iterable[Line], most: int) -> list[dict[str, object]]:
    return [line.shown() for line in lines if line.text][:most]
