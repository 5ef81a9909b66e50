"""The sessions that have a state or an archive: `session list`, `session show`, finding by id.

`session show` goes turn by turn. A moment is something that happened in a turn: its time, kind and text, and if known
its duration, tokens and, for an injection, the text as the agent got it and the memories in it with their outcome
(echo, fizzle or open).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import apsw

from core import clock
from core import project as projects
from core.config import Config
from core.errors import Failure
from core.quoting import DELIMITER, clip
from core.records import Session
from core.store import calls as stored_calls
from core.store import documents
from core.store import events as stored_events
from core.store import sessions as stored_sessions
from memory import curate
from memory.gate import is_own
from session.known_states import session_of, state_times
from session.record import zone_of
from session.requests import last_request, opening
from session.state import SessionState, has_state, read_state

NOT_FOUND = "SESSION_NOT_FOUND"

Row = dict[str, Any]
Moment = tuple[int, Row]
"""The time in ms since the epoch, and the printed row."""

MOMENTS = {
    "compaction.before": ("compaction", "at {percent}{tokens}"),
    "compaction.extract.warm": ("zone", "warm from {percent} on"),
    "compaction.extract.hot": ("zone", "hot, at {percent}"),
    "compaction.checkpoint": ("checkpoint", "the task"),
    "compaction.inject.skipped": ("skipped", "no note: {reason}"),
    "memory.recall.completed": ("recall", "{returned} found: “{query}”"),
    "task.recalled": ("recall", "{returned} found: “{query}”"),
    "memory.echo": ("feedback", "used, the agent said {termsMatched} of its words: {memory}"),
    "memory.fizzle": ("feedback", "ignored: {memory}"),
}
"""Events that are moments: the kind, and the text with values of the event. Faults are moments too."""


class KnownSession:
    """A session with its state and its archive, as far as it has them."""

    problem = ""
    """Why its state cannot be read."""

    def __init__(self, identifier: str, updated_at: int, archived: Session | None = None) -> None:
        self.id = identifier
        self.updated_at = updated_at
        """When it was last active, in ms since the epoch."""
        self.archived = archived

    @cached_property
    def state(self) -> SessionState | None:
        """Its state, which is read when it is first asked for."""
        try:
            return read_state(self.id)
        except Failure as failure:
            self.problem = failure.message
            return None

    @property
    def client(self) -> str:
        """The client that it belongs to, "" if unknown."""
        return (self.archived["client"] if self.archived else "") or (self.state.agent if self.state else "")

    @property
    def project(self) -> str:
        """The project that it works on, "" if unknown."""
        if self.archived and self.archived["project"]:
            return self.archived["project"]
        return projects.name_of(self.state.cwd) if self.state and self.state.cwd else ""


def known_sessions(db: apsw.Connection) -> list[KnownSession]:
    """All sessions with a state or an archive, the most recently active first. No state is read."""
    sessions = {
        session["id"]: KnownSession(session["id"], session["updated_at"], session)
        for session in stored_sessions.latest(db, 100_000)
    }
    for path, at in state_times().items():
        name = session_of(path)
        session = sessions.setdefault(name, KnownSession(name, at))
        session.updated_at = max(session.updated_at, at)
    for name in stored_sessions.forgotten_ids(db):  # and it went on since
        sessions.pop(name, None)
    return sorted(sessions.values(), key=lambda session: (-session.updated_at, session.id))


def with_id(db: apsw.Connection, identifier: str) -> KnownSession:
    """The session with exactly this id."""
    archived = stored_sessions.by_id(db, identifier)
    known = KnownSession(identifier, archived["updated_at"] if archived else 0, archived)
    known.updated_at = max(known.updated_at, known.state.updated_at if known.state else 0)
    return known


def of(db: apsw.Connection, *, project: str = "", client: str = "", since: int = 0) -> list[KnownSession]:
    """The sessions of a project and a client that were active since a time (ms); "" and 0 mean any."""
    return [
        session
        for session in known_sessions(db)
        if session.updated_at >= since
        and (not client or session.client == client)
        and (not project or projects.same(project, session.project))
    ]


def rows(
    db: apsw.Connection, config: Config, *, limit: int, project: str = "", client: str = "", since: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """The first `limit` sessions of the user, and how many there are; see `of`."""
    sessions = _of_user(db, of(db, project=project, client=client, since=since))
    return [summary_row(db, session, config) for session in sessions[:limit]], len(sessions)


def summary_row(db: apsw.Connection, session: KnownSession, config: Config) -> dict[str, Any]:
    """A session as a list prints it."""
    state, archived = session.state, session.archived
    turns, compactions, started, task = 0, 0, 0, ""
    if state is not None:
        turns, compactions, started = state.counts["userMessages"], state.compaction_count, state.started_at
        task = state.messages[-1]["text"] if state.messages else ""
    if archived is not None:
        turns = max(turns, archived["prompts"])
        compactions = max(compactions, len(stored_sessions.compactions(db, session.id)))
        first = stored_sessions.episode_times(db, session.id)[1]
        started = min(started or first, first or started)
        prompts = [] if task else [prompt["text"] for prompt in stored_sessions.timed_prompts(db, session.id, 12)]
        task = task or opening(last_request(prompts), 200)
    percent, parent = state.percent if state else None, archived.get("parent", "") if archived else ""
    return {
        "sessionId": session.id, "title": stored_sessions.title(db, session.id) if archived else "",
        "client": session.client, "project": session.project, "updatedAt": clock.iso(session.updated_at or None),
        "turns": turns, "contextPercent": percent, "task": clip(" ".join(task.split()), 200) or session.problem,
        "zone": zone_of(percent, config), "startedAt": clock.iso(started or None),
        "toolCalls": archived["calls"] if archived else 0, "compactions": compactions,
        "kind": archived.get("kind", "main") if archived else "main",
        "parent": parent if not stored_sessions.is_forgotten(db, parent) else "",
    }  # fmt: skip


def resolve(db: apsw.Connection, given: str, least: int = 4) -> str:
    """The id of the session that an id, or at least `least` characters of its beginning, means.

    Raises Failure: SESSION_NOT_FOUND, also for a session that was forgotten, and SESSION_AMBIGUOUS.
    """
    if is_known(db, given):
        return given
    names = [name for name in map(session_of, state_times()) if name.startswith(given)]
    live = (name for name in names if not stored_sessions.is_forgotten(db, name))
    if found := stored_sessions.only_one(given, (*live, stored_sessions.whole_id(db, given)), least):
        return found
    curate.refuse_forgotten(db, given)
    fix = f"`joelclaw session list` lists those that are known; {least} characters of an id suffice"
    raise Failure(NOT_FOUND, f"there is no session {given[:80]!r}", fix)


def is_known(db: apsw.Connection, session: str) -> bool:
    """Whether a session with exactly this id has a state or an archive, and was not forgotten."""
    is_there = has_state(session) or stored_sessions.is_archived(db, session)
    return is_there and not stored_sessions.is_forgotten(db, session)


def _of_user(db: apsw.Connection, sessions: Iterable[KnownSession]) -> list[KnownSession]:
    """The sessions that no other session began."""
    others = stored_sessions.of_agents(db)
    return [session for session in sessions if session.id not in others]


def newest(db: apsw.Connection, project: str) -> tuple[str, str]:
    """The most recently active session of this "project" or, if it has none among the last 200, the "last" of all."""
    sessions = _of_user(db, known_sessions(db))
    for session in sessions[:200] if project else ():
        if projects.same(project, session.project):
            return session.id, "project"
    if sessions:
        return sessions[0].id, "last"
    curate.refuse_forgotten(db, next(iter(stored_sessions.forgotten_ids(db)), ""))
    fix = "install the hooks with `joelclaw install --all`, or archive past sessions: `joelclaw memory archive --all`"
    raise Failure(NOT_FOUND, "no session is known yet", fix)


def report(db: apsw.Connection, session: str, config: Config) -> Row:
    """Everything that is known about a session."""
    known = with_id(db, session)
    archived, state = known.archived, known.state
    hooks, events = stored_events.hook_calls(db, session), stored_events.of_session(db, session)
    injections = stored_events.injections(db, session)
    prompts = [
        prompt
        for prompt in stored_sessions.timed_prompts(db, session)
        if prompt["text"].strip() and not is_own(prompt["text"])
    ]
    calls = stored_calls.times(db, session)
    outcomes = _memory_outcomes(events, injections)
    texts = documents.beginnings(db, [*outcomes], 160)
    moments = [_injection_moment(injection, outcomes, texts) for injection in injections]
    moments += _event_moments(events, {injection["id"] for injection in injections}, texts)
    moments += [
        _moment(hook["at"], "error", f"hook {hook['event']} {hook['outcome']}: {hook['error']}", ms=hook["ms"])
        for hook in hooks
        if hook["outcome"] != "ok"
    ]
    turns = _turns(hooks, prompts, calls, moments)
    for turn in turns:
        turn["zone"] = zone_of(turn["contextPercent"], config)
    uses = [outcome for outcome in outcomes.values() if outcome]
    return {
        **summary_row(db, known, config),
        "role": state.role if state else "",
        "folder": (archived["folder"] if archived else "") or (state.cwd if state else ""),
        "folders": archived.get("folders", []) if archived else [],
        "turnCount": sum(turn["number"] > 0 for turn in turns),
        "failedCalls": sum(failed for _, _, failed in calls),
        "recalls": sum(event["action"] in ("memory.recall.completed", "task.recalled") for event in events),
        "injections": {"count": len(injections), "tokens": sum(injection["tokens"] for injection in injections)},
        "memories": {"injected": len(uses), **{name: uses.count(name) for name in ("echo", "fizzle", "open")}},
        "hooks": {
            "count": len(hooks),
            "failed": sum(hook["outcome"] != "ok" for hook in hooks),
            "totalMs": round(sum(hook["ms"] or 0 for hook in hooks), 1),
        },
        "problem": known.problem,
        "turns": turns,
    }


def _memory_outcomes(events: Sequence[Row], injections: Sequence[Row]) -> dict[str, str]:
    """By memory, "echo" if it was used after any injection, else "fizzle" or "open"; "" if it was not injected here."""
    outcomes = dict.fromkeys((memory for injection in injections for memory in injection["memories"]), "open")
    for event in events:
        memory = event["metadata"].get("memoryId")
        if event["action"] in ("memory.echo", "memory.fizzle") and isinstance(memory, str):
            known = outcomes.setdefault(memory, "")
            outcomes[memory] = event["action"].rpartition(".")[2] if known in ("open", "fizzle") else known
    return outcomes


def _event_moments(events: Sequence[Row], injected: Container[str], texts: Mapping[str, str]) -> list[Moment]:
    """The moments of a session's events, without those of injections and hooks."""
    moments = []
    for event in events:
        about, action = event["metadata"], event["action"].removeprefix("gateway.")
        is_shown = event["id"] not in injected and event["component"] != "hook" and about.get("returned") != 0
        is_fault = event["level"] in ("warn", "error", "fatal")
        kind, form = MOMENTS.get(action, ("error", "{action}: {error}") if is_fault else ("", ""))
        if is_shown and kind:
            memory, tokens = str(about.get("memoryId", "")), about.get("contextTokens")
            percent = about.get("percent", about.get("contextPercent"))
            values = defaultdict(str, about, action=event["action"], error=event["error"])
            values["percent"] = f"{percent:.0f} %" if isinstance(percent, (int, float)) else "a context of unknown size"
            values["tokens"] = f", {tokens:,} tokens" if isinstance(tokens, int) else ""
            values["memory"] = texts.get(memory) or memory
            has_time = kind in ("recall", "error")
            moments.append(_moment(event["at"], kind, form.format_map(values), ms=event["ms"] if has_time else None))
    return moments


def _injection_moment(injection: Row, outcomes: Mapping[str, str], texts: Mapping[str, str]) -> Moment:
    frame = (f"<{DELIMITER}", f"</{DELIMITER}")
    lines = [line for line in injection["text"].split("\n") if not line.startswith(frame)]
    heading = next((line for line in lines if line.strip()), "").lstrip("# ")
    memories = [
        {"id": memory, "text": texts.get(memory, ""), "outcome": outcomes[memory]} for memory in injection["memories"]
    ]
    about = {"customType": injection["kind"], "tokens": injection["tokens"], "content": "\n".join(lines)}
    return _moment(injection["at"], "injection", heading, ms=injection["ms"], **about, memories=memories)


def _moment(at: int, kind: str, text: str, *, ms: float | None = None, **details: Any) -> Moment:
    row = {"at": clock.iso(at or None), "kind": kind, "text": " ".join(text.split())}
    return at, {**row, **({} if ms is None else {"ms": ms}), **details}


def _turns(
    hooks: Sequence[Row], prompts: Sequence[Row], calls: Sequence[tuple[int, int, bool]], moments: Sequence[Moment]
) -> list[Row]:
    """The turns, oldest first: a prompt and what followed it. Turn 0 is what came before the first prompt."""
    starts = [(0, ""), *_prompt_times(hooks, prompts)]
    times = [at for at, _ in starts]
    turns: list[Row] = [{"hooks": [], "calls": [], "moments": []} for _ in starts]

    def turn_at(at: int) -> Row:
        return turns[max(0, bisect_right(times, at) - 1)]

    for hook in hooks:
        turn_at(_start_of(hook))["hooks"].append(hook)
    for at, prompt, failed in calls:
        (turn_at(at) if at else turns[min(prompt, len(turns) - 1)])["calls"].append(failed)
    order = {"compaction": 2, "skipped": 3, "injection": 3}  # of moments with the same time
    for at, moment in sorted(moments, key=lambda moment: (moment[0], order.get(moment[1]["kind"], 1))):
        turn_at(at)["moments"].append(moment)
    rows = []
    for number, ((at, text), turn) in enumerate(zip(starts, turns, strict=True)):
        percents = [hook["percent"] for hook in turn["hooks"] if hook["percent"] is not None]
        row = {
            "number": number, "at": clock.iso(at or (_start_of(turn["hooks"][0]) if turn["hooks"] else None)),
            "prompt": text, "contextPercent": round(percents[-1], 1) if percents else None,
            "toolCalls": len(turn["calls"]), "failedCalls": sum(turn["calls"]), "moments": turn["moments"],
        }  # fmt: skip
        rows += [row] if number or any(turn.values()) else []
    return rows


def _prompt_times(hooks: Sequence[Row], prompts: Sequence[Row]) -> list[tuple[int, str]]:
    """The time and the text of each prompt. A hook's prompt and an archived prompt within `apart_ms` are the same."""
    texts: dict[int, str] = dict.fromkeys((_start_of(hook) for hook in hooks if hook["kind"] == "prompt"), "")
    apart_ms, characters = 30_000, 240
    for prompt in prompts:
        close = [at for at, text in texts.items() if abs(at - prompt["at"]) <= apart_ms and not text]
        at = min(close, key=lambda at: abs(at - prompt["at"]), default=prompt["at"])
        texts[at] = texts.get(at) or clip(" ".join(prompt["text"][: 20 * characters].split()), characters)
    return sorted(texts.items())


def _start_of(hook: Row) -> int:
    """When a hook began, in ms since the epoch. Its event is made at its end."""
    return int(hook["at"]) - int(hook["ms"] or 0)
